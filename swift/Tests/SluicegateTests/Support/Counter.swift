import Foundation

/// A count that many tasks and threads raise. `@unchecked Sendable`: all state is under `lock`.
final class Counter: @unchecked Sendable {
  private let lock = NSLock()
  private var count = 0

  var value: Int { lock.withLock { count } }

  func add(_ n: Int = 1) { lock.withLock { count += n } }
}
