internal import SluicegateCore

/// Values out. Any task or thread may emit; what waits for credit (L9) holds no thread.
///
/// The first emission starts the stream in the mode of that call: ``write(_:)`` and ``emit(_:)`` are
/// scalar, ``emitItem(_:meta:)`` is a sequence. Every call throws the reason as a ``SluicegateError``
/// once the request has ended (L13), and `CancellationError` if the task is cancelled; an item that is
/// cancelled in its middle breaks the stream.
public final class OutputStream: Sendable {
  let core: OutputCore

  init(_ core: OutputCore) { self.core = core }

  /// What is known of the stream.
  public func info() throws(SluicegateError) -> StreamInfo {
    StreamInfo(try translating { try core.info() })
  }

  /// Opens the stream before its first emission, to choose what that cannot: unbounded, or with
  /// metadata. Never waits. Throws `invalidArgument` if the stream was started already.
  public func start(
    mode: StreamMode = .scalar, unbounded: Bool = false, meta: Value? = nil
  ) throws(SluicegateError) {
    let facts = StartFacts(
      sequence: mode == .sequence, unbounded: unbounded, meta: (meta?.encoded()).map { .init($0) })
    try translating { try core.start(options: facts) }
  }

  /// Writes bytes: an array, a slice, `Data`, the `utf8` of a text. Copied once, before any wait.
  ///
  /// Small writes are held and sent together: when 4096 bytes are there, when the oldest is 20 ms
  /// old at the next write, at ``flush()`` and at ``close()``. Empty writes send nothing.
  public func write(_ bytes: some Sequence<UInt8> & Sendable) async throws {
    try await lending(bytes) { core.write(address: $0, count: $1) }.finish()
  }

  /// Emits one value. Byte strings go as by ``write(_:)``, long texts are split between characters,
  /// any other value is one chunk.
  public func emit(_ value: Value) async throws {
    try await translating {
      try lending(value.encoded()) { try core.emit(address: $0, count: $1) }
    }.finish()
  }

  /// Emits one item, of any size, to a sequence stream; `meta` is a map.
  public func emitItem(_ value: Value, meta: Value? = nil) async throws {
    try await translating {
      try lendingItem(value, meta) {
        try core.emitItem(address: $0, count: $1, metaAddress: $2, metaCount: $3)
      }
    }.finish()
  }

  /// Sends what is held.
  public func flush() async throws { try await core.flush().finish() }

  /// Sends what is held and ends the stream; one that never started is an empty one. May be called
  /// again.
  public func close() async throws { try await core.close().finish() }

  /// Allows the stream `limit` from now until it is closed; `nil` is no limit. Then its request ends as
  /// by ``Call/limit(_:)`` or ``Request/limit(_:)``, whatever is waited for: credit, room on the link, or
  /// nothing just now. Never waits.
  public func limit(_ limit: Duration?) throws(SluicegateError) {
    try translating { try core.limit(micros: limitMicroseconds(limit)) }
  }

  /// A detached emitter on the same stream, for a task that outlives the handler's own.
  public func sender() -> StreamSender { StreamSender(core.sender()) }

  /// The stream's figures now.
  public func stats() throws(SluicegateError) -> StreamStats {
    StreamStats(try translating { try core.stats() })
  }
}

/// A detached emitter: an ``OutputStream`` for a task or callback that outlives the handler. It
/// cannot start or close the stream by itself; its calls throw the reason once the request has ended.
public final class StreamSender: Sendable {
  private let core: SenderCore

  init(_ core: SenderCore) { self.core = core }

  /// As ``OutputStream/write(_:)``.
  public func write(_ bytes: some Sequence<UInt8> & Sendable) async throws {
    try await lending(bytes) { core.write(address: $0, count: $1) }.finish()
  }

  /// As ``OutputStream/emit(_:)``.
  public func emit(_ value: Value) async throws {
    try await translating {
      try lending(value.encoded()) { try core.emit(address: $0, count: $1) }
    }.finish()
  }

  /// As ``OutputStream/emitItem(_:meta:)``.
  public func emitItem(_ value: Value, meta: Value? = nil) async throws {
    try await translating {
      try lendingItem(value, meta) {
        try core.emitItem(address: $0, count: $1, metaAddress: $2, metaCount: $3)
      }
    }.finish()
  }

  /// As ``OutputStream/flush()``.
  public func flush() async throws { try await core.flush().finish() }
}

/// Lends a value and its metadata; a count of 0 is no metadata.
private func lendingItem<Answer>(
  _ value: Value, _ meta: Value?, to call: (UInt64, UInt64, UInt64, UInt64) throws -> Answer
) rethrows -> Answer {
  try lending(value.encoded()) { address, count in
    try lending(meta?.encoded() ?? []) { metaAddress, metaCount in
      try call(address, count, metaAddress, metaCount)
    }
  }
}
