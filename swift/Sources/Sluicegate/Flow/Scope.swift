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
  /// Came after the end and was dropped.
  public let late: UInt64
}

/// Every stage that runs in a scope, and whom it waits for. Its description is in words, sources before
/// what reads from them.
public struct ScopeExplanation: Sendable, Hashable, CustomStringConvertible {
  /// Whom a stage waits for.
  public enum WaitsFor: String, Sendable, Hashable, Codable, CaseIterable {
    /// Nothing is asked of it.
    case consumer
    /// It has demand, has asked above, and nothing has come yet.
    case source
    /// It works on what it holds, or holds it for another input, a link or a time to come.
    case itself
  }

  /// How one stage stands. All numbers are elements.
  public struct Standing: Sendable, Hashable, Codable {
    /// The stage's name.
    public let stage: String
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
    /// Came after the end and was dropped.
    public let late: UInt64
    /// Whom it waits for.
    public let waitsFor: WaitsFor

    enum CodingKeys: String, CodingKey {
      case stage, downstream, upstream, held, passed, lost, late
      case waitsFor = "waits_for"
    }
  }

  private struct Told: Codable, Sendable, Hashable {
    let scope: String
    let islands: UInt64
    let stages: [Standing]
  }

  /// As every language writes it.
  public let json: String
  /// In words.
  public let description: String
  private let told: Told

  init(_ facts: ScopeFacts) throws(SluicegateError) {
    json = facts.json
    description = facts.text
    told = try decoded(facts.json)
  }

  /// The scope's name.
  public var scope: String { told.scope }
  /// How many islands run.
  public var islands: UInt64 { told.islands }
  /// Every running stage, in the order they were made.
  public var stages: [Standing] { told.stages }
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
        passed: $0.passed, lost: $0.lost, late: $0.late)
    }
  }

  /// Who waits for whom, now. Never waits and disturbs nothing. Throws `scopeShutDown`.
  public func explain() throws(SluicegateError) -> ScopeExplanation {
    try ScopeExplanation(try translating { try core.explain() })
  }

  /// Has ``Engine/explain()`` tell of this scope's stages too, in ``Explanation/stages``, for as long as
  /// the scope lives. Once more for the same engine it changes nothing. Never waits.
  ///
  /// Throws `scopeShutDown` for a scope that is gone.
  public func tell(_ engine: Engine) throws(SluicegateError) {
    try translating { try core.tell(engine: engine.core) }
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

/// Runs `body` with a scope, and shuts it down however `body` ends, a cancelled task included. Returns
/// once all of it has stopped; a function of yours that does not return within 10 s is left behind, and
/// told by `timedOut` unless `body` threw.
///
/// `body` runs where the caller does, `isolation`: on an actor it may use the actor's state. What it returns
/// need not be `Sendable`, as long as it keeps none of it.
public func withScope<Answer>(
  _ name: String, isolation: isolated (any Actor)? = #isolation,
  _ body: (Scope) async throws -> sending Answer
) async throws -> sending Answer {
  let scope = try Scope(name)
  // In a task of its own: a cancelled one would not wait.
  let stopped = { await Task { try await scope.shutdown() }.result }
  do {
    let answer = try await body(scope)
    try await stopped().get()
    return answer
  } catch {
    _ = await stopped()
    throw error
  }
}
