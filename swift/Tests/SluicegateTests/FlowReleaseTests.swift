import Foundation
import Sluicegate
import XCTest

private struct Oops: Error {}

/// Every element is released, those in edges, stages and tasks too: at a cancel, a failure, the end.
final class FlowReleaseTests: XCTestCase {
  private typealias Line = Source<Tallied, NotUsed>
  private typealias Stage = Flow<Tallied, Tallied, NotUsed>
  private typealias Branches = Flow<Tallied, Tallied, [NotUsed]>
  private typealias Turns = Flow<Tallied, Feedback<Tallied, Tallied>, NotUsed>
  private typealias Change = @Sendable (Line) throws -> Line

  private static let small = EdgeOptions(capacity: 2)

  /// Elements without end.
  private static func endless(_ tally: Tally) -> Line {
    Source(0...).map { _ in tally.make() }
  }

  private static func turn(_ element: Tallied) -> Feedback<Tallied, Tallied> {
    element.turns.add()
    return element.turns.value > 2 ? .out(element) : .again(element)
  }

  /// Stages that give something before the end of what they are given.
  private static var lines: [String: Change] {
    var all: [String: Change] = [:]
    all["map"] = { $0.map { $0 } }
    all["compactMap"] = { $0.compactMap { $0 } }
    all["filter"] = { $0.filter { _ in true } }
    all["tap"] = { $0.tap { _ in } }
    all["scan"] = { $0.scan([Tallied]()) { Array(($0 + [$1]).suffix(3)) }.compactMap { $0.last } }
    all["prefix"] = { $0.prefix(10_000) }
    all["dropFirst"] = { $0.dropFirst(3) }
    all["prefix while"] = { $0.prefix(while: { _ in true }) }
    all["drop while"] = { $0.drop(while: { $0.n < 3 }) }
    all["buffer"] = { try $0.buffer(small) }
    all["buffer, bytes"] = { try $0.buffer(EdgeOptions(capacity: 4, bytes: 2), size: { _ in 1 }) }
    all["buffer, drops"] = { try $0.buffer(EdgeOptions(capacity: 2, overflow: .dropHead)) }
    all["batch"] = { try $0.batch(7).flatMap { $0 } }
    all["batch, time"] = { try $0.batch(1_000, within: .milliseconds(1)).flatMap { $0 } }
    all["batch, bytes"] = { try $0.batch(bytes: 5, size: { _ in 1 }).flatMap { $0 } }
    all["sliding"] = { try $0.sliding(4, step: 2).flatMap { $0 } }
    all["flatMap"] = { $0.flatMap { [$0, $0] } }
    all["page"] = { try $0.page(8) }
    all["mapParallel"] = { try $0.mapParallel(3) { $0 } }
    all["mapParallel, unordered"] = { try $0.mapParallel(3, ordered: false) { $0 } }
    all["mapAsync"] = { try $0.mapAsync(3) { $0 } }
    all["mapAsync, unordered"] = { try $0.mapAsync(3, ordered: false) { $0 } }
    all["throttle"] = { try $0.throttle(1_000, per: .milliseconds(1), burst: 1_000) }
    all["delay"] = { try $0.delay(.milliseconds(1), room: 4) }
    all["timeout"] = { $0.timeout(.idle, .seconds(600)) }
    all["recover"] = { $0.recover { _ in nil } }
    all["recover with"] = { $0.recover(with: .empty()) }
    all["retry"] = { try $0.retry(2) }
    all["kill switch"] = { $0.via(.killSwitch()) }
    all["groupBy"] = { try $0.groupBy(3, key: { $0.n % 3 }, Stage.map { $0 }) }
    all["groupBy, queues"] = { try $0.groupBy(3, key: { $0.n % 3 }, try Stage.buffer(small)) }
    all["groupBy, tasks"] = { try $0.groupBy(3, key: { $0.n % 3 }, try Stage.mapAsync(2) { $0 }) }
    all["feedback"] = { try $0.feedback(2, Turns.map(turn)) }
    all["feedback, queue"] = { try $0.feedback(4, Turns.map(turn).via(try .buffer(small))) }
    all["feedback, tasks"] = { try $0.feedback(4, try Turns.mapAsync(2) { turn($0) }) }
    all["broadcast"] = { $0.via(Branches.broadcast([Stage.map { $0 }, Stage.map { $0 }])) }
    all["balance"] = { $0.via(Branches.balance([Stage.map { $0 }, Stage.map { $0 }])) }
    all["partition"] = { $0.via(Branches.partition([Stage.map { $0 }, Stage.map { $0 }]) { $0.n % 2 }) }
    all["zip"] = { $0.zip($0) { left, _ in left } }
    all["combine"] = { line in
      let first = Flow<[Tallied], Tallied, NotUsed>.map { $0[0] }
      return Source.combine([line, line, line]).viaMat(first) { _, unused in unused }
    }
    all["merge"] = { $0.merge($0) }
    all["merge, preferred"] = { $0.mergePreferred([$0, $0]) }
    all["concat"] = { $0.concat($0) }
    all["iterating"] = { line in .iterating(Elements(line)) }
    return all
  }

  /// Stages that give nothing yet, whatever they are given.
  private static var silent: [String: Change] {
    var all: [String: Change] = [:]
    all["fold"] = { $0.fold([Tallied]()) { Array(($0 + [$1]).suffix(3)) }.compactMap { $0.last } }
    all["debounce"] = { $0.debounce(.seconds(600)) }
    all["mapAsync, held"] = { try $0.mapAsync(4, held) }
    all["mapAsync, held, unordered"] = { try $0.mapAsync(4, ordered: false, held) }
    all["groupBy, held"] = { try $0.groupBy(4, key: { $0.n % 4 }, try Stage.mapAsync(1, held)) }
    all["feedback, held"] = { try $0.feedback(4, try Turns.mapAsync(4) { .out(try await held($0)) }) }
    return all
  }

  /// Ends by a cancel alone.
  private static func held(_ element: Tallied) async throws -> Tallied {
    try await Task.sleep(for: .seconds(3_600))
    return element
  }

  func testACancelReleasesWhatIsOnItsWay() async throws {
    try await watched(.seconds(300)) {
      for (name, line) in Self.lines.sorted(by: { $0.key < $1.key }) {
        let tally = Tally()
        try await withScope(name) { scope in
          let outlet = try line(Self.endless(tally).buffer(Self.small)).run(on: scope, edge: Self.small)
          _ = try await outlet.next()
          await until { tally.made.value >= 3 }
          outlet.cancel()
        }
        await tally.isEven()
      }
      for (name, line) in Self.silent.sorted(by: { $0.key < $1.key }) {
        let tally = Tally()
        try await withScope(name) { scope in
          let outlet = try line(Self.endless(tally).buffer(Self.small)).run(on: scope, edge: Self.small)
          await until { tally.made.value >= 4 }
          outlet.cancel()
        }
        await tally.isEven()
      }
    }
  }

  func testAFailureReleasesWhatIsOnItsWay() async throws {
    try await watched(.seconds(300)) {
      for (name, line) in Self.lines.sorted(by: { $0.key < $1.key }) {
        let tally = Tally()
        let failing = Source(1...).map { n in
          if n == 20 { throw Oops() }
          return tally.make()
        }
        try await withScope(name) { scope in
          let outlet = try line(failing.buffer(Self.small)).run(on: scope, edge: Self.small)
          while (try? await outlet.next()) != nil {}
        }
        await tally.isEven()
      }
    }
  }

  func testAShutdownReleasesWhatASinkHolds() async throws {
    var sinks: [String: @Sendable (Line, Scope) throws -> any Sendable] = [:]
    sinks["collect"] = { try $0.to(.collect()).run(on: $1) }
    sinks["fold"] = { try $0.to(.fold([Tallied]()) { Array(($0 + [$1]).suffix(3)) }).run(on: $1) }
    sinks["forEach"] = { try $0.to(.forEach { _ in }).run(on: $1) }
    sinks["first"] = { try $0.to(.first()).run(on: $1) }
    sinks["last"] = { try $0.to(.last()).run(on: $1) }
    sinks["ignore"] = { try $0.to(.ignore()).run(on: $1) }
    sinks["outlet"] = { try $0.to(.outlet(Self.small)).run(on: $1) }
    sinks["probe"] = { line, scope in
      let probe = try line.to(.probe()).run(on: scope)
      try probe.request(8)
      return probe
    }
    sinks["hub"] = { try $0.to(.broadcastHub(capacity: 4, replay: 2)).run(on: $1) }
    sinks["broadcast"] = { try $0.to(.broadcast([.collect(), .collect()])).run(on: $1) }
    sinks["balance"] = { try $0.to(.balance([.outlet(Self.small), .outlet(Self.small)])).run(on: $1) }
    sinks["partition"] = { try $0.to(.partition([.outlet(Self.small)]) { _ in 0 }).run(on: $1) }
    sinks["merge hub"] = { line, scope in
      let (hub, outlet) = try Source<Tallied, MergeHub<Tallied>>.mergeHub(Self.small)
        .toMat(.outlet(Self.small)) { ($0, $1) }.run(on: scope)
      _ = try line.to(hub.sink).run(on: scope)
      return outlet
    }
    let all = sinks
    try await watched(.seconds(300)) {
      for (name, run) in all.sorted(by: { $0.key < $1.key }) {
        let tally = Tally()
        try await withScope(name) { scope in
          let result = try run(Self.endless(tally).buffer(Self.small), scope)
          await until { tally.made.value > 0 }
          try await scope.shutdown()
          _ = result
        }
        await tally.isEven()
      }
    }
  }

  func testWhatAHubHoldsForItsSubscribersIsReleased() async throws {
    try await watched(.seconds(120)) {
      let tally = Tally()
      try await withScope("hub") { scope in
        let hub = try Self.endless(tally).to(.broadcastHub(capacity: 4, replay: 4)).run(on: scope)
        let slow = try hub.subscribe(.drop(.dropHead), capacity: 2).run(on: scope, edge: Self.small)
        let fast = try hub.subscribe(capacity: 4).run(on: scope, edge: Self.small)
        while hub.subscribers.allSatisfy({ $0.lost == 0 }) { _ = try await fast.next() }
        fast.cancel()
        _ = try await slow.next()
      }
      await tally.isEven()
    }
  }

  func testWhatAManualSourceWasOfferedIsReleased() async throws {
    try await watched(.seconds(120)) {
      let tally = Tally()
      try await withScope("manual") { scope in
        let (control, probe) = try Source<Tallied, Manual<Tallied>>.manual(Self.small)
          .toMat(.probe()) { ($0, $1) }.run(on: scope)
        while control.tryOffer(tally.make()) == .enqueued {}
        let waiting = Task { try await control.offer(tally.make()) }
        probe.cancel()
        let answer = try await waiting.value
        XCTAssertEqual(answer, .queueClosed)
        XCTAssertEqual(control.tryOffer(tally.make()), .queueClosed)
      }
      await tally.isEven()
    }
  }

  func testAGroupTooManyReleasesThoseOfTheOthers() async throws {
    try await watched(.seconds(120)) {
      let tally = Tally()
      let groups = try Self.endless(tally)
        .groupBy(3, key: { min($0.n / 4, 3) }, try Stage.buffer(Self.small))
      let failed = await kind { _ = try await all(groups) }
      XCTAssertEqual(failed, .limitReached)
      await tally.isEven()
    }
  }
}

/// The elements of a line, each run of which is a pipeline of its own.
private struct Elements: AsyncSequence, Sendable {
  typealias Element = Tallied
  let line: Source<Tallied, NotUsed>
  init(_ line: Source<Tallied, NotUsed>) { self.line = line }

  struct AsyncIterator: AsyncIteratorProtocol {
    let scope: Scope
    let outlet: Outlet<Tallied>
    mutating func next() async throws -> Tallied? { try await outlet.next() }
  }

  func makeAsyncIterator() -> AsyncIterator {
    do {
      let scope = try Scope("inner")
      return AsyncIterator(scope: scope, outlet: try line.run(on: scope, edge: EdgeOptions(capacity: 2)))
    } catch {
      preconditionFailure("an open scope runs it: \(error)")
    }
  }
}
