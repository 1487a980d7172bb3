import Digest
import XCTest

final class SHA256Tests: XCTestCase {
  private func digest(_ bytes: [UInt8]) -> String {
    var hash = SHA256()
    hash.update(bytes)
    return hash.hexadecimal()
  }

  func testKnownAnswers() {
    XCTAssertEqual(
      digest([]), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    XCTAssertEqual(
      digest(Array("abc".utf8)),
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    XCTAssertEqual(
      digest(Array("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8)),
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
    XCTAssertEqual(
      digest(Array(repeating: UInt8(ascii: "a"), count: 1_000_000)),
      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
  }

  func testPiecesOfAnySizeGiveTheSameDigest() {
    let bytes = (0..<1_000).map { UInt8(truncatingIfNeeded: $0 * 7) }
    let whole = digest(bytes)
    for size in [1, 3, 55, 56, 63, 64, 65, 127, 128, 129, 999] {
      var hash = SHA256()
      for start in stride(from: 0, to: bytes.count, by: size) {
        hash.update(Array(bytes[start..<min(start + size, bytes.count)]))
      }
      XCTAssertEqual(hash.hexadecimal(), whole, "pieces of \(size)")
      XCTAssertEqual(hash.hexadecimal(), whole, "asking changes nothing")
    }
  }
}
