import Sluicegate

/// Replays scripts in which nothing waits.
enum PureRunner {
  /// How a script's window is seen; a test puts a broken one in its place.
  typealias Seen = (any ScriptedWindow) -> any ScriptedWindow

  static func replay(_ script: Script, window seen: Seen = { $0 }) throws {
    switch script.machine {
    case "gate": try gate(script)
    case "window": try window(script, seen)
    case "negotiate": try negotiate(script)
    case "grant_target", "router": try router(script)
    default: throw ReplayFailure("unknown machine \(script.machine)")
    }
  }

  private static func eachStep(
    _ script: Script, _ body: (_ op: String, _ fields: inout Fields) throws -> Void
  ) throws {
    for (number, step) in script.steps.enumerated() {
      do {
        var fields = try Fields(step)
        let op = try fields.text("op")
        do {
          try body(op, &fields)
          try fields.done()
        } catch let failure as ReplayFailure {
          throw failure.at(op)
        }
      } catch let failure as ReplayFailure {
        throw failure.at("step \(number)")
      }
    }
  }

  private static func opened(_ script: Script) throws -> Fields {
    var head = Fields(script.head)
    let open = try Fields(head.object("open"))
    try head.done()
    return open
  }

  private static func gate(_ script: Script) throws {
    var open = try opened(script)
    let gate = Gate(window: try open.number("window"))
    try open.done()
    try eachStep(script) { op, fields in
      let came: Answer
      switch op {
      case "acquire": came = World.tryAcquire(gate, try fields.number("n"))
      case "grant":
        gate.grant(try fields.number("n"))
        came = .nothing
      case "close":
        gate.close(try fields.text("reason"))
        came = .nothing
      default: throw ReplayFailure("unknown op \(op)")
      }
      try same("answer", came, fields.answer())
      var state = try Fields(fields.object("state"))
      try check(gate, &state)
      try state.done()
    }
  }

  private static func check(_ gate: Gate, _ state: inout Fields) throws {
    try same("available", gate.available, state.number("available"))
    let closed = try state.optionalText("closed")
    try same("closed", gate.reason?.code, closed)
    try same("isClosed", gate.isClosed, closed != nil)
  }

  private static func window(_ script: Script, _ seen: Seen) throws {
    var head = Fields(script.head)
    let window = seen(try World.window(head.object("open")))
    try head.done()
    try eachStep(script) { op, fields in
      guard let came = World.step(window, op) else { throw ReplayFailure("unknown op \(op)") }
      try same("answer", came, fields.answer())
      var state = try Fields(fields.object("state"))
      try same("remaining", window.remaining, state.number("remaining"))
      try same("pending", window.pending, state.number("pending"))
      try same("batch", window.batch, state.number("batch"))
      try state.done()
    }
  }

  private static func negotiate(_ script: Script) throws {
    try Fields(script.head).done()
    try eachStep(script) { op, fields in
      guard op == "negotiate" else { throw ReplayFailure("unknown op \(op)") }
      let came = Window.negotiate(try fields.number("ours"), try fields.number("theirs"))
      try same("answer", came.map { Answer.word(String($0)) } ?? .nothing, fields.answer())
    }
  }

  private static func router(_ script: Script) throws {
    var open = try opened(script)
    let world = try World(gates: open.object("gates"))
    try open.done()
    try eachStep(script) { op, fields in
      guard op != "route", let came = try world.route(op, &fields) else {
        throw ReplayFailure("unknown op \(op)")
      }
      try same("answer", came, fields.answer())
      var state = try Fields(fields.object("state"))
      let gates = try state.object("gates")
      try same("gates", Set(gates.keys), Set(world.gates.keys))
      for (name, json) in gates {
        var state = try Fields(json)
        try check(world.gate(name), &state)
        try state.done()
      }
      try state.done()
    }
  }
}
