/// SHA-256 (FIPS 180-4) over bytes that come in pieces.
public struct SHA256: Sendable {
  private var state: [UInt32] = [
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a,
    0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
  ]
  private var pending: [UInt8] = []
  private var count: UInt64 = 0

  private static let blockSize = 64

  /// The digest of nothing yet.
  public init() {}

  /// Takes the next bytes in.
  public mutating func update(_ bytes: [UInt8]) {
    count &+= UInt64(bytes.count)
    bytes.withUnsafeBytes { update($0) }
  }

  private mutating func update(_ bytes: UnsafeRawBufferPointer) {
    var rest = bytes[...]
    if !pending.isEmpty {
      let missing = rest.prefix(Self.blockSize - pending.count)
      pending.append(contentsOf: missing)
      rest = rest.dropFirst(missing.count)
      guard pending.count == Self.blockSize else { return }
      pending.withUnsafeBytes { Self.compress(UnsafeRawBufferPointer($0), into: &state) }
      pending.removeAll(keepingCapacity: true)
    }
    while rest.count >= Self.blockSize {
      let block = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.blockSize))
      Self.compress(block, into: &state)
      rest = rest.dropFirst(Self.blockSize)
    }
    pending.append(contentsOf: rest)
  }

  /// The 32 bytes of the digest of all that was taken in.
  public func finalized() -> [UInt8] {
    var last = self
    let bits = count &* 8
    var padding: [UInt8] = [0x80]
    let used = (pending.count + 1 + 8) % Self.blockSize
    padding.append(contentsOf: repeatElement(0, count: (Self.blockSize - used) % Self.blockSize))
    padding.append(contentsOf: (0..<8).map { UInt8(truncatingIfNeeded: bits >> (56 - 8 * $0)) })
    padding.withUnsafeBytes { last.update($0) }
    return last.state.flatMap { word in
      (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * $0)) }
    }
  }

  /// The digest in lower-case hexadecimal digits.
  public func hexadecimal() -> String {
    let digits = Array("0123456789abcdef")
    return String(finalized().flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
  }

  private static func compress(_ block: UnsafeRawBufferPointer, into state: inout [UInt32]) {
    withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { w in
      for i in 0..<16 {
        let word = block.loadUnaligned(fromByteOffset: i * 4, as: UInt32.self)
        w.initializeElement(at: i, to: UInt32(bigEndian: word))
      }
      for i in 16..<64 {
        let (a, b) = (w[i - 15], w[i - 2])
        let s0 = rotate(a, 7) ^ rotate(a, 18) ^ (a >> 3)
        let s1 = rotate(b, 17) ^ rotate(b, 19) ^ (b >> 10)
        w.initializeElement(at: i, to: w[i - 16] &+ s0 &+ w[i - 7] &+ s1)
      }
      state.withUnsafeMutableBufferPointer { state in
        constants.withUnsafeBufferPointer { k in rounds(UnsafeBufferPointer(w), k, state) }
      }
    }
  }

  private static func rounds(
    _ w: UnsafeBufferPointer<UInt32>, _ k: UnsafeBufferPointer<UInt32>,
    _ state: UnsafeMutableBufferPointer<UInt32>
  ) {
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    for i in 0..<64 {
      let s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
      let first = h &+ s1 &+ ((e & f) ^ (~e & g)) &+ k[i] &+ w[i]
      let s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
      let second = s0 &+ ((a & b) ^ (a & c) ^ (b & c))
      (h, g, f, e) = (g, f, e, d &+ first)
      (d, c, b, a) = (c, b, a, first &+ second)
    }
    for (i, word) in [a, b, c, d, e, f, g, h].enumerated() { state[i] &+= word }
  }

  private static func rotate(_ word: UInt32, _ by: UInt32) -> UInt32 {
    (word >> by) | (word << (32 - by))
  }

  private static let constants: [UInt32] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4,
    0xab1c_5ed5, 0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe,
    0x9bdc_06a7, 0xc19b_f174, 0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f,
    0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da, 0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7,
    0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967, 0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc,
    0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85, 0xa2bf_e8a1, 0xa81a_664b,
    0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070, 0x19a4_c116,
    0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7,
    0xc671_78f2,
  ]
}
