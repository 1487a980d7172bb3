internal import SluicegateCore

/// Lends bytes to core for the length of one call, as an address and a count, without a copy where
/// they lie in one piece.
func lending<Answer>(
  _ bytes: some Sequence<UInt8>, to call: (_ address: UInt64, _ count: UInt64) throws -> Answer
) rethrows -> Answer {
  let lent = try bytes.withContiguousStorageIfAvailable { storage in
    try call(address(storage.baseAddress.map(UnsafeRawPointer.init)), UInt64(storage.count))
  }
  if let lent { return lent }
  return try Array(bytes).withUnsafeBytes { storage in
    try call(address(storage.baseAddress), UInt64(storage.count))
  }
}

private func address(_ pointer: UnsafeRawPointer?) -> UInt64 { UInt64(UInt(bitPattern: pointer)) }

extension ItemsOp {
  /// The items that core answered, copied out of its buffers, once.
  func items() throws(SluicegateError) -> [Item] {
    var items: [Item] = []
    for index in 0..<count() { items.append(try item(at: index)) }
    return items
  }

  private func item(at index: UInt64) throws(SluicegateError) -> Item {
    // Core's buffers are good until this operation is released.
    defer { withExtendedLifetime(self) {} }
    return try Item(
      kind: kind(index: index), payload: borrowed(address(index: index), size(index: index)),
      meta: borrowed(metaAddress(index: index), metaSize(index: index)))
  }
}

/// Bytes that core lends, to be read for as long as it does.
func borrowed(_ address: UInt64, _ count: UInt64) -> UnsafeRawBufferPointer {
  guard count > 0 else { return UnsafeRawBufferPointer(start: nil, count: 0) }
  return UnsafeRawBufferPointer(
    start: UnsafeRawPointer(bitPattern: UInt(address)), count: Int(count))
}

extension Item {
  /// An item out of what core lends, copied.
  init(
    kind: UInt8, payload: UnsafeRawBufferPointer, meta: UnsafeRawBufferPointer
  ) throws(SluicegateError) {
    let value: Value =
      switch kind {
      case 0: .bytes(Array(payload))
      case 1: .text(String(decoding: payload, as: UTF8.self))
      default: try Value(encoded: payload)
      }
    self.init(value: value, meta: meta.isEmpty ? nil : try Value(encoded: meta))
  }
}
