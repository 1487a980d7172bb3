import Foundation
import Sluicegate
import SluicegateCore
import XCTest

/// The wait/wake contract of docs/waiting.md, sentence by sentence.
final class WaitingContractTests: XCTestCase {
  /// Counts its rings.
  final class Counting: SluicegateCore.Bell, @unchecked Sendable {
    let rings = Counter()
    func ring() { rings.add() }
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

  func testWakeFiresOnce() throws {
    let gate = GateCore(window: 0)
    let bell = Counting()
    let op = gate.acquire(n: 1)
    XCTAssertFalse(try op.poll(bell: bell))
    DispatchQueue.concurrentPerform(iterations: 4) { _ in gate.grant(n: 1) }
    XCTAssertEqual(bell.rings.value, 1)
    XCTAssertTrue(try op.attempt())
    XCTAssertEqual(bell.rings.value, 1)
    XCTAssertEqual(gate.available(), 3)
  }

  func testWithdrawJoins() throws {
    let gate = GateCore(window: 0)
    for _ in 0..<2_000 {
      let bell = Watching()
      let op = gate.acquire(n: 1)
      XCTAssertFalse(try op.poll(bell: bell))
      DispatchQueue.concurrentPerform(iterations: 2) { side in
        if side == 0 {
          gate.grant(n: 1)
        } else {
          op.cancel()
          bell.withdraw()
        }
      }
      XCTAssertFalse(bell.late)
      XCTAssertTrue(try gate.tryAcquire(n: 1))  // what was set aside for it is back
    }
  }

  func testLeavingHandsOn() throws {
    for served in [false, true] {
      let gate = GateCore(window: served ? 0 : 1)
      let head = gate.acquire(n: served ? 1 : 2)
      XCTAssertFalse(try head.attempt())
      let bell = Counting()
      let behind = gate.acquire(n: 1)
      XCTAssertFalse(try behind.poll(bell: bell))
      if served { gate.grant(n: 1) }
      XCTAssertEqual(bell.rings.value, 0)
      head.cancel()
      XCTAssertEqual(bell.rings.value, 1)
      XCTAssertTrue(try behind.attempt())
      XCTAssertEqual(gate.available(), 0)
    }
  }
}
