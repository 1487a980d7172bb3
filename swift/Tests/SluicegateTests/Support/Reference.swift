import Foundation
import Sluicegate
import XCTest

/// The reference cartridge in Swift, a process of its own. `cargo xtask test` has built it.
enum Reference {
  static let echo = "cap:fc-echo;in=media:blob;out=media:blob"
  static let forever = "cap:fc-forever;in=media:blob;out=media:blob"
  static let produce = "cap:fc-produce;in=media:json;out=media:blob"
  static let sink = "cap:fc-sink;in=media:blob;out=media:json"
  static let multi = "cap:fc-multi;in=media:blob;out=media:text"

  static var command: Command {
    get throws {
      let program = repository.appendingPathComponent("target/cartridges/swift").path
      try XCTSkipUnless(
        FileManager.default.isExecutableFile(atPath: program) || inXtask,
        "\(program) is not built: cargo xtask test swift-test builds it")
      return Command(program)
    }
  }

  /// Where the chore runs the tests, nothing is left out.
  private static var inXtask: Bool {
    ProcessInfo.processInfo.environment["SLUICEGATE_LIB_DIR"] != nil
  }

  /// Runs `body` with the cartridge, to which every stream starts with `window` chunks.
  static func windowed<Answer>(
    _ window: UInt64, _ body: (Peer) async throws -> Answer
  ) async throws -> Answer {
    let engine = Engine(limits: Limits(initialCredit: window))
    let peer = try await engine.spawn(try command)
    do {
      let answer = try await body(peer)
      await engine.close()
      return answer
    } catch {
      await engine.close()
      throw error
    }
  }

  /// Sends the numbers below `count` to `call`, then its end, in a task of its own.
  static func feed(_ call: Call, _ count: Int) throws -> Task<Void, any Error> {
    let input = try call.input("media:blob")
    return Task {
      for n in 0..<count { try await input.emit(Value(n)) }
      try await call.finishInput()
    }
  }
}

/// A place for a socket or a file, which nobody else uses.
func place(_ suffix: String) -> String {
  FileManager.default.temporaryDirectory.path + "/sluicegate-\(UUID()).\(suffix)"
}
