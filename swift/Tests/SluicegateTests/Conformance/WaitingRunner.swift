import Foundation
import Sluicegate

/// Replays scripts with several actors; each actor is a task.
struct WaitingRunner {
  /// Nothing in a script takes this long unless a wake was lost.
  static let watchdog = Duration.seconds(120)

  /// A short limit passed before its step: this replay shows nothing.
  private struct Void: Error {}

  /// Replays one script, with longer limits until the clock lets it be.
  static func replay(_ script: Script) async throws {
    var short = Duration.milliseconds(2)
    while short < watchdog {
      var replay = try WaitingRunner(script, short: short)
      do {
        try await replay.run(script)
        return
      } catch is Void {
        short = short * 2
      }
    }
    throw ReplayFailure("too slow for limits of \(short)")
  }

  private struct Out {
    var task: Task<Swift.Void, Never>
    var leaves: String?
    var began: ContinuousClock.Instant
    var isShort: Bool
    var mayLeave = false
  }

  private struct Outcome {
    var returned: [String: Answer] = [:]
    var blocked: Set<String> = []
    var gates: [String: GateState] = [:]
    var windows: [String: WindowState] = [:]

    /// True if everybody who has come back so far is listed.
    func allows(_ came: [String: Answer]) -> Bool {
      came.allSatisfy { returned[$0.key] == $0.value }
    }
  }

  private struct GateState: Equatable {
    var available: UInt64
    var waiting: UInt64
    var closed: String?
  }

  private struct WindowState: Equatable {
    var remaining: UInt64
    var pending: UInt64
  }

  private var world: World
  private let short: Duration
  private let mailbox = Mailbox()
  /// Those who have not come back.
  private var out: [String: Out] = [:]

  private init(_ script: Script, short: Duration) throws {
    self.short = short
    var head = Fields(script.head)
    world = try World(gates: head.object("gates"))
    for (name, json) in try head.object("windows") {
      guard let fields = json as? [String: Any] else { throw ReplayFailure("no window: \(json)") }
      world.windows[name] = try World.window(fields)
    }
    try head.done()
  }

  private mutating func run(_ script: Script) async throws {
    var failure: (any Error)?
    for (number, step) in script.steps.enumerated() where failure == nil {
      do {
        try await self.step(Fields(step))
      } catch let error as ReplayFailure {
        failure = clockInterfered ? Void() : error.at("step \(number)")
      } catch {
        failure = error
      }
    }
    if failure == nil, !out.isEmpty {
      failure = ReplayFailure("\(out.keys.sorted()) never came back")
    }
    for gate in world.gates.values { gate.close("the script is over") }
    for one in out.values { await one.task.value }
    if let failure { throw failure }
  }

  /// True if an actor may have timed out before its step, so that what was seen shows nothing.
  private var clockInterfered: Bool {
    out.values.contains { $0.isShort && !$0.mayLeave && $0.began.duration(to: .now) >= short }
  }

  private mutating func step(_ step: Fields) async throws {
    var step = step
    let ops = try step.list("do")
    let outcomes = try step.list("then").map(Self.outcome)
    try step.done()
    for op in ops {
      var fields = try Fields(op)
      let name = try fields.text("op")
      do {
        try perform(name, &fields)
        try fields.done()
      } catch let failure as ReplayFailure {
        throw failure.at(name)
      }
    }
    let end = ContinuousClock.now.advanced(by: Self.watchdog)
    var came: [String: Answer] = [:]
    while true {
      for back in mailbox.drain() { try note(back, &came) }
      let lines = world.gates.mapValues { UInt64($0.waiting) }
      let outcome = outcomes.first { outcome in
        outcome.returned.allSatisfy { came[$0.key] == $0.value }
          && outcome.gates.mapValues(\.waiting) == lines
      }
      if let outcome {
        for back in mailbox.drain() { try note(back, &came) }
        return try compare(outcome, came)
      }
      if !outcomes.contains(where: { $0.allows(came) }) {
        throw ReplayFailure("returned: expected one of \(outcomes.map(\.returned)), came \(came)")
      }
      if ContinuousClock.now >= end {
        throw ReplayFailure("hangs: expected \(outcomes), came \(came), in line \(lines)")
      }
      await Task.yield()
    }
  }

  private func compare(_ outcome: Outcome, _ came: [String: Answer]) throws {
    try same("returned", came, outcome.returned)
    try same("blocked", Set(out.keys), outcome.blocked)
    let gates = world.gates.mapValues {
      GateState(available: $0.available, waiting: UInt64($0.waiting), closed: $0.reason?.code)
    }
    try same("gates", gates, outcome.gates)
    let windows = world.windows.mapValues {
      WindowState(remaining: $0.remaining, pending: $0.pending)
    }
    try same("windows", windows, outcome.windows)
  }

  private mutating func note(_ back: Mailbox.Return, _ came: inout [String: Answer]) throws {
    guard let actor = out.removeValue(forKey: back.actor) else {
      throw ReplayFailure("\(back.actor) came back though it was not out")
    }
    if back.answer == .timedOut, actor.isShort {
      guard back.after >= short else {
        throw ReplayFailure("\(back.actor) timed out early, after \(back.after)")
      }
      guard actor.mayLeave else { throw Void() }
    }
    came[back.actor] = back.answer
  }

  private mutating func perform(_ op: String, _ fields: inout Fields) throws {
    switch op {
    case "start": try start(&fields)
    case "cancel":
      let actor = try fields.text("actor")
      guard let one = out[actor] else { throw ReplayFailure("\(actor) is not out") }
      one.task.cancel()
    case "expire":
      // Already back, timed out: seen as such when its return is read.
      out[try fields.text("actor")]?.mayLeave = true
    case "try":
      let gate = try world.gate(fields.text("gate"))
      try same("answer", World.tryAcquire(gate, fields.number("n")), fields.answer())
    case "grant": try world.gate(fields.text("gate")).grant(fields.number("n"))
    case "close": try world.gate(fields.text("gate")).close(fields.text("reason"))
    case "arrive", "consumed", "flush", "continued":
      let name = try fields.text("window")
      guard let window = world.windows[name] else { throw ReplayFailure("unknown window \(name)") }
      try same("answer", World.step(window, op)!, fields.answer())
    default:
      guard let came = try world.route(op, &fields) else { throw ReplayFailure("unknown op \(op)") }
      if op == "route" { try same("answer", came, fields.answer()) }
    }
  }

  private mutating func start(_ fields: inout Fields) throws {
    let actor = try fields.text("actor")
    let gate = try world.gate(fields.text("gate"))
    let n = try fields.number("n")
    let wish = try fields.optionalText("limit")
    let leaves = try fields.optionalText("leaves")
    guard out[actor] == nil else { throw ReplayFailure("\(actor) has not come back yet") }
    guard leaves == nil || leaves == "expire" || leaves == "cancel" else {
      throw ReplayFailure("unknown leaves \(leaves!)")
    }
    let limit: Duration? =
      switch wish {
      case nil: nil
      case "zero": .zero
      case "short": short
      case "long": Duration(secondsComponent: .max, attosecondsComponent: 0)
      default: throw ReplayFailure("unknown limit \(wish!)")
      }
    let mailbox = mailbox
    let began = ContinuousClock.now
    let task = Task {
      let answer: Answer
      do {
        try await gate.acquire(n, within: limit)
        answer = .word("acquired")
      } catch is CancellationError {
        answer = .cancelled
      } catch let error as SluicegateError {
        answer = error.kind == .timedOut ? .timedOut : .closed(error.code)
      } catch {
        answer = .word("\(error)")
      }
      mailbox.post(actor, answer, after: began.duration(to: .now))
    }
    out[actor] = Out(task: task, leaves: leaves, began: began, isShort: wish == "short")
  }

  private static func outcome(_ json: Any) throws -> Outcome {
    var fields = try Fields(json)
    var outcome = Outcome()
    for one in try fields.list("returned") {
      var one = try Fields(one)
      outcome.returned[try one.text("actor")] = try one.answer()
      try one.done()
    }
    for one in try fields.list("blocked") {
      guard let actor = one as? String else { throw ReplayFailure("no actor: \(one)") }
      outcome.blocked.insert(actor)
    }
    outcome.gates = try fields.object("gates").mapValues { json in
      var state = try Fields(json)
      let read = GateState(
        available: try state.number("available"), waiting: try state.number("waiting"),
        closed: try state.optionalText("closed"))
      try state.done()
      return read
    }
    outcome.windows = try fields.object("windows").mapValues { json in
      var state = try Fields(json)
      let read = WindowState(
        remaining: try state.number("remaining"), pending: try state.number("pending"))
      try state.done()
      return read
    }
    try fields.done()
    return outcome
  }
}

/// Where actors leave their answers. `@unchecked Sendable`: all state is under `lock`.
final class Mailbox: @unchecked Sendable {
  struct Return {
    var actor: String
    var answer: Answer
    /// How long the call took.
    var after: Duration
  }

  private let lock = NSLock()
  private var returns: [Return] = []

  func post(_ actor: String, _ answer: Answer, after: Duration) {
    lock.withLock { returns.append(Return(actor: actor, answer: answer, after: after)) }
  }

  func drain() -> [Return] {
    lock.withLock {
      defer { returns = [] }
      return returns
    }
  }
}
