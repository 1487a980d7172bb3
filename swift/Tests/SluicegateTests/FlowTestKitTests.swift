import Foundation
import Sluicegate
import XCTest

/// Faults of a transport, from one seed.
final class FlowTestKitTests: XCTestCase {
  private static let cap: Cap = "cap:echo;in=media:blob;out=media:blob"

  private static func cartridge() -> Cartridge {
    var cartridge = Cartridge(name: "echo", version: "1")
    cartridge.handle(cap) { request in
      let output = try request.output
      for try await item in try await request.input() {
        try await output.emit(item.value)
        try await output.flush()
      }
    }
    return cartridge
  }

  /// A cartridge behind a transport with faults, and its peer.
  private static func attached(
    _ engine: Engine, reads: Faults, writes: Faults
  ) async throws -> (Peer, Task<Void, any Error>) {
    let (toCartridge, toHost) = (try pipe(), try pipe())
    let cartridge = cartridge()
    let running = Task {
      try await cartridge.run(reading: toCartridge.reading, writing: toHost.writing)
    }
    let peer = try await engine.attach(
      reading: toHost.reading, writing: toCartridge.writing, reads: reads, writes: writes)
    return (peer, running)
  }

  private static func echo(_ peer: Peer, _ count: Int) async throws -> [Int] {
    let call = try peer.call(cap.urn)
    async let back = call.output().collectItems()
    let input = try call.input("media:blob")
    for n in 0..<count { try await input.emit(Value(n)) }
    try await call.finishInput()
    let items = try await back
    _ = try await call.wait()
    return items.compactMap { $0.value.int }
  }

  func testSplitAndDelayedAndShuffledLinksLoseNothing() async throws {
    try await watched {
      try await withSeed { seed in
        let engine = Engine()
        let shuffle = Faults.Shuffle(limit: .milliseconds(2))
        let peers = try await withThrowingTaskGroup(of: Peer.self) { group in
          for link in 0..<2 {
            group.addTask {
              try await Self.attached(
                engine,
                reads: Faults(
                  seed: seed.fork("reads \(link)"), delay: .microseconds(20), splits: true,
                  shuffle: shuffle),
                writes: Faults(seed: seed.fork("writes \(link)"), splits: true, shuffle: shuffle)
              ).0
            }
          }
          return try await group.reduce(into: []) { $0.append($1) }
        }
        async let first = Self.echo(peers[0], 50)
        async let second = Self.echo(peers[1], 50)
        let (one, two) = (try await first, try await second)
        XCTAssertEqual(one, Array(0..<50))
        XCTAssertEqual(two, Array(0..<50))
        await engine.close()
      }
    }
  }

  func testALinkThatIsCutFailsWhatRuns() async throws {
    try await watched {
      try await withSeed { seed in
        let engine = Engine()
        let (peer, running) = try await Self.attached(
          engine,
          reads: Faults(
            seed: seed.fork("reads"), splits: true, cutAfter: 3_000 + seed.fork("cut") % 5_000),
          writes: Faults(seed: seed.fork("writes"), splits: true))
        let error = await thrown { _ = try await Self.echo(peer, 100_000) }
        XCTAssertTrue(error is SluicegateError, "\(error!)")
        let gone = try await peer.died()
        XCTAssertEqual(peer.dead, gone)
        await engine.close()
        _ = await running.result
      }
    }
  }

  func testASeedGivesTheSameEachTime() {
    let seed = Seed(7)
    XCTAssertEqual(seed.fork("reads"), Seed(7).fork("reads"))
    XCTAssertNotEqual(seed.fork("reads"), seed.fork("writes"))
    XCTAssertNotEqual(seed.fork("reads"), Seed(8).fork("reads"))
  }

  func testAPublisherAwaitsDemandAndSaysWhatCame() async throws {
    try await watched {
      try await withScope("test") { scope in
        let graph = try Source<Int, Publisher<Int>>.probe(limit: .seconds(120))
          .toMat(.probe(limit: .seconds(120))) { ($0, $1) }
        let (publisher, subscriber) = try graph.run(on: scope)
        let short = Duration.milliseconds(50)
        let none = await thrown { try await publisher.within(short).expectDemand() }
        XCTAssertEqual((none as? ProbeFailure)?.came, "demand for 0")
        let nothing = await thrown { try await subscriber.within(short).expectComplete() }
        XCTAssertEqual((nothing as? ProbeFailure)?.came, "nothing within \(short)")
        try subscriber.request(3)
        await until { publisher.control.demand == 3 }
        try await publisher.expectDemand(3)
        try await publisher.sendNext(1)
        try await subscriber.expectNext(1)
        subscriber.cancel()
        await until { publisher.control.isOver }
        try await publisher.expectCancel()
        let gone = await thrown { try await publisher.expectDemand(9) }
        XCTAssertEqual((gone as? ProbeFailure)?.came, "cancel")
      }
    }
  }
}
