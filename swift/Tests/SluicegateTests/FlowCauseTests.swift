import Sluicegate
import XCTest

/// An error of a user's, known by what it holds. Counts how many are held.
private final class Oops: Error {
  let held: Counter
  init(_ held: Counter) {
    self.held = held
    held.add()
  }
  deinit { held.add(-1) }
}

private struct Small: Error, Equatable {
  let number: Int
}

private struct Failing: AsyncSequence, Sendable {
  let error: Small
  struct AsyncIterator: AsyncIteratorProtocol {
    let error: Small
    func next() async throws -> Int? { throw error }
  }
  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(error: error) }
}

/// What a function threw comes out as the cause, the very error, at every end.
final class FlowCauseTests: XCTestCase {
  func testACompletionAndAnOutletHaveTheVeryError() async throws {
    let held = Counter()
    try await watched {
      try await withScope("test") { scope in
        let oops = Oops(held)
        let failing = Source(1...3).map { n in
          if n == 2 { throw oops }
          return n
        }
        let completion = try failing.to(.collect()).run(on: scope)
        for _ in 1...2 {  // the same each time
          let error = await thrown { _ = try await completion.value() }
          guard let error = error as? SluicegateError else { return XCTFail("no error") }
          XCTAssertEqual(error.kind, .stageFailed)
          XCTAssertTrue(error.message.contains("\"map\""), error.message)
          XCTAssertTrue(error.cause as? Oops === oops)
        }
        guard case .failure(let settled)? = completion.settled else { return XCTFail("no failure") }
        XCTAssertTrue(settled.cause as? Oops === oops)
        let error = await thrown { for try await _ in try failing.run(on: scope) {} }
        XCTAssertTrue((error as? SluicegateError)?.cause as? Oops === oops)
      }
    }
    try await watched { await until { held.value == 0 } }
  }

  func testEveryKindOfFunctionSaysWhatItThrew() async throws {
    let small = Small(number: 7)
    let each = Flow<Int, Int, NotUsed>.map { $0 }
    let sources: [Source<Int, NotUsed>] = [
      Source(1...3).filter { _ in throw small },
      Source(1...3).via(.scan(0) { _, _ in throw small }),
      Source(1...3).flatMap { _ -> [Int] in throw small },
      Source.unfold(0) { _ in throw small },
      Source.fetch { _, _ -> [Int] in throw small },
      Source.pages(from: 0) { _ in throw small },
      try Source(1...3).mapAsync(2) { _ in throw small },
      try Source(1...3).mapParallel(2) { _ in throw small },
      Source.iterating(Failing(error: small)),
      Source(1...3).via(try .groupBy(2, key: { _ -> Int in throw small }, each)),
    ]
    for source in sources {
      try await watched {
        let error = await thrown { _ = try await all(source) }
        XCTAssertEqual((error as? SluicegateError)?.cause as? Small, small, "\(error as Any)")
        let mended = try await all(
          source.recover { error in (error.cause as? Small).map { $0.number } })
        XCTAssertEqual(mended, [7])
      }
    }
  }

  func testAProbeAManualSourceAndAPromiseKeepTheCause() async throws {
    try await watched {
      try await withScope("test") { scope in
        let (control, probe) = try Source<Int, Manual<Int>>.manual()
          .toMat(.probe(limit: .seconds(120))) { ($0, $1) }.run(on: scope)
        control.fail(SluicegateError(.closed, "by hand", cause: Small(number: 1)))
        let error = try await probe.expectError()
        XCTAssertEqual(error.kind, .closed)
        XCTAssertEqual(error.cause as? Small, Small(number: 1))
        let promise = Promise<Int>()
        try promise.fail(Small(number: 2))
        let failed = await thrown { _ = try await promise.completion.value() }
        XCTAssertEqual((failed as? SluicegateError)?.cause as? Small, Small(number: 2))
      }
    }
  }

  /// A thrown error of the library's own is the failure itself, with the cause that it has.
  func testAnErrorOfTheLibrarysOwnStaysWhatItIs() async throws {
    try await watched {
      let plain = SluicegateError(.limitReached, "enough")
      let error = await thrown { _ = try await all(Source(1...3).tap { _ in throw plain }) }
      XCTAssertEqual((error as? SluicegateError)?.kind, .limitReached)
      XCTAssertNil((error as? SluicegateError)?.cause)
      let inner = Source(1...3).tap { _ in throw Small(number: 3) }
      let outer = try Source(1...1).mapAsync(1) { _ in try await all(inner) }
      let passed = await thrown { _ = try await all(outer) }
      XCTAssertEqual((passed as? SluicegateError)?.cause as? Small, Small(number: 3))
    }
  }

  func testTheCauseDoesNotTellErrorsApart() {
    let (bare, with) = (
      SluicegateError(.closed, "x"), SluicegateError(.closed, "x", cause: Small(number: 1))
    )
    XCTAssertEqual(bare, with)
    XCTAssertEqual(Set([bare, with]).count, 1)
    XCTAssertNotEqual(bare, SluicegateError(.closed, "y"))
    XCTAssertNotEqual(bare, SluicegateError(.cancelled, "x"))
  }

  func testAMergeHubCountsTheProducersThatFail() async throws {
    try await watched {
      try await withScope("test") { scope in
        let graph = try Source<Int, MergeHub<Int>>.mergeHub().toMat(.collect()) { ($0, $1) }
        let (hub, all) = try graph.run(on: scope)
        XCTAssertEqual(hub.failures, 0)
        XCTAssertNil(hub.lastFailure)
        for number in 1...2 {
          let failing = Source(1...3).map { n in
            if n == 2 { throw Small(number: number) }
            return number * 10
          }
          _ = try failing.to(hub.sink).run(on: scope)
          await until { hub.failures == UInt64(number) }
          XCTAssertEqual(hub.lastFailure?.cause as? Small, Small(number: number))
          XCTAssertEqual(hub.lastFailure?.kind, .stageFailed)
        }
        _ = try Source([100, 200]).to(hub.sink).run(on: scope)
        hub.complete()
        let values = try await all.value()
        XCTAssertEqual(values, [10, 20, 100, 200])
        XCTAssertEqual(hub.failures, 2)
      }
    }
  }
}
