internal import SluicegateCore

/// The materialised value of a stage that has no control.
public struct NotUsed: Sendable, Hashable {
  public init() {}
}

/// The values of a run: how many a blueprint yields, and how its own is made of them.
struct Yield<Mat>: Sendable {
  let count: UInt64
  let pick: @Sendable (RunCore, UInt64) throws -> Mat

  static func none() -> Yield<NotUsed> { Yield<NotUsed>(count: 0) { _, _ in NotUsed() } }

  static func one(_ pick: @escaping @Sendable (RunCore, UInt64) throws -> Mat) -> Yield<Mat> {
    Yield(count: 1, pick: pick)
  }

  func then<Other, Both>(
    _ other: Yield<Other>, _ combine: @escaping @Sendable (Mat, Other) -> Both
  ) -> Yield<Both> {
    Yield<Both>(count: count + other.count) { run, offset in
      combine(try pick(run, offset), try other.pick(run, offset + count))
    }
  }
}

/// A blueprint with one output of elements `Out`; running it yields a control `Mat`. Immutable, and used
/// as often as one likes: each run makes fresh stages, fresh edges and a fresh materialised value.
public struct Source<Out: Sendable, Mat>: Sendable {
  let core: SourceCore
  let yield: Yield<Mat>

  init(_ core: SourceCore, _ yield: Yield<Mat>) {
    self.core = core
    self.yield = yield
  }

  /// This source, then `flow`. Keeps this source's materialised value.
  public func via<Next, Other>(_ flow: Flow<Out, Next, Other>) -> Source<Next, Mat> {
    viaMat(flow) { left, _ in left }
  }

  /// This source, then `flow`; `combine` makes one materialised value of both.
  public func viaMat<Next, Other, Both>(
    _ flow: Flow<Out, Next, Other>, _ combine: @escaping @Sendable (Mat, Other) -> Both
  ) -> Source<Next, Both> {
    Source<Next, Both>(core.via(flow: flow.core), yield.then(flow.yield, combine))
  }

  /// Closed by `sink`. Keeps the sink's materialised value.
  public func to<Other>(_ sink: Sink<Out, Other>) -> RunnableGraph<Other> {
    toMat(sink) { _, right in right }
  }

  /// Closed by `sink`; `combine` makes one materialised value of both.
  public func toMat<Other, Both>(
    _ sink: Sink<Out, Other>, _ combine: @escaping @Sendable (Mat, Other) -> Both
  ) -> RunnableGraph<Both> {
    RunnableGraph(core.to(sink: sink.core), yield.then(sink.yield, combine))
  }

  /// The same under another name in ``Scope/stages()`` and in errors.
  public func named(_ name: String) -> Self { Source(core.named(name: name), yield) }

  /// Runs it, and hands its elements to the caller: `for try await element in try source.run(on: scope)`.
  /// The pipeline runs ahead by `edge` and no further; letting the outlet go cancels it.
  public func run(on scope: Scope, edge: EdgeOptions = .init()) throws(SluicegateError) -> Outlet<Out> {
    try to(try .outlet(edge)).run(on: scope)
  }
}

/// A blueprint from elements `In` to elements `Out`.
public struct Flow<In: Sendable, Out: Sendable, Mat>: Sendable {
  let core: FlowCore
  let yield: Yield<Mat>

  init(_ core: FlowCore, _ yield: Yield<Mat>) {
    self.core = core
    self.yield = yield
  }

  /// This flow, then `next`. Keeps this flow's materialised value.
  public func via<Next, Other>(_ next: Flow<Out, Next, Other>) -> Flow<In, Next, Mat> {
    viaMat(next) { left, _ in left }
  }

  /// This flow, then `next`; `combine` makes one materialised value of both.
  public func viaMat<Next, Other, Both>(
    _ next: Flow<Out, Next, Other>, _ combine: @escaping @Sendable (Mat, Other) -> Both
  ) -> Flow<In, Next, Both> {
    Flow<In, Next, Both>(core.via(next: next.core), yield.then(next.yield, combine))
  }

  /// Closed by `sink`. Keeps the sink's materialised value.
  public func to<Other>(_ sink: Sink<Out, Other>) -> Sink<In, Other> {
    Sink(core.to(sink: sink.core), yield.then(sink.yield) { _, right in right })
  }

  /// The same under another name in ``Scope/stages()`` and in errors.
  public func named(_ name: String) -> Self { Flow(core.named(name: name), yield) }
}

/// A blueprint with one input of elements `In`; running it yields a result or control `Mat`.
public struct Sink<In: Sendable, Mat>: Sendable {
  let core: SinkCore
  let yield: Yield<Mat>

  init(_ core: SinkCore, _ yield: Yield<Mat>) {
    self.core = core
    self.yield = yield
  }
}

/// A blueprint with neither input nor output left: it can run, as often as one likes.
public struct RunnableGraph<Mat>: Sendable {
  let core: GraphCore
  let yield: Yield<Mat>

  init(_ core: GraphCore, _ yield: Yield<Mat>) {
    self.core = core
    self.yield = yield
  }

  /// Runs it on `scope`. If anything cannot be made, everything that this attempt made is taken back.
  ///
  /// Throws `scopeShutDown`, or what a stage failed with while it was made.
  public func run(on scope: Scope) throws(SluicegateError) -> Mat {
    try translating { try yield.pick(core.run(scope: scope.core), 0) }
  }
}

/// What becomes of an element that finds its edge full.
public enum Overflow: Sendable, Hashable, CaseIterable {
  /// It waits for room.
  case backpressure
  /// The oldest element of the queue makes room.
  case dropHead
  /// The newest element of the queue makes room.
  case dropTail
  /// It is discarded itself.
  case dropNew
  /// All elements of the queue make room.
  case dropBuffer
  /// The edge fails with ``SluicegateError/Kind/bufferOverflow``, once what it holds was taken.
  case fail

  var facts: OverflowFacts {
    switch self {
    case .backpressure: .backpressure
    case .dropHead: .dropHead
    case .dropTail: .dropTail
    case .dropNew: .dropNew
    case .dropBuffer: .dropBuffer
    case .fail: .fail
    }
  }
}

/// A queue between two threads: how much it holds, and what happens when that is reached.
public struct EdgeOptions: Sendable, Hashable {
  /// Elements. 0 is refused when the blueprint is made. No memory is reserved for them.
  public var capacity: UInt64
  /// Bytes, beside the elements: an empty edge takes one element of any size. `nil` is no limit. Has an
  /// effect where the size of an element is told, as ``Source/manual(_:size:)`` and
  /// ``Flow/buffer(_:size:)`` do. 0 is refused when the blueprint is made.
  public var bytes: UInt64?
  /// What becomes of an element that finds the edge full.
  public var overflow: Overflow

  /// 16 elements and backpressure, unless told otherwise.
  public init(
    capacity: UInt64 = 16, bytes: UInt64? = nil, overflow: Overflow = .backpressure
  ) {
    self.capacity = capacity
    self.bytes = bytes
    self.overflow = overflow
  }

  var facts: EdgeFacts {
    EdgeFacts(capacity: capacity, bytes: bytes, overflow: overflow.facts)
  }
}
