import Foundation
import Sluicegate
import XCTest

/// How many came and how many are missing; each gap against the numbers (HZ-V02).
private func gaps<Items: AsyncSequence>(
  _ items: Items
) async throws -> (count: UInt64, missing: UInt64) where Items.Element == Item {
  var (count, missing, expected): (UInt64, UInt64, UInt64) = (0, 0, 0)
  for try await item in items {
    let meta = try XCTUnwrap(FeedMeta(item))
    XCTAssertEqual(meta.seq - expected, meta.gap?.dropped ?? 0)
    XCTAssertEqual(item.value.uint, meta.seq)
    expected = meta.seq + 1
    count += 1
    missing += meta.gap?.dropped ?? 0
  }
  return (count, missing)
}

private func conserved(_ feed: Feed) throws -> FeedStats {
  let stats = try feed.stats()
  XCTAssertEqual(stats.captured, stats.delivered + stats.dropped + stats.held)
  return stats
}

/// Live feeds: what is lost is counted and told in its place, and the source is never held up.
final class FeedTests: XCTestCase {
  private static let cap = Cap("cap:feed;in=media:void;out=media:frames", outputIsSequence: true)

  func testALossIsToldWithTheNextItem() async throws {
    try await watched {
      let feed = try Feed(capacity: 2)
      for n in 0..<5 {
        XCTAssertTrue(
          try feed.push([UInt8(n)], at: .milliseconds(n), capturedAt: .microseconds(n)))
      }
      let item = try await feed.recv()
      let first = try XCTUnwrap(item.flatMap(FeedMeta.init))
      XCTAssertEqual(first.seq, 3)
      XCTAssertEqual(first.presentationTime, .milliseconds(3))
      XCTAssertEqual(first.captureTime, .microseconds(3))
      XCTAssertEqual(first.gap?.dropped, 3)
      XCTAssertEqual(first.gap?.duration, .zero)
      try feed.push(value: "text", at: .milliseconds(5))
      try feed.push([], at: .milliseconds(6))
      let text = try await feed.recv()
      XCTAssertEqual(text?.value, "text")
      XCTAssertEqual(text.flatMap(FeedMeta.init)?.gap?.duration, .milliseconds(2))
      feed.stop()
      XCTAssertFalse(try feed.push([], at: .zero))
      let last = try await feed.recv()
      XCTAssertNotNil(last)
      let end = try await feed.recv()
      XCTAssertNil(end)
      XCTAssertEqual(try conserved(feed).overruns, 4)
      XCTAssertNil(FeedMeta(Item(value: 1)))
    }
  }

  func testHZ_V01_AnOverrunFailsAFeedThatSaysSo() async throws {
    try await watched {
      let feed = try Feed(capacity: 1, policy: .fail)
      XCTAssertTrue(try feed.push([], at: .zero))
      XCTAssertFalse(try feed.push([], at: .zero))
      let held = try await feed.recv()
      XCTAssertNotNil(held)
      let error = await thrown { _ = try await feed.recv() } as? SluicegateError
      XCTAssertEqual(error?.kind, .feedOverrun)
      XCTAssertEqual(error?.attributionClass, .resource)
      _ = try conserved(feed)
      let nothing = await kind { _ = try Feed(capacity: 0) }
      XCTAssertEqual(nothing, .invalidArgument)
    }
  }

  func testHZ_V04_AFailedSourceIsNoCleanEnd() async throws {
    try await watched {
      let feed = try Feed()
      try feed.push([], at: .zero)
      try feed.fail(SluicegateError(.io, "unplugged"))
      let held = try await feed.recv()
      XCTAssertNotNil(held)
      let error = await thrown { _ = try await feed.recv() } as? SluicegateError
      XCTAssertEqual(error?.message, "unplugged")
    }
  }

  func testACancelledReceiveTakesNothing() async throws {
    try await watched {
      let feed = try Feed()
      let waiting = Task { try await feed.recv() }
      waiting.cancel()
      let error = await thrown { _ = try await waiting.value }
      XCTAssertTrue(error is CancellationError)
      try feed.push([], at: .zero)
      XCTAssertEqual(try conserved(feed).held, 1)
      let late = await kind { _ = try await Feed().recv(within: .zero) }
      XCTAssertEqual(late, .timedOut)
      feed.cancel()
      XCTAssertEqual(try conserved(feed).dropped, 1)
      let given = await kind { _ = try await feed.recv() }
      XCTAssertEqual(given, .closed)
    }
  }

  /// What a feed has lost is what its connection says that live sources have, and no drop.
  func testHZ_V03_TheLossesOfAFeedAreThoseOfItsConnection() async throws {
    let lossy = try Feed(capacity: 2)
    for n in 0..<8 { try lossy.push(value: .unsigned(UInt64(n)), at: .milliseconds(n)) }
    lossy.stop()
    let echo = Cap(
      "cap:items;in=media:items;out=media:items", inputIsSequence: true, outputIsSequence: true)
    try await watched {
      var cartridge = Cartridge(name: "items", version: "1")
      cartridge.handle(echo) { request in
        let output = try request.output
        for try await item in try await request.input() {
          try await output.emitItem(item.value, meta: item.meta)
        }
      }
      let pair = try await Pair(cartridge)
      let call = try pair.peer.call(echo.urn)
      try await lossy.serve(call.input("media:items"))
      try await call.finishInput()
      let came = try await gaps(call.output())
      XCTAssertEqual(came.0, 2)
      XCTAssertEqual(came.1, 6)
      _ = try await call.wait()
      let stats = try pair.peer.stats()
      XCTAssertEqual(stats.overruns, 6)
      XCTAssertEqual(stats.drops.total, 0)
      XCTAssertLessThanOrEqual(stats.held.bytes, stats.held.bound)
      await pair.engine.close()
      try await pair.running.value
    }
    XCTAssertEqual(try conserved(lossy).overruns, 6)
  }

  func testHZ_V01_GapsAddUpThroughACartridge() async throws {
    let feed = try Feed(capacity: 8, format: ["rate": 1000])
    let (count, missing) = try await watched {
      try await Pair.with(Self.cap, limits: Limits(initialCredit: 2)) { request in
        try await feed.serve(request.output)
      } _: { call in
        try await call.finishInput()
        let output = try await call.output()
        XCTAssertTrue(output.info.isUnbounded)
        XCTAssertEqual(output.info.meta?["rate"], 1000)
        let collected = await kind { _ = try await output.collectItems() }
        XCTAssertEqual(collected, .unbounded)
        for n in 0..<3000 {  // nothing is read meanwhile: the source is never held up
          XCTAssertTrue(try feed.push(value: .unsigned(UInt64(n)), at: .milliseconds(n)))
        }
        call.closeStream(output.info.id)
        await until { (try? feed.stats().isEnded) != false }
        let came = try await gaps(output)
        _ = try await call.wait()
        return came
      }
    }
    XCTAssertEqual(count + missing, 3000)
    XCTAssertGreaterThan(missing, 0)
    let stats = try conserved(feed)
    XCTAssertEqual(stats.delivered, count)
    XCTAssertEqual(stats.dropped, missing)
  }

  func testCommandsAndPipesAreSources() async throws {
    try await watched {
      let feed = try Feed(Command("sh", ["-c", "printf abcdef"]), itemBytes: 3)
      var content: [[UInt8]?] = []
      for try await item in feed { content.append(item.value.bytes) }
      XCTAssertEqual(content, [Array("abc".utf8), Array("def".utf8)])
      let pushed = await kind { try feed.push([], at: .zero) }
      XCTAssertEqual(pushed, .invalidArgument)
      let broken = try Feed(Command("sh", ["-c", "echo broken >&2; exit 3"]), itemBytes: nil)
      let error = await thrown { _ = try await broken.recv() } as? SluicegateError
      XCTAssertEqual(error?.kind, .peerDied)
      XCTAssertTrue(error?.message.contains("broken") == true)
      let (reading, writing) = try pipe()
      let lines = try Feed(reading: reading, itemBytes: nil)
      let file = FileHandle(fileDescriptor: writing, closeOnDealloc: true)
      file.write(Data("line\n".utf8))
      let line = try await lines.recv()
      XCTAssertEqual(line?.value.bytes, Array("line".utf8))
      try file.close()
      let end = try await lines.recv()
      XCTAssertNil(end)
    }
  }
}
