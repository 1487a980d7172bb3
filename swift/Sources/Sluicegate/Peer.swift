internal import SluicegateCore

/// A cartridge that an engine can call. Any task may use it. Releasing the last reference, its calls
/// included, closes it.
public final class Peer: Sendable {
  /// One cap of a cartridge, as its manifest declares it.
  public struct Capability: Sendable, Hashable {
    /// The URN to call it by.
    public let urn: String
    /// For people.
    public let title: String
    /// Media of the main input, if it takes one.
    public let inMedia: String?
    /// Media of the main output, if it has one.
    public let outMedia: String?
    /// The main input is a sequence of items.
    public let inputIsSequence: Bool
    /// The main output is a sequence of items.
    public let outputIsSequence: Bool
    /// Media of all outputs, the main one first.
    public let outputs: [String]
  }

  /// Memory of a process, in bytes.
  public struct Memory: Sendable, Hashable {
    /// What it holds now.
    public let resident: UInt64
    /// The most it ever held.
    public let peak: UInt64
  }

  private let core: PeerCore

  init(_ core: PeerCore) { self.core = core }

  /// The command or transport it runs on, for people.
  public var name: String { core.name() }

  /// Its manifest, JSON.
  public var manifestJSON: String { core.manifestJson() }

  /// The caps that it serves.
  public var caps: [Capability] {
    core.caps().map {
      Capability(
        urn: $0.urn, title: $0.title, inMedia: $0.inMedia, outMedia: $0.outMedia,
        inputIsSequence: $0.inSequence, outputIsSequence: $0.outSequence, outputs: $0.outputs)
    }
  }

  /// The agreed limits.
  public var limits: Limits { Limits(core.limits()) }

  /// Calls a cap. Throws why the cartridge is gone; an unknown cap fails the call, not this. `limit` is
  /// for the whole call, see ``Call/limit(_:)``.
  public func call(_ cap: String, limit: Duration? = nil) throws(SluicegateError) -> Call {
    let call = Call(try translating { try core.call(cap: cap) })
    if let limit { try call.limit(limit) }
    return call
  }

  /// What is live and what was lost on its connection.
  public func stats() throws(SluicegateError) -> ConnectionStats { try decoded(core.statsJson()) }

  /// The same as every language writes it.
  public var statsJSON: String { core.statsJson() }

  /// How many calls are live.
  public var liveCalls: Int { Int(clamping: core.liveCalls()) }

  /// Its process id, if it was spawned.
  public var pid: Int32? { core.pid().map(Int32.init(clamping:)) }

  /// The end of what it wrote to stderr, at most 64 KiB; empty if it was not spawned.
  public var stderrTail: String { core.stderrTail() }

  /// Its memory, if it was spawned and lives, where the system tells it.
  public var memory: Memory? {
    core.memory().map { Memory(resident: $0.resident, peak: $0.peak) }
  }

  /// Why it is gone, if it is.
  public var dead: SluicegateError? { core.dead().map(SluicegateError.init) }

  /// Waits until it is gone, and answers why.
  public func died() async throws -> SluicegateError {
    SluicegateError(try await core.died().answer())
  }

  /// Closes it: its stdin is closed, its calls end with `closed`. It gets 2 s to exit, then it is
  /// killed. Returns when it is gone, or when the task is cancelled; the closing goes on then.
  public func close() async { try? await core.close().finish() }

  /// Kills its process at once; an attached one is cut off. Its calls end with the reason.
  public func kill() { core.kill() }

  /// What it may do on the network, said anew. Throws why it is gone.
  public func setPolicy(_ policy: NetworkPolicy) throws(SluicegateError) {
    try translating { try core.setPolicy(policy: policy.facts) }
  }
}
