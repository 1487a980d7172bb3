import Foundation
import Sluicegate
import XCTest

/// A cartridge's own end of its connection.
final class SessionTests: XCTestCase {
  private static let cap = "cap:hold;in=media:blob;out=media:blob"

  /// A session by hand, and the peer at its other end.
  private static func joined(
    _ engine: Engine, _ cartridge: Cartridge
  ) async throws -> (Session, Peer) {
    let (toCartridge, toHost) = (try pipe(), try pipe())
    async let starting = cartridge.start(
      reading: toCartridge.reading, writing: toHost.writing)
    let attaching = Task {
      try await engine.attach(reading: toHost.reading, writing: toCartridge.writing)
    }
    let session = try await starting
    // The host proves the cartridge's identity by a request, which is core's affair.
    return (session, try await attaching.value)
  }

  private static func cartridge(_ handler: @escaping Cartridge.Handler = { _ in }) -> Cartridge {
    var cartridge = Cartridge(
      name: "holder", version: "1", limits: Limits(initialCredit: 2))
    cartridge.handle(Cap(cap), handler)
    return cartridge
  }

  func testRequestsAreServedByHand() async throws {
    try await watched {
      let engine = Engine(policy: .noTelemetry)
      let (session, peer) = try await Self.joined(engine, Self.cartridge())
      XCTAssertEqual(session.limits.initialCredit, 2)
      await until { session.policy == .noTelemetry }
      let call = try peer.call(Self.cap)
      let next = try await session.nextRequest()
      let request = try XCTUnwrap(next)
      XCTAssertEqual(request.id, call.id)
      try await request.output.emit("by hand")
      try await request.finish()
      let text = try await call.output().collectText()
      XCTAssertEqual(text, "by hand")
      _ = try await call.wait()
      await engine.close()
      let none = try await session.nextRequest()
      XCTAssertNil(none)
    }
  }

  func testItSaysWhatStandsStill() async throws {
    try await watched {
      let engine = Engine()
      let begun = Gate(window: 0)
      let cartridge = Self.cartridge { request in
        begun.grant(1)
        let output = try request.output
        for n in 0..<100 { try await output.emit(Value(n)) }  // nobody reads it
      }
      let (session, peer) = try await Self.joined(engine, cartridge)
      let running = Task { try await session.run() }
      let call = try peer.call(Self.cap)
      let output = try await call.output()
      try await begun.acquire()
      await until { (try? session.explain().standing.contains { $0.waitsFor == "credit" }) ?? false }
      let told = try session.explain()
      let standing = try XCTUnwrap(told.standing.first { $0.waitsFor == "credit" })
      XCTAssertEqual(standing.request, call.id)
      XCTAssertEqual(standing.side, "handler")

      // The request that proved who it is may be about to go.
      await until { (try? session.stats().requests.map(\.id)) == [call.id] }
      let stats = try session.stats()
      XCTAssertEqual(stats.drops.total, 0)
      XCTAssertTrue(session.statsJSON.contains(call.id), session.statsJSON)

      let control = try session.serveControl(at: place("sock"))
      let asked = try await Control.explain(control.address)
      XCTAssertTrue(asked.standing.contains { $0.request == call.id }, asked.json)
      let figures = try await Control.statsJSON(control.address)
      XCTAssertTrue(figures.contains(call.id), figures)
      control.close()

      let items = try await output.collectItems()
      XCTAssertEqual(items.count, 100)
      _ = try await call.wait()
      await until { (try? session.stats().requests) == [] }
      await engine.close()
      try await running.value
    }
  }

  func testACloseEndsTheRunAndTellsTheHost() async throws {
    try await watched {
      let engine = Engine()
      let begun = Gate(window: 0)
      let cartridge = Self.cartridge { request in
        begun.grant(1)
        _ = try await request.cancelled()
      }
      let (session, peer) = try await Self.joined(engine, cartridge)
      let running = Task { try await session.run() }
      let call = try peer.call(Self.cap)
      try await begun.acquire()
      session.close()
      let end = await kind { _ = try await call.wait() }
      XCTAssertEqual(end, .peerDied)
      _ = await running.result
      let gone = try await peer.died()
      XCTAssertEqual(gone.kind, .peerDied)
      await engine.close()
    }
  }
}
