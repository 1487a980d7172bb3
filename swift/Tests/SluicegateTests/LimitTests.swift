import Sluicegate
import XCTest

/// HZ-L10: a limit ends a call or a stream wherever it stands still, and the other end is told.
final class LimitTests: XCTestCase {
  private static let limit = Duration.milliseconds(300)
  private static let hold = "cap:hold;in=media:blob;out=media:blob"
  private static let echo = "cap:echo;in=media:blob;out=media:blob"

  /// A cartridge that echoes, and one cap that says something, reads nothing, and hears why it stops.
  private static func pair(_ told: @escaping @Sendable (SluicegateError) -> Void = { _ in }) async throws
    -> Pair
  {
    var cartridge = Cartridge(name: "limits", version: "1")
    cartridge.handle(Cap(Self.echo)) { request in
      let output = try request.output
      for try await item in try await request.input() {
        try await output.emit(item.value)
        try await output.flush()
      }
    }
    cartridge.handle(Cap(Self.hold)) { request in
      try await request.output.emit(.text("ready"))
      told(try await request.cancelled())
    }
    return try await Pair(cartridge, limits: Limits(initialCredit: 2))
  }

  private static func passed(
    _ limit: Duration = LimitTests.limit, since begun: ContinuousClock.Instant, _ error: (any Error)?,
    _ what: String
  ) throws {
    let took = ContinuousClock.now - begun
    XCTAssertGreaterThanOrEqual(took, limit)
    let error = try XCTUnwrap(error as? SluicegateError, "\(String(describing: error))")
    XCTAssertEqual(error.kind, .timedOut)
    XCTAssertEqual(error.code, "DEADLINE_EXCEEDED")
    XCTAssertTrue(what.isEmpty || error.message.contains(what), error.message)
    let named = limit == Self.limit ? "300ms" : "the limit of"
    XCTAssertTrue(error.message.contains(named), error.message)
  }

  /// Tries with longer and longer limits, where one begins before the wait does: until one does not pass
  /// before, however slow the machine is.
  private static func standsStill(
    _ trying: (Duration) async throws -> (any Error)?
  ) async throws {
    for longer in [1, 4, 16, 64, 256].map({ limit * $0 }) {
      if !tooSoon(try await trying(longer)) { return }
    }
    XCTFail("nothing stood still")
  }

  /// Whether a limit has passed before anybody waited: it tells nothing of what stands still.
  private static func tooSoon(_ error: (any Error)?) -> Bool {
    (error as? SluicegateError)?.message.contains("none of its streams was waited on") ?? false
  }

  /// The connection serves another call, and nothing of the late one is left.
  private static func goesOn(_ pair: Pair) async throws {
    let call = try pair.peer.call(Self.echo)
    try await call.input("media:blob").emit(.text("on"))
    try await call.finishInput()
    let text = try await call.output().collectText()
    XCTAssertEqual(text, "on")
    _ = try await call.wait()
    await until { pair.peer.liveCalls == 0 }
    await pair.engine.close()
    try await pair.running.value
  }

  func testHZ_L10_aWriterWithoutCredit() async throws {
    try await watched {
      for ofTheStream in [false, true] {
        let pair = try await Self.pair()
        let call = try pair.peer.call(Self.hold)  // which reads nothing
        let input = try call.input("media:blob")
        let writing = Task { await thrown { while true { try await input.emit(.unsigned(7)) } } }
        await until { (try? input.stats().stalled) ?? .zero > .zero }
        let begun = ContinuousClock.now
        if ofTheStream { try input.limit(Self.limit) } else { try call.limit(Self.limit) }
        let error = await writing.value
        try Self.passed(since: begun, error, "has waited for credit")
        let ended = await thrown { _ = try await call.wait() }
        try Self.passed(since: begun, ended, "has waited for credit")
        try await Self.goesOn(pair)
      }
    }
  }

  func testHZ_L10_aReaderWithoutValuesAndTheHandlerIsTold() async throws {
    try await watched {
      for ofTheStream in [false, true] {
        try await Self.standsStill { limit in
          let (codes, tell) = AsyncStream.makeStream(of: String.self)
          let pair = try await Self.pair { tell.yield($0.code) }
          let call = try pair.peer.call(Self.hold)
          let output = try await call.output()
          let first = try await output.recv()
          XCTAssertEqual(first?.value, .text("ready"))
          let begun = ContinuousClock.now
          if ofTheStream { try output.limit(limit) } else { try call.limit(limit) }
          let one = await thrown { _ = try await output.recv(within: .milliseconds(1)) }
          XCTAssertEqual((one as? SluicegateError)?.kind, .timedOut)  // that wait alone
          let error = await thrown { _ = try await output.recv() }
          let what = Self.tooSoon(error) ? "" : "has waited for a value"
          try Self.passed(limit, since: begun, error, what)
          var heard = codes.makeAsyncIterator()
          let code = await heard.next()
          XCTAssertEqual(code, "DEADLINE_EXCEEDED")
          try await Self.goesOn(pair)
          return error
        }
      }
    }
  }

  func testHZ_L10_aReaderThatDoesNotRead() async throws {
    try await watched {
      try await Self.standsStill { limit in
        let pair = try await Self.pair()
        let begun = ContinuousClock.now
        let call = try pair.peer.call(Self.hold, limit: limit)
        let output = try? await call.output()
        let error = await thrown { _ = try await call.wait() }
        let what = Self.tooSoon(error) ? "" : "have waited to be read"
        try Self.passed(limit, since: begun, error, what)
        if let output {
          let forgotten = await thrown { _ = try await output.recv() }
          try Self.passed(limit, since: begun, forgotten, what)
        }
        try await Self.goesOn(pair)
        return error
      }
    }
  }

  func testHZ_L10_aHandlersOwnLimitIsToldToItsCaller() async throws {
    try await watched {
      try await Self.standsStill { limit in
        let begun = ContinuousClock.now
        return try await Pair.with(Cap(Self.hold)) { request in
          let input = try await request.input()
          _ = try await input.recv()
          try request.limit(limit)
          for try await _ in input {}
        } _: { call in
          try await call.input("media:blob").emit(.unsigned(7))
          let error = await thrown { _ = try await call.wait() }
          let what = Self.tooSoon(error) ? "" : "has waited for a value"
          try Self.passed(limit, since: begun, error, what)
          return error
        }
      }
    }
  }

  /// HZ-C02: the last reference to a call and its streams goes.
  func testHZ_C02_aCallThatNobodyKnowsAnyMoreIsCancelled() async throws {
    try await watched(.seconds(60)) {
      let (codes, tell) = AsyncStream.makeStream(of: String.self)
      let pair = try await Self.pair { tell.yield($0.code) }
      do {
        let call = try pair.peer.call(Self.hold)
        let output = try await call.output()
        let first = try await output.recv()
        XCTAssertEqual(first?.value, .text("ready"))
      }
      var heard = codes.makeAsyncIterator()
      let code = await heard.next()
      XCTAssertEqual(code, "CANCELLED")
      try await Self.goesOn(pair)
    }
  }

  /// A task that is cancelled while it waits for credit; the last reference to its call goes with it.
  func testACancelledTaskEndsItsCall() async throws {
    try await watched {
      let (codes, tell) = AsyncStream.makeStream(of: String.self)
      let pair = try await Self.pair { tell.yield($0.code) }
      let (waits, ready) = AsyncStream.makeStream(of: Void.self)
      let task = Task {
        let call = try pair.peer.call(Self.hold)
        let input = try call.input("media:blob")
        let output = try await call.output()
        defer { withExtendedLifetime((call, output)) {} }
        _ = try await output.recv()
        ready.yield()
        while true { try await input.emit(.unsigned(7)) }  // nobody reads it
      }
      var begins = waits.makeAsyncIterator()
      await begins.next()
      task.cancel()
      let outcome = await task.result
      XCTAssertThrowsError(try outcome.get()) { XCTAssertTrue($0 is CancellationError, "\($0)") }
      var heard = codes.makeAsyncIterator()
      let code = await heard.next()
      XCTAssertEqual(code, "CANCELLED")
      try await Self.goesOn(pair)
    }
  }

  func testALimitThatIsTakenBackChangesNothing() async throws {
    try await watched {
      let pair = try await Self.pair()
      let call = try pair.peer.call(Self.echo, limit: .seconds(3600))
      try call.limit(nil)
      try call.limit(.seconds(Int64.max / 2))
      try await call.input("media:blob").emit(.unsigned(7))
      try await call.finishInput()
      let items = try await call.output().collectItems()
      XCTAssertEqual(items.map(\.value), [.unsigned(7)])
      _ = try await call.wait()
      try await Self.goesOn(pair)
    }
  }
}
