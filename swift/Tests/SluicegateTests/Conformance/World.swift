import Foundation
import Sluicegate

/// A window as the scripts drive it. One that is broken on purpose shows that they would notice.
protocol ScriptedWindow {
  var remaining: UInt64 { get }
  var pending: UInt64 { get }
  var batch: UInt64 { get }
  func arrive() throws(SluicegateError)
  func consumed() -> UInt64
  func flush() -> UInt64
  func continued() -> UInt64
}

extension Window: ScriptedWindow {}

/// The objects of one script, by name, and the operations that never wait.
struct World {
  var gates: [String: Gate] = [:]
  var windows: [String: Window] = [:]
  let router = Router()

  init(gates declared: [String: Any]) throws {
    for (name, json) in declared {
      guard let text = json as? String, let window = UInt64(text) else {
        throw ReplayFailure("gate \(name) has no window")
      }
      gates[name] = Gate(window: window)
    }
  }

  func gate(_ name: String) throws -> Gate {
    guard let gate = gates[name] else { throw ReplayFailure("unknown gate \(name)") }
    return gate
  }

  static func tryAcquire(_ gate: Gate, _ n: UInt64) -> Answer {
    do {
      return .word(try gate.tryAcquire(n) ? "acquired" : "wait")
    } catch {
      return .closed(error.code)
    }
  }

  static func window(_ fields: [String: Any]) throws -> Window {
    var fields = Fields(fields)
    let window = try fields.number("window")
    let batch = try fields.optionalNumber("batch")
    try fields.done()
    return batch.map { Window(window: window, batch: $0) } ?? Window(window: window)
  }

  /// `arrive`, `consumed`, `flush`, `continued`; `nil` for any other operation.
  static func step(_ window: any ScriptedWindow, _ op: String) -> Answer? {
    switch op {
    case "arrive":
      do {
        try window.arrive()
        return .word("accepted")
      } catch {
        return .word(error.kind == .creditViolation ? "violation" : "\(error)")
      }
    case "consumed": return .word(String(window.consumed()))
    case "flush": return .word(String(window.flush()))
    case "continued": return .word(String(window.continued()))
    default: return nil
    }
  }

  /// The operations of a router; `nil` for any other.
  func route(_ op: String, _ fields: inout Fields) throws -> Answer? {
    switch op {
    case "register":
      let request = try fields.text("request")
      let stream = try fields.optionalText("stream")
      router.register(
        request: request, stream: stream, gate: try gate(fields.text("gate")))
    case "unregister":
      router.unregister(request: try fields.text("request"), stream: try fields.optionalText("stream"))
    case "grant", "route":
      let request = try fields.text("request")
      let stream = try fields.optionalText("stream")
      switch router.grant(request: request, stream: stream, try fields.number("n")) {
      case .granted: return .word("granted")
      case .noStream: return .word("no_stream")
      case .noRequest: return .word("no_request")
      }
    case "close_request":
      let request = try fields.text("request")
      router.closeRequest(request, reason: try fields.text("reason"))
    case "close_all":
      router.closeAll(reason: SluicegateError(.closed, "", code: try fields.text("reason")))
    default: return nil
    }
    return .nothing
  }
}

/// Throws unless two things are the same.
func same<Thing: Equatable>(_ what: String, _ came: Thing, _ expected: Thing) throws {
  guard came == expected else {
    throw ReplayFailure("\(what): expected \(expected), came \(came)")
  }
}
