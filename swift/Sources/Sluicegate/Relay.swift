internal import SluicegateCore

/// Which cap of a switch serves another, as a closure says.
private final class Matching: CapMatcher {
  private let matcher: Switch.Matcher

  init(_ matcher: @escaping Switch.Matcher) { self.matcher = matcher }

  func serves(offered: String, asked: String) -> Bool { matcher(offered, asked) }
}

/// A relay between hosts, which offer caps, and callers. A caller takes it for one large cartridge: see
/// ``Engine/connect(to:)``. Credit is end to end: it passes it on and makes and swallows none (L11).
/// Any task may use it. Releasing the last reference closes it.
public final class Switch: Sendable {
  /// Says whether the cap that a host offers serves the one that a request asks for.
  public typealias Matcher = @Sendable (_ offered: String, _ asked: String) -> Bool

  private let core: SwitchCore

  /// A switch that nobody is connected to.
  ///
  /// `limits` are proposed to callers; the windows at both ends of a request must be equal (L10, L11).
  /// `joinTimeout` is how long a newcomer may take to prove who it is; `policy` is told to each host.
  /// Warnings of lost frames, which ``nextLoss(within:)`` tells of, are also written to stderr, unless
  /// `quietLosses`.
  ///
  /// `matcher` says whether an offered cap serves the one that a request asks for; the request goes on
  /// under the offered one. Without it the two must have the same tags, in any order. It is called by the
  /// switch's threads, on several at once, for one cap after the other until one serves. It may use the
  /// switch, but must not wait: that holds up whoever asks, and a call through the same switch would never
  /// end. One that holds its own switch keeps it alive.
  public init(
    limits: Limits = Limits(), joinTimeout: Duration = .seconds(10), policy: NetworkPolicy = .full,
    quietLosses: Bool = false, matcher: Matcher? = nil
  ) {
    core = SwitchCore(
      facts: SwitchFacts(
        limits: limits.facts, policy: policy.facts, joinNanos: joinTimeout.clampedNanoseconds,
        quietLosses: quietLosses, matcher: matcher.map(Matching.init)))
  }

  /// Lets whoever connects to `address` join, until the switch is closed: `unix:PATH`,
  /// `tcp:HOST:PORT` or a path with a slash. Answers where it listens: port 0 takes a free port.
  @discardableResult
  public func listen(at address: String) throws(SluicegateError) -> String {
    try translating { try core.listen(address: address) }
  }

  /// Lets one newcomer, host or caller, join over two file descriptors, which belong to the switch from
  /// this call on. `name` is for people.
  public func attach(_ name: String, reading: Int32, writing: Int32) async throws {
    try await core.attach(name: name, reading: reading, writing: writing).finish()
  }

  /// A caller in this process: calls of the peer go through the switch.
  public func caller(_ engine: Engine) async throws -> Peer {
    Peer(try await core.caller(engine: engine.core).answer())
  }

  /// The caps that hosts offer now, sorted.
  public var caps: [String] { core.caps() }

  /// Gives every host something to keep: ``Host/state``. Throws why the last host that failed is gone.
  public func setState(_ state: [UInt8]) throws(SluicegateError) {
    try translating { try core.setState(state: .init(state)) }
  }

  /// What goes through it and what was lost, in the shape that every language has.
  public var statsJSON: String { core.statsJson() }

  /// Who waits for whom in the hosts, their cartridges and the callers, which are asked. Takes a second
  /// at most.
  public func explain() async throws -> Explanation {
    try Explanation(json: try await core.explain().answer())
  }

  /// Waits for the next notice of frames that were lost here, as ``Engine/nextLoss(within:)``.
  public func nextLoss(within limit: Duration? = nil) async throws -> Loss {
    try decoded(try await core.nextLoss().answer(within: limit))
  }

  /// Opens a control socket, as ``Engine/serveControl(at:)`` does.
  public func serveControl(at address: String? = nil) throws(SluicegateError) -> Control {
    Control(try translating { try core.serveControl(address: address) })
  }

  /// Ends every connection; every request fails with `closed`.
  public func close() { core.close() }
}

extension Engine {
  /// Attaches to the switch that listens at `address`, as its caller: the peer stands for all the
  /// cartridges behind it. Throws `io` if nobody listens there, or as ``spawn(_:)``.
  public func connect(to address: String) async throws -> Peer {
    Peer(try await connectEngine(engine: core, address: address).answer())
  }
}

/// Cartridges that are offered to a ``Switch``. One that dies fails its requests with what it wrote to
/// standard error, and the next request starts it again. Any task may use it. Releasing the last
/// reference closes it.
public final class Host: Sendable {
  private let core: HostCore

  /// A host without cartridges. The options are those of an ``Engine``; the initial credit of `limits`
  /// is what the switch is told: a cartridge that takes smaller windows is refused. A cartridge that
  /// had no request for `idle` is stopped, and started again when it is needed; `nil` is never.
  ///
  /// Throws `io` if no thread is to be had.
  public init(
    limits: Limits = Limits(), handshake: Duration = .seconds(10), policy: NetworkPolicy = .full,
    maxItem: UInt64? = nil, heartbeat: Duration? = .seconds(30), patience: Duration = .seconds(10),
    quietLosses: Bool = false, idle: Duration? = nil
  ) throws(SluicegateError) {
    let facts = EngineFacts(
      limits: limits.facts, handshakeNanos: handshake.clampedNanoseconds, policy: policy.facts,
      maxItem: maxItem, heartbeatNanos: heartbeat?.clampedNanoseconds,
      patienceNanos: patience.clampedNanoseconds, stallNanos: nil,
      quietLosses: quietLosses, peerCalls: false, protocol: .v6)
    core = try translating { try HostCore(engine: facts, idleNanos: idle?.clampedNanoseconds) }
  }

  /// Offers a cartridge, which is started now to learn what it can do. Throws as ``Engine/spawn(_:)``.
  public func add(_ command: Command) async throws {
    try await core.add(command: command.facts).finish()
  }

  /// Offers a cartridge that is started by the first request for it. `manifest` says what it can do, JSON
  /// as ``Cartridge/manifestJSON`` and ``Peer/manifestJSON`` give it. Throws `invalidArgument` if it is none.
  public func addLazily(_ command: Command, manifest: String) throws(SluicegateError) {
    try translating { try core.addLazy(command: command.facts, manifest: manifest) }
  }

  /// Offers a cartridge that runs already, over two file descriptors, which belong to the host from
  /// this call on. `label` is for people and for ``retire(_:)``.
  public func attach(_ label: String, reading: Int32, writing: Int32) async throws {
    try await core.attach(label: label, reading: reading, writing: writing).finish()
  }

  /// Joins the switch that listens at `address`, and waits until it has taken the host in. Throws `io`
  /// if nobody listens there, `peerDied` if it is turned away.
  public func join(_ address: String, within limit: Duration? = nil) async throws {
    try await core.join(address: address).finish(within: limit)
  }

  /// Joins a switch over two file descriptors, which belong to the host from this call on, and waits
  /// until it has taken the host in. Throws `peerDied` if it is turned away.
  public func join(reading: Int32, writing: Int32, within limit: Duration? = nil) async throws {
    try await core.joinOver(reading: reading, writing: writing).finish(within: limit)
  }

  /// Takes no new requests for the cartridge of this label, and stops it once it has answered the old
  /// ones. The label of a command is its program and arguments with a space between. False if there is
  /// none.
  @discardableResult
  public func retire(_ label: String) -> Bool { core.retire(label: label) }

  /// What the switch gave this host to keep, if it has.
  public var state: [UInt8]? { core.state().map { [UInt8]($0) } }

  /// The processes of the cartridges that run now.
  public var pids: [Int32] { core.pids().map(Int32.init(clamping:)) }

  /// What goes through it and what was lost, in the shape that every language has.
  public var statsJSON: String { core.statsJson() }

  /// Who waits for whom in the cartridges, which are asked. Takes a second at most.
  public func explain() async throws -> Explanation {
    try Explanation(json: try await core.explain().answer())
  }

  /// Waits for the next notice of frames that were lost here, as ``Engine/nextLoss(within:)``.
  public func nextLoss(within limit: Duration? = nil) async throws -> Loss {
    try decoded(try await core.nextLoss().answer(within: limit))
  }

  /// Opens a control socket, as ``Engine/serveControl(at:)`` does.
  public func serveControl(at address: String? = nil) throws(SluicegateError) -> Control {
    Control(try translating { try core.serveControl(address: address) })
  }

  /// Why it is no longer connected to its switch, if it is not.
  public var dead: SluicegateError? { core.dead().map(SluicegateError.init) }

  /// Waits until it is no longer connected to its switch, and answers why; at once if it never was.
  public func left() async throws -> SluicegateError {
    SluicegateError(try await core.left().answer())
  }

  /// Leaves the switch and closes every cartridge.
  public func close() { core.close() }
}
