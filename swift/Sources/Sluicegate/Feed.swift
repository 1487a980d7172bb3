internal import SluicegateCore

/// What a live feed does when its ring is full. A device cannot wait.
public enum OverrunPolicy: Sendable, Hashable {
  /// The oldest item makes room, and the next one delivered says so.
  case dropOldest
  /// The feed ends with ``SluicegateError/Kind/feedOverrun`` once what it holds was delivered.
  case fail
}

/// A feed's figures at one moment, in items. `captured == delivered + dropped + held`, always.
public struct FeedStats: Sendable, Hashable {
  /// What the source produced while the feed was capturing.
  public let captured: UInt64
  /// What left the ring for the consumer.
  public let delivered: UInt64
  /// What was lost: overruns, and what was held when the feed was given up.
  public let dropped: UInt64
  /// Of these, how many because the consumer was slower than reality.
  public let overruns: UInt64
  /// What the ring holds now.
  public let held: UInt64
  /// What the ring can hold.
  public let capacity: UInt64
  /// True once nothing is captured any more.
  public let isEnded: Bool

  init(_ figures: FeedFigures) {
    captured = figures.captured
    delivered = figures.delivered
    dropped = figures.dropped
    overruns = figures.overruns
    held = figures.held
    capacity = figures.capacity
    isEnded = figures.ended
  }
}

/// What travels with an item of a feed as its metadata.
public struct FeedMeta: Sendable, Hashable {
  /// A loss, told with the first item that was delivered after it.
  public struct Gap: Sendable, Hashable {
    /// Items lost between the item delivered before and this one.
    public let dropped: UInt64
    /// Presentation time between those two; zero for the first item.
    public let duration: Duration
  }

  /// The item's number in the order of capture, from 0. Lost items have one too.
  public let seq: UInt64
  /// Presentation time, from wherever the source counts.
  public let presentationTime: Duration
  /// When it was captured, since the Unix epoch.
  public let captureTime: Duration
  /// What was lost in front of it, if anything was.
  public let gap: Gap?

  /// What an item says, at either end of a stream; `nil` if it is not a feed's.
  public init?(_ item: Item) {
    guard let meta = item.meta, let facts = feedMeta(meta: .init(meta.encoded())) else { return nil }
    seq = facts.seq
    presentationTime = .microseconds(Int64(clamping: facts.ptsUs))
    captureTime = .microseconds(Int64(clamping: facts.captureTsUs))
    gap = facts.gapDropped.map {
      Gap(dropped: $0, duration: .microseconds(Int64(clamping: facts.gapDurationUs)))
    }
  }
}

/// A live source that cannot be held up, in front of a consumer that may be slow.
///
/// A ring stands between the two. ``push(_:at:capturedAt:)-(Sequence<UInt8>,_,_)`` puts an item in from
/// any thread and never waits; ``recv(within:)``, the asynchronous sequence or ``serve(_:)`` take items
/// out. What the ring loses is counted, and told with the next item delivered: ``FeedMeta/gap``.
///
/// One consumer at a time: while the feed is served, ``recv(within:)`` throws `invalidArgument`.
/// Releasing the last reference gives the feed up.
public final class Feed: AsyncSequence, Sendable {
  public typealias Element = Item

  let core: FeedCore

  /// A feed that your own source pushes into. Throws `invalidArgument` for a ring of nothing.
  /// `format` says what is captured, a map: the metadata of the stream that the feed is served to.
  public init(
    capacity: UInt64 = 64, policy: OverrunPolicy = .dropOldest, format: Value? = nil
  ) throws(SluicegateError) {
    core = try translating { try openFeed(facts: facts(capacity, policy, format)) }
  }

  /// A feed of what a command writes to its stdout: ffmpeg, arecord, anything. Items have `itemBytes`
  /// bytes, such as raw frames; `nil` makes one of each line.
  ///
  /// Exit status 0 ends the feed as it should, any other fails it with the end of the command's
  /// stderr. When the feed ends first, the command and what it started are killed and reaped at once.
  public init(
    _ command: Command, itemBytes: UInt64?, capacity: UInt64 = 64,
    policy: OverrunPolicy = .dropOldest, format: Value? = nil
  ) throws(SluicegateError) {
    core = try translating {
      try commandFeed(
        facts: facts(capacity, policy, format), command: command.facts, itemBytes: itemBytes)
    }
  }

  /// A feed of what a file or pipe gives. `descriptor` is taken over. An `interval` from one item to the
  /// next plays a file as if it were live.
  public init(
    reading descriptor: Int32, itemBytes: UInt64?, interval: Duration? = nil, capacity: UInt64 = 64,
    policy: OverrunPolicy = .dropOldest, format: Value? = nil
  ) throws(SluicegateError) {
    core = try translating {
      try descriptorFeed(
        facts: facts(capacity, policy, format), descriptor: descriptor, itemBytes: itemBytes,
        intervalMicros: interval.map(microseconds))
    }
  }

  /// Bytes were captured: an array, a slice, `Data`. Copied once; never waits for the consumer, for
  /// credit or for the wire.
  ///
  /// Answers false once there is no point in capturing on: the feed was stopped, given up, or has
  /// overrun. `capturedAt` is since the Unix epoch; `nil` is now.
  @discardableResult
  public func push(
    _ bytes: some Sequence<UInt8>, at presentationTime: Duration, capturedAt: Duration? = nil
  ) throws(SluicegateError) -> Bool {
    try translating {
      try lending(bytes) {
        try core.pushBytes(
          address: $0, count: $1, ptsUs: microseconds(presentationTime),
          captureTsUs: capturedAt.map(microseconds))
      }
    }
  }

  /// The same for any value.
  @discardableResult
  public func push(
    value: Value, at presentationTime: Duration, capturedAt: Duration? = nil
  ) throws(SluicegateError) -> Bool {
    try translating {
      try lending(value.encoded()) {
        try core.pushValue(
          address: $0, count: $1, ptsUs: microseconds(presentationTime),
          captureTsUs: capturedAt.map(microseconds))
      }
    }
  }

  /// Stops the capture: what is held is still delivered, then the feed ends as it should. Told at once,
  /// whatever the consumer does. The first end stays.
  public func stop() { core.stop() }

  /// The device failed: what is held is still delivered, then the consumer gets the error.
  public func fail(_ reason: SluicegateError) throws(SluicegateError) {
    try translating { try core.fail(reason: reason.fault) }
  }

  /// Gives the feed up: the source is stopped, and what is held is dropped.
  public func cancel() { core.abandon() }

  /// The next item; `nil` at the clean end.
  ///
  /// Throws what the feed failed with, once what it held was delivered; `timedOut` if `limit` passes
  /// first; `CancellationError` if the task is cancelled. Nothing is taken by the last two.
  public func recv(within limit: Duration? = nil) async throws -> Item? {
    let next = core.recv()
    try await next.finish(within: limit)
    return try next.items().first
  }

  /// Pulls the feed, item by item.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let feed: Feed

    /// The next item; `nil` at the clean end. Throws as ``Feed/recv(within:)``.
    public mutating func next() async throws -> Item? { try await feed.recv() }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(feed: self) }

  /// Delivers the feed to an output until it ends: each item waits here for its credit (L9), never at the
  /// source. The stream is started, unless it was, as an unbounded sequence (L16), and is left open.
  ///
  /// Throws what the feed failed with, or the reason if the request ends (L13), also while the source
  /// is silent. A cancelled task stops delivering; the feed goes on capturing.
  public func serve(_ output: OutputStream) async throws {
    try await core.serve(output: output.core).finish()
  }

  /// The figures now.
  public func stats() throws(SluicegateError) -> FeedStats {
    FeedStats(try translating { try core.stats() })
  }
}

private func facts(_ capacity: UInt64, _ policy: OverrunPolicy, _ format: Value?) -> FeedFacts {
  FeedFacts(
    capacity: capacity, fails: policy == .fail, format: (format?.encoded()).map { .init($0) })
}
