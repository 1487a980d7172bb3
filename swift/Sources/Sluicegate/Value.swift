/// One CBOR value (RFC 8949): what scalar streams and items carry. Types are kept: what comes as a
/// text goes on as a text.
///
/// Values are written as Swift literals, `["bytes": 3, "ok": true]`, or made with the cases. Integers
/// cover the whole range of CBOR, −2^64 to 2^64 − 1. Maps keep the order of their entries. Equality is
/// structural: `1` is not `1.0`.
public enum Value: Sendable, Hashable {
  /// An integer from 0 to 2^64 − 1.
  case unsigned(UInt64)
  /// A negative integer: `negative(n)` means −1 − n.
  case negative(UInt64)
  /// A byte string.
  case bytes([UInt8])
  /// A text.
  case text(String)
  /// An array.
  case array([Value])
  /// A map, as its entries in their order.
  case map([Entry])
  /// `false` or `true`.
  case bool(Bool)
  /// `null`.
  case null
  /// `undefined`.
  case undefined
  /// A floating-point number, 64 bits on the wire.
  case float(Double)
  /// A tagged value.
  indirect case tagged(UInt64, Value)
  /// An unassigned simple value: 0 to 19, or 32 to 255.
  case simple(UInt8)

  /// One entry of a map.
  public struct Entry: Sendable, Hashable {
    /// The key, of any type.
    public var key: Value
    /// What it maps to.
    public var value: Value

    /// An entry.
    public init(_ key: Value, _ value: Value) {
      self.key = key
      self.value = value
    }
  }
}

extension Value {
  /// An integer of any width. Traps outside of −2^64 to 2^64 − 1.
  public init(_ number: some BinaryInteger) {
    self = number < 0 ? .negative(UInt64(-1 - number)) : .unsigned(UInt64(number))
  }

  /// A text.
  public init(_ text: some StringProtocol) { self = .text(String(text)) }

  /// A byte string.
  public init(bytes: some Sequence<UInt8>) { self = .bytes(Array(bytes)) }

  /// The number, if this is an integer that `Int` can hold.
  public var int: Int? {
    switch self {
    case .unsigned(let number): Int(exactly: number)
    case .negative(let number): Int(exactly: number).map { -1 - $0 }
    default: nil
    }
  }

  /// The number, if this is an integer from 0 to 2^64 − 1.
  public var uint: UInt64? {
    if case .unsigned(let number) = self { number } else { nil }
  }

  /// The number, if this is a float or an integer. Integers beyond 2^53 are rounded.
  public var double: Double? {
    switch self {
    case .float(let number): number
    case .unsigned(let number): Double(number)
    case .negative(let number): -1 - Double(number)
    default: nil
    }
  }

  /// The contents, if this is a byte string.
  public var bytes: [UInt8]? {
    if case .bytes(let bytes) = self { bytes } else { nil }
  }

  /// The text, if this is one.
  public var text: String? {
    if case .text(let text) = self { text } else { nil }
  }

  /// The truth value, if this is one. Numbers have none.
  public var bool: Bool? {
    if case .bool(let bool) = self { bool } else { nil }
  }

  /// The elements, if this is an array.
  public var array: [Value]? {
    if case .array(let elements) = self { elements } else { nil }
  }

  /// The entries, if this is a map.
  public var map: [Entry]? {
    if case .map(let entries) = self { entries } else { nil }
  }

  /// What the text key `name` maps to, if this is a map that holds it. The first such entry counts.
  public subscript(name: String) -> Value? {
    map?.first { $0.key == .text(name) }?.value
  }
}

extension Value: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByFloatLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  // `nil` is no literal of a value: an absent `Value?` would turn into a null unseen.
  public init(integerLiteral number: Int) { self.init(number) }
  public init(stringLiteral text: String) { self = .text(text) }
  public init(booleanLiteral bool: Bool) { self = .bool(bool) }
  public init(floatLiteral number: Double) { self = .float(number) }
  public init(arrayLiteral elements: Value...) { self = .array(elements) }
  public init(dictionaryLiteral entries: (Value, Value)...) {
    self = .map(entries.map { Entry($0, $1) })
  }
}
