import Sluicegate
import XCTest

private func texts(_ texts: [String]) -> Source<String, NotUsed> { Source(texts) }

/// Groups by bytes, and what asynchronous sequences are asked for.
final class FlowBatchTests: XCTestCase {
  func testGroupsOfSoManyBytes() async throws {
    try await watched {
      let size: @Sendable (String) -> UInt64 = { UInt64($0.utf8.count) }
      let groups = try await all(
        try texts(["aa", "bb", "cc", "d", "eeeeee", "", "f"]).batch(bytes: 5, size: size))
      XCTAssertEqual(groups, [["aa", "bb"], ["cc", "d"], ["eeeeee"], ["", "f"]])
      let exact = try await all(try texts(["aaa", "bb", "ccccc"]).batch(bytes: 5, size: size))
      XCTAssertEqual(exact, [["aaa", "bb"], ["ccccc"]])
      let none = try await all(try texts([]).batch(bytes: 5, size: size))
      XCTAssertEqual(none, [])
      let kind = await kind { _ = try texts([]).batch(bytes: 0, size: size) }
      XCTAssertEqual(kind, .invalidArgument)
    }
  }

  /// One group that is asked for reads what belongs to it, and the element that shows that it is full.
  func testAGroupIsReadOnceItIsAskedFor() async throws {
    try await watched {
      let scope = try Scope.stepped("test", seed: 1)
      let read = Counter()
      let source = Source(1...).tap { _ in read.add() }
      let probe = try source.batch(bytes: 10) { _ in 4 }.to(.probe()).run(on: scope)
      scope.settle()
      XCTAssertEqual(read.value, 0)
      for (group, sofar) in [([1, 2], 3), ([3, 4], 5), ([5, 6], 7)] {
        try probe.request(1)
        scope.settle()
        try await probe.expectNext(group)
        scope.settle()
        XCTAssertEqual(read.value, sofar)
      }
      probe.cancel()
    }
  }

  /// A channel is received from once for each element that is asked for.
  func testAnAsynchronousSequenceIsNotReadAhead() async throws {
    try await watched {
      try await withScope("test") { scope in
        let taken = Counter()
        let numbers = AsyncStream<Int>(unfolding: {
          taken.add()
          return taken.value
        })
        let probe = try Source.iterating(numbers).to(.probe(limit: .seconds(120))).run(on: scope)
        for n in 1...20 {
          XCTAssertEqual(taken.value, n - 1)
          try probe.request(1)
          try await probe.expectNext(n)
        }
        try probe.request(3)
        for n in 21...23 { try await probe.expectNext(n) }
        XCTAssertEqual(taken.value, 23)
        // Its island has had the time to do more by the time that it says how it stands.
        try await probe.expectNoMessage(within: .zero)
        XCTAssertEqual(taken.value, 23)
        probe.cancel()
      }
    }
  }

  /// Both ways: a channel in, a pipeline, and a channel out.
  func testFromAChannelToAChannel() async throws {
    try await watched {
      try await withScope("test") { scope in
        let (numbers, input) = AsyncStream.makeStream(of: Int.self)
        let output = try Source.iterating(numbers).map { $0 * 2 }.run(on: scope)
        for n in 1...3 {
          input.yield(n)
          let came = try await output.next()
          XCTAssertEqual(came, n * 2)
        }
        input.finish()
        let end = try await output.next()
        XCTAssertNil(end)
      }
    }
  }
}
