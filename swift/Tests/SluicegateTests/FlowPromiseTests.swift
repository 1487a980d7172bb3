import Sluicegate
import XCTest

/// Promises and completions: one transition wins, and everybody hears of it.
final class FlowPromiseTests: XCTestCase {
  private struct Oops: Error {}

  func testOneTransitionWins() async throws {
    let promise = Promise<Int>()
    let completion = promise.completion
    XCTAssertTrue(completion.isPending)
    XCTAssertNil(completion.settled)
    XCTAssertTrue(promise.trySucceed(7))
    XCTAssertFalse(promise.trySucceed(8))
    XCTAssertFalse(promise.tryFail(Oops()))
    XCTAssertFalse(promise.tryCancel())
    for late in [
      { try promise.succeed(9) }, { try promise.fail(Oops()) }, { try promise.cancel() },
    ] as [() throws -> Void] {
      XCTAssertThrowsError(try late()) {
        XCTAssertEqual(($0 as? SluicegateError)?.kind, .invalidArgument)
      }
    }
    XCTAssertTrue(completion.isSuccess)
    XCTAssertFalse(completion.isFailure || completion.isCancelled || completion.isPending)
    XCTAssertEqual(try completion.settled?.get(), 7)
    let value = try await completion.value()
    XCTAssertEqual(value, 7)
  }

  func testEachEndIsItsOwn() async throws {
    let failed = Promise<Int>()
    try failed.fail(SluicegateError(.io, "the disk is gone"))
    XCTAssertEqual(failed.completion.status, .failure)
    let error = await kind { _ = try await failed.completion.value() }
    XCTAssertEqual(error, .io)
    XCTAssertThrowsError(try failed.completion.settled?.get())

    let cancelled = Promise<Int>()
    try cancelled.cancel(SluicegateError(.cancelled, "enough"))
    XCTAssertTrue(cancelled.completion.isCancelled)
    let why = await thrown { _ = try await cancelled.completion.value() } as? SluicegateError
    XCTAssertEqual(why?.message, "enough")

    let released = { Promise<Int>().completion }()
    XCTAssertTrue(released.isCancelled)
  }

  func testManyRacersOneWinnerAndEveryWaiterHearsTheSame() async throws {
    try await watched {
      for _ in 0..<200 {
        let promise = Promise<Int>()
        async let heard = withThrowingTaskGroup(of: Int.self) { group in
          for _ in 0..<4 { group.addTask { try await promise.completion.value() } }
          return try await group.reduce(into: []) { $0.append($1) }
        }
        let won = await withTaskGroup(of: Int?.self) { group in
          for n in 0..<4 { group.addTask { promise.trySucceed(n) ? n : nil } }
          return await group.reduce(into: []) { winners, n in winners += n.map { [$0] } ?? [] }
        }
        XCTAssertEqual(won.count, 1)
        let all = try await heard
        XCTAssertEqual(all, Array(repeating: won[0], count: 4))
      }
    }
  }

  func testAWaitHasALimitAndACancelledOneTakesNothing() async throws {
    try await watched {
      let promise = Promise<String>()
      let late = await kind { _ = try await promise.completion.value(within: .milliseconds(1)) }
      XCTAssertEqual(late, .timedOut)
      let waiting = Task { try await promise.completion.value() }
      waiting.cancel()
      let outcome = await waiting.result
      XCTAssertThrowsError(try outcome.get()) { XCTAssertTrue($0 is CancellationError) }
      XCTAssertTrue(promise.completion.isPending)
      try promise.succeed("on")
      let value = try await promise.completion.value(within: .zero)
      XCTAssertEqual(value, "on")
    }
  }

  func testCallbacksRunOnceEachBeforeAndAfter() throws {
    let promise = Promise<Int>()
    let (before, after) = (Counter(), Counter())
    promise.completion.onSettled { before.add((try? $0.settled?.get()) ?? 0) }
    promise.completion.onSettled { before.add($0.isSuccess ? 1 : 0) }
    XCTAssertEqual(before.value, 0)
    try promise.succeed(7)
    XCTAssertEqual(before.value, 8)
    promise.completion.onSettled { after.add((try? $0.settled?.get()) ?? 0) }
    XCTAssertEqual(after.value, 7)
    XCTAssertFalse(promise.tryCancel())
    XCTAssertEqual(before.value, 8)
  }

  func testACompletionOfAnAsyncOperation() async throws {
    try await watched {
      let kept = Completion { 7 }
      let value = try await kept.value()
      XCTAssertEqual(value, 7)
      let failed = Completion<Int> { throw Oops() }
      let error = await thrown { _ = try await failed.value() } as? SluicegateError
      XCTAssertEqual(error?.kind, .stageFailed)
      XCTAssertTrue(error?.message.contains("Oops") ?? false)
      let cancelled = Completion<Int> { throw CancellationError() }
      _ = await cancelled.result
      XCTAssertTrue(cancelled.isCancelled)
    }
  }

  func testEveryValueIsReleasedOnce() async throws {
    let alive = Counter()
    final class Counted: Sendable {
      let alive: Counter
      init(_ alive: Counter) {
        self.alive = alive
        alive.add(1)
      }
      deinit { alive.add(-1) }
    }
    do {
      let promise = Promise<Counted>()
      XCTAssertTrue(promise.trySucceed(Counted(alive)))
      XCTAssertFalse(promise.trySucceed(Counted(alive)))  // the loser is let go of
      XCTAssertEqual(alive.value, 1)
      _ = try await promise.completion.value()
      _ = try promise.completion.settled?.get()
    }
    XCTAssertEqual(alive.value, 0)
  }
}
