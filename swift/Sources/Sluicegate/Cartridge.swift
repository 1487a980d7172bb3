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

  private var caps: [Cap] = []
  private var handlers: [String: Handler] = [:]

  /// A cartridge without caps of its own.
  public init(name: String, version: String, description: String? = nil, limits: Limits = Limits()) {
    self.name = name
    self.version = version
    self.description = description
    self.limits = limits
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
  public func run() async throws {
    try await serve(serveStdio(declared: declaration))
  }

  /// As ``run()``, over two file descriptors. They belong to the session from this call on.
  public func run(reading: Int32, writing: Int32) async throws {
    try await serve(
      serveDescriptors(declared: declaration, reading: reading, writing: writing))
  }

  private var declaration: CartridgeDeclaration {
    CartridgeDeclaration(
      name: name, version: version, description: description, caps: caps.map(\.declaration),
      limits: limits.facts)
  }

  private static let grace = Duration.seconds(5)

  private func serve(_ handshake: SessionOp) async throws {
    let session = try await handshake.answer()
    let ended = Gate(window: 0)  // one chunk for each handler that has ended
    var started: UInt64 = 0
    let outcome: Result<Void, any Error>
    do {
      while let core = try await session.nextRequest().answer() {
        let request = Request(core)
        guard let handler = handlers[request.cap] else {
          request.fail(SluicegateError(.noHandler, "no handler for \(request.cap)"))
          continue
        }
        started += 1
        Task {
          await Self.handle(request, with: handler)
          ended.grant(1)
        }
      }
      outcome = .success(())
    } catch {
      outcome = .failure(error)
    }
    session.close()  // every request that still runs is told to stop
    let drained = Task { try await ended.acquire(started, within: Self.grace) }
    _ = await drained.result  // handlers that do not notice in time are left behind
    try outcome.get()
  }

  private static func handle(_ request: Request, with handler: @escaping Handler) async {
    let work = Task { try await handler(request) }
    let watch = Task {
      _ = try await request.cancelled()
      work.cancel()
    }
    switch await work.result {
    case .success:
      // A request that had to stop, or that the handler ended itself, says so on its own.
      try? await request.finish()
    case .failure(let error):
      request.fail(error)
    }
    watch.cancel()
  }
}
