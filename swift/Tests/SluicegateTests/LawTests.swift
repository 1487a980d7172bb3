import Foundation
import Sluicegate
import XCTest

/// The laws of flow control between a host in Swift and a process: the reference cartridge.
final class LawTests: XCTestCase {
  func testL9ASenderStartsWithTheWindowAndWaitsAtZero() async throws {
    try await watched {
      try await Reference.windowed(2) { peer in
        let call = try peer.call(Reference.forever)
        let input = try call.input("media:blob")  // which nobody reads
        try input.start()
        XCTAssertEqual(try input.stats().window, 2)
        for n in 0..<2 { try await input.emit(Value(n)) }
        let third = Task { try await input.emit(2) }
        // Nothing brings credit, so that only the cancel can end this wait.
        await until { (try? input.stats().stalled) ?? .zero > .zero || third.isCancelled }
        let before = try input.stats()
        XCTAssertEqual(before.chunks, 2)
        XCTAssertEqual(before.window, 0)
        call.cancel()
        let end = await third.result
        XCTAssertThrowsError(try end.get()) {
          XCTAssertEqual(($0 as? SluicegateError)?.kind, .cancelled)
        }
        XCTAssertEqual(try input.stats().chunks, 2)
      }
    }
  }

  func testL10WhatIsConsumedComesBackWithEveryWindow() async throws {
    try await watched {
      for window: UInt64 in [1, 2, 3, 32] {
        try await Reference.windowed(window) { peer in
          let call = try peer.call(Reference.sink)
          let feeding = try Reference.feed(call, 100)
          let counted = try await call.output().collectBytes()
          XCTAssertEqual(String(decoding: counted, as: UTF8.self), "100", "window \(window)")
          try await feeding.value
          _ = try await call.wait()
        }
      }
    }
  }

  func testL10AHeldBackBatchIsFlushedBeforeAWait() async throws {
    try await watched {
      // Half of 32 makes a batch; three chunks must come back all the same once the reader waits.
      try await Reference.windowed(32) { peer in
        let call = try peer.call(Reference.sink)
        let input = try call.input("media:blob")
        for n in 0..<3 { try await input.emit(Value(n)) }
        await until { (try? input.stats().window) == 32 }
        try await call.finishInput()
        _ = try await call.wait()
      }
    }
  }

  func testL11CreditIsEndToEndThroughASwitchAndAHost() async throws {
    try await watched {
      let limits = Limits(initialCredit: 4)
      let relay = Switch(limits: limits)
      let address = try relay.listen(at: "unix:" + place("sock"))
      let host = try Host(limits: limits)
      try await host.add(try Reference.command)
      try await host.join(address)
      await until { relay.caps.contains(Reference.forever) }
      let engine = Engine(limits: limits)
      let peer = try await engine.connect(to: address)
      let call = try peer.call(Reference.forever)
      let output = try await call.output()
      await until { (try? output.stats().chunks) == 4 }  // the window has come, and lies unread
      for n in 0..<100 {
        let item = try await output.recv()
        XCTAssertEqual(item?.value, Value(n))
        XCTAssertLessThanOrEqual(try output.stats().chunks, UInt64(n) + 1 + 4)
      }
      call.cancel()
      let end = await kind { _ = try await call.wait() }
      XCTAssertEqual(end, .cancelled)
      await engine.close()
      host.close()
      relay.close()
    }
  }

  func testL12AChunkBeyondTheWindowIsRefusedAndChangesNothing() throws {
    let window = Window(window: 2)
    for _ in 0..<2 { try window.arrive() }
    for _ in 0..<3 {
      XCTAssertThrowsError(try window.arrive()) {
        XCTAssertEqual(($0 as? SluicegateError)?.kind, .creditViolation)
        XCTAssertEqual(($0 as? SluicegateError)?.code, "CREDIT_VIOLATION")
      }
    }
    XCTAssertEqual(window.remaining, 0)
    XCTAssertEqual(window.consumed() + window.flush(), 1)
    try window.arrive()
  }

  func testL13ACancelReleasesWhoeverWaitsForCredit() async throws {
    try await watched {
      try await Reference.windowed(2) { peer in
        let call = try peer.call(Reference.forever)
        let input = try call.input("media:blob")
        let senders = (0..<8).map { n in
          Task { while true { try await input.emit(Value(n)) } }
        }
        let output = try await call.output()  // released, it would end the call
        defer { withExtendedLifetime(output) {} }
        _ = try await output.recv()
        await until { (try? input.stats().window) == 0 }
        call.cancel(SluicegateError(code: "MY_REASON", class: .user, message: "enough"))
        for sender in senders {
          let outcome = await sender.result
          XCTAssertThrowsError(try outcome.get()) {
            XCTAssertEqual(($0 as? SluicegateError)?.code, "MY_REASON")
          }
        }
      }
    }
  }

  func testL14ControlFlowsWhileNoDataMay() async throws {
    try await watched {
      try await Reference.windowed(1) { peer in
        let full = try peer.call(Reference.produce)
        try await full.input("media:json").write(#"{"chunks":20}"#.utf8)
        try await full.finishInput()
        let output = try await full.output()  // of which nothing is read
        let call = try peer.call(Reference.multi)
        try await call.finishInput()  // of which none was opened: it reads none, and may be over
        let end = try await call.wait()
        XCTAssertEqual(end.message, "done")
        var told = 0
        for try await _ in call.events { told += 1 }
        XCTAssertEqual(told, 2)
        let items = try await output.collectItems()
        XCTAssertEqual(items.map(\.value), (0..<20).map { Value($0) })
      }
    }
  }

  func testL15BothDirectionsOfARequestAreServedAtOnce() async throws {
    try await watched {
      try await Reference.windowed(1) { peer in
        let call = try peer.call(Reference.echo)
        let feeding = try Reference.feed(call, 200)
        let items = try await call.output().collectItems()
        XCTAssertEqual(items.map(\.value), (0..<200).map { Value($0) })
        try await feeding.value
        _ = try await call.wait()
      }
    }
  }

  func testL16L17AnUnboundedStreamIsNeverCollectedAndEndsByACancelInItsMiddle() async throws {
    try await watched {
      try await Reference.windowed(4) { peer in
        let call = try peer.call(Reference.forever)
        try await call.finishInput()
        let output = try await call.output()
        XCTAssertTrue(output.info.isUnbounded)
        for collect: (Sluicegate.InputStream) async throws -> Void in [
          { _ = try await $0.collectItems() }, { _ = try await $0.collectBytes() },
          { _ = try await $0.collectText() },
        ] {
          let refused = await kind { try await collect(output) }
          XCTAssertEqual(refused, .unbounded)
        }
        for n in 0..<100 {
          let item = try await output.recv()
          XCTAssertEqual(item?.value, Value(n))
        }
        call.cancel()
        let end = await kind { _ = try await call.wait() }
        XCTAssertEqual(end, .cancelled)
        let echo = try peer.call(Reference.echo)
        let feeding = try Reference.feed(echo, 3)
        let items = try await echo.output().collectItems()
        XCTAssertEqual(items.map(\.value), [0, 1, 2])
        try await feeding.value
      }
    }
  }
}
