import Foundation
import Sluicegate
import XCTest

/// Cartridges that are processes: how they are offered, how they die, and what is written down of them.
final class ProcessTests: XCTestCase {
  private static func echo(_ peer: Peer) async throws -> [Value] {
    let call = try peer.call(Reference.echo)
    let feeding = try Reference.feed(call, 20)
    let items = try await call.output().collectItems()
    try await feeding.value
    _ = try await call.wait()
    return items.map(\.value)
  }

  func testACallThroughASwitchAHostAndAProcess() async throws {
    try await watched {
      let relay = Switch()
      let address = try relay.listen(at: "unix:" + place("sock"))
      let host = try Host(heartbeat: .milliseconds(50), patience: .seconds(30))
      try await host.add(try Reference.command)
      XCTAssertEqual(host.pids.count, 1)
      try await host.join(address)
      await until { relay.caps.contains(Reference.echo) }
      let engine = Engine()
      let peer = try await engine.connect(to: address)
      let back = try await Self.echo(peer)
      XCTAssertEqual(back, (0..<20).map { Value($0) })

      // The process dies; the next request starts another.
      let first = try XCTUnwrap(host.pids.first)
      XCTAssertEqual(kill(first, SIGKILL), 0)
      await until { host.pids.isEmpty }
      let again = try await Self.echo(peer)
      XCTAssertEqual(again, back)
      XCTAssertNotEqual(host.pids.first, first)

      XCTAssertTrue(host.retire(try Reference.command.program))
      await until { host.pids.isEmpty && !relay.caps.contains(Reference.echo) }
      XCTAssertFalse(host.retire("nobody"))
      await engine.close()
      host.close()
      relay.close()
    }
  }

  func testALazyCartridgeIsStartedByItsFirstRequest() async throws {
    try await watched {
      let command = try Reference.command
      let manifest = try await Reference.windowed(4) { $0.manifestJSON }
      let relay = Switch()
      let address = try relay.listen(at: "unix:" + place("sock"))
      let host = try Host(idle: .seconds(3600))
      try host.addLazily(command, manifest: manifest)
      try await host.join(address)
      await until { relay.caps.contains(Reference.echo) }
      XCTAssertEqual(host.pids, [])
      let engine = Engine()
      let peer = try await engine.connect(to: address)
      let back = try await Self.echo(peer)
      XCTAssertEqual(back.count, 20)
      XCTAssertEqual(host.pids.count, 1)
      while try await !host.explain().culprits.isEmpty { await Task.yield() }
      let control = try host.serveControl(at: place("sock"))
      let figures = try await Control.statsJSON(control.address)
      XCTAssertTrue(figures.hasPrefix("{"), figures)
      let wrong = await kind { try host.addLazily(command, manifest: "out of paper") }
      XCTAssertEqual(wrong, .invalidArgument)
      await engine.close()
      host.close()
      relay.close()
    }
  }

  func testACartridgeThatFreezesIsTakenForDeadAndOneThatAnswersLives() async throws {
    try await watched {
      let engine = Engine(heartbeat: .milliseconds(20), patience: .seconds(10))
      let (frozen, lives) = (
        try await engine.spawn(try Reference.command), try await engine.spawn(try Reference.command)
      )
      let call = try frozen.call(Reference.forever)
      let output = try await call.output()  // released, it would end the call
      defer { withExtendedLifetime(output) {} }
      _ = try await output.recv()
      let pid = try XCTUnwrap(frozen.pid)
      XCTAssertEqual(kill(pid, SIGSTOP), 0)
      let why = try await frozen.died()
      XCTAssertEqual(why.kind, .peerDied)
      let end = await kind { _ = try await call.wait() }
      XCTAssertEqual(end, .peerDied)
      XCTAssertNil(lives.dead)
      let back = try await Self.echo(lives)
      XCTAssertEqual(back.count, 20)
      await engine.close()
    }
  }

  /// A trace begins before the first frame of its process, so that a process of its own is traced.
  func testATraceHasEveryFrameAndNoContent() async throws {
    #if os(Linux)
      try await watched {
        let place = place("trace")
        defer { try? FileManager.default.removeItem(atPath: place) }
        let own = try String(contentsOfFile: "/proc/self/cmdline", encoding: .utf8)
          .split(separator: "\0").map(String.init)
        let tests = try XCTUnwrap(own.firstIndex { $0.hasSuffix(".xctest") })
        let child = Process()
        child.executableURL = URL(fileURLWithPath: own[0])
        child.arguments = own[1..<(tests + 1)] + ["SluicegateTests.ProcessTests/testTracedChild"]
        child.environment = ProcessInfo.processInfo.environment
          .merging([Self.traced: place]) { $1 }
        child.standardOutput = FileHandle.nullDevice
        let ended = Promise<Int32>()
        child.terminationHandler = { _ = ended.trySucceed($0.terminationStatus) }
        try child.run()
        let status = try await ended.completion.value()
        XCTAssertEqual(status, 0, "the child's own test failed")
        let trace = try String(contentsOfFile: place, encoding: .utf8)
        let frames = try trace.split(separator: "\n").map {
          try XCTUnwrap(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        XCTAssertGreaterThan(frames.count, 10)
        for word in ["hello", "req", "stream_start", "chunk", "stream_end", "end"] {
          XCTAssertTrue(trace.lowercased().contains("\"\(word)\""), "no \(word) in \(trace)")
        }
        XCTAssertFalse(trace.contains(Self.secret), "a payload is written down")
      }
    #endif
  }

  private static let traced = "SLUICEGATE_TEST_TRACE"
  private static let secret = "a word that is nobody's business"

  func testTracedChild() async throws {
    guard let place = ProcessInfo.processInfo.environment[Self.traced] else { return }
    try await watched {
      try trace(to: place, format: .json)
      try await Pair.with("cap:keep;in=media:text;out=media:text") { request in
        let text = try await request.input().collectText()
        try await request.output.emit(.text(text))
      } _: { call in
        try await call.input("media:text").emit(.text(Self.secret))
        try await call.finishInput()
        let back = try await call.output().collectText()
        XCTAssertEqual(back, Self.secret)
        _ = try await call.wait()
        let late = await kind { try trace(to: place) }
        XCTAssertEqual(late, .invalidArgument)
      }
      // The trace is written by a thread of its own: both ends have told the end of the request.
      await until {
        let written = (try? String(contentsOfFile: place, encoding: .utf8)) ?? ""
        return written.split(separator: "\n").filter { $0.lowercased().contains("\"end\"") }.count >= 2
      }
    }
  }
}
