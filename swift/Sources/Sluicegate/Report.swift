import Foundation
internal import SluicegateCore

/// What is live and what was lost, by cartridge. The shape is the same in every language.
public struct EngineStats: Codable, Sendable, Hashable {
  /// One for each cartridge.
  public let cartridges: [ConnectionStats]
}

/// What is live and what was lost on one connection.
public struct ConnectionStats: Codable, Sendable, Hashable {
  /// One live request.
  public struct Request: Codable, Sendable, Hashable {
    /// Its id, as ``Call/id`` gives it.
    public let id: String
    /// The cap that is called.
    public let cap: String
    /// `caller` or `handler`.
    public let side: String
    /// `created` or `streaming`.
    public let phase: String

    enum CodingKeys: String, CodingKey {
      case id = "rid"
      case cap = "cap_urn"
      case side, phase
    }
  }

  /// Frames lost because something went wrong.
  public struct Drops: Codable, Sendable, Hashable {
    /// All of them.
    public let total: UInt64
  }

  /// Frames that crossed the end of their request in flight.
  public struct Stragglers: Codable, Sendable, Hashable {
    /// All of them.
    public let total: UInt64
  }

  /// What it runs on, for people.
  public let name: String
  /// The process, if it was spawned.
  public let pid: Int32?
  /// What the process holds, in bytes, if that is known.
  public let memory: UInt64?
  /// What is live.
  public let requests: [Request]
  /// What was lost.
  public let drops: Drops
  /// What came late.
  public let stragglers: Stragglers
  /// Items that a live source had to discard.
  public let overruns: UInt64

  enum CodingKeys: String, CodingKey {
    case name, pid, memory, requests, drops, stragglers
    case overruns = "overruns_total"
  }
}

/// Who waits for whom: what stands still here, and in the processes that were asked. Its description
/// is in words, the culprits first.
public struct Explanation: Sendable, Hashable, CustomStringConvertible {
  /// One stream that stands still.
  public struct Standing: Codable, Sendable, Hashable {
    /// The process that says so.
    public let party: String
    /// The id of the request.
    public let request: String
    /// The cap that is called.
    public let cap: String
    /// `caller` or `handler`.
    public let side: String
    /// The stream.
    public let stream: String
    /// `credit`, `room`, `unread` or `data`.
    public let waitsFor: String
    /// For how long, in milliseconds.
    public let sinceMilliseconds: UInt64

    enum CodingKeys: String, CodingKey {
      case party, request, cap, side, stream
      case waitsFor = "waits_for"
      case sinceMilliseconds = "since_ms"
    }
  }

  private struct Told: Codable, Sendable, Hashable {
    let standing: [Standing]
    let silent: [String]
    let culprits: [Standing]
  }

  /// As every language writes it.
  public let json: String
  /// In words, the culprits first.
  public let description: String
  private let told: Told

  /// Everything that stands still.
  public var standing: [Standing] { told.standing }
  /// What holds the others up, the longest first.
  public var culprits: [Standing] { told.culprits }
  /// Who gave no answer.
  public var silent: [String] { told.silent }

  /// Reads an explanation in JSON, as every language and the command writes it. Throws `malformed`
  /// if it is not one.
  public init(json: String) throws(SluicegateError) {
    self.json = json
    description = try translating { try explanationText(json: json) }
    told = try decoded(json)
  }

  /// What of it is about one request, by the id of a ``Call`` or a ``Request``.
  public func of(request id: String) throws(SluicegateError) -> Explanation {
    try Explanation(json: try translating { try explanationOf(json: json, request: id) })
  }
}

/// An open control socket. Any task may use it. Releasing the last reference closes it.
public final class Control: Sendable {
  private let core: ControlCore

  init(_ core: ControlCore) { self.core = core }

  /// Where it listens: `unix:PATH`.
  public var address: String { core.address() }

  /// Closes it. Closing it again is harmless.
  public func close() { core.close() }

  /// Asks a running process who waits for whom. `target` is a process id in digits, or where its
  /// control socket is. Throws `io` if nobody listens there, `malformed` if it answers something else.
  public static func explain(
    _ target: String, within limit: Duration? = nil
  ) async throws -> Explanation {
    let told = askControl(target: target, question: "explain")
    return try Explanation(json: try await told.answer(within: limit))
  }

  /// Asks a running process what is live and what was lost; JSON. Its shape depends on what the
  /// process is: an engine's is that of ``EngineStats``. Throws as ``explain(_:within:)``.
  public static func statsJSON(_ target: String, within limit: Duration? = nil) async throws -> String {
    try await askControl(target: target, question: "stats").answer(within: limit)
  }
}

/// How a frame is written down.
public enum TraceFormat: Sendable, Hashable {
  /// Lines for people.
  case text
  /// A JSON object a line.
  case json
}

/// Writes down every frame that this process sends and receives, to a file, which is appended to, or to
/// `stderr`, as `SLUICEGATE_TRACE` does: lengths and keys, no payloads. A link never waits for it; what
/// finds no room is left out and counted.
///
/// Call it before the first frame, once; later it throws `invalidArgument`. Throws `io` if the file
/// cannot be opened.
public func trace(to place: String, format: TraceFormat = .text) throws(SluicegateError) {
  try translating { try traceFrames(place: place, json: format == .json) }
}

/// The core's own JSON, read.
func decoded<T: Decodable>(_ json: String) throws(SluicegateError) -> T {
  do {
    return try JSONDecoder().decode(T.self, from: Data(json.utf8))
  } catch {
    throw SluicegateError(.malformed, "the JSON of \(T.self): \(error)")
  }
}
