/// Frames of one type that were lost for one reason since the last notice of them.
public struct Loss: Codable, Sendable, Hashable {
  /// How much a notice matters.
  public enum Severity: String, Codable, Sendable, Hashable {
    /// Frames crossed the end of their request in flight, which is benign.
    case debug
    /// Frames were dropped: something went wrong.
    case warning
  }

  /// How much it matters.
  public let severity: Severity
  /// Where they were lost.
  public let party: String
  /// Why they were dropped; `straggler` for those that crossed the end of their request.
  public let reason: String
  /// The type of the frames.
  public let frameType: String
  /// How many since the last notice.
  public let count: UInt64
  /// How many in all.
  public let total: UInt64

  enum CodingKeys: String, CodingKey {
    case severity, party, reason, count, total
    case frameType = "frame_type"
  }
}
