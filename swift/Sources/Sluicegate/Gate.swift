internal import SluicegateCore

/// A sender's credit for one stream, in chunks (L9).
///
/// Any number of tasks and threads may use one gate at once. A waiting task holds no thread. First
/// come, first served: a large acquire is served before small ones that came later, and
/// ``tryAcquire(_:)`` does not overtake those who wait.
public final class Gate: Sendable {
  let core: GateCore

  /// An open gate with `window` chunks of credit. Zero is a legal gate.
  public init(window: UInt64) { core = GateCore(window: window) }

  /// Takes `n` chunks if that needs no waiting. False means: not now, and nothing was taken.
  ///
  /// Throws the reason as a ``SluicegateError`` if the gate is closed.
  public func tryAcquire(_ n: UInt64 = 1) throws(SluicegateError) -> Bool {
    try translating { try core.tryAcquire(n: n) }
  }

  /// Takes `n` chunks, waiting for them in turn (L9).
  ///
  /// An acquire of more than the window can hold waits until grants have added up to it. A `limit`
  /// of zero makes this a try; `nil`, or more than a clock can hold, is no limit.
  ///
  /// Throws the reason as a ``SluicegateError`` if the gate is or becomes closed (L13), one of the
  /// kind `timedOut` if the limit passes first, and `CancellationError` if the task is cancelled. In
  /// each case nothing was taken and the place in line is given up.
  public func acquire(_ n: UInt64 = 1, within limit: Duration? = nil) async throws {
    try Task.checkCancellation()
    if try tryAcquire(n) { return }
    try await core.acquire(n: n).finish(within: limit)
  }

  /// Adds `n` chunks, up to 2^64 − 1, and wakes those whose turn has come. Never waits. Does nothing
  /// on a closed gate.
  public func grant(_ n: UInt64) { core.grant(n: n) }

  /// Closes the gate: every waiter and every later acquire gets the reason, with `reason` as its
  /// code. The first reason stays. True if this call closed it. Never waits.
  @discardableResult
  public func close(_ reason: String) -> Bool { core.closeWithText(reason: reason) }

  /// Closes the gate with an error as the reason.
  @discardableResult
  public func close(_ reason: SluicegateError) -> Bool { core.close(reason: reason.fault) }

  /// Chunks that could be taken now. A hint while others use the gate; readable after close.
  public var available: UInt64 { core.available() }

  /// True once closed.
  public var isClosed: Bool { core.isClosed() }

  /// Why the gate was closed, if it is.
  public var reason: SluicegateError? { core.reason().map(SluicegateError.init) }

  /// How many stand in line.
  public var waiting: Int { Int(clamping: core.waiting()) }
}
