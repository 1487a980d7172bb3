import Sluicegate

/// Junction scripts: real joins and forks with lines of stages on either side, between probes.
struct JunctionRunner: Player {
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

    static func line(_ json: Any) throws -> [Any] {
      guard let line = json as? [Any] else { throw ReplayFailure("no line: \(json)") }
      return line
    }
  }

  private static let forks: Set = ["broadcast", "balance", "partition"]

  private var probes: Probes
  private let plan: Plan
  /// The name under which the junction's own counters are shown: nothing else here bears it.
  private let name: String

  /// Replays a script in the order that `seed` decides, which must not show; as another junction, if one
  /// is named.
  static func replay(_ script: Script, seed: UInt64, as other: String? = nil) async throws {
    guard script.machine == "junction" else {
      throw ReplayFailure("unknown machine \(script.machine)")
    }
    var plan = try Plan(script)
    plan.junction = other ?? plan.junction
    var runner = try JunctionRunner(plan, seed)
    try await runner.replay(script.steps)
  }

  private init(_ plan: Plan, _ seed: UInt64) throws {
    let scope = try Scope.stepped("junction", seed: seed)
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
    probes = Probes(scope, publishers, subscribers)
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
      source.via(try Line.scripted(one.element, place("in", line, one.offset)))
    }
  }

  /// A line and the subscriber behind it.
  private static func sink(_ told: [Any], at line: Int) throws -> Sink<Piece, Subscriber<Piece>> {
    let probe = Sink<Piece, Subscriber<Piece>>.probe()
    return try told.enumerated().reversed().reduce(probe) { sink, one in
      try Line.scripted(one.element, place("out", line, one.offset)).to(sink)
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

  mutating func play(_ op: String, _ step: inout Fields) async throws -> String {
    try await probes.play(op, op == "start" ? 0 : step.number("who"), &step)
  }

  mutating func compare(_ state: inout Fields) throws {
    try probes.compareAbove(state.list("publishers"))
    try probes.compareBelow(state.list("subscribers"))
    let seen = probes.seen()
    try same("junction", seen[name] ?? [], state.list("junction").map(Counters.init))
    for (key, side, lines) in [("inputs", "in", plan.inputs), ("outputs", "out", plan.outputs)] {
      let came = lines.enumerated().map { line in
        line.element.indices.map { place in
          seen[Self.place(side, line.offset, place)]?.first ?? Counters()
        }
      }
      try same(key, came, state.list(key).map { try Plan.line($0).map(Counters.init) })
    }
  }
}
