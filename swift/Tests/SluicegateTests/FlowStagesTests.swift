import Foundation
import Sluicegate
import XCTest

private struct Oops: Error {}

/// The stages: what each makes of its elements.
final class FlowStagesTests: XCTestCase {
  func testStagesThatChangeHowMany() async throws {
    try await watched {
      let groups = try await all(try Source(1...7).batch(3))
      XCTAssertEqual(groups, [[1, 2, 3], [4, 5, 6], [7]])
      let windows = try await all(try Source(1...4).sliding(2))
      XCTAssertEqual(windows, [[1, 2], [2, 3], [3, 4]])
      let spread = try await all(Source(1...3).flatMap { Array(repeating: $0, count: $0) })
      XCTAssertEqual(spread, [1, 2, 2, 3, 3, 3])
      let few = try await all(Source(0...).flatMap { n in (0..<10).map { n * 10 + $0 } }.prefix(5))
      XCTAssertEqual(few, [0, 1, 2, 3, 4])
      let sums = try await all(Source(1...4).scan(0) { $0 + $1 })
      XCTAssertEqual(sums, [1, 3, 6, 10])
      let rest = try await all(Source(1...6).dropFirst(2).prefix(while: { $0 < 6 }))
      XCTAssertEqual(rest, [3, 4, 5])
      let total = try await all(Source(1...4).fold(0) { $0 + $1 })
      XCTAssertEqual(total, [10])
      let folded = try await all(Source(1...4).conflate({ $0 }) { $0 + $1 })
      XCTAssertEqual(folded.reduce(0, +), 10, "nothing is lost")
      let late = try await all(Source(1...6).via(.drop(while: { $0 < 4 })))
      XCTAssertEqual(late, [4, 5, 6])
      for make: () throws -> Void in [
        { _ = try Source(1...2).batch(0) }, { _ = try Source(1...2).sliding(0) },
        { _ = try Source(1...2).page(0) }, { _ = try Source(1...2).mapParallel(0) { $0 } },
        { _ = try Source(1...2).throttle(0, per: .seconds(1)) },
      ] {
        XCTAssertThrowsError(try make()) {
          XCTAssertEqual(($0 as? SluicegateError)?.kind, .invalidArgument)
        }
      }
    }
  }

  func testAPageAsksForWhatHasLeft() async throws {
    try await watched {
      let asked = Locked<[UInt64]>([])
      let rows = Source<UInt64, NotUsed>.fetch { from, n in
        asked.with { $0.append(n) }
        return from..<min(from + n, 200)
      }
      let written = try await all(try rows.page(64, mark: 48))
      XCTAssertEqual(written, Array(0..<200))
      XCTAssertEqual(asked.with { $0 }, [64, 48, 48, 48])
    }
  }

  func testParallelKeepsTheOrderOrNot() async throws {
    try await watched {
      let squares = try await all(try Source(1...50).mapParallel(4) { $0 * $0 })
      XCTAssertEqual(squares, (1...50).map { $0 * $0 })
      let any = try await all(try Source(1...50).mapParallel(4, ordered: false) { $0 * $0 })
      XCTAssertEqual(any.sorted(), (1...50).map { $0 * $0 })
    }
  }

  func testJoins() async throws {
    try await watched {
      let pairs = try await all(Source(1...2).zip(Source(10...)) { "\($0)-\($1)" })
      XCTAssertEqual(pairs, ["1-10", "2-11"])
      let combined = try await all(Source.combine([Source(1...3), Source(4...6)]))
      XCTAssertEqual(combined, [[1, 4], [2, 5], [3, 6]])
      let merged = try await all(Source(1...3).merge(Source(4...6)))
      XCTAssertEqual(merged.sorted(), Array(1...6))
      let joined = try await all(Source(1...3).concat(Source(4...6)))
      XCTAssertEqual(joined, Array(1...6))
    }
  }

  func testFanOut() async throws {
    try await watched {
      try await withScope("test") { scope in
        let both = try Source(1...100).to(.broadcast([.collect(), .collect()])).run(on: scope)
        for one in both {
          let values = try await one.value(within: .seconds(120))
          XCTAssertEqual(values, Array(1...100))
        }
        let shares = try Source(1...100).to(.balance([.collect(), .collect()])).run(on: scope)
        var together: [Int] = []
        for one in shares { together += try await one.value(within: .seconds(120)) }
        XCTAssertEqual(together.sorted(), Array(1...100))
      }
    }
  }

  func testAHubSharesWithWhoeverSubscribes() async throws {
    try await watched {
      try await withScope("test") { scope in
        let graph = try Source<Int, Manual<Int>>.manual().toMat(try .broadcastHub()) { ($0, $1) }
        let (control, hub) = try graph.run(on: scope)
        let first = try hub.subscribe()
        let all = try first.to(.collect()).run(on: scope)
        let evens = try hub.subscribe().filter { $0.isMultiple(of: 2) }.to(.collect()).run(on: scope)
        XCTAssertThrowsError(try first.to(.collect()).run(on: scope)) {
          XCTAssertEqual(($0 as? SluicegateError)?.kind, .alreadySubscribed)
        }
        XCTAssertEqual(hub.subscribers.count, 2)
        for n in 1...50 { try await control.offer(n) }
        control.complete()
        let (heard, even) = (try await all.value(), try await evens.value())
        XCTAssertEqual(heard, Array(1...50))
        XCTAssertEqual(even, heard.filter { $0.isMultiple(of: 2) })
      }
    }
  }

  func testAMergeHubTakesFromWhoeverFeeds() async throws {
    try await watched {
      try await withScope("test") { scope in
        let graph = try Source<Int, MergeHub<Int>>.mergeHub().toMat(.collect()) { ($0, $1) }
        let (hub, all) = try graph.run(on: scope)
        _ = try Source(1...50).to(hub.sink).run(on: scope)
        _ = try Source(51...100).to(hub.sink).run(on: scope)
        hub.complete()
        let values = try await all.value(within: .seconds(120))
        XCTAssertEqual(values.sorted(), Array(1...100))
      }
    }
  }

  func testFailuresAreMendedOrTriedAgain() async throws {
    try await watched {
      let broken = Source(1...3).map { if $0 == 3 { throw Oops() } else { $0 } }
      let mended = try await all(broken.recover { $0.kind == .stageFailed ? -1 : nil })
      XCTAssertEqual(mended, [1, 2, -1])
      let instead = try await all(broken.via(.recover(with: Source(7...8))))
      XCTAssertEqual(instead, [1, 2, 7, 8])
      let again = Locked(0)
      let third = Source<Int, NotUsed>.unfold(0) { n -> Int? in
        let run = again.with { count in
          count += 1
          return count
        }
        if run < 3 { throw Oops() }
        defer { n += 1 }
        return n < 2 ? n : nil
      }
      let retried = try await all(try third.retry(5))
      XCTAssertEqual(retried, [0, 1])
    }
  }

  func testTimeIsTheScopes() async throws {
    try await watched {
      let scope = try Scope.stepped("test", seed: 7)
      let graph = try Source<Int, Publisher<Int>>.probe(edge: EdgeOptions())
        .via(.timeout(.idle, .seconds(5)))
        .toMat(.probe()) { ($0, $1) }
      let (publisher, subscriber) = try graph.run(on: scope)
      try subscriber.request(9)
      _ = publisher.control.tryOffer(1)
      scope.settle()
      try await subscriber.expectNext(1)
      scope.advance(by: .seconds(4))
      try await subscriber.expectNoMessage(within: .zero)
      scope.advance(by: .seconds(2))
      let error = try await subscriber.expectError()
      XCTAssertEqual(error.kind, .timedOut)
    }
  }
}

/// A value behind a lock.
private final class Locked<Value>: @unchecked Sendable {
  private let lock = NSLock()
  private var value: Value
  init(_ value: Value) { self.value = value }
  func with<R>(_ body: (inout Value) throws -> R) rethrows -> R {
    try lock.withLock { try body(&value) }
  }
}
