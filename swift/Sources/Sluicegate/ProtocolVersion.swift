internal import SluicegateCore

/// A version of the protocol, which a host declares and its cartridges have to speak.
public enum ProtocolVersion: Int, Sendable, CaseIterable {
  /// 4, without POLICY and without outputs beside the main one.
  case v4 = 4
  /// 5, without POLICY.
  case v5 = 5
  /// 6.
  case v6 = 6

  var facts: ProtocolFacts {
    switch self {
    case .v4: .v4
    case .v5: .v5
    case .v6: .v6
    }
  }
}
