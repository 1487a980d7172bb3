import Sluicegate

/// A publisher, and what the script has done with it.
struct Above {
  let probe: Publisher<Piece>
  var next: UInt64
  var ended: String?

  mutating func finish(_ first: Bool, _ how: String) -> String {
    if first { ended = ended ?? how }
    return first ? "yes" : "no"
  }

  /// Compares `demand` and `ended`.
  func compare(_ told: inout Fields) throws {
    try same("demand", ended == nil ? probe.control.demand : 0, told.number("demand"))
    try same("ended", ended, told.optionalText("ended"))
  }
}

/// A subscriber, and what it received in this step.
struct Below {
  let probe: Subscriber<Piece>
  var delivered: [String] = []
  var terminal: String?

  /// Takes what it was given; whether there was anything.
  mutating func take() async throws -> Bool {
    var came = false
    while let event = try await probe.event(within: .zero) {
      came = true
      switch event {
      case .next(let piece): delivered.append(piece.text)
      case .complete: terminal = "completed"
      case .error(let error): terminal = error.kind == .bufferOverflow ? "overflowed" : "failed"
      }
    }
    return came
  }

  /// Compares `delivered` and `terminal`, and forgets them.
  mutating func compare(_ told: inout Fields) throws {
    try same("delivered", delivered, told.list("delivered").map(Piece.text))
    try same("terminal", terminal, told.optionalText("terminal"))
    (delivered, terminal) = ([], nil)
  }
}

/// All probes of a script, which plays them by hand, on a scope without threads.
struct Probes {
  let scope: Scope
  var above: [Above]
  var below: [Below]

  /// Publisher number i begins with the element i·1000.
  init(_ scope: Scope, _ above: [Publisher<Piece>], _ below: [Subscriber<Piece>]) {
    self.scope = scope
    self.above = above.enumerated().map {
      Above(probe: $0.element, next: UInt64($0.offset) * 1000)
    }
    self.below = below.map { Below(probe: $0) }
  }

  /// Runs everything until it is quiet, taking what comes.
  mutating func settle() async throws {
    var came = true
    while came {
      scope.settle()
      came = false
      for index in below.indices {
        let more = try await below[index].take()
        came = came || more
      }
    }
    for index in above.indices where above[index].probe.control.isOver {
      above[index].ended = above[index].ended ?? "cancelled"
    }
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

  /// What the probe number `who` is told to do, and all that follows from it.
  mutating func play(_ op: String, _ who: UInt64, _ step: inout Fields) async throws -> String {
    let count = ["next", "complete", "fail"].contains(op) ? above.count : below.count
    guard who < count || op == "start" else { throw ReplayFailure("there is no number \(who) of \(count)") }
    let who = Int(who)
    var answer = "null"
    switch op {
    case "start": break
    case "request": _ = try? below[who].probe.request(try step.number("n"))
    case "cancel": below[who].probe.cancel()
    case "next": answer = try await send(who, try step.number("k"))
    case "complete": answer = above[who].finish(above[who].probe.sendComplete(), "completed")
    case "fail":
      let failed = above[who].probe.sendError(SluicegateError(.io, "the script says so"))
      answer = above[who].finish(failed, "failed")
    default: throw ReplayFailure("unknown op \(op)")
    }
    try await settle()
    return answer
  }

  /// Compares what can be seen of each publisher.
  func compareAbove(_ told: [Any]) throws {
    try same("publishers", above.count, told.count)
    for (index, json) in told.enumerated() {
      var fields = try Fields(json)
      do { try above[index].compare(&fields) } catch let failure as ReplayFailure {
        throw failure.at("publisher \(index)")
      }
      try fields.done()
    }
  }

  /// Compares what each subscriber received, and forgets it.
  mutating func compareBelow(_ told: [Any]) throws {
    try same("subscribers", below.count, told.count)
    for (index, json) in told.enumerated() {
      var fields = try Fields(json)
      do { try below[index].compare(&fields) } catch let failure as ReplayFailure {
        throw failure.at("subscriber \(index)")
      }
      try fields.done()
    }
  }

  /// The counters of all that is there now, by name.
  func seen() -> [String: [Counters]] {
    Dictionary(grouping: scope.stages(), by: \.name).mapValues { stages in
      stages.map { Counters(owed: $0.downstream, asked: $0.upstream, held: $0.held) }
    }
  }
}

/// The counters of a stage; all 0 of one that is gone.
struct Counters: Hashable {
  var owed: UInt64 = 0
  var asked: UInt64 = 0
  var held: UInt64 = 0
}

extension Counters {
  /// What a script says of them.
  init(_ json: Any) throws {
    var told = try Fields(json)
    (owed, asked, held) = (
      try told.number("owed"), try told.number("asked"), try told.number("held")
    )
    try told.done()
  }
}

/// What a script is played on.
protocol Player {
  mutating func play(_ op: String, _ step: inout Fields) async throws -> String
  /// Compares what can be seen now, and forgets what was received.
  mutating func compare(_ state: inout Fields) throws
}

extension Player {
  /// Plays the steps of a script, and compares what is answered and seen.
  mutating func replay(_ steps: [Any]) async throws {
    for (index, step) in steps.enumerated() {
      var fields = try Fields(step)
      let op = try fields.text("op")
      do { try await perform(op, &fields) } catch let failure as ReplayFailure {
        throw failure.at("step \(index): \(op)")
      }
    }
  }

  private mutating func perform(_ op: String, _ step: inout Fields) async throws {
    let came = try await play(op, &step)
    let expected = try step.take("answer")
    if let sent = expected as? [String: Any] {
      var fields = Fields(sent)
      let wanted = (try fields.text("sent"), try fields.optionalText("refused"))
      try fields.done()
      try same("answer", came, "\(wanted)")
    } else {
      try same("answer", came, (expected as? String) ?? "null")
    }
    var state = Fields(try step.object("state"))
    try step.done()
    try compare(&state)
    try state.done()
  }
}
