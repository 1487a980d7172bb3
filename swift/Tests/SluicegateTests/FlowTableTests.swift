import Foundation
import Sluicegate
import XCTest

/// What every function of these tests throws.
private struct Refused: Error, CustomStringConvertible {
  let description = "refused here"
}

/// A number that counts how many of its kind are alive.
private final class Number: Sendable {
  let n: Int
  private let alive: Counter
  init(_ n: Int, _ alive: Counter) {
    self.n = n
    self.alive = alive
    alive.add(1)
  }
  deinit { alive.add(-1) }

  /// The number itself, but for the third: that one is refused.
  func passed() throws -> Number {
    if n == 3 { throw Refused() }
    return self
  }
}

/// Numbers from 1 that come in tasks.
private struct Failing: AsyncSequence, AsyncIteratorProtocol, Sendable {
  typealias Element = Number
  let alive: Counter
  private var n = 0
  init(alive: Counter) { self.alive = alive }
  func makeAsyncIterator() -> Failing { self }
  mutating func next() async throws -> Number? {
    n += 1
    return try Number(n, alive).passed()
  }
}

/// Tables over the stages: functions that throw, and what comes out when.
final class FlowTableTests: XCTestCase {
  private typealias Stage = Flow<Number, Number, NotUsed>
  private typealias Latest = Flow<Number, Number?, NotUsed>
  private typealias Numbers = Source<Number, NotUsed>

  /// The stages whose function refuses the third of five numbers.
  private static func stages() throws -> [(String, Stage)] {
    [
      ("map", .map { try $0.passed() }),
      ("compactMap", .compactMap { try $0.passed() }),
      ("filter", .filter { try $0.passed().n > 0 }),
      ("tap", .tap { _ = try $0.passed() }),
      ("scan", Latest.scan(nil) { _, next in try next.passed() }.via(.compactMap { $0 })),
      ("fold", Latest.fold(nil) { _, next in try next.passed() }.via(.compactMap { $0 })),
      ("prefix", .prefix(while: { try $0.passed().n > 0 })),
      ("drop", .drop(while: { try $0.passed().n > 0 })),
      ("flatMap", .flatMap { [$0, try $0.passed()] }),
      ("mapParallel", try .mapParallel(2) { try $0.passed() }),
      ("mapParallel, unordered", try .mapParallel(2, ordered: false) { try $0.passed() }),
      ("mapAsync", try .mapAsync(2) { try $0.passed() }),
      ("mapAsync, unordered", try .mapAsync(2, ordered: false) { try $0.passed() }),
      ("conflate, seed", .conflate({ try $0.passed() }) { _, next in try next.passed() }),
      ("groupBy", try .groupBy(9, key: { try $0.passed().n }, .map { $0 })),
    ]
  }

  /// The sources whose function throws.
  private static func sources(_ alive: Counter) -> [(String, Numbers)] {
    let five = numbers(alive)
    let parts: Flow<Number, Number, [NotUsed]> = .partition([Stage.map { $0 }, Stage.map { $0 }]) {
      try $0.passed().n % 2
    }
    return [
      ("partition", five.via(parts)),
      ("unfold", .unfold(1) { n in
        defer { n += 1 }
        return try Number(n, alive).passed()
      }),
      ("fetch", .fetch { from, n in
        try (0..<min(n, 5)).map { try Number(Int(from + $0) + 1, alive).passed() }
      }),
      ("pages", .pages(from: 1) { n in
        Page(rows: [try Number(n, alive).passed()], next: n + 1)
      }),
      ("zip", five.zip(five) { left, _ in try left.passed() }),
      ("iterating", .iterating(Failing(alive: alive))),
    ]
  }

  private static func numbers(_ alive: Counter) -> Numbers {
    Source(1...5).map { Number($0, alive) }
  }

  private static func refused(_ name: String, _ body: () async throws -> Void) async {
    let error = await thrown(by: body) as? SluicegateError
    XCTAssertEqual(error?.kind, .stageFailed, "\(name): \(String(describing: error))")
    XCTAssertTrue(error?.message.contains("refused here") ?? false, "\(name): \(error?.message ?? "")")
  }

  func testAFunctionThatThrowsFailsTheStreamWhicheverItIs() async throws {
    try await watched {
      let alive = Counter()
      for (name, stage) in try Self.stages() {
        await Self.refused(name) { _ = try await all(Self.numbers(alive).via(stage)) }
        await until { alive.value == 0 }
      }
      for (name, source) in Self.sources(alive) {
        await Self.refused(name) { _ = try await all(source) }
        await until { alive.value == 0 }
      }
    }
  }

  func testAFunctionOfASinkThatThrowsFailsTheStream() async throws {
    try await watched {
      let alive = Counter()
      try await withScope("test") { scope in
        let each = try Self.numbers(alive).to(.forEach { _ = try $0.passed() }).run(on: scope)
        await Self.refused("forEach") { try await each.value() }
        let sum = try Self.numbers(alive).to(.fold(0) { $0 + (try $1.passed().n) }).run(on: scope)
        await Self.refused("fold") { _ = try await sum.value() }
        let parts = try Self.numbers(alive)
          .to(.partition([.ignore(), .ignore()]) { try $0.passed().n % 2 }).run(on: scope)
        for part in parts { await Self.refused("partition") { try await part.value() } }
      }
      await until { alive.value == 0 }
    }
  }

  func testAFoldOfConflateThatThrowsFailsTheStream() async throws {
    try await watched {
      let (scope, control, probe) = try Self.played(
        .conflate({ $0 }) { if $1 == 3 { throw Refused() } else { $0 + $1 } })
      for n in 1...4 {
        _ = control.tryOffer(n)
        scope.settle()
      }
      try probe.request(9)
      scope.settle()
      let error = try await probe.expectError()
      XCTAssertTrue(error.message.contains("refused here"), error.message)
      XCTAssertEqual(control.tryOffer(5), .queueClosed)
    }
  }

  /// A stage between a source by hand and a probe, in a scope without threads.
  private static func played(
    _ stage: Flow<Int, Int, NotUsed>
  ) throws -> (Scope, Manual<Int>, Subscriber<Int>) {
    let scope = try Scope.stepped("test", seed: 1)
    let graph = try Source<Int, Manual<Int>>.manual(EdgeOptions(capacity: 4))
      .via(stage).toMat(.probe()) { ($0, $1) }
    let (control, probe) = try graph.run(on: scope)
    scope.settle()
    return (scope, control, probe)
  }

  /// All that a probe was told by now.
  private static func said(_ probe: Subscriber<Int>) async throws -> [String] {
    var said: [String] = []
    while let event = try await probe.event(within: .zero) {
      switch event {
      case .next(let element): said.append("\(element)")
      case .complete: return said + ["|"]
      case .error(let error): return said + ["\(error.kind)"]
      }
    }
    return said
  }

  func testStagesByAClockMovedByHand() async throws {
    // A number is offered, "?9" asks for nine, "+9" lets nine seconds pass, "$" completes.
    let table: [(String, Flow<Int, Int, NotUsed>, String, String)] = [
      ("conflate", .conflate({ $0 * 100 }) { $0 + $1 }, "1 2 3 4 5 6 ?1 7 8 ?9 $", "120 708 |"),
      ("debounce", .debounce(.seconds(2)), "?9 1 +1 2 +1 3 +2 4 $", "+ + + 3 4 |"),
      (
        "throttle", try .throttle(1, per: .seconds(2), burst: 2),
        "?9 1 2 3 4 +1 +1 +2 $", "1 2 + + 3 + 4 |"
      ),
      ("idle", .timeout(.idle, .seconds(2)), "+9 ?2 1 +1 2 +9 ?1 +1 +1", "+ 1 + 2 + + + timedOut"),
      ("initial", .timeout(.initial, .seconds(2)), "?9 +1 +1", "+ + timedOut"),
      ("initial, in time", .timeout(.initial, .seconds(2)), "?9 +1 1 +9 2 $", "+ 1 + 2 |"),
      ("completion", .timeout(.completion, .seconds(2)), "?9 1 +1 2 +1", "1 + 2 + timedOut"),
    ]
    try await watched {
      for (name, stage, script, expected) in table {
        let (scope, control, probe) = try Self.played(stage)
        var said: [String] = []
        for word in script.split(separator: " ") {
          let n = Int(word.drop { !$0.isNumber }) ?? 0
          switch word.first {
          case "?": try probe.request(UInt64(n))
          case "+":
            said.append("+")
            scope.advance(by: .seconds(n))
          case "$": control.complete()
          default: XCTAssertEqual(control.tryOffer(n), .enqueued, "\(name): \(word)")
          }
          scope.settle()
          said += try await Self.said(probe)
        }
        XCTAssertEqual(said.joined(separator: " "), expected, name)
        XCTAssertEqual(control.tryOffer(0), .queueClosed, name)
      }
    }
  }

  func testThePreferredSourceComesFirst() async throws {
    try await watched {
      let scope = try Scope.stepped("test", seed: 1)
      let graph = try Source<Int, Manual<Int>>.manual()
        .mergePreferred([Source([10, 20]), Source([30])]).toMat(.probe()) { ($0, $1) }
      let (preferred, probe) = try graph.run(on: scope)
      for n in 1...3 { _ = preferred.tryOffer(n) }
      try probe.request(3)
      scope.settle()
      let first = try await Self.said(probe)
      XCTAssertEqual(first, ["1", "2", "3"])
      try probe.request(1)
      scope.settle()
      _ = preferred.tryOffer(4)
      try probe.request(9)
      scope.settle()
      let rest = try await Self.said(probe)
      XCTAssertEqual(rest[1], "4", "before those that wait")
      XCTAssertEqual(rest.sorted(), ["10", "20", "30", "4"])
      preferred.complete()
      scope.settle()
      try await probe.expectComplete()
    }
  }

  func testEachWhoListensLosesByAPolicyOfItsOwn() async throws {
    // Ten are shared with one who asks for all, and with those below, who ask behind it and hold three.
    let table: [(HubPolicy, [String], UInt64)] = [
      (.drop(.dropHead), ["8", "9", "10", "|"], 7),
      (.drop(.dropTail), ["1", "2", "10", "|"], 7),
      (.drop(.dropNew), ["1", "2", "3", "|"], 7),
      (.drop(.dropBuffer), ["10", "|"], 9),
      (.drop(.fail), ["1", "2", "3", "bufferOverflow"], 0),
      (.disconnect, ["1", "2", "3", "bufferOverflow"], 0),
      (.waitAtMost(.seconds(2)), ["1", "2", "3", "bufferOverflow"], 0),
      (.drop(.backpressure), (1...10).map { "\($0)" } + ["|"], 0),
      (.wait, (1...10).map { "\($0)" } + ["|"], 0),
    ]
    try await watched {
      for (policy, expected, lost) in table {
        let scope = try Scope.stepped("test", seed: 1)
        let graph = try Source<Int, Manual<Int>>.manual().toMat(try .broadcastHub()) { ($0, $1) }
        let (control, hub) = try graph.run(on: scope)
        let eager = try hub.subscribe().to(.probe()).run(on: scope)
        let late = try hub.subscribe(policy, capacity: 3).named("late").to(.probe()).run(on: scope)
        try eager.request(10)
        scope.settle()
        for n in 1...10 {
          XCTAssertEqual(control.tryOffer(n), .enqueued)
          scope.settle()
        }
        let held = try await Self.said(eager)
        let waits = [.wait, .waitAtMost(.seconds(2)), .drop(.backpressure)].contains(policy)
        XCTAssertEqual(held.count, waits ? 3 : 10, "\(policy)")
        XCTAssertEqual(hub.subscribers.first { $0.name == "late" }?.lost ?? 0, lost, "\(policy)")
        scope.advance(by: .seconds(1))
        let early = try await Self.said(eager)
        XCTAssertEqual(early, [], "\(policy)")
        scope.advance(by: .seconds(1))
        try late.request(10)
        scope.settle()
        control.complete()
        scope.settle()
        let said = try await Self.said(late)
        XCTAssertEqual(said, expected, "\(policy)")
        let rest = try await Self.said(eager)
        XCTAssertEqual(held + rest, (1...10).map { "\($0)" } + ["|"], "\(policy)")
      }
    }
  }
}
