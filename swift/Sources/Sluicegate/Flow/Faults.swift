import Foundation
internal import SluicegateCore

/// The seed of one test: everything that is left to chance is drawn from it.
///
/// ```swift
/// try await withSeed { seed in
///   let faults = Faults(seed: seed.fork("reads"), splits: true, cutAfter: 100 + seed.fork("cut") % 1000)
///   …
/// }
/// ```
public struct Seed: Sendable, Hashable {
  /// The number itself, for ``Scope/stepped(_:seed:)``.
  public let value: UInt64

  /// The seed of a test that always runs the same schedule.
  public init(_ value: UInt64) { self.value = value }

  /// The seed that the variable `SLUICEGATE_SEED` says, in decimal, or one of its own.
  ///
  /// Throws if the variable says something that is no number: a schedule that was asked for is not
  /// replaced by another.
  public static func chosen() throws(SluicegateError) -> Seed {
    Seed(try translating { try testSeed() })
  }

  /// A number of its own for `what`: the same each time, and nothing like that of another name.
  public func fork(_ what: String) -> UInt64 { forkSeed(seed: value, what: what) }
}

/// Runs a test with a seed. If it throws, standard error says how to run the same schedule again.
public func withSeed<Answer>(
  isolation: isolated (any Actor)? = #isolation, _ body: (Seed) async throws -> sending Answer
) async throws -> sending Answer {
  let seed = try Seed.chosen()
  do {
    return try await body(seed)
  } catch {
    FileHandle.standardError.write(
      Data("this schedule again: SLUICEGATE_SEED=\(seed.value)\n".utf8))
    throw error
  }
}

/// What goes wrong with one direction of a transport. The same seed gives the same faults.
public struct Faults: Sendable {
  /// Transports whose reads and writes change places: each waits until some of the others have taken
  /// place.
  public final class Shuffle: Sendable {
    fileprivate let core: ShuffleCore

    /// None yet. No read or write waits longer than `limit` for others, for they may all be idle.
    public init(limit: Duration) { core = ShuffleCore(limitMicros: microseconds(limit)) }
  }

  /// What the faults are drawn from.
  public var seed: UInt64
  /// Each read and write first waits, up to this long.
  public var delay: Duration
  /// Reads and writes take a part of what they could, one byte at least.
  public var splits: Bool
  /// The transport ends after so many bytes, in the middle of whatever was on its way; `nil` is never.
  public var cutAfter: UInt64?
  /// Reads and writes change places with those of other transports.
  public var shuffle: Shuffle?

  /// Faults; none unless told otherwise.
  public init(
    seed: UInt64, delay: Duration = .zero, splits: Bool = false, cutAfter: UInt64? = nil,
    shuffle: Shuffle? = nil
  ) {
    self.seed = seed
    self.delay = delay
    self.splits = splits
    self.cutAfter = cutAfter
    self.shuffle = shuffle
  }

  fileprivate var facts: FaultFacts {
    FaultFacts(
      seed: seed, delayMicros: microseconds(delay), splits: splits, cutAfter: cutAfter,
      shuffle: shuffle?.core)
  }
}

extension Engine {
  /// ``attach(reading:writing:)`` with faults in what is read and in what is written, for tests.
  public func attach(
    reading: Int32, writing: Int32, reads: Faults, writes: Faults
  ) async throws -> Peer {
    let attaching = attachWithFaults(
      engine: core, reading: reading, writing: writing, reads: reads.facts, writes: writes.facts)
    return Peer(try await attaching.answer())
  }
}
