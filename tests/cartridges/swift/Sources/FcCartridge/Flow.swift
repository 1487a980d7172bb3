import Foundation
import Sluicegate

/// Caps that pass values on or swallow them.
enum Flow {
  static let echoCap: Cap = "cap:fc-echo;in=media:blob;out=media:blob"
  static let itemsCap = Cap(
    "cap:fc-items;in=media:items;out=media:items", inputIsSequence: true, outputIsSequence: true)
  static let feedCap = Cap(
    "cap:fc-feed;in=media:feed-frames;out=media:items", inputIsSequence: true,
    outputIsSequence: true)
  static let peerCap: Cap = "cap:fc-peer;in=media:blob;out=media:blob"
  static let sinkCap: Cap = "cap:fc-sink;in=media:blob;out=media:json"
  static let slowCap: Cap = "cap:fc-slow;in=media:blob;out=media:json"
  static let multiCap = Cap(
    "cap:fc-multi;in=media:blob;out=media:text", outputs: [Cap.Output("media:second")])
  static let crashCap: Cap = "cap:fc-crash;in=media:blob;out=media:blob"
  static let stderrCap: Cap = "cap:fc-stderr;in=media:blob;out=media:text"
  static let xorCap: Cap = "cap:xor;in=media:blob;out=media:blob"

  /// Each value back as it comes, one at a time.
  @Sendable static func echo(_ request: Request) async throws {
    let output = try request.output
    for try await item in try await request.input() {
      try await output.emit(item.value)
      try await output.flush()
    }
  }

  /// Each item back with its meta.
  @Sendable static func items(_ request: Request) async throws {
    let output = try request.output
    for try await item in try await request.input() {
      try await output.emitItem(item.value, meta: item.meta)
    }
  }

  /// Calls another cap with what came, and answers what that answers.
  @Sendable static func peer(_ request: Request) async throws {
    let output = try request.output
    let bytes = try await request.input().collectBytes()
    let call = try request.peer(
      ProcessInfo.processInfo.environment["FC_PEER_CAP"] ?? echoCap.urn)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await call.input("media:blob").write(bytes)
        try await call.finishInput()
      }
      group.addTask {
        for try await item in try await call.output() { try await output.emit(item.value) }
        _ = try await call.wait()
      }
      try await group.waitForAll()
    }
  }

  /// Reads everything at full speed.
  @Sendable static func sink(_ request: Request) async throws {
    try await count(request, work: .zero)
  }

  /// Reads everything, with work after each value.
  @Sendable static func slow(_ request: Request) async throws {
    let setting = ProcessInfo.processInfo.environment["SLOW_MS"].flatMap(Int.init)
    try await count(request, work: .milliseconds(setting ?? 20))
  }

  private static func count(_ request: Request, work: Duration) async throws {
    var values = 0
    for try await _ in try await request.input() {
      values += 1
      if work > .zero { try await Task.sleep(for: work) }  // the work of this cap
    }
    try await request.output.write(String(values).utf8)
  }

  /// Two outputs, a log, a progress and a last word.
  @Sendable static func multi(_ request: Request) async throws {
    request.log("working")
    request.progress(0.5, "half")
    try await request.output.emit("main")
    try await request.output("media:second").emit("second")
    try await request.finish(progress: 0.9, message: "done")
  }

  /// Writes 10 MiB to stderr, then answers.
  @Sendable static func stderr(_ request: Request) async throws {
    let line = Data(repeating: UInt8(ascii: "x"), count: 1023) + Data("\n".utf8)
    for _ in 0..<10 * 1024 { try FileHandle.standardError.write(contentsOf: line) }
    try await request.output.emit("done")
  }

  /// Ends the process without an answer.
  @Sendable static func crash(_ request: Request) async throws {
    for try await _ in try await request.input() {}
    try FileHandle.standardError.write(contentsOf: Data("one\ntwo\nthe last words\n".utf8))
    exit(3)
  }

  /// Each byte xor 0x5a.
  @Sendable static func xor(_ request: Request) async throws {
    let output = try request.output
    for try await var bytes in try await request.input().chunks {
      for i in bytes.indices { bytes[i] ^= 0x5a }
      try await output.write(bytes)
    }
  }
}
