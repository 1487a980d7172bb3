internal import SluicegateCore

extension Sink {
  private init<R>(
    _ core: SinkCore, _ read: @escaping @Sendable ([UInt64]) -> R
  ) where Mat == Completion<R> {
    self.init(core, .one { run, index in Completion(try run.completion(index: index), read) })
  }

  /// All elements, in order. The memory is the caller's affair: the list grows with the stream.
  public static func collect() -> Self where Mat == Completion<[In]> {
    Sink(sinkCollect()) { $0.map { look($0) } }
  }

  /// The last state of `next` over all elements.
  public static func fold<R: Sendable>(
    _ first: R, _ next: @escaping @Sendable (R, In) throws -> R
  ) -> Self where Mat == Completion<R> {
    Sink(sinkFold(first: give(first), function: Calling.folding(next))) { look($0[0]) }
  }

  /// Calls `body` with each element; what it throws fails the stream.
  public static func forEach(
    _ body: @escaping @Sendable (In) throws -> Void
  ) -> Self where Mat == Completion<Void> {
    Sink(sinkForeach(function: Calling.doing(body))) { _ in () }
  }

  /// The first element, after which the upstream is cancelled; `nil` of an empty stream.
  public static func first() -> Self where Mat == Completion<In?> {
    Sink(sinkEnd(last: false)) { $0.first.map { look($0) } }
  }

  /// The last element; `nil` of an empty stream.
  public static func last() -> Self where Mat == Completion<In?> {
    Sink(sinkEnd(last: true)) { $0.first.map { look($0) } }
  }

  /// Asks for everything and keeps nothing.
  public static func ignore() -> Self where Mat == Completion<Void> {
    Sink(sinkIgnore()) { _ in () }
  }

  /// Elements taken by hand, through an edge: the pipeline runs ahead by its capacity. The ``Outlet`` is
  /// an asynchronous sequence, so this is the sink into a channel.
  ///
  /// Throws `invalidArgument` for a capacity of 0.
  public static func outlet(
    _ edge: EdgeOptions = .init()
  ) throws(SluicegateError) -> Self where Mat == Outlet<In> {
    let core = try translating { try sinkOutlet(edge: edge.facts) }
    return Sink(core, .one { run, index in Outlet(try run.outlet(index: index)) })
  }
}

/// What a pipeline gives, taken by hand: an asynchronous sequence. Taking is what makes demand: the
/// pipeline runs ahead by the outlet's capacity and no further. Each element reaches one taker; releasing
/// the last reference cancels the pipeline.
public final class Outlet<Element: Sendable>: AsyncSequence, Sendable {
  private let core: OutletCore
  init(_ core: OutletCore) { self.core = core }

  /// Takes the next element; `nil` at the end.
  ///
  /// Throws what the pipeline failed with, the same each time; `timedOut`; `CancellationError`. Nothing
  /// is taken by the last two.
  public func next(within limit: Duration? = nil) async throws -> Element? {
    let recv = core.recv()
    try await recv.finish(within: limit)
    return recv.tokens().first.map { look($0) }
  }

  /// Cancels the pipeline and releases what the outlet holds.
  public func cancel() { core.cancel() }

  /// Elements that wait to be taken.
  public var held: UInt64 { core.held() }

  /// Takes the outlet's elements, one by one.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let outlet: Outlet
    /// The next element; `nil` at the end.
    public mutating func next() async throws -> Element? { try await outlet.next() }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(outlet: self) }
}
