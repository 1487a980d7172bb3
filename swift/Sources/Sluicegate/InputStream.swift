internal import SluicegateCore

/// Values in: an `AsyncSequence` that is pulled.
///
/// ```swift
/// for try await item in input { print(item.value) }
/// ```
///
/// Asking is what grants credit (L10): grants go out in batches of half the window, and whatever is
/// pending goes out before any wait. Nothing is read ahead of you: at most the window's chunks, and
/// the one item being put together, are held. Several tasks may consume, each value reaches one of
/// them. A waiting task holds no thread.
///
/// Values that came before the end are delivered before it. A stream that fails throws the same
/// ``SluicegateError`` at every later call. At a caller, releasing the last reference before the end
/// cancels the call.
public final class InputStream: AsyncSequence, Sendable {
  public typealias Element = Item

  let core: InputCore

  init(_ core: InputCore) { self.core = core }

  /// What is known of the stream.
  public var info: StreamInfo { StreamInfo(core.info()) }

  /// The next value; `nil` at the clean end.
  ///
  /// Throws what the stream failed with; `timedOut` if `limit` passes first; `CancellationError` if
  /// the task is cancelled. No value is lost by either of the last two.
  public func recv(within limit: Duration? = nil) async throws -> Item? {
    let next = core.recv()
    try await next.finish(within: limit)
    return try next.items().first
  }

  /// Pulls the stream, item by item.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let stream: InputStream

    /// The next value; `nil` at the clean end. Throws as ``InputStream/recv(within:)``.
    public mutating func next() async throws -> Item? { try await stream.recv() }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(stream: self) }

  /// The contents of a stream of byte strings, piece by piece, as they come.
  public var chunks: Chunks { Chunks(stream: self) }

  /// See ``InputStream/chunks``.
  public struct Chunks: AsyncSequence, Sendable {
    public typealias Element = [UInt8]
    let stream: InputStream

    public struct AsyncIterator: AsyncIteratorProtocol {
      let stream: InputStream

      /// The next bytes; `nil` at the clean end. Throws `wrongMode` if a value is not a byte string.
      public mutating func next() async throws -> [UInt8]? {
        guard let item = try await stream.recv() else { return nil }
        guard let bytes = item.value.bytes else {
          throw SluicegateError(.wrongMode, "a stream of bytes was expected, \(item.value) came")
        }
        return bytes
      }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(stream: stream) }
  }

  /// Everything as one byte string. Throws `unbounded` for a stream without end (L16), `wrongMode`
  /// for a value that is not a byte string.
  public func collectBytes() async throws -> [UInt8] {
    try await all(core.collectBytes()).first?.value.bytes ?? []
  }

  /// Everything as one text. Throws as ``collectBytes()`` does.
  public func collectText() async throws -> String {
    try await all(core.collectText()).first?.value.text ?? ""
  }

  /// Everything as a list. Throws `unbounded` for a stream without end (L16).
  public func collectItems() async throws -> [Item] { try await all(core.collectItems()) }

  private func all(_ operation: ItemsOp) async throws -> [Item] {
    try await operation.finish()
    return try operation.items()
  }

  /// Allows the stream `limit` from now until its end has come; `nil` is no limit. Then its request ends
  /// as by ``Call/limit(_:)`` or ``Request/limit(_:)``, whether somebody waits for a value or values lie
  /// unread. Never waits.
  public func limit(_ limit: Duration?) throws(SluicegateError) {
    try translating { try core.limit(micros: limitMicroseconds(limit)) }
  }

  /// Stops reading. At a caller this cancels the call; at a handler the rest of the input is left to
  /// the end of the request.
  public func cancel() { core.cancel() }

  /// The stream's figures now.
  public func stats() throws(SluicegateError) -> StreamStats {
    StreamStats(try translating { try core.stats() })
  }

  /// Moves everything to `output` and closes that at the clean end. Answers how many chunks or items
  /// went through.
  ///
  /// Credit is end to end (L11): a chunk is given back upstream once it was taken downstream. Nothing
  /// is decoded on the way. Throws what either side fails with.
  @discardableResult
  public func forward(to output: OutputStream) async throws -> UInt64 {
    try await forwardStream(from: core, to: output.core).answer()
  }
}
