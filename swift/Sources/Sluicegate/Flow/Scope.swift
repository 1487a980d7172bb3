internal import SluicegateCore

/// The two counters of a running stage, and what lies between them. All are elements.
public struct StageView: Sendable, Hashable {
  /// The stage's kind, or what `named` said.
  public let name: String
  /// Asked for below and not handed down yet.
  public let downstream: UInt64
  /// Asked for above and not arrived yet.
  public let upstream: UInt64
  /// Arrived and not left yet.
  public let held: UInt64
  /// Handed down so far.
  public let passed: UInt64
  /// Discarded by an overflow strategy.
  public let lost: UInt64
}

/// Owns what runs: a thread for each run of fused stages, and through it every edge and completion.
///
/// Shutting a scope down, or releasing it, stops everything: elements in edges are released, whoever waits
/// to offer is told, completions that are pending are cancelled. Any task or thread may use it.
public final class Scope: Sendable {
  let core: ScopeCore

  private init(core: ScopeCore) { self.core = core }

  /// A scope that runs each island on a thread of its own.
  public convenience init(_ name: String) throws(SluicegateError) {
    self.init(core: try translating { try ScopeCore(name: name, seed: nil) })
  }

  /// A scope without threads for tests: stages run in ``settle()`` only, in an order that `seed` decides,
  /// on a clock that ``advance(by:)`` moves. The same seed gives the same order.
  public static func stepped(_ name: String, seed: UInt64) throws(SluicegateError) -> Scope {
    Scope(core: try translating { try ScopeCore(name: name, seed: seed) })
  }

  /// Runs what can run until nothing can, and answers how many turns that took. 0 in a scope with
  /// threads.
  @discardableResult
  public func settle() -> UInt64 { core.settle() }

  /// Moves the clock of a stepped scope and runs what that wakes. False for a scope with threads.
  @discardableResult
  public func advance(by duration: Duration) -> Bool {
    core.advance(micros: microseconds(duration))
  }

  /// Every stage that is running now.
  public func stages() -> [StageView] {
    core.stages().map {
      StageView(
        name: $0.name, downstream: $0.downstream, upstream: $0.upstream, held: $0.held,
        passed: $0.passed, lost: $0.lost)
    }
  }

  /// How many islands run now.
  public var running: UInt64 { core.running() }

  /// Stops everything and waits until all of it has stopped.
  ///
  /// Throws `timedOut` with the names of the islands that are still in a user's function after `limit`.
  public func shutdown(within limit: Duration = .seconds(10)) async throws {
    try await core.shutdown(limitMicros: microseconds(limit)).finish()
  }
}

/// Runs `body` with a scope, and shuts it down however `body` ends.
public func withScope<Result>(
  _ name: String, _ body: (Scope) async throws -> Result
) async throws -> Result {
  let scope = try Scope(name)
  do {
    let result = try await body(scope)
    try await scope.shutdown()
    return result
  } catch {
    try? await scope.shutdown()
    throw error
  }
}
