internal import SluicegateCore

/// A cartridge's connection to its host. Any task may use it. Releasing the last reference closes it.
///
/// ```swift
/// let session = try await cartridge.start()
/// let control = try session.serveControl()  // `sluicegate explain PID` asks this process
/// try await session.run()
/// ```
public final class Session: Sendable {
  private let core: SessionCore
  private let handlers: [String: Cartridge.Handler]

  init(_ core: SessionCore, _ handlers: [String: Cartridge.Handler]) {
    self.core = core
    self.handlers = handlers
  }

  /// Serves requests with the cartridge's handlers, each in a task of its own, until the host closes the
  /// connection. Throws as ``Cartridge/run()``.
  public func run() async throws {
    let ended = Gate(window: 0)  // one chunk for each handler that has ended
    var started: UInt64 = 0
    let outcome: Result<Void, any Error>
    do {
      while let request = try await nextRequest() {
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
    close()  // every request that still runs is told to stop
    let (all, grace) = (started, Self.grace)
    let drained = Task { try await ended.acquire(all, within: grace) }
    _ = await drained.result  // handlers that do not notice in time are left behind
    try outcome.get()
  }

  private static let grace = Duration.seconds(5)

  private static func handle(_ request: Request, with handler: @escaping Cartridge.Handler) async {
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

  /// The next request, for who serves by hand instead of by ``run()``; `nil` when the host has closed the
  /// connection. A request that is released before it has ended fails.
  ///
  /// Throws what the host did if it broke the protocol, and `CancellationError`; no request is lost by
  /// that.
  public func nextRequest() async throws -> Request? {
    try await core.nextRequest().answer().map(Request.init)
  }

  /// The agreed limits.
  public var limits: Limits { Limits(core.limits()) }

  /// What the host allows on the network, once it has said so.
  public var policy: NetworkPolicy? { core.policy().map(NetworkPolicy.init) }

  /// What is live and what was lost.
  public func stats() throws(SluicegateError) -> ConnectionStats { try decoded(core.statsJson()) }

  /// The same as every language writes it.
  public var statsJSON: String { core.statsJson() }

  /// What stands still in this cartridge. Asks nobody and never waits.
  public func explain() throws(SluicegateError) -> Explanation {
    try Explanation(json: core.explainJson())
  }

  /// Opens a control socket, as ``Engine/serveControl(at:)`` does.
  public func serveControl(at address: String? = nil) throws(SluicegateError) -> Control {
    Control(try translating { try core.serveControl(address: address) })
  }

  /// Ends the connection: requests stop, waiters are released.
  public func close() { core.close() }
}
