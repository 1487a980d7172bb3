import Foundation
import Sluicegate
import XCTest

/// Counts how many of its kind are alive.
private final class Alive: @unchecked Sendable {
  private let lock = NSLock()
  private var count = 0
  var now: Int { lock.withLock { count } }
  func add(_ n: Int) { lock.withLock { count += n } }
}

private final class Counted: Sendable {
  private let alive: Alive
  init(_ alive: Alive) {
    self.alive = alive
    alive.add(1)
  }
  deinit { alive.add(-1) }
}

private struct Oops: Error {}

/// The streams layer: demand, terminals, cancel, failure, shutdown.
final class FlowTests: XCTestCase {
  func testABlueprintRunsAsOftenAsOneLikesEachTimeAfresh() async throws {
    try await watched {
      try await withScope("test") { scope in
        let stringify = Flow<Int, String, NotUsed>.map { "value=\($0)" }
        let graph = try Source<Int, Manual<Int>>.manual()
          .via(stringify.via(.map { $0.count }))
          .toMat(.collect()) { ($0, $1) }
        for _ in 0..<3 {
          let (control, result) = try graph.run(on: scope)
          let offered = try await control.offer(7)
          XCTAssertEqual(offered, .enqueued)
          XCTAssertTrue(control.complete())
          XCTAssertFalse(control.complete(), "one terminal")
          let values = try await result.value()
          XCTAssertEqual(values, [7])
          XCTAssertEqual(result.status, .success)
        }
      }
    }
  }

  func testTheProbesOfTheSeed() async throws {
    try await watched {
      try await withScope("test") { scope in
        let graph = try Source<Int, Publisher<Int>>
          .probe(edge: EdgeOptions(capacity: 1), limit: .seconds(120))
          .map { "value=\($0)" }
          .toMat(.probe(limit: .seconds(120))) { ($0, $1) }
        let (publisher, subscriber) = try graph.run(on: scope)
        try await publisher.sendNext(7)
        try await subscriber.expectNoMessage(within: .milliseconds(25))
        try await subscriber.request(1).expectNext("value=7")
        publisher.sendComplete()
        try await subscriber.expectComplete()
        XCTAssertThrowsError(try subscriber.request(1), "its terminal was taken")
      }
    }
  }

  func testDemandIsAGrantAndGoesAllTheWayUp() async throws {
    try await watched {
      let scope = try Scope.stepped("test", seed: 1)
      let graph = try Source<Int, Publisher<Int>>.probe()
        .filter { $0.isMultiple(of: 2) }.prefix(3)
        .toMat(.probe()) { ($0, $1) }
      let (publisher, subscriber) = try graph.run(on: scope)
      scope.settle()
      XCTAssertNil(publisher.control.tryOffer(0), "nothing without demand")
      try subscriber.request(2)
      scope.settle()
      XCTAssertEqual(publisher.control.demand, 2)
      XCTAssertEqual(scope.stages().map(\.name), ["probe", "filter", "take", "probe"])
      var demand: [UInt64] = []
      for n in 0..<5 {
        XCTAssertEqual(publisher.control.tryOffer(n), .enqueued)
        scope.settle()
        demand.append(publisher.control.demand)
        if n == 2 {
          try subscriber.request(.max)
          scope.settle()
        }
      }
      XCTAssertEqual(demand, [1, 1, 0, 1, 0])
      for n in [0, 2, 4] { try await subscriber.expectNext(n) }
      try await subscriber.expectComplete()
      XCTAssertEqual(publisher.control.tryOffer(9), .queueClosed)
    }
  }

  func testEveryStrategyHoldsThreeAndNoMore() async throws {
    try await watched {
      let cases: [(Overflow, [Int], UInt64)] = [
        (.dropHead, [8, 9, 10], 7), (.dropNew, [1, 2, 3], 7), (.dropTail, [1, 2, 10], 7),
        (.dropBuffer, [10], 9),
      ]
      for (overflow, left, lost) in cases {
        let scope = try Scope.stepped("test", seed: 3)
        let graph = try Source<Int, Manual<Int>>
          .manual(EdgeOptions(capacity: 3, overflow: overflow)).toMat(.probe()) { ($0, $1) }
        let (control, end) = try graph.run(on: scope)
        for n in 1...10 {
          XCTAssertNotNil(control.tryOffer(n))
          scope.settle()
          XCTAssertLessThanOrEqual(control.held, 3)
        }
        XCTAssertEqual(control.lost, lost)
        control.complete()
        try end.request(10)
        scope.settle()
        for n in left { try await end.expectNext(n) }
        try await end.expectComplete()
      }
      XCTAssertThrowsError(try Source<Int, Manual<Int>>.manual(EdgeOptions(capacity: 0))) {
        XCTAssertEqual(($0 as? SluicegateError)?.kind, .invalidArgument)
      }
    }
  }

  func testAFunctionThatThrowsFailsTheStreamAtBothEnds() async throws {
    try await watched {
      try await withScope("test") { scope in
        let graph = try Source<Int, Manual<Int>>.manual()
          .map { if $0 == 3 { throw Oops() } else { $0 } }
          .toMat(.collect()) { ($0, $1) }
        let (control, result) = try graph.run(on: scope)
        for n in 0..<4 { _ = try await control.offer(n) }
        do {
          _ = try await result.value()
          XCTFail("it failed")
        } catch let error as SluicegateError {
          XCTAssertEqual(error.kind, .stageFailed)
          XCTAssertTrue(error.message.contains("map") && error.message.contains("Oops"), error.message)
        }
        XCTAssertEqual(result.status, .failure)
        while try await control.offer(9) == .enqueued {}
      }
    }
  }

  func testACancelReleasesEveryElementOnceAndWakesTheProducer() async throws {
    try await watched {
      let alive = Alive()
      let scope = try Scope("test")
      let graph = try Source<Counted, Manual<Counted>>.manual(EdgeOptions(capacity: 4))
        .buffer(EdgeOptions(capacity: 4))
        .toMat(.probe(limit: .seconds(120))) { ($0, $1) }
      let (control, end) = try graph.run(on: scope)
      let producer = Task {
        var accepted = 0
        while try await control.offer(Counted(alive)) == .enqueued { accepted += 1 }
        return accepted
      }
      _ = try await end.request(1).expectNext()
      end.cancel()
      let accepted = try await producer.value
      XCTAssertGreaterThanOrEqual(accepted, 4)
      try await scope.shutdown()
      await until { alive.now == 0 }
    }
  }

  func testAScopeThatIsShutDownCancelsWhatRunsAndRefusesWhatComes() async throws {
    try await watched {
      let scope = try Scope("test")
      let graph = try Source<Int, Manual<Int>>.manual(EdgeOptions(capacity: 1))
        .toMat(.collect()) { ($0, $1) }
      let (control, result) = try graph.run(on: scope)
      try await scope.shutdown()
      XCTAssertEqual(result.status, .cancelled)
      XCTAssertTrue(control.isOver)
      XCTAssertThrowsError(try graph.run(on: scope)) {
        XCTAssertEqual(($0 as? SluicegateError)?.kind, .scopeShutDown)
      }
    }
  }

  func testAnOutletIsAnAsyncSequenceAndLettingItGoCancels() async throws {
    try await watched {
      try await withScope("test") { scope in
        let endless = Source<Int, NotUsed>.unfold(0) { (n: inout Int) -> Int? in
          defer { n += 1 }
          return n
        }
        var squares: [Int] = []
        for try await square in try endless.map({ $0 * $0 }).run(on: scope) {
          squares.append(square)
          if squares.count == 4 { break }
        }
        XCTAssertEqual(squares, [0, 1, 4, 9])
      }
    }
  }

  func testEverySinkHasItsResult() async throws {
    try await watched {
      try await withScope("test") { scope in
        let numbers = Source(1...10)
        let sum = try await numbers.to(.fold(0) { $0 + $1 }).run(on: scope).value()
        XCTAssertEqual(sum, 55)
        let first = try await numbers.to(.first()).run(on: scope).value()
        XCTAssertEqual(first, 1)
        let last = try await numbers.to(.last()).run(on: scope).value()
        XCTAssertEqual(last, 10)
        let none = try await Source<Int, NotUsed>.empty().to(.last()).run(on: scope).value()
        XCTAssertNil(none)
        let seen = Alive()
        try await numbers.to(.forEach { seen.add($0) }).run(on: scope).value()
        XCTAssertEqual(seen.now, 55)
        let failure = SluicegateError(.io, "the disk is gone")
        let failed = try await Source<Int, NotUsed>.failed(failure).to(.collect()).run(on: scope).result
        XCTAssertThrowsError(try failed.get()) { XCTAssertEqual($0 as? SluicegateError, failure) }
      }
    }
  }

  func testAScopeHasStoppedWhenACancelledTaskLeavesIt() async throws {
    try await watched {
      let left = Task {
        var scope: Scope?
        _ = try? await withScope("test") { inside in
          scope = inside
          _ = try Source(0...).to(.ignore()).run(on: inside)
          while !Task.isCancelled { await Task.yield() }
        }
        return scope?.running
      }
      left.cancel()
      let running = await left.value
      XCTAssertEqual(running, 0)
    }
  }

  func testAWaitThatIsCancelledTakesNothing() async throws {
    try await watched {
      try await withScope("test") { scope in
        let graph = try Source<Int, Manual<Int>>.manual().toMat(.outlet()) { ($0, $1) }
        let (control, outlet) = try graph.run(on: scope)
        let waiting = Task { try await outlet.next() }
        waiting.cancel()
        do {
          _ = try await waiting.value
          XCTFail("it was cancelled")
        } catch is CancellationError {}
        try await control.offer(1)
        let next = try await outlet.next()
        XCTAssertEqual(next, 1)
      }
    }
  }
}
