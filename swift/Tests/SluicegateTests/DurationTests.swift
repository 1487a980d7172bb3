import XCTest

@testable import Sluicegate

final class DurationTests: XCTestCase {
  func testATimeIsCountedAndHeldWithinWhatCoreCanTell() {
    XCTAssertEqual(microseconds(.milliseconds(1500)), 1_500_000)
    XCTAssertEqual(Duration.microseconds(7).clampedNanoseconds, 7000)
    XCTAssertEqual(microseconds(.nanoseconds(999)), 0)
    XCTAssertEqual(microseconds(.zero - .seconds(1)), 0)
    XCTAssertEqual(microseconds(.zero - .milliseconds(1)), 0)
    XCTAssertEqual(microseconds(.seconds(Int64.max)), .max)
    XCTAssertEqual(Duration.seconds(Int64.max).clampedNanoseconds, .max)
    XCTAssertNil(limitMicroseconds(nil))
    XCTAssertNil(limitMicroseconds(.seconds(Int64.max)))
    XCTAssertEqual(limitMicroseconds(.zero - .seconds(1)), 0)
  }
}
