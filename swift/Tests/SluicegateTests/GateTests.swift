import Sluicegate
import XCTest
final class GateTests: XCTestCase {
  func testOne() async throws {
    let gate = Gate(window: 1)
    try await gate.acquire()
    XCTAssertFalse(try gate.tryAcquire())
  }
}
