import Foundation
internal import SluicegateCore

/// One wait of one task: a continuation that is resumed exactly once, by core, by the task's
/// cancellation or by a limit, whichever comes first.
///
/// `@unchecked Sendable`: all state is read and written under `lock`, and the continuation is
/// resumed after it was taken out, with the lock released.
final class Bell: SluicegateCore.Bell, @unchecked Sendable {
  /// How a wait ended.
  enum Outcome {
    /// Core says that asking again is worth while.
    case rung
    /// The task was cancelled.
    case cancelled
    /// The limit passed.
    case expired
  }

  private enum State {
    case armed
    case waiting(CheckedContinuation<Outcome, Never>)
    case over(Outcome)
  }

  private let lock = NSLock()
  private var state = State.armed

  /// Called by core, from any thread, at most once. Does not wait.
  func ring() { settle(.rung) }

  /// Called when the limit of the wait has passed.
  func expire() { settle(.expired) }

  /// Waits for the first of ring, cancellation and limit. To be called once.
  func wait() async -> Outcome {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        if let outcome = park(continuation) { continuation.resume(returning: outcome) }
      }
    } onCancel: {
      settle(.cancelled)
    }
  }

  /// Leaves the continuation for whoever settles the wait, unless somebody has.
  private func park(_ continuation: CheckedContinuation<Outcome, Never>) -> Outcome? {
    lock.lock()
    defer { lock.unlock() }
    if case .over(let outcome) = state { return outcome }
    state = .waiting(continuation)
    return nil
  }

  private func settle(_ outcome: Outcome) {
    lock.lock()
    let before = state
    if case .over = before {
      lock.unlock()
      return
    }
    state = .over(outcome)
    lock.unlock()
    if case .waiting(let continuation) = before { continuation.resume(returning: outcome) }
  }
}
