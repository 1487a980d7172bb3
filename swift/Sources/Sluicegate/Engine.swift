internal import SluicegateCore

/// What cartridges may do on the network.
public enum NetworkPolicy: Sendable, Hashable, CaseIterable {
  /// Nothing.
  case offline
  /// Everything but telemetry.
  case noTelemetry
  /// Everything.
  case full

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
  private let core: EngineCore

  /// An engine without cartridges.
  ///
  /// `limits` is what is proposed to each cartridge; `handshake` is how long one may take from its
  /// start until it has proved its identity; `maxItem` is the largest item of a sequence stream, in
  /// bytes, 64 MiB unless set.
  public init(
    limits: Limits = Limits(), handshake: Duration = .seconds(10),
    policy: NetworkPolicy = .full, maxItem: UInt64? = nil
  ) {
    core = EngineCore(
      facts: EngineFacts(
        limits: limits.facts, handshakeNanos: handshake.clampedNanoseconds, policy: policy.facts,
        maxItem: maxItem))
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
}

extension Duration {
  /// Nanoseconds, as many as 64 bits can hold.
  var clampedNanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    let (whole, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, carry) = whole.addingReportingOverflow(UInt64(attoseconds) / 1_000_000_000)
    return overflow || carry ? .max : sum
  }
}
