import Sluicegate
import XCTest

/// Longer than any of these tests.
private let long = Duration.seconds(3600)

private func isOfAStray(_ lost: Loss, _ party: String) {
  XCTAssertEqual(lost.severity, .warning)
  XCTAssertEqual([lost.party, lost.reason, lost.frameType], [party, "no_route", "chunk"])
  XCTAssertEqual([lost.count, lost.total], [1, 1])
}

/// What is lost is told to whoever waits for it.
final class LossTests: XCTestCase {
  func testAnEngineTellsWhatIsLost() async throws {
    let cap = "cap:chatter;in=media:blob;out=media:blob"
    var cartridge = Cartridge(name: "chatters", version: "1", quietLosses: true)
    cartridge.handle(Cap(cap)) { request in
      let text = String(repeating: "x", count: 700_000)
      for _ in 0..<3 { request.log(text) }  // of one megabyte that the caller keeps
    }
    let chatters = cartridge
    try await watched {
      let (toCartridge, toHost) = (try pipe(), try pipe())
      let running = Task {
        try await chatters.run(reading: toCartridge.reading, writing: toHost.writing)
      }
      let engine = Engine(handshake: long, heartbeat: nil, quietLosses: true)
      let none = await kind { _ = try await engine.nextLoss(within: .zero) }
      XCTAssertEqual(none, .timedOut)
      let peer = try await engine.attach(reading: toHost.reading, writing: toCartridge.writing)
      _ = try await peer.call(cap).wait()
      var total: UInt64 = 0
      while total < 2 {
        let lost = try await engine.nextLoss()
        if lost.severity == .debug { continue }  // a grant may have crossed the end of the call
        XCTAssertEqual([lost.party, lost.reason, lost.frameType], [peer.name, "event_unread", "log"])
        total += lost.count
        XCTAssertEqual(lost.total, total)
      }
      await engine.close()
      _ = await running.result
    }
  }

  func testASwitchTellsWhatIsLost() async throws {
    try await watched {
      let relay = Switch(joinTimeout: long, quietLosses: true)
      let none = await kind { _ = try await relay.nextLoss(within: .zero) }
      XCTAssertEqual(none, .timedOut)
      let caller = try Played()
      caller.says(Played.hello, Played.stray)
      try await relay.attach("caller", reading: caller.near.reading, writing: caller.near.writing)
      isOfAStray(try await relay.nextLoss(), "switch")
      relay.close()
      caller.end()
    }
  }

  func testAHostTellsWhatIsLost() async throws {
    try await watched {
      let host = try Host(handshake: long, quietLosses: true)
      let none = await kind { _ = try await host.nextLoss(within: .zero) }
      XCTAssertEqual(none, .timedOut)
      let relay = try Played()
      relay.says(Played.policy, Played.stray)
      try await host.join(reading: relay.near.reading, writing: relay.near.writing)
      isOfAStray(try await host.nextLoss(), "host")
      host.close()
      relay.end()
    }
  }

  func testACartridgeTellsOfEachOfItsRuns() async throws {
    let cartridge = Cartridge(name: "loses", version: "1", quietLosses: true)
    try await watched {
      let none = await kind { _ = try await cartridge.nextLoss(within: .zero) }
      XCTAssertEqual(none, .timedOut)
      for _ in 0..<2 {
        let host = try Played()
        host.says(Played.hello, Played.stray)
        let copy = cartridge  // which tells the same
        let running = Task {
          try await copy.run(reading: host.near.reading, writing: host.near.writing)
        }
        isOfAStray(try await cartridge.nextLoss(), "loses")
        host.end()
        _ = await running.result
      }
    }
  }

  /// A task that is cancelled leaves a handshake that the other end never makes.
  func testAHandshakeEndsWithItsTask() async throws {
    typealias Wait = @Sendable (Int32, Int32) async throws -> Void
    let engine = Engine(handshake: long, heartbeat: nil)
    let relay = Switch(joinTimeout: long)
    let host = try Host(handshake: long, heartbeat: nil)
    let waits: [Wait] = [
      { _ = try await engine.attach(reading: $0, writing: $1) },
      { try await host.attach("silent", reading: $0, writing: $1) },
      { try await host.join(reading: $0, writing: $1) },
    ]
    let silent: [Wait] = [  // these hear first
      { try await relay.attach("silent", reading: $0, writing: $1) },
      { try await Cartridge(name: "waits", version: "1").run(reading: $0, writing: $1) },
    ]
    try await watched {
      for (speaks, wait) in waits.map({ (true, $0) }) + silent.map({ (false, $0) }) {
        let far = try Played()
        let waiting = Task { try await wait(far.near.reading, far.near.writing) }
        if speaks { try await far.hears() }
        waiting.cancel()
        let error = await thrown { try await waiting.value }
        XCTAssertTrue(error is CancellationError, "\(String(describing: error))")
        far.end()
      }
      relay.close()
      host.close()
      await engine.close()
    }
  }
}
