import Foundation
import Sluicegate
import XCTest

/// Cartridges that do not behave, and what the host says.
final class EngineTests: XCTestCase {
  private func failure(
    _ command: Command, handshake: Duration = .seconds(10)
  ) async throws -> SluicegateError? {
    try await watched {
      let engine = Engine(handshake: handshake)
      let error = await thrown(by: { _ = try await engine.spawn(command) }) as? SluicegateError
      await engine.close()
      return error
    }
  }

  func testAProgramThatIsNotThere() async throws {
    let error = try await failure(Command("/no/such/cartridge"))
    XCTAssertEqual(error?.kind, .spawn)
    XCTAssertTrue(error?.message.contains("/no/such/cartridge") ?? false, "\(error!)")
  }

  func testAProgramThatExitsEarlyIsNamedWithItsStderr() async throws {
    let error = try await failure(Command("/bin/sh", ["-c", "echo 'out of paper' >&2; exit 3"]))
    XCTAssertTrue([.peerDied, .handshake].contains(error?.kind), "\(error!)")
    XCTAssertTrue(error?.message.contains("out of paper") ?? false, "\(error!)")
  }

  func testAProgramThatWritesGarbage() async throws {
    let error = try await failure(Command("/bin/sh", ["-c", "echo hello hello; cat >/dev/null"]))
    XCTAssertTrue([.malformed, .frameTooLarge, .handshake].contains(error?.kind), "\(error!)")
  }

  func testAProgramThatSaysNothing() async throws {
    let error = try await failure(Command("/bin/sleep", ["60"]), handshake: .milliseconds(200))
    XCTAssertEqual(error?.kind, .handshake)
  }

  func testACancelledSpawnIsGivenUp() async throws {
    try await watched {
      let engine = Engine(handshake: .seconds(5))
      let spawning = Task { try await engine.spawn(Command("/bin/sleep", ["60"])) }
      spawning.cancel()
      let outcome = await spawning.result
      XCTAssertThrowsError(try outcome.get()) { XCTAssertTrue($0 is CancellationError) }
    }
  }

  /// HZ-C14: nothing here ignores SIGPIPE, and the program lives.
  func testHZ_C14_aPeerThatIsGoneWhileTheHostSends() async throws {
    try await watched {
      var cartridge = Cartridge(name: "deaf", version: "1")
      let called = Gate(window: 0)
      cartridge.handle("cap:deaf;in=media:blob;out=media:blob") { request in
        called.grant(1)
        for try await _ in try await request.input() {}
      }
      let pair = try await Pair(cartridge)
      let call = try pair.peer.call("cap:deaf;in=media:blob;out=media:blob")
      let sending = Task {
        let input = try call.input("media:blob")
        let block = [UInt8](repeating: 1, count: 1 << 16)
        while true { try await input.write(block) }
      }
      try await called.acquire()
      pair.running.cancel()
      let outcome = await sending.result
      XCTAssertThrowsError(try outcome.get()) { XCTAssertTrue($0 is SluicegateError, "\($0)") }
      let gone = try await pair.peer.died()
      XCTAssertEqual(pair.peer.dead, gone)
      let error = await thrown(by: { _ = try pair.peer.call("cap:deaf") }) as? SluicegateError
      XCTAssertEqual(error, gone)
    }
  }

  func testLimitsAreTheSmallerProposal() async throws {
    try await watched {
      let cartridge = Cartridge(
        name: "small", version: "1", limits: Limits(maxChunk: 1000, initialCredit: 7))
      let pair = try await Pair(cartridge, limits: Limits(maxChunk: 2000, initialCredit: 5))
      XCTAssertEqual(pair.peer.limits.maxChunk, 1000)
      XCTAssertEqual(pair.peer.limits.initialCredit, 5)
      XCTAssertNil(pair.peer.pid)
      XCTAssertTrue(pair.peer.manifestJSON.contains("small"))
      await pair.engine.close()
    }
  }
}
