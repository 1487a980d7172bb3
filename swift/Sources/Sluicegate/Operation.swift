internal import SluicegateCore

/// An operation of core in progress. Releasing it gives it up.
protocol Operation: AnyObject, Sendable {
  /// Asks once. True if it has answered.
  func attempt() throws -> Bool
  /// Asks once; false means that `bell` rings, once, when asking again is worth while.
  func poll(bell: any SluicegateCore.Bell) throws -> Bool
  /// Gives it up: it leaves every line, takes nothing, and its bell does not ring any more.
  func cancel()
}

/// An operation that hands an answer over, once.
protocol Answering: Operation {
  associatedtype Answer
  func take() throws -> Answer
}

extension UnitOp: Operation {}
extension ItemsOp: Operation {}
extension ElementsOp: Operation {}
extension ProbeOp: Operation {}
extension OfferOp: Answering {}
extension CountOp: Answering {}
extension InputOp: Answering {}
extension RequestOp: Answering {}
extension ReasonOp: Answering {}
extension EventOp: Answering {}
extension TerminalOp: Answering {}
extension SessionOp: Answering {}
extension PeerOp: Answering {}
extension TextOp: Answering {}

extension Answering {
  /// Waits as ``Operation/finish(within:)`` does, for the answer.
  func answer(within limit: Duration? = nil) async throws -> Answer {
    try await finish(within: limit)
    return try translating(take)
  }
}

extension Operation {
  /// Waits until the operation has answered, without holding a thread.
  ///
  /// What is ready is answered without a suspension. A task that is cancelled, before or during the
  /// wait, gives the operation up and throws `CancellationError`; one whose `limit` passes throws
  /// ``SluicegateError/Kind/timedOut``. Either way nothing was taken, and whoever stood behind in
  /// line moves up. Exactly one of the three ends the wait.
  func finish(within limit: Duration? = nil) async throws {
    try Task.checkCancellation()
    if try answered() { return }
    guard let limit = limit.flatMap(Limit.init) else { return try await wait { _ in } }
    if limit.isZero {
      cancel()
      throw SluicegateError(.timedOut, SluicegateError.Kind.timedOut.text)
    }
    let alarm = Alarm(limit)
    defer { alarm.stop() }
    try await wait(alarm.watch)
  }

  private func wait(_ watch: (Bell) -> Void) async throws {
    while true {
      let bell = Bell()
      if try translating({ try poll(bell: bell) }) { return }
      watch(bell)
      switch await bell.wait() {
      case .rung:
        continue
      case .cancelled:
        cancel()
        throw CancellationError()
      case .expired:
        if try answered() { return }  // the limit asks a last time, as everywhere
        cancel()
        throw SluicegateError(.timedOut, SluicegateError.Kind.timedOut.text)
      }
    }
  }

  private func answered() throws -> Bool { try translating(attempt) }
}
