internal import SluicegateCore

/// A value that comes once: the side that waits. Every waiter gets the same answer. Any task or thread
/// may use it.
public final class Completion<Value: Sendable>: Sendable {
  /// Where a completion stands. Everything but `pending` is final.
  public enum Status: Sendable, Hashable, CaseIterable {
    /// Not settled yet.
    case pending
    /// It has its value.
    case success
    /// It failed.
    case failure
    /// It was cancelled, or its promise went away.
    case cancelled
  }

  private let core: CompletionCore
  private let read: @Sendable ([UInt64]) -> Value

  init(_ core: CompletionCore, _ read: @escaping @Sendable ([UInt64]) -> Value) {
    self.core = core
    self.read = read
  }

  /// What `operation` returns or throws; it runs in a task of its own, from now on.
  ///
  /// A `CancellationError` cancels the completion. Releasing it does not stop the task.
  public convenience init(
    priority: TaskPriority? = nil, _ operation: @escaping @Sendable () async throws -> Value
  ) {
    let promise = Promise<Value>()
    self.init(promise.core.completion()) { look($0[0]) }
    Task(priority: priority) { await promise.settle(with: operation) }
  }

  /// Waits for the value, without holding a thread.
  ///
  /// Throws what it failed with or why it was cancelled; `timedOut` if `limit` passes first;
  /// `CancellationError` if the task is cancelled, which cancels the wait and not the stream.
  public func value(within limit: Duration? = nil) async throws -> Value {
    let wait = core.wait()
    try await wait.finish(within: limit)
    return read(wait.tokens())  // lent for as long as `wait` is held
  }

  /// The value or the error, without throwing: `await completion.result`.
  public var result: Result<Value, any Error> {
    get async {
      do { return .success(try await value()) } catch { return .failure(error) }
    }
  }

  /// What it was settled with; `nil` while it is pending. Never waits. A cancel is a failure with its
  /// reason; ``status`` tells the two apart.
  public var settled: Result<Value, SluicegateError>? {
    let wait = core.wait()
    do {
      guard try translating(wait.attempt) else { return nil }
      return .success(read(wait.tokens()))
    } catch {
      return .failure(error)
    }
  }

  /// Calls `body` once, when it is settled: on the thread that settles it, or at once on this one.
  /// `body` must not wait; it is kept until then.
  public func onSettled(_ body: @escaping @Sendable (Completion<Value>) -> Void) {
    core.onSettled(bell: Calling { [core, read] in body(Completion(core, read)) })
  }

  private final class Calling: SluicegateCore.Bell {
    private let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    func ring() { body() }
  }

  /// Where it stands.
  public var status: Status {
    switch core.status() {
    case 1: .success
    case 2: .failure
    case 3: .cancelled
    default: .pending
    }
  }

  /// True until it is settled.
  public var isPending: Bool { status == .pending }
  /// True once it has its value.
  public var isSuccess: Bool { status == .success }
  /// True once it has failed.
  public var isFailure: Bool { status == .failure }
  /// True once it was cancelled.
  public var isCancelled: Bool { status == .cancelled }
}

/// A value that comes once: the side that settles. One transition wins; releasing a promise that is
/// pending cancels it. Any task or thread may use it.
public final class Promise<Value: Sendable>: Sendable {
  let core: PromiseCore

  init(_ core: PromiseCore) { self.core = core }

  /// A promise, pending.
  public convenience init() { self.init(PromiseCore()) }

  /// The side that waits.
  public var completion: Completion<Value> { Completion(core.completion()) { look($0[0]) } }

  /// Keeps the promise. False if it was settled before: nothing changes.
  public func trySucceed(_ value: Value) -> Bool { core.trySuccess(token: give(value)) }

  /// Fails the promise: with a ``SluicegateError`` as it is, with any other error as the
  /// ``SluicegateError/cause`` of one of kind `stageFailed`. False if it was settled before.
  public func tryFail(_ error: any Error) -> Bool {
    core.tryFailure(fault: thrownFault(error))
  }

  /// Cancels the promise, saying why. False if it was settled before.
  public func tryCancel(_ reason: SluicegateError? = nil) -> Bool {
    core.tryCancel(fault: reason?.fault)
  }

  /// Keeps the promise. Throws `invalidArgument` if it was settled before.
  public func succeed(_ value: Value) throws(SluicegateError) { try once(trySucceed(value)) }

  /// Fails the promise. Throws `invalidArgument` if it was settled before.
  public func fail(_ error: any Error) throws(SluicegateError) { try once(tryFail(error)) }

  /// Cancels the promise, saying why. Throws `invalidArgument` if it was settled before.
  public func cancel(_ reason: SluicegateError? = nil) throws(SluicegateError) {
    try once(tryCancel(reason))
  }

  private func once(_ won: Bool) throws(SluicegateError) {
    guard !won else { return }
    try translating { try core.settledBefore() }
  }
}

extension Promise {
  /// Settles the promise with what `operation` returns or throws.
  func settle(with operation: () async throws -> Value) async {
    do {
      _ = trySucceed(try await operation())
    } catch is CancellationError {
      _ = tryCancel()
    } catch {
      _ = tryFail(error)
    }
  }
}

extension Flow where Mat == NotUsed {
  /// `transform` for up to `n` elements at once, each in a task of its own; in order, or as they are
  /// done. What it throws fails the stream, a `CancellationError` with the kind `cancelled`. When the
  /// stream ends first, the tasks are cancelled.
  ///
  /// Throws `invalidArgument` for 0.
  public static func mapAsync(
    _ n: UInt64, ordered: Bool = true,
    _ transform: @escaping @Sendable (In) async throws -> Out
  ) throws(SluicegateError) -> Self {
    let begins = Beginning { token, promise in
      let input: In = look(token)
      return Task { await Promise<Out>(promise).settle { try await transform(input) } }
    }
    return Flow(
      try translating { try flowAsync(n: n, ordered: ordered, begins: begins) }, .none())
  }
}

extension Source {
  /// ``Flow/mapAsync(_:ordered:_:)`` behind this source.
  public func mapAsync<Next: Sendable>(
    _ n: UInt64, ordered: Bool = true,
    _ transform: @escaping @Sendable (Out) async throws -> Next
  ) throws(SluicegateError) -> Source<Next, Mat> {
    via(try .mapAsync(n, ordered: ordered, transform))
  }
}

private final class Beginning: Begins {
  private let start: @Sendable (UInt64, PromiseCore) -> Task<Void, Never>
  init(_ start: @escaping @Sendable (UInt64, PromiseCore) -> Task<Void, Never>) {
    self.start = start
  }
  func begin(token: UInt64, promise: PromiseCore) -> any Job { Working(start(token, promise)) }
}

private final class Working: Job {
  private let task: Task<Void, Never>
  init(_ task: Task<Void, Never>) { self.task = task }
  func cancel() { task.cancel() }
}
