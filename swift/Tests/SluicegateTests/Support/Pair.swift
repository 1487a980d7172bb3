import Foundation
import Sluicegate

/// A host and a cartridge in this process, joined by two pipes.
struct Pair {
  let engine: Engine
  let peer: Peer
  /// Ends when the cartridge's session has.
  let running: Task<Void, any Error>

  init(_ cartridge: Cartridge, limits: Limits = Limits()) async throws {
    let (toCartridge, toHost) = (try pipe(), try pipe())
    running = Task {
      try await cartridge.run(reading: toCartridge.reading, writing: toHost.writing)
    }
    engine = Engine(limits: limits)
    peer = try await engine.attach(reading: toHost.reading, writing: toCartridge.writing)
  }

  /// Serves one cap and calls it; ends both when `body` does.
  static func with<Answer: Sendable>(
    _ cap: Cap, limits: Limits = Limits(), handler: @escaping Cartridge.Handler,
    _ body: @Sendable (Call) async throws -> Answer
  ) async throws -> Answer {
    var cartridge = Cartridge(name: "tested", version: "1.0.0")
    cartridge.handle(cap, handler)
    let pair = try await Pair(cartridge, limits: limits)
    let answer = try await body(pair.peer.call(cap.urn))
    await pair.engine.close()
    try await pair.running.value
    return answer
  }
}

/// Both ends of a new pipe.
func pipe() throws -> (reading: Int32, writing: Int32) {
  var ends: [Int32] = [0, 0]
  guard systemPipe(&ends) == 0 else { throw POSIXError(.EMFILE) }
  return (ends[0], ends[1])
}

#if canImport(Glibc)
  import Glibc
  private let systemPipe: @Sendable (UnsafeMutablePointer<Int32>) -> Int32 = { Glibc.pipe($0) }
#else
  import Darwin
  private let systemPipe: @Sendable (UnsafeMutablePointer<Int32>) -> Int32 = { Darwin.pipe($0) }
#endif
