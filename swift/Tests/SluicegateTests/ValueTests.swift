import XCTest

@testable import Sluicegate

final class ValueTests: XCTestCase {
  private static let samples: [(Value, String)] = [
    (0, "00"), (23, "17"), (24, "1818"), (255, "18ff"), (256, "190100"), (65_536, "1a00010000"),
    (.unsigned(.max), "1bffffffffffffffff"), (-1, "20"), (-25, "3818"),
    (.negative(.max), "3bffffffffffffffff"), (.bytes([1, 2]), "420102"), ("é", "62c3a9"),
    ([], "80"), ([1, [2]], "82018102"), (["a": true], "a16161f5"), (false, "f4"), (.null, "f6"),
    (.undefined, "f7"), (1.5, "fb3ff8000000000000"), (.tagged(2, .bytes([9])), "c24109"),
    (.simple(19), "f3"), (.simple(255), "f8ff"), ([:], "a0"), ("", "60"), (.bytes([]), "40"),
  ]

  func testCodesAsCoreDoes() throws {
    for (value, hex) in Self.samples {
      let encoded = value.encoded()
      XCTAssertEqual(encoded.map { String(format: "%02x", $0) }.joined(), hex, "\(value)")
      XCTAssertEqual(try encoded.withUnsafeBytes { try Value(encoded: $0) }, value)
    }
  }

  func testRefusesWhatIsNotOneValue() {
    let broken: [[UInt8]] = [[], [0x18], [0x62, 0x61], [0x82, 1], [0xA1, 1], [1, 1], [0x9F, 0xFF], [0xF9, 0, 0]]
    for bytes in broken {
      XCTAssertThrowsError(try bytes.withUnsafeBytes { try Value(encoded: $0) }) {
        XCTAssertEqual(($0 as? SluicegateError)?.kind, .malformed)
      }
    }
  }

  func testReadsAsWhatItIs() {
    XCTAssertEqual(Value(-5).int, -5)
    XCTAssertEqual(Value(Int.min).int, Int.min)
    XCTAssertNil(Value.unsigned(.max).int)
    XCTAssertNil(Value.negative(.max).int)
    XCTAssertEqual(Value(7).double, 7)
    XCTAssertNil(Value(1).bool)
    XCTAssertNotEqual(Value(1), 1.0)
    let map: Value = ["a": 1, "a": 2, 3: "b"]
    XCTAssertEqual(map["a"], 1)
    XCTAssertNil(map["b"])
    XCTAssertEqual(map.map?.count, 3)
  }
}
