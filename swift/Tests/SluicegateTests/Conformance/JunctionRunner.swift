import Foundation
import Sluicegate

private typealias Line = Flow<Piece, Piece, NotUsed>

/// Junction scripts: real joins and forks with lines of stages on either side, between probes, on a scope
/// without threads.
struct JunctionRunner {
  /// A publisher, and what the script has done with it.
  private struct Above {
    let probe: Publisher<Piece>
    var next: UInt64
    var ended: String?

    mutating func finish(_ first: Bool, _ how: String) -> String {
      if first { ended = ended ?? how }
      return first ? "yes" : "no"
    }
  }

  /// A subscriber, and what it received in this step.
  private struct Below {
    let probe: Subscriber<Piece>
    var delivered: [String] = []
    var terminal: String?
  }

  /// What a script says of its lines.
  private struct Plan {
    var junction: String
    let inputs: [[Any]]
    let outputs: [[Any]]

    init(_ script: Script) throws {
      var head = Fields(script.head)
      junction = try head.text("junction")
      inputs = try head.list("inputs").map(Self.line)
      outputs = try head.list("outputs").map(Self.line)
      try head.done()
    }

    private static func line(_ json: Any) throws -> [Any] {
      guard let line = json as? [Any] else { throw ReplayFailure("no line: \(json)") }
      return line
    }
  }

  private static let forks: Set = ["broadcast", "balance", "partition"]

  private let scope: Scope
  private let plan: Plan
  /// The name under which the junction's own counters are shown: nothing else here bears it.
  private let name: String
  private var above: [Above]
  private var below: [Below]

  /// Replays a script in the order that `seed` decides, which must not show; as another junction, if one
  /// is named.
  static func replay(_ script: Script, seed: UInt64, as other: String? = nil) async throws {
    guard script.machine == "junction" else {
      throw ReplayFailure("unknown machine \(script.machine)")
    }
    var plan = try Plan(script)
    plan.junction = other ?? plan.junction
    var runner = try JunctionRunner(plan, seed)
    for (index, step) in script.steps.enumerated() {
      do { try await runner.step(step) } catch let failure as ReplayFailure {
        throw failure.at("step \(index)")
      }
    }
  }

  private init(_ plan: Plan, _ seed: UInt64) throws {
    scope = try Scope.stepped("junction", seed: seed)
    self.plan = plan
    let sources = try plan.inputs.enumerated().map { try Self.source($0.element, at: $0.offset) }
    let sinks = try plan.outputs.enumerated().map { try Self.sink($0.element, at: $0.offset) }
    let publishers: [Publisher<Piece>]
    let subscribers: [Subscriber<Piece>]
    if Self.forks.contains(plan.junction) {
      name = plan.junction
      let fork = Self.fork(plan.junction, sinks)
      let (publisher, all) = try sources[0].toMat(fork) { ($0, $1) }.run(on: scope)
      (publishers, subscribers) = ([publisher], all)
    } else {
      let (join, name) = try Self.join(plan.junction, sources)
      self.name = name
      let (all, subscriber) = try join.toMat(sinks[0]) { ($0, $1) }.run(on: scope)
      (publishers, subscribers) = (all, [subscriber])
    }
    above = publishers.enumerated().map { Above(probe: $0.element, next: UInt64($0.offset) * 1000) }
    below = subscribers.map { Below(probe: $0) }
  }

  private static func place(_ side: String, _ line: Int, _ place: Int) -> String {
    "\(side) \(line) \(place)"
  }

  /// A publisher and the line behind it.
  private static func source(
    _ told: [Any], at line: Int
  ) throws -> Source<Piece, Publisher<Piece>> {
    let probe = try Source<Piece, Publisher<Piece>>.probe()
    return try told.enumerated().reduce(probe) { source, one in
      source.via(try PipelineRunner.stage(one.element, place("in", line, one.offset)))
    }
  }

  /// A line and the subscriber behind it.
  private static func sink(_ told: [Any], at line: Int) throws -> Sink<Piece, Subscriber<Piece>> {
    let probe = Sink<Piece, Subscriber<Piece>>.probe()
    return try told.enumerated().reversed().reduce(probe) { sink, one in
      try PipelineRunner.stage(one.element, place("out", line, one.offset)).to(sink)
    }
  }

  private static func fork(
    _ kind: String, _ sinks: [Sink<Piece, Subscriber<Piece>>]
  ) -> Sink<Piece, [Subscriber<Piece>]> {
    switch kind {
    case "broadcast": return .broadcast(sinks)
    case "balance": return .balance(sinks)
    default:
      let count = UInt64(sinks.count)
      return .partition(sinks) { Int($0.number % count) }
    }
  }

  /// A join, and the name under which the library counts it.
  private static func join(
    _ kind: String, _ sources: [Source<Piece, Publisher<Piece>>]
  ) throws -> (Source<Piece, [Publisher<Piece>]>, String) {
    switch kind {
    case "zip":
      let pairs = sources[0].zipMat(sources[1], { Piece.group([$0, $1]) }) { [$0, $1] }
      return (pairs, "zip_with")
    case "combine":
      let groups = Source<[Piece], [Publisher<Piece>]>.combine(sources)
      return (groups.via(Flow<[Piece], Piece, NotUsed>.map { .group($0) }.named("plain")), kind)
    case "merge": return (.mergeAll(sources), kind)
    case "merge_prefer": return (.mergePreferredAll(sources), kind)
    case "concat": return (.concatAll(sources), kind)
    default: throw ReplayFailure("unknown junction \(kind)")
    }
  }

  /// Runs everything until it is quiet, taking what comes.
  private mutating func settle() async throws {
    var came = true
    while came {
      scope.settle()
      came = false
      for index in below.indices {
        while let event = try await below[index].probe.event(within: .zero) {
          came = true
          switch event {
          case .next(let piece): below[index].delivered.append(piece.text)
          case .complete: below[index].terminal = "completed"
          case .error: below[index].terminal = "failed"
          }
        }
      }
    }
    for index in above.indices where above[index].probe.control.isOver {
      above[index].ended = above[index].ended ?? "cancelled"
    }
  }

  private mutating func step(_ json: Any) async throws {
    var step = try Fields(json)
    let op = try step.text("op")
    let came = try await play(op, &step)
    try await settle()
    let expected = try step.take("answer")
    if let sent = expected as? [String: Any] {
      var fields = Fields(sent)
      let wanted = (try fields.text("sent"), try fields.optionalText("refused"))
      try fields.done()
      try same("answer", "\(wanted)", came)
    } else {
      try same("answer", (expected as? String) ?? "null", came)
    }
    var state = Fields(try step.object("state"))
    try step.done()
    try compareEnds(&state)
    try compareCounters(&state)
    try state.done()
  }

  private mutating func play(_ op: String, _ step: inout Fields) async throws -> String {
    if op == "start" { return "null" }
    let who = Int(try step.number("who"))
    guard who < (["request", "cancel"].contains(op) ? below.count : above.count) else {
      throw ReplayFailure("there is no number \(who)")
    }
    switch op {
    case "request": _ = try? below[who].probe.request(try step.number("n"))
    case "cancel": below[who].probe.cancel()
    case "next": return try await send(who, try step.number("k"))
    case "complete": return above[who].finish(above[who].probe.sendComplete(), "completed")
    case "fail":
      let failed = above[who].probe.sendError(SluicegateError(.io, "the script says so"))
      return above[who].finish(failed, "failed")
    default: throw ReplayFailure("unknown op \(op)")
    }
    return "null"
  }

  private mutating func send(_ who: Int, _ most: UInt64) async throws -> String {
    var (sent, refused): (UInt64, String?) = (0, nil)
    while sent < most, refused == nil {
      switch above[who].probe.control.tryOffer(.number(above[who].next)) {
      case .enqueued:
        sent += 1
        above[who].next += 1
        try await settle()
      case nil: refused = "no_demand"
      default: refused = "closed"
      }
    }
    return "\(("\(sent)", refused))"
  }

  /// Who stands at the ends of the lines.
  private mutating func compareEnds(_ state: inout Fields) throws {
    let publishers = try state.list("publishers")
    try same("publishers", "\(publishers.count)", "\(above.count)")
    for (index, json) in publishers.enumerated() {
      var fields = try Fields(json)
      let one = above[index]
      let demand = one.ended == nil ? one.probe.control.demand : 0
      try same("publisher \(index): demand", try fields.text("demand"), "\(demand)")
      try same(
        "publisher \(index): ended", try fields.optionalText("ended") ?? "null", one.ended ?? "null")
      try fields.done()
    }
    let subscribers = try state.list("subscribers")
    try same("subscribers", "\(subscribers.count)", "\(below.count)")
    for (index, json) in subscribers.enumerated() {
      var fields = try Fields(json)
      let wanted = try fields.list("delivered").map(Piece.text).joined(separator: " ")
      try same(
        "subscriber \(index): delivered", wanted, below[index].delivered.joined(separator: " "))
      try same(
        "subscriber \(index): terminal", try fields.optionalText("terminal") ?? "null",
        below[index].terminal ?? "null")
      try fields.done()
      (below[index].delivered, below[index].terminal) = ([], nil)
    }
  }

  private func compareCounters(_ state: inout Fields) throws {
    let running = Dictionary(grouping: scope.stages(), by: \.name)
    let counters = { (view: StageView?) in
      "\(view?.downstream ?? 0) \(view?.upstream ?? 0) \(view?.held ?? 0)"
    }
    let wanted = { (json: Any) in
      var fields = try Fields(json)
      let text = "\(try fields.text("owed")) \(try fields.text("asked")) \(try fields.text("held"))"
      try fields.done()
      return text
    }
    let own = running[name]?.map(counters) ?? []
    let told = try state.list("junction").map(wanted)
    try same("junction", told.joined(separator: ", "), own.joined(separator: ", "))
    for (key, side, lines) in [("inputs", "in", plan.inputs), ("outputs", "out", plan.outputs)] {
      let told = try state.list(key)
      try same(key, "\(told.count)", "\(lines.count)")
      for (line, json) in told.enumerated() {
        let stages = json as? [Any] ?? []
        try same("\(side) \(line)", "\(stages.count)", "\(lines[line].count)")
        for (index, one) in stages.enumerated() {
          let name = Self.place(side, line, index)
          try same(name, try wanted(one), counters(running[name]?.first))
        }
      }
    }
  }

  private func same(_ what: String, _ expected: String, _ came: String) throws {
    guard expected == came else {
      throw ReplayFailure("\(what): expected \(expected), came \(came)")
    }
  }
}
