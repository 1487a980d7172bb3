import Sluicegate
import XCTest

/// What cannot leave the actor that made it.
private final class Report {
  var rows: [Int] = []
}

/// An actor whose own state a scope's body fills.
private actor Ledger {
  private var rows: [Int] = []

  func export() async throws -> [Int] {
    let count = try await withScope("ledger") { scope in
      for try await row in try Source(1...5).map({ $0 * $0 }).run(on: scope) { rows.append(row) }
      return rows.count
    }
    return rows + [count]
  }

  func report() async throws -> [Int] {
    let report = try await withScope("report") { scope in
      let report = Report()
      report.rows = try await Source(1...3).to(.collect()).run(on: scope).value()
      rows += report.rows
      return report
    }
    return report.rows + rows
  }

  func draw() async throws -> Int {
    try await withSeed { seed in
      rows.append(1)
      return seed.fork("ledger") == seed.fork("ledger") ? rows.count : 0
    }
  }
}

/// A body runs where its caller does.
final class FlowIsolationTests: XCTestCase {
  func testABodyOnAnActorUsesTheActorsState() async throws {
    try await watched(.seconds(120)) {
      let exported = try await Ledger().export()
      XCTAssertEqual(exported, [1, 4, 9, 16, 25, 5])
      let reported = try await Ledger().report()
      XCTAssertEqual(reported, [1, 2, 3, 1, 2, 3])
      let drawn = try await Ledger().draw()
      XCTAssertEqual(drawn, 1)
    }
  }

  func testABodyOnTheMainActorStaysThere() async throws {
    let rows = try await watched(.seconds(120)) { try await onTheMainActor() }
    XCTAssertEqual(rows, [1, 2, 3])
  }
}

@MainActor
private func onTheMainActor() async throws -> [Int] {
  let report = Report()
  try await withScope("main") { scope in
    MainActor.assertIsolated()
    report.rows = try await Source(1...3).to(.collect()).run(on: scope).value()
    MainActor.assertIsolated()
  }
  return report.rows
}
