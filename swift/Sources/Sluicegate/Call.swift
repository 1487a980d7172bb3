internal import SluicegateCore

/// The end of a call that succeeded.
public struct Terminal: Sendable, Hashable {
  /// 0.
  public let exitCode: Int64
  /// Final progress, 0 to 1. A success that names none reads as 1.
  public let progress: Double
  /// What the handler had to say at the end.
  public let message: String?
}

/// A log or progress of a call.
public enum Event: Sendable, Hashable {
  /// A message for people, and what it is about, if the wire says.
  case log(level: String, class: SluicegateError.AttributionClass?, message: String)
  /// How far the handler is, 0 to 1, and what it is doing.
  case progress(Double, message: String)

  init(_ facts: EventFacts) {
    switch facts {
    case .log(let level, let `class`, let message):
      self = .log(
        level: level, class: `class`.flatMap(SluicegateError.AttributionClass.init),
        message: message)
    case .progress(let value, let message):
      self = .progress(value, message: message)
    }
  }
}

/// A call of a cap. Any task may use it.
///
/// Sending arguments and reading results go on at the same time (L15): feed in one task and read in
/// another unless one of them is short. Releasing the last reference to an unfinished call, its
/// streams included, cancels it.
public final class Call: Sendable {
  private let core: CallCore

  /// The request's id: a lower-case uuid or a decimal number.
  public let id: String

  init(_ core: CallCore) {
    self.core = core
    id = core.id()
  }

  /// Opens an argument stream. Throws the reason if the call is over, `invalidArgument` after
  /// ``finishInput()``.
  public func input(_ media: String) throws(SluicegateError) -> OutputStream {
    OutputStream(try translating { try core.input(media: media) })
  }

  /// Ends the arguments: closes every argument stream, which may wait for credit, and then the body.
  /// May be called again.
  public func finishInput() async throws { try await core.finishInput().finish() }

  /// The next result stream, as they open; `nil` once the call has succeeded. Throws why it failed.
  public func nextOutput() async throws -> InputStream? {
    try await core.nextOutput().answer().map(InputStream.init)
  }

  /// The next result stream, for a caller that needs one. Throws `protocol` if the call ends without.
  public func output() async throws -> InputStream { try await required(core.output()) }

  /// The next log or progress; `nil` after the end. The last 1024 are kept for a late reader.
  public func nextEvent() async throws -> Event? {
    try await core.nextEvent().answer().map(Event.init)
  }

  /// Logs and progress as they come.
  public var events: Events { Events(call: self) }

  /// See ``Call/events``.
  public struct Events: AsyncSequence, Sendable {
    public typealias Element = Event
    let call: Call

    public struct AsyncIterator: AsyncIteratorProtocol {
      let call: Call

      /// The next event; `nil` after the end.
      public mutating func next() async throws -> Event? { try await call.nextEvent() }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(call: call) }
  }

  /// Waits for the end. Throws why the call failed.
  public func wait(within limit: Duration? = nil) async throws -> Terminal {
    let facts = try await core.wait().answer(within: limit)
    return Terminal(exitCode: facts.exitCode, progress: facts.progress, message: facts.message)
  }

  /// Asks the handler to stop capturing: the live source behind the output with this name
  /// (``StreamInfo/id``), or every one of the call. What it holds still comes, so read on; then the
  /// call ends by itself. Not a cancel; never waits.
  public func closeStream(_ id: String? = nil) { core.closeStream(stream: id) }

  /// Allows the call `limit` from now until it has ended; `nil` takes a limit back.
  ///
  /// Then every wait of the call throws the kind `timedOut` and says what stood still: credit, room on
  /// the link, a value, or values that nobody read, which are forgotten. The handler is told by code
  /// `DEADLINE_EXCEEDED`, and its task is cancelled (L13). Never waits.
  public func limit(_ limit: Duration?) throws(SluicegateError) {
    try translating { try core.limit(micros: limitMicroseconds(limit)) }
  }

  /// Cancels the call: every waiter of it is released with the reason (L13, L17), the handler is
  /// told. Nothing happens if it has ended.
  public func cancel(_ message: String = "the caller cancelled the call") {
    cancel(SluicegateError(.cancelled, message))
  }

  /// Cancels the call with a code and class of your own.
  public func cancel(_ reason: SluicegateError) { core.cancel(reason: reason.fault) }
}
