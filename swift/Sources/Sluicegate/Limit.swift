import Foundation

/// A limit of a wait that a clock can represent.
struct Limit: Sendable {
  let instant: ContinuousClock.Instant
  let isZero: Bool

  /// `limit` from now. Anything above a hundred years is no limit; nothing at all is a `try`.
  init?(_ limit: Duration) {
    guard limit < .seconds(100 * 365 * 86_400) else { return nil }
    isZero = limit <= .zero
    instant = ContinuousClock.now.advanced(by: max(limit, .zero))
  }
}

/// Ends the waits of one operation when its limit passes: one timer, however often the operation is
/// woken before.
///
/// `@unchecked Sendable`: all state is read and written under `lock`.
final class Alarm: @unchecked Sendable {
  private let lock = NSLock()
  private var bell: Bell?
  private var passed = false
  private var timer: Task<Void, Never>?

  init(_ limit: Limit) {
    let instant = limit.instant
    timer = Task { [weak self] in
      guard (try? await Task.sleep(until: instant, clock: .continuous)) != nil else { return }
      self?.pass()
    }
  }

  /// From now on it is `bell` that expires.
  func watch(_ bell: Bell) {
    lock.lock()
    self.bell = bell
    let late = passed
    lock.unlock()
    if late { bell.expire() }
  }

  func stop() { timer?.cancel() }

  private func pass() {
    lock.lock()
    passed = true
    let bell = bell
    lock.unlock()
    bell?.expire()
  }
}
