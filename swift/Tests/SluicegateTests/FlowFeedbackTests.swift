import Sluicegate
import XCTest

/// Cycles with a buffer.
final class FlowFeedbackTests: XCTestCase {
  private typealias Body = Flow<Int, Feedback<Int, String>, NotUsed>

  /// An even number goes round again, halved; an odd one leaves.
  private static func halved(_ n: Int) -> Feedback<Int, String> {
    n.isMultiple(of: 2) ? .again(n / 2) : .out("\(n)")
  }

  func testALoopTakesAnElementAgainUntilItIsLetOut() async throws {
    try await watched(.seconds(120)) {
      let bodies: [(String, Body)] = [
        ("map", .map(Self.halved)),
        ("buffer", .map(Self.halved).via(try .buffer(EdgeOptions(capacity: 1)))),
        ("mapParallel", try .mapParallel(3, Self.halved)),
        ("mapAsync", try .mapAsync(3) { Self.halved($0) }),
        ("mapAsync, unordered", try .mapAsync(3, ordered: false) { Self.halved($0) }),
      ]
      for (name, body) in bodies {
        for capacity: UInt64 in [1, 2, 16] {
          let odd = try await all(try Source([1, 12, 40, 7]).feedback(capacity, body))
          XCTAssertEqual(odd.sorted(), ["1", "3", "5", "7"], "\(name), \(capacity)")
        }
      }
      let none = try await all(try Source<Int, NotUsed>.empty().feedback(1, .map(Self.halved)))
      XCTAssertEqual(none, [])
    }
  }

  func testALoopAsksForNoMoreThanItHasPlacesFor() async throws {
    try await watched(.seconds(120)) {
      let scope = try Scope.stepped("loop", seed: 1)
      let (above, below) = try Source<Int, Publisher<Int>>.probe().feedback(3, Body.map(Self.halved))
        .toMat(.probe()) { ($0, $1) }.run(on: scope)
      scope.settle()
      XCTAssertEqual(above.control.demand, 0, "nothing is asked for of itself")
      try below.request(10)
      scope.settle()
      XCTAssertEqual(above.control.demand, 3, "a place for each, and no more")
      for _ in 0..<3 { XCTAssertEqual(above.control.tryOffer(4), .enqueued) }
      scope.settle()
      for _ in 0..<3 { try await below.expectNext("1") }
      XCTAssertEqual(above.control.demand, 3)
      XCTAssertEqual(above.control.tryOffer(40), .enqueued)
      above.sendComplete()
      scope.settle()
      try await below.expectNext("5").expectComplete()
    }
  }

  private func refused(_ reason: String, line: UInt = #line, _ make: () throws -> Void) {
    XCTAssertThrowsError(try make(), line: line) {
      XCTAssertEqual(($0 as? SluicegateError)?.kind, .planRefused, line: line)
      XCTAssertTrue("\($0)".contains(reason), "\($0)", line: line)
    }
  }

  func testALoopThatCouldLockUpIsRefusedWithTheReason() {
    typealias Loop = Flow<Int, String, NotUsed>
    let one = Body.map(Self.halved)
    refused("a cycle without a buffer") { _ = try Loop.feedback(0, one) }
    refused("a cycle without a buffer") { _ = try Source([1]).feedback(0, one) }
    let counts = "more or fewer elements"
    refused(counts) { _ = try Loop.feedback(2, one.via(.filter { _ in true })) }
    refused(counts) { _ = try Loop.feedback(2, one.via(.dropFirst())) }
    refused(counts) { _ = try Loop.feedback(2, one.via(.flatMap { [$0] })) }
    refused(counts) { _ = try Loop.feedback(2, one.via(.debounce(.zero))) }
    refused(counts) { _ = try Loop.feedback(2, one.via(.buffer(EdgeOptions(overflow: .dropNew)))) }
    let groups = Flow<[Int], Feedback<Int, String>, NotUsed>.map { .out("\($0)") }
    refused(counts) { _ = try Loop.feedback(2, Flow<Int, [Int], NotUsed>.batch(2).via(groups)) }
  }

  func testWhatTheBodyThrowsFailsTheStream() async throws {
    struct Refused: Error {}
    try await watched(.seconds(120)) {
      let body = Body.map { n in
        if n == 3 { throw Refused() }
        return .again(n - 1)
      }
      let error = await thrown { _ = try await all(try Source(1...9).feedback(4, body)) }
      XCTAssertEqual((error as? SluicegateError)?.kind, .stageFailed)
      XCTAssertTrue((error as? SluicegateError)?.cause is Refused)
    }
  }
}
