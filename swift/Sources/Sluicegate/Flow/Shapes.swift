internal import SluicegateCore

extension Flow where Out == [In], Mat == NotUsed {
  /// Groups of `n` elements; the last may be smaller. With `within`, a group goes out that long after its
  /// first element at the latest. Never without demand.
  ///
  /// Throws `invalidArgument` for groups of nothing.
  public static func batch(_ n: UInt64, within: Duration? = nil) throws(SluicegateError) -> Self {
    let pack = Calling.packing { (group: [In]) in group }
    let core = try translating {
      try flowBatch(n: n, withinMicros: within.map(microseconds), pack: pack)
    }
    return Flow(core, .none())
  }

  /// Groups of at most `limit` bytes, as `size` tells them; a larger element is a group of its own.
  /// Elements are asked for one by one, while a group is wanted; one at most is held that belongs to the
  /// next group.
  ///
  /// Throws `invalidArgument` for 0 bytes.
  public static func batch(
    bytes limit: UInt64, size: @escaping @Sendable (In) -> UInt64
  ) throws(SluicegateError) -> Self {
    let pack = Calling.packing { (group: [In]) in group }
    let core = try translating {
      try flowBatchBytes(limit: limit, size: Calling.sizing(size), pack: pack)
    }
    return Flow(core, .none())
  }

  /// Windows of `size` elements that begin every `step` elements.
  ///
  /// Throws `invalidArgument` for 0.
  public static func sliding(_ size: UInt64, step: UInt64 = 1) throws(SluicegateError) -> Self {
    let pack = Calling.packing { (group: [In]) in group }
    let core = try translating { try flowSliding(size: size, step: step, pack: pack) }
    return Flow(core, .none())
  }
}

extension Flow where Mat == NotUsed {
  /// Each element as some: the next is pulled only once these have left.
  public static func flatMap<Outputs: Sequence>(
    _ transform: @escaping @Sendable (In) throws -> Outputs
  ) -> Self where Outputs.Element == Out {
    Flow(flowExpand(function: Calling.spreading(transform)), .none())
  }

  /// `transform` for up to `n` elements at once, each on a thread of the scope; in order, or as they are
  /// done.
  ///
  /// Throws `invalidArgument` for 0.
  public static func mapParallel(
    _ n: UInt64, ordered: Bool = true, _ transform: @escaping @Sendable (In) throws -> Out
  ) throws(SluicegateError) -> Self {
    let function = Calling.mapping(transform)
    let core = try translating {
      try flowParallel(n: n, ordered: ordered, function: function)
    }
    return Flow(core, .none())
  }

  /// Never holds the upstream back: what comes before the next output is wanted is folded into it.
  public static func conflate(
    _ seed: @escaping @Sendable (In) throws -> Out,
    _ fold: @escaping @Sendable (Out, In) throws -> Out
  ) -> Self {
    Flow(flowConflate(seed: Calling.mapping(seed), fold: Calling.folding(fold)), .none())
  }
}

/// What ``Flow/timeout(_:_:)`` limits.
public enum TimeoutKind: Sendable, Hashable {
  /// The time between two elements.
  case idle
  /// The time to the first element.
  case initial
  /// The time to the end.
  case completion
}

extension Flow where In == Out, Mat == NotUsed {
  /// A buffer that is filled up again once `mark` elements have left, three quarters unless told
  /// otherwise: never more than `size` are held and asked for.
  ///
  /// Throws `invalidArgument` for a size of 0.
  public static func page(_ size: UInt64, mark: UInt64? = nil) throws(SluicegateError) -> Self {
    Flow(try translating { try flowPage(size: size, mark: mark) }, .none())
  }

  /// All from the first element on that `skip` says false of.
  public static func drop(while skip: @escaping @Sendable (In) throws -> Bool) -> Self {
    Flow(flowDropWhile(function: Calling.testing(skip)), .none())
  }

  /// At most `elements` in each `per`, after a burst of `burst`.
  ///
  /// Throws `invalidArgument` for 0.
  public static func throttle(
    _ elements: UInt64, per: Duration, burst: UInt64 = 1
  ) throws(SluicegateError) -> Self {
    let core = try translating {
      try flowThrottle(elements: elements, perMicros: microseconds(per), burst: burst)
    }
    return Flow(core, .none())
  }

  /// The latest element, once none has come for `quiet`; those that it displaced are dropped.
  public static func debounce(_ quiet: Duration) -> Self {
    Flow(flowDebounce(quietMicros: microseconds(quiet)), .none())
  }

  /// Each element `by` later. Up to `room` elements are held meanwhile; then the upstream waits.
  ///
  /// Throws `invalidArgument` for no room.
  public static func delay(_ by: Duration, room: UInt64 = 16) throws(SluicegateError) -> Self {
    let core = try translating { try flowDelay(byMicros: microseconds(by), room: room) }
    return Flow(core, .none())
  }

  /// What comes within `time` of the start; then the upstream is cancelled.
  public static func prefix(within time: Duration) -> Self {
    Flow(flowWithin(timeMicros: microseconds(time), takes: true), .none())
  }

  /// What comes later than `time` after the start; what comes before is dropped.
  public static func dropFirst(within time: Duration) -> Self {
    Flow(flowWithin(timeMicros: microseconds(time), takes: false), .none())
  }

  /// Fails a stream that is too slow with ``SluicegateError/Kind/timedOut``.
  public static func timeout(_ kind: TimeoutKind, _ limit: Duration) -> Self {
    let what: TimeoutFacts =
      switch kind {
      case .idle: .idle
      case .initial: .initial
      case .completion: .completion
      }
    return Flow(flowTimeout(what: what, limitMicros: microseconds(limit)), .none())
  }

  /// If the upstream fails, `last` may make a last element of the error; then the stream completes.
  public static func recover(
    _ last: @escaping @Sendable (SluicegateError) -> Out?
  ) -> Self {
    Flow(
      flowRecover(recovery: Recovering { fault in last(SluicegateError(fault)).map { give($0) } }),
      .none())
  }

  /// If the upstream fails, goes on with `source`, whose own failure passes.
  public static func recover<Other>(with source: Source<Out, Other>) -> Self {
    Flow(flowRecoverWith(other: source.core), .none())
  }
}

extension Source {
  /// ``Flow/batch(_:within:)`` behind this source.
  public func batch(_ n: UInt64, within: Duration? = nil) throws(SluicegateError) -> Source<[Out], Mat> {
    via(try .batch(n, within: within))
  }

  /// ``Flow/batch(bytes:size:)`` behind this source.
  public func batch(
    bytes limit: UInt64, size: @escaping @Sendable (Out) -> UInt64
  ) throws(SluicegateError) -> Source<[Out], Mat> { via(try .batch(bytes: limit, size: size)) }

  /// ``Flow/sliding(_:step:)`` behind this source.
  public func sliding(_ size: UInt64, step: UInt64 = 1) throws(SluicegateError) -> Source<[Out], Mat> {
    via(try .sliding(size, step: step))
  }

  /// ``Flow/flatMap(_:)`` behind this source.
  public func flatMap<Outputs: Sequence>(
    _ transform: @escaping @Sendable (Out) throws -> Outputs
  ) -> Source<Outputs.Element, Mat> where Outputs.Element: Sendable { via(.flatMap(transform)) }

  /// ``Flow/page(_:mark:)`` behind this source.
  public func page(_ size: UInt64, mark: UInt64? = nil) throws(SluicegateError) -> Self {
    via(try .page(size, mark: mark))
  }

  /// ``Flow/mapParallel(_:ordered:_:)`` behind this source.
  public func mapParallel<Next: Sendable>(
    _ n: UInt64, ordered: Bool = true, _ transform: @escaping @Sendable (Out) throws -> Next
  ) throws(SluicegateError) -> Source<Next, Mat> {
    via(try .mapParallel(n, ordered: ordered, transform))
  }

  /// ``Flow/fold(_:_:)`` behind this source.
  public func fold<State: Sendable>(
    _ first: State, _ next: @escaping @Sendable (State, Out) throws -> State
  ) -> Source<State, Mat> { via(.fold(first, next)) }

  /// ``Flow/conflate(_:_:)`` behind this source.
  public func conflate<State: Sendable>(
    _ seed: @escaping @Sendable (Out) throws -> State,
    _ fold: @escaping @Sendable (State, Out) throws -> State
  ) -> Source<State, Mat> { via(.conflate(seed, fold)) }

  /// ``Flow/scan(_:_:)`` behind this source.
  public func scan<State: Sendable>(
    _ first: State, _ next: @escaping @Sendable (State, Out) throws -> State
  ) -> Source<State, Mat> { via(.scan(first, next)) }

  /// ``Flow/throttle(_:per:burst:)`` behind this source.
  public func throttle(
    _ elements: UInt64, per: Duration, burst: UInt64 = 1
  ) throws(SluicegateError) -> Self { via(try .throttle(elements, per: per, burst: burst)) }

  /// ``Flow/delay(_:room:)`` behind this source.
  public func delay(_ by: Duration, room: UInt64 = 16) throws(SluicegateError) -> Self {
    via(try .delay(by, room: room))
  }

  /// ``Flow/prefix(within:)`` behind this source.
  public func prefix(within time: Duration) -> Self { via(.prefix(within: time)) }

  /// ``Flow/dropFirst(within:)`` behind this source.
  public func dropFirst(within time: Duration) -> Self { via(.dropFirst(within: time)) }

  /// ``Flow/debounce(_:)`` behind this source.
  public func debounce(_ quiet: Duration) -> Self { via(.debounce(quiet)) }

  /// ``Flow/timeout(_:_:)`` behind this source.
  public func timeout(_ kind: TimeoutKind, _ limit: Duration) -> Self {
    via(.timeout(kind, limit))
  }

  /// ``Flow/drop(while:)`` behind this source.
  public func drop(while skip: @escaping @Sendable (Out) throws -> Bool) -> Self {
    via(.drop(while: skip))
  }

  /// ``Flow/recover(with:)`` behind this source.
  public func recover<Other>(with source: Source<Out, Other>) -> Self {
    via(.recover(with: source))
  }

  /// ``Flow/recover(_:)`` behind this source.
  public func recover(_ last: @escaping @Sendable (SluicegateError) -> Out?) -> Self {
    via(.recover(last))
  }

  /// The source run again, from its start, each time it fails: at most `attempts` runs in all, with a
  /// wait of `first` before the second, twice as long each time, up to `most`.
  ///
  /// Throws `invalidArgument` for 0 attempts.
  public func retry(
    _ attempts: UInt64, first: Duration = .zero, most: Duration = .seconds(30)
  ) throws(SluicegateError) -> Source<Out, NotUsed> {
    let core = try translating {
      try sourceRetry(
        source: self.core, attempts: attempts, firstMicros: microseconds(first),
        mostMicros: microseconds(most))
    }
    return Source<Out, NotUsed>(core, .none())
  }
}

private final class Recovering: Recovery {
  private let body: @Sendable (Fault) -> UInt64?
  init(_ body: @escaping @Sendable (Fault) -> UInt64?) { self.body = body }
  func recover(fault: Fault) -> UInt64? { body(fault) }
}
