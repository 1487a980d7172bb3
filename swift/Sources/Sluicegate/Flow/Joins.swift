internal import SluicegateCore

extension Source {
  /// Pairs: one of each side is asked for, and the stream ends with the side that ends first.
  public func zip<Other: Sendable, M>(_ other: Source<Other, M>) -> Source<(Out, Other), Mat> {
    zip(other) { ($0, $1) }
  }

  /// The same, each pair through `combine`.
  public func zip<Other: Sendable, M, Both: Sendable>(
    _ other: Source<Other, M>, _ combine: @escaping @Sendable (Out, Other) throws -> Both
  ) -> Source<Both, Mat> {
    zipMat(other, combine) { left, _ in left }
  }

  /// The same; `keep` makes one materialised value of both.
  public func zipMat<Other: Sendable, M, Both: Sendable, Kept>(
    _ other: Source<Other, M>, _ combine: @escaping @Sendable (Out, Other) throws -> Both,
    _ keep: @escaping @Sendable (Mat, M) -> Kept
  ) -> Source<Both, Kept> {
    let pack = Calling { .values(tokens: [give(try combine(look($0[0]), look($0[1])))]) }
    let zipped = sourceZip(left: core, right: other.core, pack: pack)
    return Source<Both, Kept>(zipped, yield.then(other.yield, keep))
  }

  /// Elements of both, in turns.
  public func merge<M>(_ other: Source<Out, M>) -> Self {
    Source(
      sourceMerge(first: core, others: [other.core], how: .fair), yield.first(of: [other.yield.count]))
  }

  /// Elements of all, this source's whenever it has one.
  public func mergePreferred<M>(_ others: [Source<Out, M>]) -> Self {
    Source(
      sourceMerge(first: core, others: others.map(\.core), how: .prefer),
      yield.first(of: others.map(\.yield.count)))
  }

  /// This source, and once it has completed the other.
  public func concat<M>(_ next: Source<Out, M>) -> Self {
    Source(
      sourceMerge(first: core, others: [next.core], how: .concat), yield.first(of: [next.yield.count]))
  }

  /// One element of each of `sources`, as an array. Ends with the source that ends first.
  public static func combine<Each, M>(_ sources: [Source<Each, M>]) -> Source<[Each], [M]>
  where Out == [Each], Mat == [M] {
    let pack = Calling.packing { (group: [Each]) in group }
    let groups = sourceCombine(sources: sources.map(\.core), pack: pack)
    return Source<[Each], [M]>(groups, Yield<M>.all(sources.map(\.yield)))
  }

  /// The elements of all `sources`, in turns, with the values of all. Without sources it ends at once.
  public static func mergeAll<M>(_ sources: [Source<Out, M>]) -> Self where Mat == [M] {
    all(sources, .fair)
  }

  /// The elements of all `sources`, the first one's whenever it has one, with the values of all. Without
  /// sources it ends at once.
  public static func mergePreferredAll<M>(_ sources: [Source<Out, M>]) -> Self where Mat == [M] {
    all(sources, .prefer)
  }

  /// All elements of the first of `sources`, then those of the next, with the values of all. Without
  /// sources it ends at once.
  public static func concatAll<M>(_ sources: [Source<Out, M>]) -> Self where Mat == [M] {
    all(sources, .concat)
  }

  private static func all<M>(_ sources: [Source<Out, M>], _ how: MergeFacts) -> Self
  where Mat == [M] {
    guard let first = sources.first else {
      return Source(Source<Out, NotUsed>.empty().core, Yield(count: 0) { _, _ in [] })
    }
    let others = sources.dropFirst().map(\.core)
    let merged = sourceMerge(first: first.core, others: Array(others), how: how)
    return Source(merged, Yield<M>.all(sources.map(\.yield)))
  }
}

extension Yield {
  /// This value, and so many of others behind it that nobody asks for.
  func first(of others: [UInt64]) -> Self {
    Yield(count: others.reduce(count, +), pick: pick)
  }

  static func all(_ parts: [Yield<Mat>]) -> Yield<[Mat]> {
    Yield<[Mat]>(count: parts.reduce(0) { $0 + $1.count }) { run, offset in
      var at = offset
      return try parts.map { part in
        defer { at += part.count }
        return try part.pick(run, at)
      }
    }
  }
}

extension Sink {
  /// Everything to each of `sinks`, which are behind edges of their own. A slow one slows all; one that
  /// cancels leaves the others running.
  public static func broadcast<M>(_ sinks: [Sink<In, M>]) -> Self where Mat == [M] {
    Sink(sinkFan(how: .broadcast, sinks: sinks.map(\.core)), Yield<M>.all(sinks.map(\.yield)))
  }

  /// Each element to one of `sinks` that wants it.
  public static func balance<M>(_ sinks: [Sink<In, M>]) -> Self where Mat == [M] {
    Sink(sinkFan(how: .balance, sinks: sinks.map(\.core)), Yield<M>.all(sinks.map(\.yield)))
  }

  /// Shares what comes with everybody who subscribes at the ``Hub``, which holds at most `capacity`
  /// elements that it has not shared and keeps the last `replay` for newcomers.
  ///
  /// Throws `invalidArgument` for a capacity of 0.
  public static func broadcastHub(
    capacity: UInt64 = 16, replay: UInt64 = 0
  ) throws(SluicegateError) -> Self where Mat == Hub<In> {
    let core = try translating { try sinkHub(capacity: capacity, replay: replay) }
    return Sink(core, .one { run, index in Hub(try run.hub(index: index)) })
  }
}

/// What a hub does about a subscriber that has not asked and whose buffer is full.
public enum HubPolicy: Sendable, Hashable {
  /// It waits: nothing is lost, and everybody goes at this subscriber's pace.
  case wait
  /// It waits so long at most for each element; then the subscription ends with `bufferOverflow`.
  case waitAtMost(Duration)
  /// This subscriber loses elements, counted, and holds nobody up.
  case drop(Overflow)
  /// The subscription ends at once with `bufferOverflow`.
  case disconnect

  var facts: HubPolicyFacts {
    switch self {
    case .wait: .wait
    case .waitAtMost(let limit): .waitAtMost(micros: microseconds(limit))
    case .drop(let overflow): .drop(overflow: overflow.facts)
    case .disconnect: .disconnect
    }
  }
}

/// One running source, and subscribers that come and go. The hub asks for as much as the largest demand of
/// any of them. While nobody listens it asks for nothing and holds the source.
public final class Hub<Element: Sendable>: Sendable {
  /// What is seen of one subscriber.
  public struct Subscriber: Sendable, Hashable {
    /// The name of its first stage.
    public let name: String
    /// Asked for and not shared with it yet.
    public let demand: UInt64
    /// Shared with it and not taken yet.
    public let held: UInt64
    /// Lost by its policy.
    public let lost: UInt64
  }

  private let core: HubCore
  init(_ core: HubCore) { self.core = core }

  /// A source of what is shared once it runs. It runs once; another run throws `alreadySubscribed`.
  ///
  /// Throws `invalidArgument` for a capacity of 0.
  public func subscribe(
    _ policy: HubPolicy = .wait, capacity: UInt64 = 16
  ) throws(SluicegateError) -> Source<Element, NotUsed> {
    let source = try translating { try core.subscribe(policy: policy.facts, capacity: capacity) }
    return Source(source, .none())
  }

  /// Whether the source has ended and everything was shared.
  public var isOver: Bool { core.isOver() }

  /// Everybody who listens now, in the order they came.
  public var subscribers: [Subscriber] {
    core.subscribers().map {
      Subscriber(name: $0.name, demand: $0.demand, held: $0.held, lost: $0.lost)
    }
  }
}

/// One running source that many feed, each by an edge of its own and in turns. A producer that fails
/// leaves the others running, and is counted.
public final class MergeHub<Element: Sendable>: Sendable {
  private let core: MergeHubCore
  init(_ core: MergeHubCore) { self.core = core }

  /// A sink into the source. Each run of it attaches one producer more.
  public var sink: Sink<Element, NotUsed> { Sink(core.sink(), .none()) }

  /// No more producers: the source completes with the last that is attached.
  public func complete() { core.complete() }

  /// Producers that have failed so far.
  public var failures: UInt64 { core.failures() }

  /// What the last of them failed with; `nil` if none has.
  public var lastFailure: SluicegateError? { core.lastFailure().map { SluicegateError($0) } }
}

extension Source where Mat == MergeHub<Out> {
  /// What the sinks of its control give.
  ///
  /// Throws `invalidArgument` for a capacity of 0.
  public static func mergeHub(_ edge: EdgeOptions = .init()) throws(SluicegateError) -> Self {
    let core = try translating { try sourceMergeHub(edge: edge.facts) }
    return Source(core, .one { run, index in MergeHub(try run.mergeHub(index: index)) })
  }
}
