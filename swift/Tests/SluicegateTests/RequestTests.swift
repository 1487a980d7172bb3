import Foundation
import Sluicegate
import XCTest

/// How requests go and end, between a host and a cartridge in this process.
final class RequestTests: XCTestCase {
  private static let cap: Cap = "cap:tested;in=media:blob;out=media:text"

  func testEventsOutputsAndTheLastWord() async throws {
    let cap = Cap(Self.cap.urn, outputs: [Cap.Output("media:second")])
    try await watched {
      try await Pair.with(cap) { request in
        XCTAssertEqual(request.cap, Self.cap.urn)
        request.log("working", class: .input)
        request.progress(0.5, "half")
        try await request.output.emit("main")
        try await request.output("media:second").emit("second")
        XCTAssertThrowsError(try request.output("media:third"))
        try await request.finish(progress: 0.9, message: "done")
      } _: { call in
        try await call.finishInput()
        var texts: [String?: String] = [:]
        while let output = try await call.nextOutput() {
          texts[output.info.output] = try await output.collectText()
        }
        XCTAssertEqual(texts, [nil: "main", "media:second": "second"])
        let end = try await call.wait()
        XCTAssertEqual(end.exitCode, 0)
        XCTAssertEqual(end.progress, 0.9)
        XCTAssertEqual(end.message, "done")
        var events: [Event] = []
        for try await event in call.events { events.append(event) }
        XCTAssertEqual(
          events,
          [.log(level: "info", class: .input, message: "working"), .progress(0.5, message: "half")])
      }
    }
  }

  func testWhatAHandlerThrowsIsWhatTheCallerGets() async throws {
    let own = SluicegateError(code: "OUT_OF_PAPER", class: .resource, message: "tray 2")
    struct Odd: Error {}
    for (thrown, code) in [(own as any Error, "OUT_OF_PAPER"), (Odd(), "HANDLER_ERROR")] {
      let came = try await watched {
        try await Pair.with(Self.cap) { _ in throw thrown } _: { call in
          await libraryError { _ = try await call.wait() }
        }
      }
      XCTAssertEqual(came?.code, code)
      XCTAssertEqual(came?.kind, .remote)
    }
  }

  func testAnUnknownCapIsRefused() async throws {
    try await watched {
      let pair = try await Pair(Cartridge(name: "empty", version: "1"))
      let came = await kind { _ = try await pair.peer.call("cap:none").wait() }
      XCTAssertEqual(came, .noHandler)
      XCTAssertEqual(pair.peer.caps.map(\.urn), ["cap:effect=none"])
      await pair.engine.close()
      try await pair.running.value
    }
  }

  func testACancelReachesTheHandlersTask() async throws {
    try await watched {
      let (begun, noticed) = (Gate(window: 0), Gate(window: 0))
      try await Pair.with(Self.cap) { request in
        begun.grant(1)
        do {
          try await Task.sleep(for: .seconds(3600))
        } catch {
          noticed.close(request.cancelReason?.code ?? "no reason")
          throw error
        }
      } _: { call in
        try await begun.acquire()
        call.cancel(SluicegateError(code: "MY_REASON", class: .user, message: "stop"))
        let end = await libraryError { _ = try await call.wait() }
        XCTAssertEqual(end?.code, "MY_REASON")
        let seen = await libraryError { try await noticed.acquire() }
        XCTAssertEqual(seen?.code, "MY_REASON")
      }
    }
  }

  /// The handler's task is cancelled while it waits to be told: it is told, whichever comes first.
  func testAHandlerThatWaitsForItsCancelIsToldTheReason() async throws {
    try await watched {
      var cartridge = Cartridge(name: "tested", version: "1")
      let (begun, told) = (Gate(window: 0), Gate(window: 0))
      cartridge.handle(Self.cap) { request in
        begun.grant(1)
        let reason = try await request.cancelled()
        XCTAssertEqual(reason.code, "MY_REASON")
        told.grant(1)
      }
      let pair = try await Pair(cartridge)
      for _ in 0..<300 {
        let call = try pair.peer.call(Self.cap.urn)
        try await begun.acquire()
        call.cancel(SluicegateError(code: "MY_REASON", class: .user, message: "stop"))
        try await told.acquire()
      }
      await pair.engine.close()
    }
  }

  func testReleasingACallCancelsIt() async throws {
    try await watched {
      let (begun, stopped) = (Gate(window: 0), Gate(window: 0))
      var cartridge = Cartridge(name: "tested", version: "1")
      cartridge.handle(Self.cap) { request in
        begun.grant(1)
        _ = try await request.cancelled()
        stopped.grant(1)
      }
      let pair = try await Pair(cartridge)
      do {
        let call = try pair.peer.call(Self.cap.urn)
        try await begun.acquire()
        withExtendedLifetime(call) {}
      }
      try await stopped.acquire()
      await until { pair.peer.liveCalls == 0 }
      await pair.engine.close()
    }
  }

  func testAHostThatLeavesStopsHandlersAndEndsTheRun() async throws {
    try await watched {
      var cartridge = Cartridge(name: "tested", version: "1")
      let begun = Gate(window: 0)
      let stopped = Counter()
      cartridge.handle(Self.cap) { _ in
        begun.grant(1)
        defer { stopped.add() }
        try await Task.sleep(for: .seconds(3600))
      }
      let pair = try await Pair(cartridge)
      let call = try pair.peer.call(Self.cap.urn)
      try await begun.acquire()
      await pair.engine.close()
      let end = await kind { _ = try await call.wait() }
      XCTAssertEqual(end, .closed)
      try await pair.running.value
      XCTAssertEqual(stopped.value, 1)
    }
  }

  func testManyRequestsAtOnce() async throws {
    try await watched {
      var cartridge = Cartridge(name: "tested", version: "1")
      cartridge.handle(Self.cap) { request in
        let bytes = try await request.input().collectBytes()
        try await request.output.emit(.text(String(decoding: bytes, as: UTF8.self)))
      }
      let pair = try await Pair(cartridge)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for n in 0..<100 {
          group.addTask {
            let call = try pair.peer.call(Self.cap.urn)
            try await call.input("media:blob").write("request \(n)".utf8)
            try await call.finishInput()
            let text = try await call.output().collectText()
            XCTAssertEqual(text, "request \(n)")
            _ = try await call.wait()
          }
        }
        try await group.waitForAll()
      }
      XCTAssertEqual(pair.peer.liveCalls, 0)
      await pair.engine.close()
    }
  }
}

/// The library's error that `body` throws.
private func libraryError(_ body: () async throws -> Void) async -> SluicegateError? {
  await thrown(by: body) as? SluicegateError
}
