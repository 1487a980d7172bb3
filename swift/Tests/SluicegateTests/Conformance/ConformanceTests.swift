import Foundation
import XCTest

/// Replays all of `tests/conformance` through the public classes and prints one line of counts.
final class ConformanceTests: XCTestCase {
  func testReplaysEveryScript() async throws {
    let pure = try Script.all("pure")
    let waiting = try Script.all("waiting")
    XCTAssertFalse(pure.isEmpty)
    XCTAssertFalse(waiting.isEmpty)
    for script in pure {
      do { try PureRunner.replay(script) } catch { XCTFail("\(script.place): \(error)") }
    }
    let environment = ProcessInfo.processInfo.environment
    let times = environment["SLUICEGATE_REPEAT"].flatMap(Int.init) ?? 1
    for _ in 0..<times {
      for script in waiting {
        do { try await WaitingRunner.replay(script) } catch { XCTFail("\(script.place): \(error)") }
      }
    }
    let steps = { (scripts: [Script]) in scripts.reduce(0) { $0 + $1.steps.count } }
    print(
      "conformance swift: pure \(pure.count) scripts \(steps(pure)) steps, "
        + "waiting \(waiting.count) scripts \(steps(waiting)) steps")
  }
}
