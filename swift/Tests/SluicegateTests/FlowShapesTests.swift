import Foundation
import Sluicegate
import XCTest

private struct Oops: Error {}

/// Stages that group, branch, wait, or are ended from outside.
final class FlowShapesTests: XCTestCase {
  func testAKillSwitchEndsARunThatWaitsAndOneThatNeverWaits() async throws {
    try await watched {
      try await withScope("test") { scope in
        let idle = try Source<Int, Manual<Int>>.manual()
          .viaMat(.killSwitch()) { ($0, $1) }.toMat(.collect()) { ($0.0, $0.1, $1) }
        let (control, killSwitch, result) = try idle.run(on: scope)
        XCTAssertTrue(result.isPending)
        XCTAssertTrue(killSwitch.cancel())
        XCTAssertFalse(killSwitch.cancel(), "once")
        let end = await kind { _ = try await result.value(within: .seconds(120)) }
        XCTAssertEqual(end, .cancelled)
        while try await control.offer(1) == .enqueued {}

        let busy = Source(0...).viaMat(.killSwitch()) { $1 }.toMat(.ignore()) { ($0, $1) }
        let (other, never) = try busy.run(on: scope)
        other.cancel(SluicegateError(code: "ENOUGH", class: .user, message: "by hand"))
        let why = await thrown { try await never.value(within: .seconds(120)) } as? SluicegateError
        XCTAssertEqual(why?.code, "ENOUGH")
      }
    }
  }

  func testAScopeSaysWhoWaitsForWhom() async throws {
    let scope = try Scope.stepped("explained", seed: 1)
    let graph = try Source<Int, Publisher<Int>>.probe().map { $0 }.named("mine")
      .toMat(.probe()) { ($0, $1) }
    let (publisher, subscriber) = try graph.run(on: scope)
    scope.settle()
    XCTAssertEqual(try scope.explain().stages.map(\.waitsFor), [.consumer, .consumer, .consumer])
    try subscriber.request(2)
    scope.settle()
    let told = try scope.explain()
    XCTAssertEqual(told.scope, "explained")
    let mine = try XCTUnwrap(told.stages.first { $0.stage == "mine" })
    XCTAssertEqual(mine.waitsFor, .source)
    XCTAssertEqual(mine.downstream, 2)
    XCTAssertTrue(told.description.contains("stage \"mine\" has demand for 2"), told.description)
    XCTAssertTrue(told.json.contains("\"waits_for\":\"source\""), told.json)
    _ = (publisher, subscriber)
    try await scope.shutdown()
    let gone = await kind { _ = try scope.explain() }
    XCTAssertTrue(gone == nil || gone == .scopeShutDown)
  }

  func testAnEngineNamesTheStagesOfTheScopesThatTellIt() async throws {
    try await watched(.seconds(120)) {
      let engine = Engine()
      let before = try await engine.explain()
      XCTAssertEqual(before.stages, [])
      do {
        let scope = try Scope.stepped("export", seed: 1)
        let graph = try Source<Int, Manual<Int>>.manual().named("rows").map { $0 }
          .toMat(.probe()) { ($0, $1) }
        let (rows, report) = try graph.run(on: scope)
        try scope.tell(engine)
        try scope.tell(engine)
        try report.request(2)
        scope.settle()
        let told = try await engine.explain()
        XCTAssertEqual(told.stages.map(\.stage), ["rows", "map", "probe"])
        XCTAssertEqual(told.stages.map(\.waitsFor), [.source, .source, .source])
        XCTAssertEqual(told.stages.map(\.scope), ["export", "export", "export"])
        XCTAssertEqual(told.stages[1].downstream, 2)
        let line = "scope \"export\": stage \"rows\" has demand for 2 and waits for its source"
        XCTAssertTrue(told.description.contains(line), told.description)
        XCTAssertEqual(try Explanation(json: told.json), told)
        XCTAssertEqual(told.standing, [], "no stream of a request is held up")
        _ = (rows, report)
        try await scope.shutdown()
      }
      let after = try await engine.explain()
      XCTAssertEqual(after.stages, [], "nothing runs any more")
      await engine.close()
    }
  }

  func testEachKeyHasARunOfItsOwn() async throws {
    try await watched {
      let sums = Flow<Int, String, NotUsed>.scan("") { "\($0)\($1)" }
      let words = try await all(
        try Source(1...6).groupBy(2, key: { $0 % 2 == 0 ? "even" : "odd" }, sums))
      XCTAssertEqual(Set(words), ["1", "13", "135", "2", "24", "246"])
      let tooMany = await kind {
        _ = try await all(try Source(1...6).groupBy(2, key: { $0 }, .map { $0 }))
      }
      XCTAssertEqual(tooMany, .limitReached)
      let refused = await kind {
        _ = try Source(1...6).groupBy(4, slots: 3, key: { $0 }, .map { $0 })
      }
      XCTAssertEqual(refused, .planRefused)
      let broken = await thrown {
        _ = try await all(
          try Source(1...6).groupBy(
            4, key: { if $0 == 3 { throw Oops() } else { $0 } }, Flow<Int, Int, NotUsed>.map { $0 }))
      }
      XCTAssertEqual((broken as? SluicegateError)?.kind, .stageFailed)
      XCTAssertTrue("\(broken as Any)".contains("stage \"group_by\""), "\(broken as Any)")
    }
  }

  func testEachElementGoesWhereItIsSent() async throws {
    try await watched {
      try await withScope("test") { scope in
        let parts = try Source(1...100)
          .to(.partition([.collect(), .collect()]) { $0 % 2 }).run(on: scope)
        let (even, odd) = (try await parts[0].value(), try await parts[1].value())
        XCTAssertEqual(even, (1...100).filter { $0 % 2 == 0 })
        XCTAssertEqual(odd, (1...100).filter { $0 % 2 == 1 })
        for nowhere in [2, -1] {
          let lost = try Source(1...3).to(.partition([.ignore(), .ignore()]) { _ in nowhere })
            .run(on: scope)
          let error = await kind { try await lost[0].value() }
          XCTAssertEqual(error, .invalidArgument)
        }
      }
      let signed = try await all(
        Source(1...10).via(
          Flow<Int, Int, [NotUsed]>.partition([.map { $0 }, .map { -$0 }]) { $0 % 2 }))
      XCTAssertEqual(signed.sorted(), [-9, -7, -5, -3, -1, 2, 4, 6, 8, 10])
      let both = try await all(
        Source(1...3).via(Flow<Int, Int, [NotUsed]>.broadcast([.map { $0 }, .map { -$0 }])))
      XCTAssertEqual(both.sorted(), [-3, -2, -1, 1, 2, 3])
      let one = try await all(
        Source(1...9).via(Flow<Int, Int, [NotUsed]>.balance([.map { $0 }, .map { $0 }])))
      XCTAssertEqual(one.sorted(), Array(1...9))
    }
  }

  /// Plays `stage` on a clock that is moved by hand.
  private static func played(
    _ stage: Flow<Int, Int, NotUsed>,
    _ play: (Scope, Publisher<Int>, Subscriber<Int>) async throws -> Void
  ) async throws {
    let scope = try Scope.stepped("test", seed: 7)
    let graph = try Source<Int, Publisher<Int>>.probe(edge: EdgeOptions(capacity: 16))
      .via(stage).toMat(.probe()) { ($0, $1) }
    let (publisher, subscriber) = try graph.run(on: scope)
    try subscriber.request(.max)
    scope.settle()
    try await play(scope, publisher, subscriber)
  }

  func testDelayedAndTakenAndDroppedWithinATime() async throws {
    try await watched {
      try await Self.played(try .delay(.seconds(10))) { scope, publisher, subscriber in
        _ = publisher.control.tryOffer(1)
        scope.settle()
        scope.advance(by: .seconds(9))
        try await subscriber.expectNoMessage(within: .zero)
        scope.advance(by: .seconds(1))
        try await subscriber.expectNext(1)
      }
      try await Self.played(.prefix(within: .seconds(10))) { scope, publisher, subscriber in
        _ = publisher.control.tryOffer(1)
        scope.settle()
        try await subscriber.expectNext(1)
        scope.advance(by: .seconds(10))
        try await subscriber.expectComplete()
        XCTAssertEqual(publisher.control.tryOffer(2), .queueClosed)
      }
      try await Self.played(.dropFirst(within: .seconds(10))) { scope, publisher, subscriber in
        _ = publisher.control.tryOffer(1)
        scope.settle()
        scope.advance(by: .seconds(10))
        _ = publisher.control.tryOffer(2)
        scope.settle()
        try await subscriber.expectNext(2)
      }
      let noRoom = await kind { _ = try Flow<Int, Int, NotUsed>.delay(.seconds(1), room: 0) }
      XCTAssertEqual(noRoom, .invalidArgument)
    }
  }

  func testTicksThatNobodyAskedForAreLeftOut() async throws {
    try await watched {
      let scope = try Scope.stepped("test", seed: 3)
      let ticks = try Source.tick(every: .seconds(1), "tick").to(.probe()).run(on: scope)
      scope.settle()
      scope.advance(by: .seconds(5))
      try ticks.request(2)
      scope.settle()
      try await ticks.expectNoMessage(within: .zero)
      scope.advance(by: .seconds(1))
      try await ticks.expectNext("tick")
      try await ticks.expectNoMessage(within: .zero)
      scope.advance(by: .seconds(1))
      try await ticks.expectNext("tick")
      let never = await kind { _ = try Source.tick(every: .zero, 1) }
      XCTAssertEqual(never, .invalidArgument)
    }
  }

  func testPagesAreFetchedWhenARowIsWanted() async throws {
    try await watched {
      let scope = try Scope.stepped("test", seed: 5)
      let fetched = Counter()
      let rows = Source<Int, NotUsed>.pages(from: 0) { page in
        fetched.add()
        return Page(rows: [page * 10, page * 10 + 1], next: page < 2 ? page + 1 : nil)
      }
      let end = try rows.to(.probe()).run(on: scope)
      scope.settle()
      XCTAssertEqual(fetched.value, 0)
      for (row, pages) in [(0, 1), (1, 1), (10, 2), (11, 2), (20, 3), (21, 3)] {
        try end.request(1)
        scope.settle()
        try await end.expectNext(row)
        XCTAssertEqual(fetched.value, pages)
      }
      try await end.expectComplete()
      let broken = await kind {
        _ = try await all(Source<Int, NotUsed>.pages(from: 0) { (_: Int) in throw Oops() })
      }
      XCTAssertEqual(broken, .stageFailed)
    }
  }

  func testTasksAreBoundedInOrderAndCancelled() async throws {
    try await watched {
      let (now, most) = (Counter(), Counter())
      let squares = try await all(
        try Source(1...50).mapAsync(4) { n in
          now.add()
          most.add(max(0, now.value - most.value))
          await Task.yield()
          now.add(-1)
          return n * n
        })
      XCTAssertEqual(squares, (1...50).map { $0 * $0 })
      XCTAssertLessThanOrEqual(most.value, 4)
      let any = try await all(try Source(1...50).mapAsync(4, ordered: false) { $0 })
      XCTAssertEqual(any.sorted(), Array(1...50))
      let failed = await kind {
        _ = try await all(try Source(1...5).mapAsync(2) { if $0 == 3 { throw Oops() } else { $0 } })
      }
      XCTAssertEqual(failed, .stageFailed)
      let none = await kind { _ = try Source(1...5).mapAsync(0) { $0 } }
      XCTAssertEqual(none, .invalidArgument)

      let (begun, stopped) = (Gate(window: 0), Gate(window: 0))
      try await withScope("test") { scope in
        let end = try Source(1...).mapAsync(2) { n in
          begun.grant(1)
          defer { stopped.grant(1) }
          try await Task.sleep(for: .seconds(3600))
          return n
        }.to(.probe()).run(on: scope)
        try end.request(2)
        try await begun.acquire(2)
        end.cancel()
        try await stopped.acquire(2)
      }
    }
  }

  func testAnAsyncSequenceIsASource() async throws {
    try await watched {
      let numbers = AsyncStream<Int> { stream in
        for n in 1...5 { stream.yield(n) }
        stream.finish()
      }
      let came = try await all(Source<Int, NotUsed>.iterating(numbers).map { $0 * 2 })
      XCTAssertEqual(came, [2, 4, 6, 8, 10])
    }
  }

  func testAnEdgeHoldsNoMoreBytesThanItMay() async throws {
    let scope = try Scope.stepped("test", seed: 1)
    let graph = try Source<String, Manual<String>>
      .manual(EdgeOptions(bytes: 10), size: { UInt64($0.utf8.count) })
      .toMat(.probe()) { ($0, $1) }
    let (control, end) = try graph.run(on: scope)
    XCTAssertEqual(control.tryOffer("12345"), .enqueued)
    XCTAssertEqual(control.tryOffer("12345"), .enqueued)
    XCTAssertNil(control.tryOffer("1"))
    try end.request(1)
    scope.settle()
    XCTAssertEqual(control.tryOffer("1"), .enqueued)
    XCTAssertThrowsError(try Source<Int, Manual<Int>>.manual(EdgeOptions(bytes: 0))) {
      XCTAssertEqual(($0 as? SluicegateError)?.kind, .invalidArgument)
    }
  }
}
