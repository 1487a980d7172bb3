import Foundation
import Sluicegate
import XCTest

/// The Swift of `docs/guide-swift.md`, compiled and run as it stands there.
final class GuideTests: XCTestCase {
  /// Every block of the guide stands in this file, line by line, indentation aside.
  func testTheGuideIsThisFile() throws {
    XCTAssertEqual(try blocks(tested: "docs/guide-swift.md"), 13)
  }

  /// The same for the article on blueprints in the package's own documentation.
  func testTheArticleIsThisFile() throws {
    let article = "swift/Sources/Sluicegate/Sluicegate.docc/Blueprints.md"
    XCTAssertEqual(try blocks(tested: article), 2)
  }

  /// How many blocks of Swift a document has; each must stand in this file.
  private func blocks(tested document: String) throws -> Int {
    let lines = try lines(of: repository.appendingPathComponent(document))
    let here = try self.lines(of: URL(fileURLWithPath: #filePath))
    var blocks = 0
    for start in lines.indices where lines[start] == "```swift" {
      let block = Array(lines[(start + 1)...].prefix { $0 != "```" })
      let found = here.indices.contains { here[$0...].starts(with: block) }
      XCTAssertTrue(found, "not tested: \(block)")
      blocks += 1
    }
    return blocks
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
    cartridge.handle("cap:sums;in=media:numbers;out=media:numbers") { request in
      let (input, output) = (try await request.input(), try request.output)
      try await withScope("sums") { scope in
        let sums = Source.wire(input).compactMap { $0.value.int }.scan(0) { $0 + $1 }
        try await sums.map { Value($0) }.to(.wire(output)).run(on: scope).value()
      }
    }
    return cartridge
  }

  func testStreams() async throws {
    try await watched {
      let double = Flow<Int, Int, NotUsed>.map { $0 * 2 }
      let evens = Source(0...).via(double).filter { $0.isMultiple(of: 4) }.prefix(3)
      let all = try await withScope("guide") { scope in  // owns the threads; leaving it stops everything
        try await evens.to(.collect()).run(on: scope).value()
      }
      XCTAssertEqual(all, [0, 4, 8])
    }
  }

  func testAStreamThatIsFedByHand() async throws {
    try await watched {
      try await withScope("guide") { scope in
        var printed: [Int] = []
        func print(_ length: Int) { printed.append(length) }
        let manual = try Source<String, Manual<String>>
          .manual(EdgeOptions(capacity: 2, overflow: .dropHead))
        let (control, lengths) = try manual.mapAsync(2) { text in text.count }  // two tasks, in order
          .toMat(.outlet()) { ($0, $1) }.run(on: scope)
        try await control.offer("one")
        control.complete()
        for try await length in lengths { print(length) }
        XCTAssertEqual(printed, [3])
      }
    }
  }

  func testStreamsOfRequests() async throws {
    try await watched {
      let pair = try await Pair(Self.cartridge())
      let call = try pair.peer.call("cap:sums;in=media:numbers;out=media:numbers")
      async let answer = call.output().collectItems()
      let input = try call.input("media:numbers")
      for n in 1...4 { try await input.emit(Value(n)) }
      try await call.finishInput()
      let sums = try await answer.map(\.value)
      XCTAssertEqual(sums, [1, 3, 6, 10])
      _ = try await call.wait()
      await pair.engine.close()
    }
  }

  func testProbes() async throws {
    try await watched {
      let stepped = try Scope.stepped("test", seed: 1)
      let probes = try Source<Int, Publisher<Int>>.probe().map { "value=\($0)" }
        .throttle(1, per: .seconds(10)).toMat(.probe()) { ($0, $1) }
      let (publisher, subscriber) = try probes.run(on: stepped)
      try subscriber.request(2)
      stepped.settle()
      try await publisher.sendNext(7)
      stepped.settle()
      try await subscriber.expectNext("value=7")
      try await publisher.sendNext(8)
      stepped.settle()
      try await subscriber.expectNoMessage(within: .zero)
      stepped.advance(by: .seconds(10))
      try await subscriber.expectNext("value=8")
    }
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
