internal import SluicegateCore

/// A plugin: caps and their handlers, served to a host.
///
/// ```swift
/// var cartridge = Cartridge(name: "upper", version: "1.0.0")
/// cartridge.handle("cap:upper;in=media:blob;out=media:blob") { request in
///   let output = try request.output
///   for try await bytes in try await request.input().chunks {
///     try await output.write(bytes.map { (97...122).contains($0) ? $0 - 32 : $0 })
///   }
/// }
/// try await cartridge.run()
/// ```
///
/// Each request runs in a task of its own. Handlers wait with `await` and never block a thread; work
/// that computes for long should give way with `Task.yield()`.
public struct Cartridge: Sendable {
  /// What serves a cap. Returning ends the request as done, throwing ends it as failed.
  public typealias Handler = @Sendable (Request) async throws -> Void

  /// Its name.
  public var name: String
  /// Its version.
  public var version: String
  /// A sentence about it.
  public var description: String?
  /// What it proposes to the host.
  public var limits: Limits

  private let losses = LossesCore()
  private let quietLosses: Bool
  private var caps: [Cap] = []
  private var handlers: [String: Handler] = [:]

  /// A cartridge without caps of its own. Warnings of lost frames, which ``nextLoss(within:)`` tells of,
  /// are also written to stderr, unless `quietLosses`.
  public init(
    name: String, version: String, description: String? = nil, limits: Limits = Limits(),
    quietLosses: Bool = false
  ) {
    self.name = name
    self.version = version
    self.description = description
    self.limits = limits
    self.quietLosses = quietLosses
  }

  /// Declares `cap` and serves it with `handler`. A cap that was there before is replaced.
  public mutating func handle(_ cap: Cap, _ handler: @escaping Handler) {
    caps.removeAll { $0.urn == cap.urn }
    caps.append(cap)
    handlers[cap.urn] = handler
  }

  /// The manifest that the host is shown, JSON.
  public var manifestJSON: String { SluicegateCore.manifestJson(declared: declaration) }

  /// Speaks frames on stdin and stdout until the host closes them. What the program prints on stdout
  /// meanwhile goes to stderr.
  ///
  /// Throws `handshake` if the two ends do not agree, `malformed` and the like if the host breaks the
  /// protocol. A host that closes is the ordinary end. When the host is gone, or this task is
  /// cancelled, handlers are cancelled and get 5 s to notice.
  public func run() async throws { try await start().run() }

  /// As ``run()``, over two file descriptors. They belong to the session from this call on.
  public func run(reading: Int32, writing: Int32) async throws {
    try await start(reading: reading, writing: writing).run()
  }

  /// Makes the handshake on stdin and stdout, and answers the session, which serves nothing before it
  /// is told to: ``Session/run()``. Throws as ``run()``.
  public func start() async throws -> Session {
    let handshake = serveStdio(declared: declaration, losses: losses, quietLosses: quietLosses)
    return Session(try await handshake.answer(), handlers)
  }

  /// As ``start()``, over two file descriptors. They belong to the session from this call on.
  public func start(reading: Int32, writing: Int32) async throws -> Session {
    let handshake = serveDescriptors(
      declared: declaration, losses: losses, quietLosses: quietLosses, reading: reading,
      writing: writing)
    return Session(try await handshake.answer(), handlers)
  }

  /// Waits for the next notice of frames that were lost here, as ``Engine/nextLoss(within:)``. It may be
  /// asked before a run and after it: notices of all runs are kept together, and copies of a cartridge
  /// share them.
  public func nextLoss(within limit: Duration? = nil) async throws -> Loss {
    try decoded(try await losses.next().answer(within: limit))
  }

  private var declaration: CartridgeDeclaration {
    CartridgeDeclaration(
      name: name, version: version, description: description, caps: caps.map(\.declaration),
      limits: limits.facts)
  }
}
