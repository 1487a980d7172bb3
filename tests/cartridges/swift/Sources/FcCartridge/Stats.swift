import Sluicegate

/// What a cartridge says of itself, told by one that serves by hand: a handler has no session.
enum Stats {
  static let cap: Cap = "cap:fc-stats;in=media:blob;out=media:json"

  /// Serves this cap alone, one request after the other.
  static func serve() async throws {
    var cartridge = Cartridge(name: "reference-swift", version: "1.0.0")
    cartridge.handle(cap) { _ in }  // for the manifest
    let session = try await cartridge.start()
    while let request = try await session.nextRequest() {
      try await answer(request, of: session)
      try await request.finish()
    }
  }

  /// Reads its argument, answers a window full of integers, and then what the cartridge says of itself.
  private static func answer(_ request: Request, of session: Session) async throws {
    for try await _ in try await request.input() {}
    let output = try request.output
    for n in 0..<32 {  // a window full: what comes next waits for the host to have read
      try await output.emit(.unsigned(UInt64(n)))
    }
    try await output.write(Array(session.statsJSON.utf8))
  }
}
