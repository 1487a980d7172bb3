internal import SluicegateCore

/// What a probe awaited, and what came instead.
public struct ProbeFailure: Error, CustomStringConvertible, Sendable, Hashable {
  /// What was awaited.
  public let awaited: String
  /// What came.
  public let came: String
  public var description: String { "awaited: \(awaited); came: \(came)" }
}

/// A source that a test plays. Every assertion waits no longer than its limit.
public final class Publisher<Element: Sendable>: Sendable {
  /// The control behind the probe.
  public let control: Manual<Element>
  private let limit: Duration

  init(_ control: Manual<Element>, _ limit: Duration) {
    self.control = control
    self.limit = limit
  }

  /// The same probe, whose assertions wait up to another limit.
  public func within(_ limit: Duration) -> Publisher { Publisher(control, limit) }

  /// Offers an element and waits for room or demand without a limit.
  public func offer(_ element: Element) async throws -> OfferResult {
    try await control.offer(element)
  }

  /// Sends an element. If it is not taken within the limit, the source is failed, so that nothing hangs.
  public func sendNext(_ element: Element) async throws {
    do {
      let result = try await control.offer(element, within: limit)
      if result != .enqueued {
        throw ProbeFailure(awaited: "an element is taken", came: "\(result)")
      }
    } catch let error as SluicegateError {
      control.fail(error)
      throw ProbeFailure(awaited: "an element is taken", came: "\(error)")
    }
  }

  /// Completes the source. False if it had ended.
  @discardableResult
  public func sendComplete() -> Bool { control.complete() }

  /// Fails the source. False if it had ended.
  @discardableResult
  public func sendError(_ error: SluicegateError) -> Bool { control.fail(error) }

  /// Waits until `n` elements at least can be sent.
  public func expectDemand(_ n: UInt64 = 1) async throws {
    let awaited = "demand for \(n) within \(limit)"
    do {
      let ready = try await control.core.ready(n: n).answer(within: limit)
      guard ready != 0 else { throw ProbeFailure(awaited: awaited, came: "cancel") }
    } catch let error as SluicegateError where error.kind == .timedOut {
      throw ProbeFailure(awaited: awaited, came: "demand for \(control.demand)")
    }
  }

  /// Waits until the source was cancelled from below.
  public func expectCancel() async throws {
    // More than any gate holds: this waits for the end alone.
    let over = try? await control.core.ready(n: .max).answer(within: limit)
    guard over == 0 else { throw ProbeFailure(awaited: "cancel within \(limit)", came: "nothing") }
  }
}

/// A sink that a test plays: nothing is asked for but by ``request(_:)``.
public final class Subscriber<Element: Sendable>: Sendable {
  /// What a subscriber received.
  public enum Event: Sendable {
    /// An element.
    case next(Element)
    /// The end, as it should be.
    case complete
    /// The end, with its reason.
    case error(SluicegateError)
  }

  private let core: SubscriberCore
  private let limit: Duration

  init(_ core: SubscriberCore, _ limit: Duration) {
    self.core = core
    self.limit = limit
  }

  /// The same probe, whose assertions wait up to another limit.
  public func within(_ limit: Duration) -> Subscriber { Subscriber(core, limit) }

  /// Asks for `n` elements more. Throws once a terminal was taken.
  @discardableResult
  public func request(_ n: UInt64) throws(ProbeFailure) -> Self {
    guard core.request(n: n) else {
      throw ProbeFailure(awaited: "a stream that takes demand", came: "its terminal, before")
    }
    return self
  }

  /// Wants no more: everything above is cancelled.
  public func cancel() { core.cancel() }

  /// The next event; `nil` if none comes within `limit`.
  public func event(within limit: Duration? = nil) async throws -> Event? {
    let op = core.event()
    do {
      try await op.finish(within: limit ?? self.limit)
    } catch let error as SluicegateError where error.kind == .timedOut {
      return nil
    }
    switch op.event() {
    case .next(let token): return .next(look(token))
    case .failed(let fault): return .error(SluicegateError(fault))
    case .complete, nil: return .complete
    }
  }

  private func mismatch(_ awaited: String, _ event: Event?) -> ProbeFailure {
    let came =
      switch event {
      case nil: "nothing within \(limit)"
      case .next(let element): "\(element)"
      case .complete: "complete"
      case .error(let error): "\(error)"
      }
    return ProbeFailure(awaited: awaited, came: came)
  }

  /// Takes an element, whatever it is.
  @discardableResult
  public func expectNext() async throws -> Element {
    let event = try await event()
    guard case .next(let element) = event else { throw mismatch("an element", event) }
    return element
  }

  /// Takes the end.
  public func expectComplete() async throws {
    let event = try await event()
    guard case .complete = event else { throw mismatch("complete", event) }
  }

  /// Takes the failure.
  @discardableResult
  public func expectError() async throws -> SluicegateError {
    let event = try await event()
    guard case .error(let error) = event else { throw mismatch("a failure", event) }
    return error
  }

  /// Sees that nothing comes within `limit`.
  public func expectNoMessage(within limit: Duration) async throws {
    if let event = try await event(within: limit) { throw mismatch("nothing", event) }
  }
}

extension Subscriber where Element: Equatable {
  /// Takes this element.
  @discardableResult
  public func expectNext(_ expected: Element) async throws -> Self {
    let event = try await event()
    guard case .next(let element) = event, element == expected else {
      throw mismatch("\(expected)", event)
    }
    return self
  }
}

extension Source where Mat == Publisher<Out> {
  /// A source that a test plays. With an `edge` it can send what that holds without being asked; without
  /// one it sends nothing without demand.
  public static func probe(
    edge: EdgeOptions? = nil, limit: Duration = .seconds(1)
  ) throws(SluicegateError) -> Self {
    let core = try translating { try sourceProbe(edge: edge?.facts) }
    return Source(
      core, .one { run, index in Publisher(Manual(try run.manual(index: index)), limit) })
  }
}

extension Sink where Mat == Subscriber<In> {
  /// A sink that a test plays.
  public static func probe(limit: Duration = .seconds(1)) -> Self {
    Sink(
      sinkProbe(), .one { run, index in Subscriber(try run.subscriber(index: index), limit) })
  }
}
