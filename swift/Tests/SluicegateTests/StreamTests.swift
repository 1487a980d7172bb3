import Foundation
import Sluicegate
import XCTest

/// Streams between a host and a cartridge in this process.
final class StreamTests: XCTestCase {
  private static let blob = "media:blob"
  private static let echo: Cap = "cap:echo;in=media:blob;out=media:blob"
  private static let items = Cap(
    "cap:items;in=media:items;out=media:items", inputIsSequence: true, outputIsSequence: true)

  func testEchoKeepsTypes() async throws {
    let sent: [Value] = [
      0, -1, .unsigned(.max), .negative(.max), "text", .bytes([1, 2, 3]), true, .null, .undefined, 2.5,
      [1, "two", [3]], ["key": [4.5]], .tagged(2, .bytes([1])), .simple(19),
    ]
    let came = try await watched {
      try await Pair.with(Self.echo, handler: echoed) { call in
        let input = try call.input(Self.blob)
        async let back = call.output().collectItems()
        for value in sent {
          try await input.emit(value)
          try await input.flush()
        }
        try await call.finishInput()
        let items = try await back
        _ = try await call.wait()
        return items.map(\.value)
      }
    }
    XCTAssertEqual(came, sent)
  }

  func testItemsOfAnySizeKeepTheirMeta() async throws {
    let sent = [
      Item(value: ["n": 1], meta: ["seq": 0]), Item(value: .bytes(Array(repeating: 7, count: 1 << 20))),
      Item(value: "last", meta: ["gap": ["dropped": 3]]),
    ]
    let limits = Limits(maxChunk: 4096, initialCredit: 2)  // an item is wider than the window
    let came = try await watched {
      try await Pair.with(Self.items, limits: limits) { request in
        let output = try request.output
        for try await item in try await request.input() {
          try await output.emitItem(item.value, meta: item.meta)
        }
      } _: { call in
        let input = try call.input("media:items")
        async let back = call.output().collectItems()
        for item in sent { try await input.emitItem(item.value, meta: item.meta) }
        try await call.finishInput()
        return try await back
      }
    }
    XCTAssertEqual(came, sent)
  }

  func testBytesOfEveryKindOfSequence() async throws {
    let data = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) })
    let came = try await watched {
      try await Pair.with(Self.echo, handler: echoed) { call in
        async let back = call.output().collectBytes()
        let input = try call.input(Self.blob)
        try await input.write(data)
        try await input.write(data[10..<20])
        try await input.write(Array(data).suffix(5))
        try await input.write("text".utf8)
        try await input.write(repeatElement(UInt8(9), count: 3))  // lies in no one piece
        try await input.write([])
        try await call.finishInput()
        return try await back
      }
    }
    let expected = Array(data) + data[10..<20] + data.suffix(5) + Array("text".utf8) + [9, 9, 9]
    XCTAssertEqual(came, expected)
  }

  func testTextIsCollectedAsText() async throws {
    let text = String(repeating: "grüße ", count: 100_000)
    let came = try await watched {
      try await Pair.with("cap:text;in=media:void;out=media:text") { request in
        try await request.output.emit(.text(text))
      } _: { call in
        try await call.finishInput()
        return try await call.output().collectText()
      }
    }
    XCTAssertEqual(came, text)
  }

  func testHZ_C19_aReaderThatSleepsHoldsNoMoreThanTheWindow() async throws {
    try await watched {
      let made = Counter()
      let limits = Limits(initialCredit: 4)
      try await Pair.with("cap:flood;in=media:void;out=media:blob", limits: limits) { request in
        let output = try request.output
        for n in 0..<1_000 {
          try await output.emit(Value(n))
          made.add()
        }
      } _: { call in
        try await call.finishInput()
        let output = try await call.output()
        let first = try await output.recv()
        XCTAssertEqual(first?.value, 0)
        await until { made.value >= 4 }
        for _ in 0..<1_000 { await Task.yield() }  // room to overrun, were there any
        XCTAssertLessThanOrEqual(made.value, 6)  // the window, and what was given back for one
        var count = 1
        for try await item in output {
          XCTAssertEqual(item.value, Value(count))
          count += 1
        }
        XCTAssertEqual(count, 1_000)
      }
    }
  }

  func testHZ_S14_aReceiveWithALimitLosesNothing() async throws {
    try await watched {
      try await Pair.with("cap:numbers;in=media:void;out=media:blob") { request in
        let output = try request.output
        for n in 0..<20_000 { try await output.emit(Value(n)) }
      } _: { call in
        try await call.finishInput()
        let output = try await call.output()
        var (next, late) = (0, 0)
        while true {
          do {
            guard let item = try await output.recv(within: .microseconds(20)) else { break }
            XCTAssertEqual(item.value, Value(next))
            next += 1
          } catch let error as SluicegateError where error.kind == .timedOut {
            late += 1
          }
        }
        XCTAssertEqual(next, 20_000)
        print("\(late) receives timed out in between")
      }
    }
  }

  func testACancelledReceiveLosesNothing() async throws {
    try await watched {
      try await Pair.with("cap:numbers;in=media:void;out=media:blob") { request in
        let output = try request.output
        for n in 0..<5_000 { try await output.emit(Value(n)) }
      } _: { call in
        try await call.finishInput()
        let output = try await call.output()
        var (next, ended) = (0, false)
        while !ended {
          let receiving = Task { try await output.recv() }
          if next % 3 == 0 { receiving.cancel() }
          switch await receiving.result {
          case .success(let item?):
            XCTAssertEqual(item.value, Value(next))
            next += 1
          case .success(nil): ended = true
          case .failure(let error):
            XCTAssertTrue(error is CancellationError)
            if let item = try await output.recv() {
              XCTAssertEqual(item.value, Value(next))
              next += 1
            } else {
              ended = true
            }
          }
        }
        XCTAssertEqual(next, 5_000)
      }
    }
  }

  func testAnUnboundedStreamIsNotCollected() async throws {
    try await watched {
      try await Pair.with("cap:forever;in=media:void;out=media:blob") { request in
        let output = try request.output
        try output.start(unbounded: true, meta: ["rate": 5])
        let sender = output.sender()
        var n = 0
        while true {
          try await sender.emit(Value(n))
          n += 1
        }
      } _: { call in
        let output = try await call.output()
        XCTAssertTrue(output.info.isUnbounded)
        XCTAssertEqual(output.info.meta, ["rate": 5])
        let came = await kind { _ = try await output.collectItems() }
        XCTAssertEqual(came, .unbounded)
        let first = try await output.recv()
        XCTAssertEqual(first?.value, 0)
        call.cancel("enough")
        let end = await thrown(by: { _ = try await call.wait() }) as? SluicegateError
        XCTAssertEqual(end?.kind, .cancelled)
        XCTAssertEqual(end?.message, "enough")
      }
    }
  }

  func testModesAreNotMixed() async throws {
    try await watched {
      try await Pair.with("cap:mix;in=media:void;out=media:blob") { request in
        try await request.output.emit(1)
        try await request.output.emitItem(2)
      } _: { call in
        try await call.finishInput()
        let came = await kind { _ = try await call.wait() }
        XCTAssertEqual(came, .wrongMode)
      }
    }
  }

  func testForwardKeepsCreditEndToEnd() async throws {
    try await watched {
      var cartridge = Cartridge(name: "both", version: "1")
      let made = Counter()
      cartridge.handle("cap:make;in=media:void;out=media:blob") { request in
        for n in 0..<2_000 {
          try await request.output.emit(Value(n))
          made.add()
        }
      }
      cartridge.handle(Self.echo, echoed)
      let (first, second) = (
        try await Pair(cartridge, limits: Limits(initialCredit: 4)),
        try await Pair(cartridge, limits: Limits(initialCredit: 2))
      )
      let make = try first.peer.call("cap:make;in=media:void;out=media:blob")
      let echo = try second.peer.call(Self.echo.urn)
      try await make.finishInput()
      let into = try echo.input(Self.blob)
      let moving = Task {
        let moved = try await make.output().forward(to: into)
        try await echo.finishInput()
        return moved
      }
      let output = try await echo.output()
      let head = try await output.recv()
      XCTAssertEqual(head?.value, 0)
      for _ in 0..<1_000 { await Task.yield() }
      XCTAssertLessThan(made.value, 20)  // the sum of all windows on the way
      var count = 1
      for try await item in output {
        XCTAssertEqual(item.value, Value(count))
        count += 1
      }
      XCTAssertEqual(count, 2_000)
      let moved = try await moving.value
      XCTAssertEqual(moved, 2_000)
      await first.engine.close()
      await second.engine.close()
    }
  }
}

/// Each value back as it came.
@Sendable private func echoed(_ request: Request) async throws {
  let output = try request.output
  for try await item in try await request.input() {
    try await output.emit(item.value)
    try await output.flush()
  }
}
