import Foundation
import Sluicegate
import XCTest

/// Bytes that a pipe holds.
private func unread(_ handle: FileHandle) -> Int {
  var count: Int32 = 0
  XCTAssertEqual(ioctl(handle.fileDescriptor, UInt(FIONREAD), &count), 0)
  return Int(count)
}

/// How often this process has a file open.
private func opened(_ path: String) -> Int {
  let files = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
  return files.count { number in
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")) == path
  }
}

/// Files and pipes as sources and sinks: what is read and when, what is refused, and what is written.
final class FlowFilesTests: XCTestCase {
  private func file(_ bytes: some Sequence<UInt8> = []) throws -> String {
    let name = "sluicegate-\(UUID().uuidString)"
    let file = FileManager.default.temporaryDirectory.appendingPathComponent(name)
    try Data(bytes).write(to: file)
    addTeardownBlock { try FileManager.default.removeItem(at: file) }
    return file.path
  }

  func testLinesOfAPath() async throws {
    let path = try file("one\r\ntwo\n\nlöst\n\rlast\r".utf8)
    try await watched {
      let lines = try Source.lines(.path(path))
      for _ in 1...2 {  // a blueprint of a path runs as often as one likes
        let all = try await all(lines)
        XCTAssertEqual(all, ["one", "two", "", "löst", "\rlast\r"])
      }
      let none = try await all(try Source.lines(.path("/dev/null")))
      XCTAssertEqual(none, [])
    }
  }

  func testLongLinesAreLinesAcrossReads() async throws {
    let texts = (0..<40).map { n in String(repeating: "\(n % 10)", count: n * 1_000) }
    let path = try file(texts.joined(separator: "\r\n").utf8)
    try await watched {
      let all = try await all(try Source.lines(.path(path)))
      XCTAssertEqual(all, texts)
    }
  }

  func testALineThatIsTooLongOrNoText() async throws {
    let cases: [([UInt8], SluicegateError.Kind, Int)] = [
      (Array("12345\r\n123456\n".utf8), .limitReached, 1), (Array("1\n2\n123456".utf8), .limitReached, 2),
      (Array("1234567\n".utf8), .limitReached, 0), ([0x31, 0x0A, 0xC3, 0x28, 0x0A], .malformed, 1),
      ([0xEF, 0xBF, 0x0A], .malformed, 0),
    ]
    for (bytes, expected, before) in cases {
      let path = try file(bytes)
      try await watched {
        let came = Counter()
        let kind = await kind {
          _ = try await all(try Source.lines(.path(path), maxBytes: 5).tap { _ in came.add() })
        }
        XCTAssertEqual(kind, expected)
        XCTAssertEqual(came.value, before, "what is in order comes first")
      }
    }
    // A character that stands for what is no text is text itself, and so is the mark of an order.
    let path = try file("\u{FFFD}\n\u{FEFF}x\n".utf8)
    try await watched {
      let all = try await all(try Source.lines(.path(path)))
      XCTAssertEqual(all.map { Array($0.utf8) }, ["\u{FFFD}", "\u{FEFF}x"].map { Array($0.utf8) })
    }
  }

  func testChunksAreWhatOneReadGives() async throws {
    let bytes = (0..<2_500).map { UInt8(truncatingIfNeeded: $0) }
    let path = try file(bytes)
    try await watched {
      let chunks = try await all(try Source.chunks(.path(path), size: 1_000))
      XCTAssertEqual(chunks.map(\.count), [1_000, 1_000, 500])
      XCTAssertEqual(chunks.flatMap { $0 }, bytes)
    }
  }

  /// A pipe shows by what is left in it how much was read.
  func testNothingIsReadAheadOfDemand() async throws {
    let pipe = Pipe()
    let (reading, writing) = (pipe.fileHandleForReading, pipe.fileHandleForWriting)
    try await watched {
      let scope = try Scope.stepped("test", seed: 1)
      let graph = try Source.chunks(.handle(reading), size: 4).to(.probe())
      let probe = try graph.run(on: scope)
      writing.write(Data("abcdefghij".utf8))
      for (chunk, left) in [("abcd", 6), ("efgh", 2), ("ij", 0)] {
        scope.settle()
        let before = unread(reading)
        try probe.request(1)
        scope.settle()
        try await probe.expectNext(Array(chunk.utf8))
        scope.settle()
        XCTAssertEqual(unread(reading), left)
        XCTAssertEqual(before, left + chunk.utf8.count, "none before it is asked for")
      }
      probe.cancel()
      scope.settle()
      try writing.close()
      XCTAssertEqual(try reading.readToEnd() ?? Data(), Data(), "the handle stays open")
    }
  }

  func testALineIsReadOnceItIsAskedFor() async throws {
    let pipe = Pipe()
    let (reading, writing) = (pipe.fileHandleForReading, pipe.fileHandleForWriting)
    try await watched {
      let scope = try Scope.stepped("test", seed: 1)
      let probe = try Source.lines(.descriptor(reading.fileDescriptor)).to(.probe()).run(on: scope)
      writing.write(Data("one\ntwo\n".utf8))
      scope.settle()
      XCTAssertEqual(unread(reading), 8)
      try probe.request(1)
      scope.settle()
      try await probe.expectNext("one")
      writing.write(Data("three\n".utf8))
      try probe.request(1)
      scope.settle()
      try await probe.expectNext("two")
      scope.settle()
      XCTAssertEqual(unread(reading), 6, "a line that is there needs no read")
      try writing.close()
      try probe.request(2)
      scope.settle()
      try await probe.expectNext("three")
      try await probe.expectComplete()
    }
  }

  func testWhatIsWrittenIsCounted() async throws {
    let path = try file("what was there before".utf8)
    try await watched {
      try await withScope("test") { scope in
        let texts = Source(["one\n", "zwölf\n"]).to(.writer(.path(path)))
        for _ in 1...2 {
          let written = try await texts.run(on: scope).value()
          XCTAssertEqual(written, 11)
          XCTAssertEqual(try String(contentsOfFile: path, encoding: .utf8), "one\nzwölf\n")
        }
        let bytes = Source(0..<100).map { n in repeatElement(UInt8(n), count: 10_000) }
        let written = try await bytes.to(.writer(.path(path))).run(on: scope).value()
        XCTAssertEqual(written, 1_000_000)
        let read = try await all(try Source.chunks(.path(path))).reduce(0) { $0 + $1.count }
        XCTAssertEqual(read, 1_000_000)
        let none = try await Source<Data, NotUsed>.empty().to(.writer(.path(path))).run(on: scope)
          .value()
        XCTAssertEqual(none, 0)
        XCTAssertEqual(try Data(contentsOf: URL(fileURLWithPath: path)), Data(), "made all the same")
      }
    }
  }

  func testARunClosesWhatItHasOpenedHoweverItEnds() async throws {
    let (from, to) = (try file("1\n2\n3\n".utf8), try file())
    try await watched {
      let first = try await all(try Source.lines(.path(from)).prefix(1))
      XCTAssertEqual(first, ["1"])
      try await withScope("test") { scope in
        let (control, written) = try Source<String, Manual<String>>.manual()
          .toMat(.writer(.path(to))) { ($0, $1) }.run(on: scope)
        try await control.offer("some")
        await until { opened(to) == 1 }
        control.fail(SluicegateError(.closed, "by hand"))
        let kind = await kind { _ = try await written.value() }
        XCTAssertEqual(kind, .closed)
      }
      await until { opened(from) + opened(to) == 0 }
      XCTAssertEqual(try String(contentsOfFile: to, encoding: .utf8), "some")
    }
  }

  /// Without a reader, a write would end this program by a signal.
  func testAPipeThatNobodyReads() async throws {
    let pipe = Pipe()
    try pipe.fileHandleForReading.close()
    let writing = pipe.fileHandleForWriting
    try await watched {
      try await withScope("test") { scope in
        let lines = Source(0...).map { "\($0)\n" }
        let written = try lines.to(.writer(.handle(writing))).run(on: scope)
        let error = await thrown { _ = try await written.value() }
        XCTAssertEqual((error as? SluicegateError)?.kind, .io)
        XCTAssertEqual((error as? SluicegateError)?.message.contains("\"writer\""), true)
      }
    }
  }

  func testWhatIsOpenRunsOnce() async throws {
    let pipe = Pipe()
    let (reading, writing) = (pipe.fileHandleForReading, pipe.fileHandleForWriting)
    try await watched {
      try await withScope("test") { scope in
        let write = Source(["a\n"]).to(.writer(.handle(writing)))
        let read = try Source.lines(.descriptor(reading.fileDescriptor)).to(.collect())
        let written = try await write.run(on: scope).value()
        XCTAssertEqual(written, 2)
        try writing.close()
        let lines = try await read.run(on: scope).value()
        XCTAssertEqual(lines, ["a"])
        for again in [{ _ = try write.run(on: scope) }, { _ = try read.run(on: scope) }] {
          let kind = await kind { try again() }
          XCTAssertEqual(kind, .alreadySubscribed)
        }
        await until { scope.running == 0 }  // what was refused leaves nothing behind
      }
    }
  }

  func testWhatCannotBeOpenedFailsTheStream() async throws {
    try await watched {
      for body: @Sendable () async throws -> Void in [
        { _ = try await all(try Source.lines(.path("/no/such/file"))) },
        { _ = try await all(try Source.chunks(.path("/no/such/file"))) },
        { _ = try await all(try Source.chunks(.path("/"))) },
        { _ = try await all(try Source.chunks(.descriptor(-1))) },
        {
          try await withScope("test") { scope in
            _ = try await Source(["a"]).to(.writer(.path("/no/such/file"))).run(on: scope).value()
          }
        },
      ] {
        let kind = await kind(body)
        XCTAssertEqual(kind, .io)
      }
      for make: () throws -> Void in [
        { _ = try Source.lines(.path("/dev/null"), maxBytes: 0) },
        { _ = try Source.chunks(.path("/dev/null"), size: 0) },
      ] {
        XCTAssertThrowsError(try make()) {
          XCTAssertEqual(($0 as? SluicegateError)?.kind, .invalidArgument)
        }
      }
    }
  }
}
