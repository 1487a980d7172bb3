import Foundation
import SluicegateCore
import XCTest

/// The border itself: bells that core rings, operations that are asked too often.
final class BellTests: XCTestCase {
  /// Counts its rings, and tells when it is released.
  final class Ringing: SluicegateCore.Bell, @unchecked Sendable {
    private let rings: Counter
    private let released: Counter

    init(rings: Counter, released: Counter) {
      self.rings = rings
      self.released = released
    }

    deinit { released.add() }

    func ring() { rings.add() }
  }

  func testHZ_F06_aBellWithNoOtherReferenceRingsAndIsReleased() throws {
    let (rings, released) = (Counter(), Counter())
    let rounds = 10_000
    for _ in 0..<rounds {
      let gate = GateCore(window: 0)
      let op = gate.acquire(n: 1)
      XCTAssertFalse(try op.poll(bell: Ringing(rings: rings, released: released)))
      gate.grant(n: 1)
      XCTAssertTrue(try op.attempt())
    }
    XCTAssertEqual(rings.value, rounds)
    XCTAssertEqual(released.value, rounds)
  }

  func testHZ_F06_aBellThatIsWithdrawnIsReleasedUnrung() throws {
    let (rings, released) = (Counter(), Counter())
    let gate = GateCore(window: 0)
    for _ in 0..<10_000 {
      let op = gate.acquire(n: 1)
      XCTAssertFalse(try op.poll(bell: Ringing(rings: rings, released: released)))
      op.cancel()
    }
    gate.grant(n: 1)
    XCTAssertEqual(rings.value, 0)
    XCTAssertEqual(released.value, 10_000)
    XCTAssertEqual(gate.available(), 1)
  }

  /// Says whether a ring ran or began after it was withdrawn.
  final class Watching: SluicegateCore.Bell, @unchecked Sendable {
    private let lock = NSLock()
    private var withdrawn = false
    private(set) var late = false

    func withdraw() { lock.withLock { withdrawn = true } }

    func ring() {
      for _ in 0..<100 { lock.withLock { late = late || withdrawn } }  // long enough to be caught
    }
  }

  func testHZ_F13_onceCancelHasReturnedNoRingRuns() throws {
    let gate = GateCore(window: 0)
    let stop = Counter()
    let granter = Thread {
      while stop.value == 0 {
        gate.grant(n: 1)
        _ = try? gate.tryAcquire(n: 1)
      }
      stop.add()
    }
    granter.start()
    for _ in 0..<10_000 {
      let bell = Watching()
      let op = gate.acquire(n: 1)
      if try op.poll(bell: bell) { continue }
      op.cancel()
      bell.withdraw()
      XCTAssertFalse(bell.late)
    }
    stop.add()
    while stop.value < 2 { sched_yield() }
  }

  func testHZ_F10_anOperationThatIsAskedTooOftenSaysSo() throws {
    let gate = GateCore(window: 1)
    let op = gate.acquire(n: 1)
    XCTAssertTrue(try op.attempt())
    XCTAssertTrue(try op.attempt())  // still answered
    op.cancel()
    op.cancel()
    XCTAssertThrowsError(try op.attempt()) { error in
      guard case Failure.Core(let fault) = error else { return XCTFail("\(error)") }
      XCTAssertEqual(fault.code, "INVALID_ARGUMENT")
    }
    XCTAssertTrue(try GateCore(window: 1).tryAcquire(n: 1))
  }
}
