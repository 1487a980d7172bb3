import Sluicegate
import SluicegateCore
import XCTest

final class ErrorTests: XCTestCase {
  /// The cases of `Kind` are core's table, in its order.
  func testKindsAreCoresTable() {
    let rows = errorKinds()
    XCTAssertEqual(SluicegateError.Kind.allCases.map(\.rawValue), rows.map(\.number))
    for (kind, row) in zip(SluicegateError.Kind.allCases, rows) {
      let name = row.name.prefix(1).lowercased() + row.name.dropFirst()
      XCTAssertEqual("\(kind)", name)
      XCTAssertEqual(kind.code, row.code)
      XCTAssertEqual(kind.attributionClass.rawValue, row.class)
      XCTAssertEqual(kind.text, row.text)
    }
  }

  func testSaysWhatItIs() {
    XCTAssertEqual("\(SluicegateError(.closed, "", code: ""))", "closed")
    XCTAssertEqual("\(SluicegateError(.closed, "", code: "END"))", "END")
    XCTAssertEqual("\(SluicegateError(.peerDied, "exit 1"))", "PEER_DIED: exit 1")
    let own = SluicegateError(code: "MINE", class: .user, message: "no")
    XCTAssertEqual(own.kind, .remote)
    XCTAssertEqual(own.attributionClass, .user)
  }
}
