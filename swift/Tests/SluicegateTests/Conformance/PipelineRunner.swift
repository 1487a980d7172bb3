import Sluicegate

/// Pipeline scripts: lines of real stages between two probes.
struct PipelineRunner: Player {
  private var probes: Probes
  private let names: [String]

  /// Replays a script in the order that `seed` decides, which must not show.
  static func replay(_ script: Script, seed: UInt64) async throws {
    guard script.machine == "pipeline" else {
      throw ReplayFailure("unknown machine \(script.machine)")
    }
    var head = Fields(script.head)
    let told = try head.list("stages")
    try head.done()
    let names = told.indices.map { "stage \($0)" }
    var lines: [Line] = []
    do {
      for (one, name) in zip(told, names) { lines.append(try .scripted(one, name)) }
    } catch let error as SluicegateError where error.kind == .invalidArgument {
      guard script.steps.isEmpty else { throw ReplayFailure("it cannot be built: \(error)") }
      return
    }
    guard !script.steps.isEmpty else { throw ReplayFailure("it was built, and must be refused") }
    var runner = try PipelineRunner(lines, names, seed)
    try await runner.replay(script.steps)
  }

  private init(_ lines: [Line], _ names: [String], _ seed: UInt64) throws {
    let scope = try Scope.stepped("pipeline", seed: seed)
    let probe = try Source<Piece, Publisher<Piece>>.probe()
    let graph = lines.reduce(probe) { $0.via($1) }.toMat(.probe()) { ($0, $1) }
    let (source, end) = try graph.run(on: scope)
    probes = Probes(scope, [source], [end])
    self.names = names
  }

  mutating func play(_ op: String, _ step: inout Fields) async throws -> String {
    try await probes.play(op, 0, &step)
  }

  mutating func compare(_ state: inout Fields) throws {
    try probes.above[0].compare(&state)
    try probes.below[0].compare(&state)
    let seen = probes.seen()
    let came = names.map { seen[$0]?.first ?? Counters() }
    try same("stages", came, state.list("stages").map(Counters.init))
  }
}
