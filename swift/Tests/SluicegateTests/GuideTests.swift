import Foundation
import Sluicegate
import XCTest

/// The Swift of `docs/guide-swift.md`, compiled and run as it stands there.
final class GuideTests: XCTestCase {
  /// Every block of the guide stands in this file, line by line, indentation aside.
  func testTheGuideIsThisFile() throws {
    let guide = try lines(of: repository.appendingPathComponent("docs/guide-swift.md"))
    let here = try lines(of: URL(fileURLWithPath: #filePath))
    var blocks = 0
    for start in guide.indices where guide[start] == "```swift" {
      let block = Array(guide[(start + 1)...].prefix { $0 != "```" })
      let found = here.indices.contains { here[$0...].starts(with: block) }
      XCTAssertTrue(found, "not tested: \(block)")
      blocks += 1
    }
    XCTAssertEqual(blocks, 9)
  }

  private func lines(of file: URL) throws -> [String] {
    try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
      .map { $0.trimmingCharacters(in: .whitespaces) }
  }

  private static func cartridge() -> Cartridge {
    var cartridge = Cartridge(name: "upper", version: "1.0.0")
    cartridge.handle("cap:upper;in=media:blob;out=media:blob") { request in
      let output = try request.output
      for try await chunk in try await request.input().chunks {
        try await output.write(chunk.map { (97...122).contains($0) ? $0 - 32 : $0 })
      }
    }
    let split = Cap(
      "cap:split;in=media:items;out=media:items", inputIsSequence: true, outputIsSequence: true,
      outputs: [Cap.Output("media:rest")])
    cartridge.handle(split) { request in
      let (head, rest) = (try request.output, try request.output("media:rest"))
      request.log("splitting")
      for try await item in try await request.input() {
        try await head.emitItem(item.value, meta: item.meta)
        try await rest.emit("and so on")
      }
      try await request.finish(message: "split")
    }
    return cartridge
  }

  func testALiveFeed() async throws {
    try await watched {
      let feed = try Feed(capacity: 8)
      let capture = Thread {
        for n in 0..<1000 {
          // Never waits. False: it was stopped, time to let the device go.
          guard (try? feed.push(value: .unsigned(UInt64(n)), at: .milliseconds(n))) == true else { break }
        }
        feed.stop()
      }
      capture.start()
      var lost: UInt64 = 0
      for try await item in feed {  // in a handler: try await feed.serve(request.output)
        lost += FeedMeta(item)?.gap?.dropped ?? 0
      }
      let stats = try feed.stats()
      XCTAssertEqual(stats.delivered + lost, 1000)
      XCTAssertEqual(stats.dropped, lost)
    }
  }

  func testACartridgeAndAHost() async throws {
    try await watched {
      let (down, up) = (try pipe(), try pipe())
      let running = Task {
        try await Self.cartridge().run(reading: down.reading, writing: up.writing)
      }
      let (fromCartridge, toCartridge) = (up.reading, down.writing)
      let engine = Engine()
      let peer = try await engine.attach(reading: fromCartridge, writing: toCartridge)
      let call = try peer.call("cap:upper;in=media:blob;out=media:blob")
      async let answer = call.output().collectBytes()
      try await call.input("media:blob").write("hello".utf8)
      try await call.finishInput()
      let text = String(decoding: try await answer, as: UTF8.self)
      let end = try await call.wait()
      await engine.close()
      XCTAssertEqual(text, "HELLO")
      XCTAssertEqual(end.exitCode, 0)
      try await running.value
    }
  }

  func testAChain() async throws {
    try await watched {
      let pair = try await Pair(Self.cartridge())
      let peer = pair.peer
      let first = try peer.call("cap:upper;in=media:blob;out=media:blob")
      let second = try peer.call("cap:upper;in=media:blob;out=media:blob")
      let moving = Task {
        try await first.output().forward(to: second.input("media:blob"))
        try await second.finishInput()
      }
      async let answer = second.output().collectBytes()
      try await first.input("media:blob").write("chain".utf8)
      try await first.finishInput()
      let text = String(decoding: try await answer, as: UTF8.self)
      try await moving.value
      XCTAssertEqual(text, "CHAIN")
      await pair.engine.close()
    }
  }

  func testTwoOutputsAndALastWord() async throws {
    try await watched {
      let pair = try await Pair(Self.cartridge())
      let call = try pair.peer.call("cap:split;in=media:items;out=media:items")
      try await call.input("media:items").emitItem(1, meta: ["seq": 0])
      try await call.finishInput()
      var came: [String: [Item]] = [:]
      while let output = try await call.nextOutput() {
        came[output.info.media] = try await output.collectItems()
      }
      XCTAssertEqual(came["media:items"], [Item(value: 1, meta: ["seq": 0])])
      XCTAssertEqual(came["media:rest"], [Item(value: "and so on")])
      let end = try await call.wait()
      XCTAssertEqual(end.message, "split")
      await pair.engine.close()
    }
  }

  func testValues() {
    let value: Value = ["name": "window", "sizes": [1, 2, 32], "open": true]
    let sizes = value["sizes"]?.array?.compactMap(\.int) ?? []
    XCTAssertEqual(sizes, [1, 2, 32])
  }

  func testAGateAlone() async throws {
    let gate = Gate(window: 2)  // the sender's credit, in chunks
    let window = Window(window: 2)  // the receiver's side of it
    try await gate.acquire()  // one for each chunk
    try window.arrive()
    gate.grant(window.consumed())  // send it over your transport, if it is not 0
    gate.close("END")
    XCTAssertEqual(gate.available, 2)
    do {
      try await gate.acquire(within: .milliseconds(10))
    } catch let error as SluicegateError where error.kind == .closed {
      print("closed because of \(error.code)")
    }
  }

  func testAnErrorOfOnesOwn() {
    func refuse() throws {
      throw SluicegateError(code: "OUT_OF_PAPER", class: .resource, message: "tray 2 is empty")
    }
    XCTAssertThrowsError(try refuse()) { XCTAssertEqual("\($0)", "OUT_OF_PAPER: tray 2 is empty") }
  }
}
