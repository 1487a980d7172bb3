internal import SluicegateCore

/// How values are laid into chunks. Modes are not mixed within a stream.
public enum StreamMode: Sendable, Hashable {
  /// One complete value a chunk. Byte strings have no boundaries: the consumer joins them.
  case scalar
  /// Items of any size, each with optional metadata, cut into as many chunks as it takes.
  case sequence
}

/// One value, as it was sent.
public struct Item: Sendable, Hashable {
  /// The value.
  public var value: Value
  /// Its metadata, a map.
  public var meta: Value?

  /// An item.
  public init(value: Value, meta: Value? = nil) {
    self.value = value
    self.meta = meta
  }
}

/// What is known of a stream.
public struct StreamInfo: Sendable, Hashable {
  /// Its name within the request and direction; the empty text differs from an absent name.
  public let id: String?
  /// The media it carries, for example `media:blob`.
  public let media: String
  /// The output it is, for an output that is not the main one.
  public let output: String?
  /// How values are laid into chunks.
  public let mode: StreamMode
  /// No promise that it ends by itself (L16).
  public let isUnbounded: Bool
  /// Metadata of the stream, a map.
  public let meta: Value?

  init(_ facts: StreamFacts) {
    id = facts.id
    media = facts.media
    output = facts.output
    mode = facts.sequence ? .sequence : .scalar
    isUnbounded = facts.unbounded
    meta = facts.meta.flatMap { data in
      data.withUnsafeBytes { try? Value(encoded: $0) }
    }
  }
}

/// One stream's figures at one moment.
public struct StreamStats: Sendable, Hashable {
  /// Chunks so far.
  public let chunks: UInt64
  /// Payload bytes so far.
  public let bytes: UInt64
  /// Chunks that may still be sent, or may still arrive, before the next grant.
  public let window: UInt64
  /// Chunks the window was opened with.
  public let initialCredit: UInt64
  /// Time spent waiting for credit (output), or with nothing to read (input).
  public let stalled: Duration
  /// True once the stream has ended, in whatever way.
  public let isEnded: Bool

  init(_ figures: StreamFigures) {
    chunks = figures.chunks
    bytes = figures.bytes
    window = figures.window
    initialCredit = figures.initialCredit
    stalled = .nanoseconds(Int64(clamping: figures.stalledNanos))
    isEnded = figures.ended
  }
}

/// What a link allows; the smaller proposal of both ends wins.
public struct Limits: Sendable, Hashable {
  /// Largest encoded frame, in bytes.
  public var maxFrame: UInt64
  /// Most bytes of data in a chunk.
  public var maxChunk: UInt64
  /// Most out-of-order frames held for each flow, at a relay.
  public var maxReorderBuffer: UInt64
  /// Chunks that a stream may send before the first grant (L9).
  public var initialCredit: UInt64

  /// The protocol's defaults, which the arguments change.
  public init(
    maxFrame: UInt64? = nil, maxChunk: UInt64? = nil, maxReorderBuffer: UInt64? = nil,
    initialCredit: UInt64? = nil
  ) {
    let defaults = defaultLimits()
    self.maxFrame = maxFrame ?? defaults.maxFrame
    self.maxChunk = maxChunk ?? defaults.maxChunk
    self.maxReorderBuffer = maxReorderBuffer ?? defaults.maxReorderBuffer
    self.initialCredit = initialCredit ?? defaults.initialCredit
  }

  init(_ facts: LimitFacts) {
    self.init(
      maxFrame: facts.maxFrame, maxChunk: facts.maxChunk,
      maxReorderBuffer: facts.maxReorderBuffer, initialCredit: facts.initialCredit)
  }

  var facts: LimitFacts {
    LimitFacts(
      maxFrame: maxFrame, maxChunk: maxChunk, maxReorderBuffer: maxReorderBuffer,
      initialCredit: initialCredit)
  }
}
