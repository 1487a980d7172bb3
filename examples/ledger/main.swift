// A ledger is fetched by the page and written by the row: the demand of the page goes up, the demand of
// the row comes from below.
import Foundation
import Sluicegate

/// Counts from any thread.
final class Counter: @unchecked Sendable {
  private let lock = NSLock()
  private var count: UInt64 = 0
  var value: UInt64 { lock.withLock { count } }
  func add() { lock.withLock { count += 1 } }
}

let rows: UInt64 = 200
let (written, fetches) = (Counter(), Counter())

let ledger = Source<String, NotUsed>.fetch { from, n in
  print("fetch \(n) rows from \(from) after \(written.value) written")
  fetches.add()
  return (from..<min(from + n, rows)).map { "row \($0)" }
}
let writer = Sink<String, Completion<Void>>.forEach { _ in
  written.add()  // commits one row, and asks for the next
}

try await withScope("ledger") { scope in
  // Holds 64 rows or has asked for them, and asks again once 48 have left: never more than 64.
  try await ledger.page(64, mark: 48).to(writer).run(on: scope).value()
}
print("written \(written.value) rows in \(fetches.value) fetches")
