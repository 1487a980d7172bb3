internal import SluicegateCore

/// The gates of the streams that are open for sending, by request and stream name.
///
/// A stream name is absent or a text; the empty text is a name. Nothing here waits. Any number of
/// tasks and threads may use one router at once.
public final class Router: Sendable {
  /// What became of a grant.
  public enum Delivery: Sendable, Hashable {
    /// It credited a gate.
    case granted
    /// The request is known, and the grant names none of its streams. Ignored.
    case noStream
    /// The request is not known: a straggler or a stray, the caller's to classify.
    case noRequest
  }

  private let core = RouterCore()

  /// A router that knows no request.
  public init() {}

  /// Enters a stream that is open for sending. Registering a name again replaces the gate; the one
  /// before is closed with the reason `REPLACED`, so that nobody waits on it for ever.
  public func register(request: String, stream: String?, gate: Gate) {
    core.register(request: request, stream: stream, gate: gate.core)
  }

  /// Takes a stream out once it is no longer open for sending. Its gate stays as it is.
  public func unregister(request: String, stream: String?) {
    core.unregister(request: request, stream: stream)
  }

  /// Credits the stream that a grant names, or the request's only one if it names none.
  @discardableResult
  public func grant(request: String, stream: String? = nil, _ n: UInt64) -> Delivery {
    switch core.grant(request: request, stream: stream, n: n) {
    case .granted: .granted
    case .noStream: .noStream
    case .noRequest: .noRequest
    }
  }

  /// Ends a request: closes all its gates, which releases every waiter (L13).
  public func closeRequest(_ request: String, reason: SluicegateError) {
    core.closeRequest(request: request, reason: reason.fault)
  }

  /// Ends a request with a text as the reason's code.
  public func closeRequest(_ request: String, reason: String) {
    closeRequest(request, reason: SluicegateError(.closed, "", code: reason))
  }

  /// Ends every request, for a connection that is gone.
  public func closeAll(reason: SluicegateError) { core.closeAll(reason: reason.fault) }

  /// How many requests have streams open for sending.
  public var count: Int { Int(clamping: core.count()) }
}
