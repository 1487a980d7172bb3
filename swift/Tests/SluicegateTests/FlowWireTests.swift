import Foundation
import Sluicegate
import XCTest

/// Pipelines across a link: one law of demand from the last consumer to the first producer.
final class FlowWireTests: XCTestCase {
  private static let cap: Cap = "cap:numbers;in=media:numbers;out=media:numbers"

  func testL11ARemoteProducerStandsStillWhileNothingIsAskedFor() async throws {
    try await watched {
      let given = Counter()
      let ended = Promise<SluicegateError.Kind>()
      try await Pair.with(Self.cap, limits: Limits(initialCredit: 4)) { request in
        try await withScope("cartridge") { scope in
          let output = try request.output
          let sent = try Source(0...).tap { _ in given.add() }.map { Value($0) }
            .to(.wire(output)).run(on: scope)
          do {
            try await sent.value()
          } catch {
            // The task is cancelled with the request, at about the same time.
            let why = request.cancelReason?.kind
            _ = ended.trySucceed(why ?? .closed)
          }
        }
      } _: { call in
        try await call.finishInput()
        let input = try await call.output()
        try await withScope("host") { scope in
          let end = try Source.wire(input).map { $0.value.int ?? -1 }
            .to(.probe(limit: .seconds(120))).run(on: scope)
          await until { given.value >= 5 }  // the window, and the one that waits for credit
          try await end.expectNoMessage(within: .milliseconds(50))
          XCTAssertEqual(given.value, 5)
          for n in 0..<100 {
            try await end.request(1).expectNext(n)
            XCTAssertLessThanOrEqual(given.value, n + 1 + 5, "never further ahead than the window")
          }
          end.cancel()
          let reason = try await ended.completion.value(within: .seconds(120))
          XCTAssertEqual(reason, .cancelled)
        }
      }
    }
  }

  func testElementsCrossAndComeBack() async throws {
    try await watched {
      try await Pair.with(Self.cap, limits: Limits(initialCredit: 4)) { request in
        try await withScope("cartridge") { scope in
          let (input, output) = (try await request.input(), try request.output)
          let doubled = Source.wire(input).map { Value(($0.value.int ?? 0) * 2) }
          try await doubled.to(.wire(output)).run(on: scope).value()
        }
      } _: { call in
        try await withScope("host") { scope in
          let sent = try Source(0..<2_000).map { Value($0) }
            .to(.wire(try call.input("media:numbers"))).run(on: scope)
          let output = try await call.output()
          let all = try Source.wire(output).map { $0.value.int }.to(.collect()).run(on: scope)
          try await sent.value()
          try await call.finishInput()
          let values = try await all.value()
          XCTAssertEqual(values, (0..<2_000).map { $0 * 2 })
          _ = try await call.wait()
        }
      }
    }
  }

  func testItemsKeepTheirMetadataAndAStreamRunsOnce() async throws {
    try await watched {
      let cap = Cap("cap:items;in=media:items;out=media:items", outputIsSequence: true)
      try await Pair.with(cap) { request in
        try await withScope("cartridge") { scope in
          let output = try request.output
          let sink = Sink<Item, Completion<Void>>.wireItems(output)
          let items = Source(0..<3).map { Item(value: Value($0), meta: ["seq": Value($0)]) }
          try await items.to(sink).run(on: scope).value()
          let again = await kind { _ = try await items.to(sink).run(on: scope).value() }
          XCTAssertEqual(again, .alreadySubscribed)
        }
      } _: { call in
        try await call.finishInput()
        try await withScope("host") { scope in
          let source = Source.wire(try await call.output())
          let items = try await source.to(.collect()).run(on: scope).value()
          XCTAssertEqual(items.map(\.meta), (0..<3).map { ["seq": Value($0)] })
          let again = await kind { _ = try await source.to(.collect()).run(on: scope).value() }
          XCTAssertEqual(again, .alreadySubscribed)
        }
      }
    }
  }

  func testACancelledRequestFailsTheSink() async throws {
    try await watched {
      let told = Promise<String>()
      try await Pair.with(Self.cap) { request in
        try await withScope("cartridge") { scope in
          // Nothing flows, so that only the end of the request can wake the sink.
          let graph = try Source<Value, Manual<Value>>.manual()
            .toMat(.wire(try request.output)) { ($0, $1) }
          let (control, sent) = try graph.run(on: scope)
          sent.onSettled {
            if case .failure(let error)? = $0.settled { _ = told.trySucceed(error.code) }
          }
          request.progress(0.5)
          _ = await Task { await sent.result }.value  // this task is cancelled too
          withExtendedLifetime(control) {}
        }
      } _: { call in
        _ = try await call.nextEvent()
        call.cancel(SluicegateError(code: "MY_REASON", class: .user, message: "stop"))
        let code = try await told.completion.value(within: .seconds(120))
        XCTAssertEqual(code, "MY_REASON")
      }
    }
  }

  func testALiveFeedIsASourceWithItsGaps() async throws {
    try await watched {
      try await withScope("test") { scope in
        let feed = try Feed(capacity: 4)
        for n in 0..<10 { try feed.push(value: Value(n), at: .milliseconds(n)) }
        feed.stop()
        let source = Source.feed(feed)
        let items = try await source.to(.collect()).run(on: scope).value()
        XCTAssertEqual(items.map { $0.value.int }, [6, 7, 8, 9])
        let gaps = items.compactMap { FeedMeta($0)?.gap?.dropped }
        XCTAssertEqual(gaps, [6])
        let again = await kind { _ = try source.to(.collect()).run(on: scope) }
        XCTAssertEqual(again, .alreadySubscribed)
      }
    }
  }
}
