import Sluicegate
import XCTest

/// HZ-F11 and HZ-F12: waits that are given up, at any moment, take nothing and are resumed once.
/// Checked continuations report one that leaks, and trap on one that is resumed twice.
final class CancellationTests: XCTestCase {
  func testHZ_F11_tenThousandCancelledWaitsLeaveNothingBehind() async throws {
    try await watched {
      let gate = Gate(window: 0)
      try await Self.storm(gate, waits: 10_000)  // what is made once is made
      // What every wait left behind would show each time; what an allocator keeps does so now and then.
      var grown = Int.max
      for _ in 0..<20 where grown >= 1 << 20 {
        let before = try residentMemory()
        for _ in 0..<4 { try await Self.storm(gate, waits: 10_000) }
        grown = try residentMemory() - before
      }
      XCTAssertLessThan(grown, 1 << 20, "each 40,000 cancelled waits left \(grown) bytes or more")
      let live = Task { try await gate.acquire() }
      await until { gate.waiting == 1 }
      gate.grant(1)
      try await live.value
      XCTAssertEqual(gate.available, 0)
    }
  }

  private static func storm(_ gate: Gate, waits: Int) async throws {
    let waiters = (0..<waits).map { _ in Task { try await gate.acquire() } }
    await until { gate.waiting == waits }
    for waiter in waiters { waiter.cancel() }
    for waiter in waiters {
      let outcome = await waiter.result
      XCTAssertThrowsError(try outcome.get()) { XCTAssertTrue($0 is CancellationError) }
    }
    XCTAssertEqual(gate.waiting, 0)
    XCTAssertEqual(gate.available, 0)
  }

  func testHZ_F12_grantAndCancelAtTheSameInstant() async throws {
    try await watched {
      let gate = Gate(window: 0)
      var taken = 0
      for _ in 0..<5_000 {
        let waiter = Task { try await gate.acquire() }
        await until { gate.waiting == 1 }
        async let granted: Void = { gate.grant(1) }()
        waiter.cancel()
        await granted
        switch await waiter.result {
        case .success: taken += 1
        case .failure(let error):
          XCTAssertTrue(error is CancellationError)
          XCTAssertEqual(gate.available, 1)  // handed back, not lost
          XCTAssertTrue(try gate.tryAcquire())
        }
        XCTAssertEqual(gate.available, 0)
        XCTAssertEqual(gate.waiting, 0)
      }
      print("grant won \(taken) of 5000 races")
    }
  }

  func testHZ_F12_grantCloseLimitAndCancelAtTheSameInstant() async throws {
    try await watched {
      for round in 0..<2_000 {
        let gate = Gate(window: 0)
        let limit = Duration.microseconds(round % 200)
        let waiter = Task { try await gate.acquire(within: limit) }
        async let granted: Void = { gate.grant(1) }()
        async let closed = { gate.close("END") }()
        if round % 2 == 0 { waiter.cancel() }
        _ = await (granted, closed)
        switch await waiter.result {
        case .success: break
        case .failure(let error as SluicegateError):
          XCTAssertTrue(error.kind == .timedOut || error.code == "END", "\(error)")
        case .failure(let error): XCTAssertTrue(error is CancellationError, "\(error)")
        }
        XCTAssertEqual(gate.waiting, 0)
      }
    }
  }

  func testACancelledWaiterHandsItsTurnOn() async throws {
    try await watched {
      for _ in 0..<1_000 {
        let gate = Gate(window: 0)
        let first = Task { try await gate.acquire() }
        await until { gate.waiting == 1 }
        let second = Task { try await gate.acquire() }
        await until { gate.waiting == 2 }
        async let granted: Void = { gate.grant(1) }()
        first.cancel()
        await granted
        if case .success = await first.result { gate.grant(1) }
        try await second.value
        XCTAssertEqual(gate.available, 0)
      }
    }
  }
}
