import Sluicegate
import XCTest

final class GateTests: XCTestCase {
  func testTakesWaitsAndCloses() async throws {
    let gate = Gate(window: 2)
    try await gate.acquire()
    XCTAssertTrue(try gate.tryAcquire())
    XCTAssertFalse(try gate.tryAcquire())
    XCTAssertEqual(gate.available, 0)
    XCTAssertTrue(gate.close("CANCELLED"))
    XCTAssertFalse(gate.close("LATER"))
    XCTAssertEqual(gate.reason?.code, "CANCELLED")
    let error = await thrown(by: { try await gate.acquire() }) as? SluicegateError
    XCTAssertEqual(error?.kind, .closed)
    XCTAssertEqual(error?.code, "CANCELLED")
  }

  func testCloseWithAnErrorKeepsItsFacts() throws {
    let gate = Gate(window: 0)
    let reason = SluicegateError(code: "OUT_OF_PAPER", class: .resource, message: "tray 2")
    gate.close(reason)
    XCTAssertEqual(gate.reason, reason)
  }

  func testHZ_G01_grantsWithoutAPauseWakeEveryWaiter() async throws {
    try await watched {
      for _ in 0..<10_000 {
        let gate = Gate(window: 0)
        async let first: Void = gate.acquire()
        async let second: Void = gate.acquire()
        gate.grant(1)
        gate.grant(1)
        _ = try await (first, second)
        XCTAssertEqual(gate.available, 0)
      }
    }
  }

  func testHZ_G07_countsAtTheEdgesOfTheirTypes() async throws {
    for count: UInt64 in [1 << 31 - 1, 1 << 31, 1 << 32, 1 << 63 - 1, 1 << 63, .max - 1, .max] {
      let gate = Gate(window: 0)
      XCTAssertFalse(try gate.tryAcquire(count))
      gate.grant(count)
      XCTAssertEqual(gate.available, count)
      try await gate.acquire(count)
      XCTAssertEqual(gate.available, 0)
      XCTAssertEqual(Window(window: count).remaining, count)
    }
    // -1 is no UInt64: `gate.grant(-1)` does not compile.
  }

  func testHZ_G06_grantsSaturate() async throws {
    let gate = Gate(window: 0)
    gate.grant(.max)
    gate.grant(.max)
    gate.grant(1)
    XCTAssertEqual(gate.available, .max)
    try await gate.acquire(1)
    gate.grant(1)
    try await gate.acquire(.max)
    XCTAssertEqual(gate.available, 0)
  }

  func testHZ_G08_extremeLimits() async throws {
    try await watched {
      let gate = Gate(window: 0)
      for limit: Duration in [.zero, .nanoseconds(1), .seconds(-1)] {
        let came = await kind { try await gate.acquire(within: limit) }
        XCTAssertEqual(came, .timedOut)
      }
      let endless: [Duration?] = [
        nil, Duration(secondsComponent: .max, attosecondsComponent: 999_999_999_999_999_999),
      ]
      for limit in endless {
        let waiter = Task { try await gate.acquire(within: limit) }
        await until { gate.waiting == 1 }
        gate.grant(1)
        try await waiter.value
      }
      gate.grant(1)
      try await gate.acquire(within: .zero)  // a try takes what is there
      XCTAssertEqual(gate.waiting, 0)
    }
  }

  func testHZ_G04_aLimitThatPassesLetsTheNextOneThrough() async throws {
    try await watched {
      var (limit, both) = (Duration.milliseconds(50), false)
      while !both {  // again with a longer limit if it had passed before the second stood in line
        let gate = Gate(window: 3)
        let passed = Counter()
        let first = Task { [limit] in
          let came = await kind { try await gate.acquire(5, within: limit) }
          passed.add()
          return came
        }
        await until { gate.waiting == 1 || passed.value == 1 }
        let second = Task { try await gate.acquire(1) }
        await until {
          both = gate.waiting == 2
          return both || passed.value == 1
        }
        let came = await first.value
        XCTAssertEqual(came, .timedOut)
        try await second.value
        XCTAssertEqual(gate.available, 2)
        limit *= 4
      }
    }
  }

  func testACancelledTaskTakesNothingEvenIfCreditIsThere() async throws {
    let gate = Gate(window: 1)
    let late = Task {
      while !Task.isCancelled { await Task.yield() }
      try await gate.acquire()
    }
    late.cancel()
    let outcome = await late.result
    XCTAssertThrowsError(try outcome.get()) { XCTAssertTrue($0 is CancellationError) }
    XCTAssertEqual(gate.available, 1)
  }

  func testAThousandWaitersHoldNoThousandThreads() async throws {
    try await watched {
      let gate = Gate(window: 0)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<1000 { group.addTask { try await gate.acquire() } }
        await until { gate.waiting == 1000 }
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
        XCTAssertLessThan(threads, 500)  // each waiter's own would be a thousand
        gate.grant(1000)
        try await group.waitForAll()
      }
      XCTAssertEqual(gate.available, 0)
    }
  }
}
