import Foundation
internal import SluicegateCore

/// What is live and what was lost, by cartridge. The shape is the same in every language.
public struct EngineStats: Codable, Sendable, Hashable {
  /// One for each cartridge.
  public let cartridges: [ConnectionStats]
  /// What this process holds, in bytes, if that is known.
  public let memory: UInt64?
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
    /// Its streams, in both directions.
    public let streams: [Stream]

    enum CodingKeys: String, CodingKey {
      case id = "rid"
      case cap = "cap_urn"
      case side, phase, streams
    }
  }

  /// One stream of a live request. When nothing moves, `granted` is `chunks` and `creditOutstanding`
  /// together.
  public struct Stream: Codable, Sendable, Hashable {
    /// Its name.
    public let id: String
    /// `in` or `out`.
    public let direction: String
    /// CHUNK frames so far.
    public let chunks: UInt64
    /// Payload bytes so far.
    public let bytes: UInt64
    /// What is left of the window, in chunks.
    public let creditOutstanding: UInt64
    /// The first window and all that was given since, in chunks.
    public let granted: UInt64
    /// What the window was opened with, in chunks.
    public let initialCredit: UInt64
    /// The time it has waited, in milliseconds, by cause: `credit`, `room` or `data`.
    public let blockedMilliseconds: [String: UInt64]
    /// True if it was declared to have no end.
    public let unbounded: Bool
    /// True once it is over, in whatever way.
    public let ended: Bool

    enum CodingKeys: String, CodingKey {
      case id = "stream_id"
      case creditOutstanding = "credit_outstanding"
      case initialCredit = "initial_credit"
      case blockedMilliseconds = "blocked_ms"
      case direction, chunks, bytes, granted, unbounded, ended
    }
  }

  /// A request that is over. One that was not let in has no cap, side and lifetime.
  public struct Ended: Codable, Sendable, Hashable {
    /// The number that a switch gave it, if it went through one.
    public let routingID: String?
    /// Its id.
    public let id: String
    /// `end`, `err`, `cancelled`, `master_died`, `credit_violation` or `refused`.
    public let kind: String
    /// The cap that was called.
    public let cap: String?
    /// `caller` or `handler`.
    public let side: String?
    /// How long it lived, in milliseconds.
    public let lifetimeMilliseconds: UInt64?

    enum CodingKeys: String, CodingKey {
      case routingID = "xid"
      case id = "rid"
      case cap = "cap_urn"
      case lifetimeMilliseconds = "lifetime_ms"
      case kind, side
    }
  }

  /// Frames lost because something went wrong.
  public struct Drops: Codable, Sendable, Hashable {
    /// All of them.
    public let total: UInt64
    /// The same by reason.
    public let byReason: [String: UInt64]
    /// The same by reason and type of frame.
    public let byReasonAndFrameType: [String: [String: UInt64]]

    enum CodingKeys: String, CodingKey {
      case total
      case byReason = "by_reason"
      case byReasonAndFrameType = "by_reason_frame_type"
    }
  }

  /// Frames that crossed the end of their request in flight.
  public struct Stragglers: Codable, Sendable, Hashable {
    /// All of them.
    public let total: UInt64
    /// The same by type of frame.
    public let byFrameType: [String: UInt64]

    enum CodingKeys: String, CodingKey {
      case total
      case byFrameType = "by_frame_type"
    }
  }

  /// What a connection holds for what is under way: frames, values and events that wait, with what that
  /// costs. The bound is by the formula in docs/architecture.md, for what is open now.
  public struct Held: Codable, Sendable, Hashable {
    /// What it holds, in bytes.
    public let bytes: UInt64
    /// The most that it may hold, in bytes.
    public let bound: UInt64
  }

  /// What it runs on, for people.
  public let name: String
  /// The process, if it was spawned.
  public let pid: Int32?
  /// What the process holds, in bytes, if that is known.
  public let memory: UInt64?
  /// What it holds for what is under way.
  public let held: Held
  /// What is live.
  public let requests: [Request]
  /// The last 64 requests that are over, the latest at the end.
  public let recent: [Ended]
  /// All requests that were let in.
  public let registered: UInt64
  /// How those that are not live ended.
  public let terminatedByKind: [String: UInt64]
  /// What was lost.
  public let drops: Drops
  /// What came late.
  public let stragglers: Stragglers
  /// Items that a live source had to discard.
  public let overruns: UInt64

  enum CodingKeys: String, CodingKey {
    case name, pid, memory, held, requests, drops, stragglers
    case recent = "recent_terminated"
    case registered = "total_registered"
    case terminatedByKind = "terminated_by_kind"
    case overruns = "overruns_total"
  }
}

/// Who waits for whom: what stands still here, and in the processes that were asked. Its description
/// is in words, the culprits first.
public struct Explanation: Sendable, Hashable, CustomStringConvertible {
  /// One stream that stands still, or one request.
  public struct Standing: Codable, Sendable, Hashable {
    /// The process that says so.
    public let party: String
    /// The id of the request.
    public let request: String
    /// The cap that is called.
    public let cap: String
    /// `caller` or `handler`.
    public let side: String
    /// The stream; empty for a whole request, which waits in a queue or for a pool.
    public let stream: String
    /// `credit`, `room`, `unread`, `data`, `queue` or `pool`; the last two are of a whole request.
    public let waitsFor: String
    /// For how long, in milliseconds.
    public let sinceMilliseconds: UInt64
    /// How many requests wait before it in a queue or for a pool.
    public let ahead: UInt64

    enum CodingKeys: String, CodingKey {
      case party, request, cap, side, stream, ahead
      case waitsFor = "waits_for"
      case sinceMilliseconds = "since_ms"
    }

    /// Reads one as every language writes it; those that wait for no turn have none `ahead`.
    public init(from decoder: any Decoder) throws {
      let row = try decoder.container(keyedBy: CodingKeys.self)
      party = try row.decode(String.self, forKey: .party)
      request = try row.decode(String.self, forKey: .request)
      cap = try row.decode(String.self, forKey: .cap)
      side = try row.decode(String.self, forKey: .side)
      stream = try row.decode(String.self, forKey: .stream)
      waitsFor = try row.decode(String.self, forKey: .waitsFor)
      sinceMilliseconds = try row.decode(UInt64.self, forKey: .sinceMilliseconds)
      ahead = try row.decodeIfPresent(UInt64.self, forKey: .ahead) ?? 0
    }
  }

  /// How one stage of a scope stands that tells the engine: see ``Scope/tell(_:)``. All numbers are
  /// elements.
  public struct StageStanding: Codable, Sendable, Hashable {
    /// The name of its scope.
    public let scope: String
    /// The stage's name.
    public let stage: String
    /// Asked for below and not handed down yet.
    public let downstream: UInt64
    /// Asked for above and not arrived yet.
    public let upstream: UInt64
    /// Arrived and not left yet.
    public let held: UInt64
    /// Handed down so far.
    public let passed: UInt64
    /// Came after the end and was dropped.
    public let late: UInt64
    /// Discarded by an overflow strategy.
    public let lost: UInt64
    /// Whom it waits for.
    public let waitsFor: ScopeExplanation.WaitsFor
    /// All of it in words.
    public let says: String

    enum CodingKeys: String, CodingKey {
      case scope, stage, downstream, upstream, held, passed, late, lost, says
      case waitsFor = "waits_for"
    }
  }

  private struct Told: Codable, Sendable, Hashable {
    let standing: [Standing]
    let silent: [String]
    let culprits: [Standing]
    let stages: [StageStanding]?
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
  /// The stages of the scopes that tell the engine, in the order they were made.
  public var stages: [StageStanding] { told.stages ?? [] }

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
