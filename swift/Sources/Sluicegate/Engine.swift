internal import SluicegateCore

/// What cartridges may do on the network.
public enum NetworkPolicy: Sendable, Hashable, CaseIterable {
  /// Nothing.
  case offline
  /// Everything but telemetry.
  case noTelemetry
  /// Everything.
  case full

  init(_ facts: PolicyFacts) {
    switch facts {
    case .offline: self = .offline
    case .noTelemetry: self = .noTelemetry
    case .full: self = .full
    }
  }

  var facts: PolicyFacts {
    switch self {
    case .offline: .offline
    case .noTelemetry: .noTelemetry
    case .full: .full
    }
  }
}

/// A program to start as a cartridge.
public struct Command: Sendable, Hashable {
  /// The program: a path, or a name to look up on `PATH`.
  public var program: String
  /// Its arguments.
  public var arguments: [String]
  /// Variables to set, or to remove where the value is `nil`; the rest is this process's own.
  public var environment: [String: String?]
  /// Its working directory, unless this process's own.
  public var directory: String?
  /// Its stderr goes on to this process's as well as into ``Peer/stderrTail``.
  public var teesStandardError: Bool

  /// A program and its arguments.
  public init(
    _ program: String, _ arguments: [String] = [], environment: [String: String?] = [:],
    directory: String? = nil, teesStandardError: Bool = false
  ) {
    self.program = program
    self.arguments = arguments
    self.environment = environment
    self.directory = directory
    self.teesStandardError = teesStandardError
  }

  var facts: CommandFacts {
    CommandFacts(
      program: program, arguments: arguments,
      environment: environment.sorted { $0.key < $1.key }
        .map { Variable(name: $0.key, value: $0.value) },
      directory: directory, teeStderr: teesStandardError)
  }
}

/// A host of cartridges: starts them or attaches to them, calls them, chains them. Any task may use it.
///
/// ```swift
/// let engine = Engine()
/// let upper = try await engine.spawn(Command("./upper"))
/// let call = try upper.call("cap:upper;in=media:blob;out=media:blob")
/// async let text = call.output().collectBytes()
/// try await call.input("media:blob").write("hello".utf8)
/// try await call.finishInput()
/// print(String(decoding: try await text, as: UTF8.self))
/// ```
public final class Engine: Sendable {
  let core: EngineCore

  /// An engine without cartridges.
  ///
  /// `limits` is what is proposed to each cartridge; `handshake` is how long one may take from its
  /// start until it has proved its identity; `maxItem` is the largest item of a sequence stream, in
  /// bytes, 64 MiB unless set.
  ///
  /// Each cartridge is asked every `heartbeat` whether it lives, `nil` is never; one that does not
  /// answer within `patience` is taken for dead and killed. A stream that stands still for longer than
  /// `stall` is told by ``nextStall(within:)``; `nil` is no notices. Frames that are lost are told by
  /// ``nextLoss(within:)``; warnings of them are also written to stderr, unless `quietLosses`.
  ///
  /// With `peerCalls` a cartridge may call the caps of the cartridges of this engine, its own included;
  /// otherwise such calls are refused with `noHandler`. `protocolVersion` is what cartridges are
  /// spoken to in.
  public init(
    limits: Limits = Limits(), handshake: Duration = .seconds(10),
    policy: NetworkPolicy = .full, maxItem: UInt64? = nil, heartbeat: Duration? = .seconds(30),
    patience: Duration = .seconds(10), stall: Duration? = nil, quietLosses: Bool = false,
    peerCalls: Bool = false, protocolVersion: ProtocolVersion = .v6
  ) {
    core = EngineCore(
      facts: EngineFacts(
        limits: limits.facts, handshakeNanos: handshake.clampedNanoseconds, policy: policy.facts,
        maxItem: maxItem, heartbeatNanos: heartbeat?.clampedNanoseconds,
        patienceNanos: patience.clampedNanoseconds, stallNanos: stall?.clampedNanoseconds,
        quietLosses: quietLosses, peerCalls: peerCalls, protocol: protocolVersion.facts))
  }

  /// Starts a cartridge and waits until it has proved its identity.
  ///
  /// Throws `spawn` if it cannot be started, `handshake` if the two ends do not agree or it is too
  /// slow, `peerDied` if it ends, `malformed` or `frameTooLarge` if it writes something else than
  /// frames. Each names the cartridge and gives the end of its stderr.
  public func spawn(_ command: Command) async throws -> Peer {
    Peer(try await core.spawn(command: command.facts).answer())
  }

  /// Attaches to a cartridge over two file descriptors, which belong to the engine from this call on.
  /// Throws as ``spawn(_:)``.
  public func attach(reading: Int32, writing: Int32) async throws -> Peer {
    Peer(try await core.attach(reading: reading, writing: writing).answer())
  }

  /// Closes every cartridge: calls end with an error, processes get 2 s to exit and are killed then.
  /// Returns when all are gone, or when the task is cancelled; the closing goes on then.
  public func close() async { try? await core.close().finish() }

  /// What is live and what was lost, by cartridge.
  public func stats() throws(SluicegateError) -> EngineStats { try decoded(core.statsJson()) }

  /// The same as every language writes it.
  public var statsJSON: String { core.statsJson() }

  /// Who waits for whom: here, and in the cartridges, which are asked. Takes a second at most; a
  /// cartridge that does not answer is named in ``Explanation/silent``.
  public func explain() async throws -> Explanation {
    try Explanation(json: try await core.explain().answer())
  }

  /// Waits until a stream has stood still for longer than `stall` of this engine. Each stall is told
  /// once, until the stream has moved; 16 are kept, the oldest makes room. Throws `timedOut` if `limit`
  /// passes first; nothing is taken then.
  public func nextStall(within limit: Duration? = nil) async throws -> Explanation {
    try Explanation(json: try await core.nextStall().answer(within: limit))
  }

  /// Waits for the next notice of what was lost: frames that were dropped, or that crossed the end of
  /// their request in flight. There is one a second at most for each reason and type of frame; 64 are
  /// kept, the oldest makes room. Throws `timedOut` if `limit` passes first; nothing is taken then.
  public func nextLoss(within limit: Duration? = nil) async throws -> Loss {
    try decoded(try await core.nextLoss().answer(within: limit))
  }

  /// Opens a control socket, by which other processes of the same user ask what this one does, at
  /// `unix:PATH` or a path with a slash. `nil` is where `sluicegate explain PID` and
  /// `sluicegate top PID` look for this process. Throws `io` if it cannot be opened.
  public func serveControl(at address: String? = nil) throws(SluicegateError) -> Control {
    Control(try translating { try core.serveControl(address: address) })
  }
}
