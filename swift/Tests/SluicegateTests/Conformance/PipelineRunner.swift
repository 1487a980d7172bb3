import Foundation
import Sluicegate

/// What flows: numbers, and groups behind a batch.
enum Piece: Sendable, Hashable {
  case number(UInt64)
  indirect case group([Piece])

  var number: UInt64 {
    guard case .number(let number) = self else { preconditionFailure("a group, not a number") }
    return number
  }

  /// As a script writes it, in one text.
  var text: String {
    switch self {
    case .number(let number): "\"\(number)\""
    case .group(let pieces): "[" + pieces.map(\.text).joined(separator: ",") + "]"
    }
  }

  static func text(_ json: Any) throws -> String {
    switch json {
    case let number as String: return "\"\(number)\""
    case let pieces as [Any]: return "[" + (try pieces.map(text)).joined(separator: ",") + "]"
    default: throw ReplayFailure("no element: \(json)")
    }
  }
}

private typealias Line = Flow<Piece, Piece, NotUsed>

/// Pipeline scripts: lines of real stages between two probes, on a scope without threads.
struct PipelineRunner {
  private let scope: Scope
  private let source: Publisher<Piece>
  private let end: Subscriber<Piece>
  private let stages: Int
  private var next: UInt64 = 0
  private var ended: String?
  private var delivered: [String] = []
  private var terminal: String?

  /// Replays a script in the order that `seed` decides, which must not show.
  static func replay(_ script: Script, seed: UInt64) async throws {
    guard script.machine == "pipeline" else {
      throw ReplayFailure("unknown machine \(script.machine)")
    }
    var head = Fields(script.head)
    let told = try head.list("stages")
    try head.done()
    var lines: [Line] = []
    do {
      for (index, one) in told.enumerated() { lines.append(try stage(one, "stage \(index)")) }
    } catch let error as SluicegateError where error.kind == .invalidArgument {
      guard script.steps.isEmpty else { throw ReplayFailure("it cannot be built: \(error)") }
      return
    }
    guard !script.steps.isEmpty else { throw ReplayFailure("it was built, and must be refused") }
    var runner = try PipelineRunner(lines, seed)
    for (index, step) in script.steps.enumerated() {
      do { try await runner.step(step) } catch let failure as ReplayFailure {
        throw failure.at("step \(index)")
      }
    }
  }

  /// One stage of a script, under `name`.
  static func stage(_ json: Any, _ name: String) throws -> Flow<Piece, Piece, NotUsed> {
    var told = try Fields(json)
    let kind = try told.text("stage")
    let line: Line
    switch kind {
    case "map_add":
      let k = try told.number("k")
      line = Line.map { .number($0.number &+ k) }.named(name)
    case "filter_mod":
      let (m, r) = (try told.number("m"), try told.number("r"))
      line = Line.filter { m != 0 && $0.number % m == r }.named(name)
    case "take": line = Line.prefix(try told.number("n")).named(name)
    case "drop": line = Line.dropFirst(try told.number("n")).named(name)
    case "page":
      line = try Line.page(try told.number("size"), mark: try told.number("mark")).named(name)
    case "expand":
      let k = try told.number("k")
      line = Line.flatMap { piece in
        (0..<k).map { .number(piece.number &* k &+ $0) }
      }.named(name)
    case "batch":
      line = try Flow<Piece, [Piece], NotUsed>.batch(try told.number("k")).named(name)
        .via(Flow<[Piece], Piece, NotUsed>.map { .group($0) }.named("plain"))
    default: throw ReplayFailure("unknown stage \(kind)")
    }
    try told.done()
    return line
  }

  private init(_ lines: [Line], _ seed: UInt64) throws {
    scope = try Scope.stepped("pipeline", seed: seed)
    let probe = try Source<Piece, Publisher<Piece>>.probe()
    let graph = lines.reduce(probe) { $0.via($1) }.toMat(.probe()) { ($0, $1) }
    (source, end) = try graph.run(on: scope)
    stages = lines.count
  }

  /// Runs the line until it is quiet, taking what comes.
  private mutating func settle() async throws {
    var came = true
    while came {
      scope.settle()
      came = false
      while let event = try await end.event(within: .zero) {
        came = true
        switch event {
        case .next(let piece): delivered.append(piece.text)
        case .complete: terminal = "completed"
        case .error: terminal = "failed"
        }
      }
    }
    if source.control.isOver { ended = ended ?? "cancelled" }
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
    try same("demand", try state.text("demand"), "\(ended == nil ? source.control.demand : 0)")
    try same("ended", try state.optionalText("ended") ?? "null", ended ?? "null")
    try same("delivered", try state.list("delivered").map(Piece.text).joined(separator: " "),
      delivered.joined(separator: " "))
    try same("terminal", try state.optionalText("terminal") ?? "null", terminal ?? "null")
    (delivered, terminal) = ([], nil)
    let running = Dictionary(grouping: scope.stages(), by: \.name)
    for (index, json) in try state.list("stages").enumerated() {
      var fields = try Fields(json)
      let view = running["stage \(index)"]?.first
      try same("stage \(index): owed", try fields.text("owed"), "\(view?.downstream ?? 0)")
      try same("stage \(index): asked", try fields.text("asked"), "\(view?.upstream ?? 0)")
      try same("stage \(index): held", try fields.text("held"), "\(view?.held ?? 0)")
      try fields.done()
    }
    try state.done()
  }

  private mutating func play(_ op: String, _ step: inout Fields) async throws -> String {
    switch op {
    case "start": return "null"
    case "request":
      _ = try? end.request(try step.number("n"))
      return "null"
    case "next":
      let most = try step.number("k")
      var (sent, refused): (UInt64, String?) = (0, nil)
      while sent < most, refused == nil {
        switch source.control.tryOffer(.number(next)) {
        case .enqueued:
          sent += 1
          next += 1
          try await settle()
        case nil: refused = "no_demand"
        default: refused = "closed"
        }
      }
      return "\(("\(sent)", refused))"
    case "complete": return finish(source.sendComplete(), "completed")
    case "fail":
      return finish(source.sendError(SluicegateError(.io, "the script says so")), "failed")
    case "cancel":
      end.cancel()
      return "null"
    default: throw ReplayFailure("unknown op \(op)")
    }
  }

  private mutating func finish(_ first: Bool, _ how: String) -> String {
    if first { ended = ended ?? how }
    return first ? "yes" : "no"
  }

  private func same(_ what: String, _ expected: String, _ came: String) throws {
    guard expected == came else {
      throw ReplayFailure("\(what): expected \(expected), came \(came)")
    }
  }
}
