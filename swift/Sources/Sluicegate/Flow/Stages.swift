internal import SluicegateCore

extension Flow where Mat == NotUsed {
  /// Each element through `transform`; what it throws fails the stream.
  public static func map(_ transform: @escaping @Sendable (In) throws -> Out) -> Self {
    Flow(flowMap(function: Calling.mapping(transform)), .none())
  }

  /// Each element through `transform`; for each `nil` another element is asked for.
  public static func compactMap(_ transform: @escaping @Sendable (In) throws -> Out?) -> Self {
    Flow(flowFilterMap(function: Calling.picking(transform)), .none())
  }

  /// Each state of `next` over the elements.
  public static func scan(
    _ first: Out, _ next: @escaping @Sendable (Out, In) throws -> Out
  ) -> Self {
    Flow(flowScan(first: give(first), function: Calling.folding(next)), .none())
  }

  /// The last state of `next` over all elements, once the upstream has completed.
  public static func fold(
    _ first: Out, _ next: @escaping @Sendable (Out, In) throws -> Out
  ) -> Self {
    Flow(flowFold(first: give(first), function: Calling.folding(next)), .none())
  }
}

extension Flow where In == Out, Mat == NotUsed {
  /// The elements that `pass` says true of. For each that is dropped another is asked for.
  public static func filter(_ pass: @escaping @Sendable (In) throws -> Bool) -> Self {
    Flow(flowFilter(function: Calling.testing(pass)), .none())
  }

  /// Shows each element to `look`.
  public static func tap(_ look: @escaping @Sendable (In) throws -> Void) -> Self {
    Flow(flowTap(function: Calling.doing(look)), .none())
  }

  /// The first `n` elements. Never asks for more; cancels the upstream straight after the last.
  public static func prefix(_ n: UInt64) -> Self { Flow(flowTake(n: n), .none()) }

  /// All but the first `n` elements.
  public static func dropFirst(_ n: UInt64 = 1) -> Self { Flow(flowDrop(n: n), .none()) }

  /// The elements up to the first that `pass` says false of; then the upstream is cancelled.
  public static func prefix(while pass: @escaping @Sendable (In) throws -> Bool) -> Self {
    Flow(flowTakeWhile(function: Calling.testing(pass)), .none())
  }

  /// A boundary: what is above runs on a thread of its own, and runs ahead by what the edge holds.
  /// `size` tells the bytes of an element, for an edge that is limited in bytes.
  ///
  /// Throws `invalidArgument` for a capacity of 0.
  public static func buffer(
    _ edge: EdgeOptions = .init(), size: (@Sendable (In) -> UInt64)? = nil
  ) throws(SluicegateError) -> Self {
    let core = try translating {
      try flowBuffer(edge: edge.facts, size: size.map(Calling.sizing))
    }
    return Flow(core, .none())
  }
}

/// The control of ``Flow/killSwitch()``: ends a run from outside. Releasing it does nothing. Any task or
/// thread may use it.
public final class KillSwitch: Sendable {
  private let core: KillSwitchCore
  init(_ core: KillSwitchCore) { self.core = core }

  /// Cancels what is above and fails what is below, with `reason` or the kind `cancelled`. False if that
  /// was done before; what has ended stays as it is.
  @discardableResult
  public func cancel(_ reason: SluicegateError? = nil) -> Bool {
    core.cancel(reason: reason?.fault)
  }
}

extension Flow where In == Out, Mat == KillSwitch {
  /// Passes everything on, until its control ends the run from outside.
  public static func killSwitch() -> Self {
    Flow(flowKillSwitch(), .one { run, index in KillSwitch(try run.killSwitch(index: index)) })
  }
}

extension Source {
  /// ``Flow/map(_:)`` behind this source.
  public func map<Next: Sendable>(
    _ transform: @escaping @Sendable (Out) throws -> Next
  ) -> Source<Next, Mat> { via(.map(transform)) }

  /// ``Flow/compactMap(_:)`` behind this source.
  public func compactMap<Next: Sendable>(
    _ transform: @escaping @Sendable (Out) throws -> Next?
  ) -> Source<Next, Mat> { via(.compactMap(transform)) }

  /// ``Flow/filter(_:)`` behind this source.
  public func filter(_ pass: @escaping @Sendable (Out) throws -> Bool) -> Self {
    via(.filter(pass))
  }

  /// ``Flow/tap(_:)`` behind this source.
  public func tap(_ look: @escaping @Sendable (Out) throws -> Void) -> Self { via(.tap(look)) }

  /// ``Flow/prefix(_:)`` behind this source.
  public func prefix(_ n: UInt64) -> Self { via(.prefix(n)) }

  /// ``Flow/dropFirst(_:)`` behind this source.
  public func dropFirst(_ n: UInt64 = 1) -> Self { via(.dropFirst(n)) }

  /// ``Flow/prefix(while:)`` behind this source.
  public func prefix(while pass: @escaping @Sendable (Out) throws -> Bool) -> Self {
    via(.prefix(while: pass))
  }

  /// ``Flow/buffer(_:size:)`` behind this source.
  public func buffer(
    _ edge: EdgeOptions = .init(), size: (@Sendable (Out) -> UInt64)? = nil
  ) throws(SluicegateError) -> Self { via(try .buffer(edge, size: size)) }
}
