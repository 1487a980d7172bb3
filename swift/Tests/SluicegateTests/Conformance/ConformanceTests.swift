import Foundation
import Sluicegate
import XCTest

/// Replays all of `tests/conformance` through the public classes and prints one line of counts.
final class ConformanceTests: XCTestCase {
  /// So many failures tell enough; more would each wait for the watchdog.
  private static let enough = 10

  private struct Report {
    var scripts = 0
    var steps = 0
    var failures = 0
  }

  func testReplaysEveryScript() async throws {
    let environment = ProcessInfo.processInfo.environment
    let times = try Self.repeats(environment["SLUICEGATE_REPEAT"])
    let pure = try await replay("pure") { try PureRunner.replay($0) }
    let waiting = try await replay("waiting") { script in
      for _ in 0..<times { try await WaitingRunner.replay(script) }
    }
    print(
      "conformance swift | continuations: "
        + "pure \(pure.scripts) scripts \(pure.steps) steps, "
        + "waiting \(waiting.scripts) scripts \(waiting.steps) steps, "
        + "\(pure.failures + waiting.failures) failures")
  }

  /// Lines of stages, each script in two orders, which must not show.
  func testReplaysEveryPipeline() async throws {
    let report = try await replay("pipeline") { script in
      for seed: UInt64 in 1...2 { try await PipelineRunner.replay(script, seed: seed) }
    }
    print(
      "pipeline swift | continuations: \(report.scripts) scripts \(report.steps) steps, "
        + "\(report.failures) failures")
  }

  /// Joins and forks, each script in two orders, which must not show.
  func testReplaysEveryJunction() async throws {
    let report = try await replay("junction") { script in
      for seed: UInt64 in 1...2 { try await JunctionRunner.replay(script, seed: seed) }
    }
    print(
      "junction swift | continuations: \(report.scripts) scripts \(report.steps) steps, "
        + "\(report.failures) failures")
  }

  /// Hubs whose subscribers come and go, each script in two orders, which must not show.
  func testReplaysEveryHub() async throws {
    let report = try await replay("hub") { script in
      for seed: UInt64 in 1...2 { try await HubRunner.replay(script, seed: seed) }
    }
    print(
      "hub swift | continuations: \(report.scripts) scripts \(report.steps) steps, "
        + "\(report.failures) failures")
  }

  /// Each of these is another hub than the one whose scripts are replayed on it.
  func testABrokenHubIsCaught() async throws {
    let wrong: [(String, HubRunner.Reading)] = [
      ("nobody is waited for", { $0 == .wait ? .disconnect : $0 }),
      ("the oldest goes for the newest", { $0 == .drop(.dropTail) ? .drop(.dropHead) : $0 }),
      ("who is too slow is waited for", { $0 == .disconnect ? .wait : $0 }),
      ("a limit is none", { if case .waitAtMost = $0 { .wait } else { $0 } }),
    ]
    let walks = try Script.read(Script.folder("hub").appendingPathComponent("walks.json.gz"))
    for (what, reading) in wrong {
      var said: String?
      for script in walks where said == nil {
        do { try await HubRunner.replay(script, seed: 1, reading: reading) } catch {
          said = "\(error)"
        }
      }
      XCTAssert(said?.contains("step ") == true, "\(what), and it passes: \(said ?? "nothing is said")")
    }
  }

  /// A merge that prefers its first source is no merge: the scripts of a merge tell.
  func testABrokenJoinIsCaught() async throws {
    let file = Script.folder("junction").appendingPathComponent("merge_walks.json.gz")
    for script in try Script.read(file) {
      do { try await JunctionRunner.replay(script, seed: 1, as: "merge_prefer") } catch {
        XCTAssert("\(error)".contains("expected"), "\(error)")
        return
      }
    }
    XCTFail("no script tells a merge from one that prefers")
  }

  /// How often the waiting scripts are replayed, of what `SLUICEGATE_REPEAT` says.
  private static func repeats(_ said: String?) throws -> Int {
    guard let said else { return 1 }
    guard let times = Int(said), times > 0 else {
      throw ReplayFailure("SLUICEGATE_REPEAT is \"\(said)\", not a whole number from 1")
    }
    return times
  }

  func testACountThatWouldReplayNothingIsRefused() throws {
    XCTAssertEqual(try Self.repeats(nil), 1)
    XCTAssertEqual(try Self.repeats("1000"), 1000)
    for text in ["0", "-1", "many", ""] {
      XCTAssertThrowsError(try Self.repeats(text)) { error in
        XCTAssertEqual(
          "\(error)", "SLUICEGATE_REPEAT is \"\(text)\", not a whole number from 1")
      }
    }
  }

  private func replay(_ kind: String, _ one: (Script) async throws -> Void) async throws -> Report {
    var report = Report()
    for file in try Script.files(kind) {
      for script in try Script.read(file) where report.failures < Self.enough {
        do { try await one(script) } catch {
          XCTFail("\(script.place): \(error)")
          report.failures += 1
        }
        report.scripts += 1
        report.steps += script.steps.count
      }
    }
    return report
  }

  /// Scripts that are broken on purpose: each is refused, and the message says where.
  func testBrokenScriptsAreRefused() async throws {
    let folder = Script.folder("broken")
    let data = try Data(contentsOf: folder.appendingPathComponent("said.json"))
    let table = try XCTUnwrap(JSONSerialization.jsonObject(with: data) as? [String: [String]])
    XCTAssertEqual(try Script.files("broken").count, table.count + 1)
    for (name, texts) in table {
      let said = await refusal(folder.appendingPathComponent(name))
      XCTAssertNotEqual(said, "", "\(name) was replayed as if it were good")
      for text in texts { XCTAssert(said.contains(text), "\(name): \(text) is not said in: \(said)") }
    }
  }

  /// What is said of the first script of a file that fails; nothing if none does.
  private func refusal(_ file: URL) async -> String {
    do {
      for script in try Script.read(file) {
        do {
          if script.machine == "waiting" {
            try await WaitingRunner.replay(script)
          } else {
            try PureRunner.replay(script)
          }
        } catch { return "\(script.place): \(error)" }
      }
      return ""
    } catch { return "\(error)" }
  }

  func testABrokenWindowIsCaughtByNameAndStep() throws {
    let file = Script.folder("pure").appendingPathComponent("window.json.gz")
    let wanted = "window 4: a full cycle and a chunk too many"
    let script = try XCTUnwrap(Script.read(file).first { $0.name == wanted })
    try PureRunner.replay(script)
    XCTAssertThrowsError(try PureRunner.replay(script) { Forgetful($0) }) { error in
      // Five arrivals, then the second one consumed makes a grant of 2 due.
      XCTAssertEqual("\(error)", "step 6: consumed: pending: expected 0, came 2")
    }
  }
}

/// A window that forgets to empty what is pending when a grant has become due.
private final class Forgetful: ScriptedWindow {
  private let window: any ScriptedWindow
  private var forgotten: UInt64 = 0

  init(_ window: any ScriptedWindow) { self.window = window }

  var remaining: UInt64 { window.remaining }
  var pending: UInt64 { window.pending + forgotten }
  var batch: UInt64 { window.batch }
  func arrive() throws(SluicegateError) { try window.arrive() }
  func consumed() -> UInt64 {
    let due = window.consumed()
    forgotten += due
    return due
  }
  func flush() -> UInt64 { window.flush() }
  func continued() -> UInt64 { window.continued() }
}
