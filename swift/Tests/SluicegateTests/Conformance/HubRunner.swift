import Sluicegate

/// Hub scripts: a real broadcast hub between a publisher and subscribers that come and go.
struct HubRunner: Player {
  /// What a runner makes of a policy that it reads.
  typealias Reading = (HubPolicy) -> HubPolicy

  /// Who listens, as the hub's control tells.
  private struct Listener: Hashable {
    var name: String
    var demand: UInt64
    var held: UInt64
    var lost: UInt64

    init(_ one: Hub<Piece>.Subscriber) {
      (name, demand, held, lost) = (one.name, one.demand, one.held, one.lost)
    }

    /// What a script says of it.
    init(_ json: Any) throws {
      var told = try Fields(json)
      name = try told.text("name")
      (demand, held) = (try told.number("demand"), try told.number("held"))
      lost = try told.number("lost")
      try told.done()
    }
  }

  /// The name under which the hub's own counters are shown; a subscriber's is its number.
  private static let name = "broadcast_hub"

  private var probes: Probes
  private let hub: Hub<Piece>
  private let reading: Reading

  /// Replays a script in the order that `seed` decides, which must not show; with other policies, if
  /// `reading` makes others of those that it reads.
  static func replay(
    _ script: Script, seed: UInt64, reading: @escaping Reading = { $0 }
  ) async throws {
    guard script.machine == "hub" else { throw ReplayFailure("unknown machine \(script.machine)") }
    var head = Fields(script.head)
    let (capacity, again) = (try head.number("capacity"), try head.number("replay"))
    try head.done()
    let sink: Sink<Piece, Hub<Piece>>
    do { sink = try .broadcastHub(capacity: capacity, replay: again) } catch {
      guard error.kind == .invalidArgument, script.steps.isEmpty else {
        throw ReplayFailure("it cannot be built: \(error)")
      }
      return
    }
    guard !script.steps.isEmpty else { throw ReplayFailure("it was built, and must be refused") }
    var runner = try HubRunner(sink, reading, seed)
    try await runner.replay(script.steps)
  }

  private init(
    _ sink: Sink<Piece, Hub<Piece>>, _ reading: @escaping Reading, _ seed: UInt64
  ) throws {
    let scope = try Scope.stepped("hub", seed: seed)
    let probe = try Source<Piece, Publisher<Piece>>.probe()
    let (publisher, hub) = try probe.toMat(sink) { ($0, $1) }.run(on: scope)
    probes = Probes(scope, [publisher], [])
    self.hub = hub
    self.reading = reading
  }

  private static func policy(_ step: inout Fields) throws -> HubPolicy {
    let (name, limit) = (try step.text("policy"), try step.optionalNumber("patience"))
    switch (name, limit) {
    case ("wait", nil): return .wait
    case ("wait", let limit?): return .waitAtMost(.microseconds(limit))
    case ("drop_head", nil): return .drop(.dropHead)
    case ("drop_tail", nil): return .drop(.dropTail)
    case ("drop_new", nil): return .drop(.dropNew)
    case ("drop_buffer", nil): return .drop(.dropBuffer)
    case ("disconnect", nil): return .disconnect
    default: throw ReplayFailure("unknown policy \(name), limit \(limit.map(String.init) ?? "none")")
    }
  }

  private mutating func subscribe(_ step: inout Fields) throws {
    let policy = reading(try Self.policy(&step))
    let source = try hub.subscribe(policy, capacity: try step.number("capacity"))
    let line = source.named("\(probes.below.count)").toMat(.probe()) { $1 }
    probes.below.append(Below(probe: try line.run(on: probes.scope)))
  }

  mutating func play(_ op: String, _ step: inout Fields) async throws -> String {
    switch op {
    case "subscribe": try subscribe(&step)
    case "advance": probes.scope.advance(by: .microseconds(try step.number("micros")))
    case "request", "cancel": return try await probes.play(op, step.number("who"), &step)
    default: return try await probes.play(op, 0, &step)
    }
    try await probes.settle()
    return "null"
  }

  mutating func compare(_ state: inout Fields) throws {
    var publisher = Fields(try state.object("publisher"))
    try probes.above[0].compare(&publisher)
    try publisher.done()
    try probes.compareBelow(state.list("subscribers"))
    try same("listeners", hub.subscribers.map(Listener.init), state.list("listeners").map(Listener.init))
    let queued = probes.seen()[Self.name]?.first?.held ?? 0
    try same("queued", queued, state.number("queued"))
    try same("over", hub.isOver ? "yes" : "no", state.text("over"))
  }
}
