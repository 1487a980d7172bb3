import Foundation
import Sluicegate
import XCTest

/// What a process says of itself.
final class ReportTests: XCTestCase {
  private let cap = "cap:idle;in=media:blob;out=media:blob"

  /// A cartridge that reads nothing until it may.
  private func idle(_ start: Gate) -> Cartridge {
    var cartridge = Cartridge(name: "idle", version: "1")
    cartridge.handle(Cap(cap)) { request in
      try await start.acquire()
      for try await _ in try await request.input() {}
    }
    return cartridge
  }

  func testAStallIsToldAndExplainedAndAskedFor() async throws {
    let (cap, start) = (cap, Gate(window: 0))
    let cartridge = idle(start)
    try await watched {
      let (toCartridge, toHost) = (try pipe(), try pipe())
      let running = Task {
        try await cartridge.run(reading: toCartridge.reading, writing: toHost.writing)
      }
      let engine = Engine(limits: Limits(initialCredit: 1), heartbeat: nil, stall: .milliseconds(50))
      let peer = try await engine.attach(
        reading: toHost.reading, writing: toCartridge.writing)
      let call = try peer.call(cap)
      let sending = Task {
        let input = try call.input("media:blob")
        for _ in 0..<4 {
          try await input.write([1, 2, 3])
          try await input.flush()  // a chunk each, for a window of one
        }
        try await call.finishInput()
      }

      let notice = try await engine.nextStall()
      XCTAssertTrue(notice.standing.contains { $0.request == call.id }, notice.json)

      let told = try await engine.explain()
      let mine = try told.of(request: call.id)
      XCTAssertTrue(mine.standing.contains { $0.waitsFor == "credit" }, mine.json)
      XCTAssertFalse(mine.description.isEmpty)
      XCTAssertEqual(try told.of(request: "nobody's").standing, [])

      XCTAssertEqual(try peer.stats().requests.map(\.id), [call.id])
      XCTAssertEqual(try engine.stats().cartridges.flatMap(\.requests).map(\.cap), [cap])

      let place = FileManager.default.temporaryDirectory.path + "/sluicegate-\(UUID()).sock"
      let control = try engine.serveControl(at: place)
      XCTAssertTrue(control.address.hasSuffix(place), control.address)
      let asked = try await Control.explain(control.address)
      XCTAssertTrue(asked.standing.contains { $0.request == call.id }, asked.json)
      let figures = try await Control.statsJSON(place)
      XCTAssertTrue(figures.contains(call.id), figures)
      control.close()
      let refused = await kind { _ = try await Control.explain(place) }
      XCTAssertEqual(refused, .io)

      start.grant(1)
      try await sending.value
      await engine.close()
      _ = await running.result
    }
  }

  func testAnEngineWithoutStallsTimesOut() async throws {
    try await watched {
      let engine = Engine()
      let late = await kind { _ = try await engine.nextStall(within: .zero) }
      XCTAssertEqual(late, .timedOut)
      XCTAssertEqual(try engine.stats().cartridges, [])
      await engine.close()
    }
  }

  func testHowManyWaitBeforeARequestIsTold() throws {
    let row = #""party":"a","request":"1","cap":"cap:x","side":"handler","stream":"""#
    let json = """
      {"standing":[{\(row),"waits_for":"queue","since_ms":5,"ahead":3},\
      {\(row),"waits_for":"pool","since_ms":5}],"silent":[],"culprits":[]}
      """
    XCTAssertEqual(try Explanation(json: json).standing.map(\.ahead), [3, 0])
  }

  func testWhatIsNoExplanationIsMalformed() async {
    let wrong = await kind { _ = try Explanation(json: "out of paper") }
    XCTAssertEqual(wrong, .malformed)
  }

  func testATraceNamesItsFile() async {
    let error = await thrown(by: { try trace(to: "/no/such/folder/trace", format: .json) })
    XCTAssertEqual((error as? SluicegateError)?.kind, .io)
    XCTAssertTrue("\(error!)".contains("/no/such/folder/trace"), "\(error!)")
  }
}
