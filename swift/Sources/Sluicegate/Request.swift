internal import SluicegateCore

/// One call that a handler serves. Any task may use it.
///
/// It ends once: done when the handler returns, failed when it throws. The handler's task is cancelled
/// when the request has to stop, because the caller cancelled it or the host is gone (L17).
public final class Request: Sendable {
  private let core: RequestCore

  /// The request's id: a lower-case uuid or a decimal number.
  public let id: String

  /// The cap that was called.
  public let cap: String

  init(_ core: RequestCore) {
    self.core = core
    id = core.id()
    cap = core.cap()
  }

  /// The next argument stream, as they open; `nil` when the caller has ended its body.
  public func nextInput() async throws -> InputStream? {
    try await core.nextInput().answer().map(InputStream.init)
  }

  /// The next argument stream, for a handler that needs one. Throws `protocol` with the code
  /// `MISSING_ARGUMENT` if the caller ends its body without one.
  public func input() async throws -> InputStream { try await required(core.input()) }

  /// The main output; the same stream each time. Throws `invalidArgument` if the cap declares none.
  public var output: OutputStream {
    get throws(SluicegateError) { OutputStream(try translating { try core.output() }) }
  }

  /// Another declared output, by its media. Throws `invalidArgument` if the cap declares no such.
  public func output(_ media: String) throws(SluicegateError) -> OutputStream {
    OutputStream(try translating { try core.outputFor(media: media) })
  }

  /// A detached emitter on the main output, for a task that outlives the handler's own.
  public func streamSender() throws(SluicegateError) -> StreamSender {
    StreamSender(try translating { try core.streamSender() })
  }

  /// Says how far the handler is, 0 to 1. Costs no credit and never waits (L14).
  public func progress(_ value: Double, _ message: String = "") {
    core.progress(value: value, message: message)
  }

  /// Says something to people, about whoever `class` names. Costs no credit and never waits (L14).
  public func log(
    _ message: String, level: String = "info",
    class: SluicegateError.AttributionClass = .internal
  ) {
    core.log(level: level, class: `class`.rawValue, message: message)
  }

  /// Calls a cap through the host. Throws the reason if the connection is over. `limit` is for the whole
  /// call, see ``Call/limit(_:)``.
  public func peer(_ cap: String, limit: Duration? = nil) throws(SluicegateError) -> Call {
    let call = Call(try translating { try core.peer(cap: cap) })
    if let limit { try call.limit(limit) }
    return call
  }

  /// Allows the request `limit` from now until it has ended; `nil` is no limit.
  ///
  /// Then the caller is told by code `DEADLINE_EXCEEDED`, every wait of the request ends (L13), its task
  /// is cancelled, and what the handler still does for it has no effect. Never waits.
  public func limit(_ limit: Duration?) throws(SluicegateError) {
    try translating { try core.limit(micros: limitMicroseconds(limit)) }
  }

  /// Why the handler has to stop, if it has.
  public var cancelReason: SluicegateError? { core.isCancelled().map(SluicegateError.init) }

  /// True once the handler has to stop.
  public var isCancelled: Bool { cancelReason != nil }

  /// Waits until the handler has to stop, and answers why; kind `closed` if it ended before.
  ///
  /// The handler's own task is cancelled for the same reason at about the same time, and is answered
  /// all the same. A task that is cancelled for any other reason throws `CancellationError`.
  public func cancelled() async throws -> SluicegateError {
    do {
      return SluicegateError(try await core.cancelled().answer())
    } catch let cancellation as CancellationError {
      guard let reason = cancelReason else { throw cancellation }
      return reason
    }
  }

  /// Ends the request as done, with a final progress and a last word. Every output is closed first,
  /// which may wait for credit. A handler that has nothing to add just returns.
  public func finish(progress: Double? = nil, message: String? = nil) async throws {
    try await core.finish(progress: progress, message: message).finish()
  }

  /// Ends the request as failed; what a handler throws comes here. Never waits. The first end stays.
  public func fail(_ error: any Error) { core.fail(error: SluicegateError(describing: error).fault) }
}

/// The stream of an operation that answers one or fails.
func required(_ operation: InputOp) async throws -> InputStream {
  guard let core = try await operation.answer() else {
    throw SluicegateError(.endOfStream, SluicegateError.Kind.endOfStream.text)
  }
  return InputStream(core)
}
