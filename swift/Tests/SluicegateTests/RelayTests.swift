import Foundation
import Sluicegate
import XCTest

/// Callers, a switch, a host and a cartridge.
final class RelayTests: XCTestCase {
  func testACallThroughASwitchAndAHost() async throws {
    try await watched {
      let cap = "cap:upper;in=media:blob;out=media:blob"
      var upper = Cartridge(name: "upper", version: "1")
      upper.handle(Cap(cap)) { request in
        let output = try request.output
        for try await chunk in try await request.input().chunks {
          try await output.write(chunk.map { $0 - 32 })
        }
      }
      let cartridge = upper
      let (toCartridge, toHost) = (try pipe(), try pipe())
      let running = Task {
        try await cartridge.run(reading: toCartridge.reading, writing: toHost.writing)
      }

      let relay = Switch()
      let address = try relay.listen(
        at: "unix:" + FileManager.default.temporaryDirectory.path + "/sluicegate-\(UUID()).sock")
      let host = try Host()
      try await host.attach("upper", reading: toHost.reading, writing: toCartridge.writing)
      XCTAssertEqual(host.pids, [])
      try await host.join(address)
      while !relay.caps.contains(cap) { await Task.yield() }
      try relay.setState([1, 2, 3])
      while host.state != [1, 2, 3] { await Task.yield() }

      let engine = Engine()
      for peer in [try await engine.connect(to: address), try await relay.caller(engine)] {
        let call = try peer.call(cap)
        async let text = call.output().collectBytes()
        try await call.input("media:blob").write("hello".utf8)
        try await call.finishInput()
        let said = String(decoding: try await text, as: UTF8.self)
        XCTAssertEqual(said, "HELLO")
      }
      while try await !relay.explain().culprits.isEmpty { await Task.yield() }
      XCTAssertTrue(relay.statsJSON.hasPrefix("{"), relay.statsJSON)

      XCTAssertNil(host.dead)
      relay.close()
      let why = try await host.left()
      XCTAssertEqual(host.dead, why)
      host.close()
      await engine.close()
      _ = await running.result
    }
  }

  func testAMatcherSaysWhichCapServes() async throws {
    let cap = "cap:nothing;in=media:blob;out=media:blob"
    var cartridge = Cartridge(name: "nothing", version: "1")
    cartridge.handle(Cap(cap)) { _ in }
    let serves = cartridge
    try await watched {
      let (toCartridge, toHost) = (try pipe(), try pipe())
      let (toSwitch, fromSwitch) = (try pipe(), try pipe())
      let running = Task {
        try await serves.run(reading: toCartridge.reading, writing: toHost.writing)
      }
      let relay = Switch(quietLosses: true) { offered, asked in
        asked == offered + ";more=yes"
      }
      let host = try Host()
      try await host.attach("nothing", reading: toHost.reading, writing: toCartridge.writing)
      async let joined: Void = relay.attach(
        "host", reading: toSwitch.reading, writing: fromSwitch.writing)
      try await host.join(reading: fromSwitch.reading, writing: toSwitch.writing)
      try await joined
      await until { relay.caps.contains(cap) }
      let engine = Engine()
      let peer = try await relay.caller(engine)
      let end = try await peer.call(cap + ";more=yes").wait()
      XCTAssertEqual(end.exitCode, 0)
      let refused = await kind { _ = try await peer.call(cap).wait() }
      XCTAssertEqual(refused, .noHandler)
      relay.close()
      host.close()
      await engine.close()
      _ = await running.result
    }
  }

  func testASwitchThatIsNotThere() async throws {
    try await watched {
      let host = try Host()
      let nobody = await kind { try await host.join("unix:/no/such/switch") }
      XCTAssertEqual(nobody, .io)
      let engine = Engine()
      let neither = await kind { _ = try await engine.connect(to: "unix:/no/such/switch") }
      XCTAssertEqual(neither, .io)
      XCTAssertFalse(host.retire("nobody"))
      host.close()
      await engine.close()
    }
  }
}
