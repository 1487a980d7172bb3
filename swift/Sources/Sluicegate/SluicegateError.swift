internal import SluicegateCore

/// Why something failed or ended. The same error has the same meaning in every language of the
/// library: kind, code and class come from one table in the core.
///
/// A cancelled task gets Swift's `CancellationError` instead; this type's ``Kind/cancelled`` means
/// that the *request* was cancelled, by whoever made it.
public struct SluicegateError: Error, Sendable, Hashable {
  /// What went wrong, in one word. The raw value is the number that all languages share.
  public enum Kind: Int32, Sendable, Hashable, CaseIterable {
    /// A limit passed: of a wait, which took nothing, or of a whole call or stream, now ended.
    case timedOut = 2
    /// The gate, stream or request was closed; code and message say why.
    case closed = 3
    /// The stream ended as it should.
    case endOfStream = 4
    /// The request was cancelled.
    case cancelled = 5
    /// A chunk came that no credit had been granted for (L12).
    case creditViolation = 6
    /// The process or connection at the other end is gone.
    case peerDied = 7
    /// An argument is outside what the call takes.
    case invalidArgument = 8
    /// A frame is larger than the limit of the link.
    case frameTooLarge = 9
    /// Bytes that are not a frame, or a value that is not CBOR.
    case malformed = 10
    /// A well-formed frame where the protocol does not allow it.
    case `protocol` = 11
    /// The two ends could not agree on version, limits or identity.
    case handshake = 12
    /// A chunk's bytes do not match its checksum.
    case checksum = 13
    /// A call that collects a whole stream met one without end (L16).
    case unbounded = 14
    /// The other end failed the request; code, class and message are its own.
    case remote = 15
    /// The operating system refused a read, a write or a start.
    case io = 16
    /// The cartridge could not be started.
    case spawn = 17
    /// The handle was made before a fork and is used in the child.
    case forked = 18
    /// An earlier panic left the object in an unknown state.
    case broken = 19
    /// The library panicked; the call had no effect that can be relied on.
    case panic = 20
    /// Nobody serves this cap.
    case noHandler = 21
    /// A stated bound was reached: item size, queued control frames, open requests.
    case limitReached = 22
    /// Scalar and sequence calls were mixed on one stream.
    case wrongMode = 23
    /// The live feed's ring was full and its policy is to fail rather than to drop.
    case feedOverrun = 24
    /// A bounded queue between two stages was full and its strategy is to fail.
    case bufferOverflow = 25
    /// A user's function in a stage failed or panicked.
    case stageFailed = 26
    /// A stage that takes one subscriber has one already.
    case alreadySubscribed = 27
    /// The scope was shut down: it runs nothing more.
    case scopeShutDown = 28
    /// The plan of stages could lock up, or cannot do what it says.
    case planRefused = 29
  }

  /// Whose fault an error is.
  public enum AttributionClass: String, Sendable, Hashable, CaseIterable {
    /// The caller's data.
    case input
    /// Memory, disk, a limit or a pool.
    case resource
    /// What stands around the program: missing handler, dead process, transport.
    case environment
    /// The program itself.
    case `internal`
    /// A person asked for it.
    case user
  }

  /// What went wrong, in one word.
  public var kind: Kind
  /// The code that the wire carries, such as `CREDIT_VIOLATION`, or the text that a gate was closed
  /// with. The empty text is a reason like any other.
  public var code: String
  /// Whose fault it is.
  public var attributionClass: AttributionClass
  /// The sentence for a person.
  public var message: String
  /// What a function of yours threw, if that is what failed a stream: the very error, in this process.
  /// Two errors that differ in their causes alone are the same.
  public var cause: (any Error)?

  /// An error of `kind`. Code and class are the kind's own unless they are given.
  public init(
    _ kind: Kind, _ message: String, code: String? = nil, class: AttributionClass? = nil,
    cause: (any Error)? = nil
  ) {
    self.kind = kind
    self.message = message
    self.code = code ?? kind.code
    self.attributionClass = `class` ?? kind.attributionClass
    self.cause = cause
  }

  /// An error that ends a request with a code of your own: what a handler throws so that its caller
  /// sees `code`, `class` and `message` as they are.
  public init(code: String, class: AttributionClass = .internal, message: String) {
    self.init(.remote, message, code: code, class: `class`)
  }
}

extension SluicegateError.Kind {
  /// The code that stands for this kind on the wire.
  public var code: String { row.code }

  /// Whose fault this kind is unless the wire says otherwise.
  public var attributionClass: SluicegateError.AttributionClass {
    SluicegateError.AttributionClass(rawValue: row.class) ?? .internal
  }

  /// One sentence about this kind.
  public var text: String { row.text }

  private var row: KindRow {
    Self.table[rawValue] ?? KindRow(number: rawValue, name: "", code: "", class: "", text: "")
  }

  /// Core's table, read once.
  static let table = Dictionary(uniqueKeysWithValues: errorKinds().map { ($0.number, $0) })
}

extension SluicegateError {
  public static func == (left: Self, right: Self) -> Bool {
    (left.kind, left.code, left.attributionClass, left.message)
      == (right.kind, right.code, right.attributionClass, right.message)
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(kind)
    hasher.combine(code)
    hasher.combine(attributionClass)
    hasher.combine(message)
  }
}

extension SluicegateError: CustomStringConvertible {
  public var description: String {
    switch (code.isEmpty, message.isEmpty) {
    case (true, true): "\(kind)"
    case (true, false): message
    case (false, true): code
    case (false, false): "\(code): \(message)"
    }
  }
}

extension SluicegateError {
  init(_ fault: Fault) {
    self.init(
      Kind(rawValue: fault.number) ?? .remote, fault.message, code: fault.code,
      class: AttributionClass(rawValue: fault.class) ?? .internal,
      cause: fault.cause.map { look($0.token(), as: Cause.self).error })
  }

  /// The facts of any error, for core: what a handler threw, a reason to close with.
  init(describing error: any Error) {
    switch error {
    case let error as SluicegateError: self = error
    case is CancellationError: self.init(.cancelled, "the task was cancelled")
    default: self.init(.remote, String(describing: error))
    }
  }

  var fault: Fault {
    Fault(
      number: kind.rawValue, code: code, class: attributionClass.rawValue, message: message,
      cause: cause.map { CauseCore(token: give(Cause(error: $0))) })
  }
}

/// An error on its way through core.
private struct Cause: Sendable {
  let error: any Error
}

/// Runs a call into core and turns what it throws into the public error.
func translating<Answer>(_ call: () throws -> Answer) throws(SluicegateError) -> Answer {
  do {
    return try call()
  } catch Failure.Core(let fault) {
    throw SluicegateError(fault)
  } catch {
    // The glue's own failures: a stale handle, a panic outside the fence. None is expected.
    throw SluicegateError(.panic, String(describing: error))
  }
}
