/// Values on their way over the border to core, as CBOR in the one form that core writes: definite
/// lengths, shortest heads, 64-bit floats. What comes off the wire was decoded and checked by core.
extension Value {
  private enum Major {
    static let unsigned: UInt8 = 0
    static let negative: UInt8 = 1
    static let bytes: UInt8 = 2
    static let text: UInt8 = 3
    static let array: UInt8 = 4
    static let map: UInt8 = 5
    static let tag: UInt8 = 6
    static let simple: UInt8 = 7
  }

  private enum Simple {
    static let no: UInt64 = 20
    static let yes: UInt64 = 21
    static let null: UInt64 = 22
    static let undefined: UInt64 = 23
  }

  /// The value's CBOR.
  func encoded() -> [UInt8] {
    var out: [UInt8] = []
    encode(into: &out)
    return out
  }

  private func encode(into out: inout [UInt8]) {
    switch self {
    case .unsigned(let number): Self.head(Major.unsigned, number, into: &out)
    case .negative(let number): Self.head(Major.negative, number, into: &out)
    case .bytes(let bytes):
      Self.head(Major.bytes, UInt64(bytes.count), into: &out)
      out.append(contentsOf: bytes)
    case .text(let text):
      Self.head(Major.text, UInt64(text.utf8.count), into: &out)
      out.append(contentsOf: text.utf8)
    case .array(let elements):
      Self.head(Major.array, UInt64(elements.count), into: &out)
      for element in elements { element.encode(into: &out) }
    case .map(let entries):
      Self.head(Major.map, UInt64(entries.count), into: &out)
      for entry in entries {
        entry.key.encode(into: &out)
        entry.value.encode(into: &out)
      }
    case .tagged(let tag, let value):
      Self.head(Major.tag, tag, into: &out)
      value.encode(into: &out)
    case .bool(let bool): Self.head(Major.simple, bool ? Simple.yes : Simple.no, into: &out)
    case .null: Self.head(Major.simple, Simple.null, into: &out)
    case .undefined, .simple(20...31): Self.head(Major.simple, Simple.undefined, into: &out)
    case .simple(let number): Self.head(Major.simple, UInt64(number), into: &out)
    case .float(let number):
      out.append(Major.simple << 5 | 27)
      Self.bigEndian(number.bitPattern, bytes: 8, into: &out)
    }
  }

  private static func head(_ major: UInt8, _ argument: UInt64, into out: inout [UInt8]) {
    let top = major << 5
    switch argument {
    case 0..<24: out.append(top | UInt8(argument))
    case 24...0xFF: put(24, 1)
    case 0x100...0xFFFF: put(25, 2)
    case 0x1_0000...0xFFFF_FFFF: put(26, 4)
    default: put(27, 8)
    }
    func put(_ size: UInt8, _ bytes: Int) {
      out.append(top | size)
      bigEndian(argument, bytes: bytes, into: &out)
    }
  }

  private static func bigEndian(_ number: UInt64, bytes: Int, into out: inout [UInt8]) {
    for shift in stride(from: (bytes - 1) * 8, through: 0, by: -8) {
      out.append(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
    }
  }

  /// The one value that `encoded` holds.
  init(encoded: UnsafeRawBufferPointer) throws(SluicegateError) {
    var reader = Reader(rest: encoded[...])
    self = try reader.value()
    guard reader.rest.isEmpty else { throw reader.malformed("bytes follow the value") }
  }

  private struct Reader {
    var rest: Slice<UnsafeRawBufferPointer>

    func malformed(_ what: String) -> SluicegateError {
      SluicegateError(.malformed, "the value is not CBOR as core writes it: \(what)")
    }

    mutating func value() throws(SluicegateError) -> Value {
      let first = try take(1)[0]
      let info = first & 31
      let argument = try argument(info)
      switch first >> 5 {
      case Major.unsigned: return .unsigned(argument)
      case Major.negative: return .negative(argument)
      case Major.bytes: return .bytes(Array(try take(argument)))
      case Major.text: return .text(String(decoding: try take(argument), as: UTF8.self))
      case Major.array:
        var elements: [Value] = []
        for _ in 0..<argument { elements.append(try value()) }
        return .array(elements)
      case Major.map:
        var entries: [Entry] = []
        for _ in 0..<argument { entries.append(Entry(try value(), try value())) }
        return .map(entries)
      case Major.tag: return .tagged(argument, try value())
      default: return try simple(info, argument)
      }
    }

    private func simple(_ info: UInt8, _ argument: UInt64) throws(SluicegateError) -> Value {
      switch (info, argument) {
      case (27, let bits): return .float(Double(bitPattern: bits))
      case (25, _), (26, _): throw malformed("a short float")
      case (_, Simple.no): return .bool(false)
      case (_, Simple.yes): return .bool(true)
      case (_, Simple.null): return .null
      case (_, Simple.undefined): return .undefined
      default: return .simple(UInt8(truncatingIfNeeded: argument))
      }
    }

    private mutating func argument(_ info: UInt8) throws(SluicegateError) -> UInt64 {
      switch info {
      case 0..<24: return UInt64(info)
      case 24...27:
        var number: UInt64 = 0
        for byte in try take(1 << UInt64(info - 24)) { number = number << 8 | UInt64(byte) }
        return number
      default: throw malformed("an indefinite length")
      }
    }

    private mutating func take(_ count: UInt64) throws(SluicegateError) -> UnsafeRawBufferPointer {
      guard count <= UInt64(rest.count) else { throw malformed("it ends early") }
      let taken = rest.prefix(Int(count))
      rest = rest.dropFirst(Int(count))
      return UnsafeRawBufferPointer(rebasing: taken)
    }
  }
}
