import Sluicegate
import XCTest

/// The version of the protocol that an engine speaks to its cartridges in.
final class VersionTests: XCTestCase {
  func testACartridgeSpeaksTheVersionOfItsEngine() async throws {
    try await watched {
      for version in ProtocolVersion.allCases {
        let engine = Engine(protocolVersion: version)
        let peer = try await engine.spawn(try Reference.command)
        let call = try peer.call(Reference.echo)
        let feeding = try Reference.feed(call, 20)
        let items = try await call.output().collectItems()
        try await feeding.value
        _ = try await call.wait()
        XCTAssertEqual(items.map(\.value), (0..<20).map { Value($0) }, "\(version)")
        await engine.close()
      }
    }
  }
}
