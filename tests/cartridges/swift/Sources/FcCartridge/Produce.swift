import Foundation
import Sluicegate

/// Caps that make values.
enum Produce {
  static let produceCap: Cap = "cap:fc-produce;in=media:json;out=media:blob"
  static let foreverCap = Cap("cap:fc-forever;in=media:blob;out=media:blob", isStreaming: true)
  static let twoCap = Cap(
    "cap:fc-two;in=media:json;out=media:blob", outputs: [Cap.Output("media:second")])

  private struct Plan: Decodable {
    var chunks: UInt64
    var size: Int?

    /// Reads the plan from the first value of the input.
    init(of request: Request) async throws {
      guard let first = try await request.input().recv() else { throw wrong("the input is empty") }
      guard let json = first.value.bytes else { throw wrong("the plan is not a byte string") }
      do {
        self = try JSONDecoder().decode(Plan.self, from: Data(json))
      } catch {
        throw wrong("the plan is not JSON with a number of chunks: \(error)")
      }
      if let size, size < 0 { throw wrong("a size of \(size)") }

      func wrong(_ what: String) -> SluicegateError {
        SluicegateError(.invalidArgument, what, code: "BAD_PLAN", class: .input)
      }
    }
  }

  /// Integers, or a pattern of bytes, as many as the plan says.
  @Sendable static func produce(_ request: Request) async throws {
    let plan = try await Plan(of: request)
    let output = try request.output
    guard let size = plan.size else { return try await integers(plan.chunks, to: output) }
    var offset: UInt64 = 0
    for _ in 0..<plan.chunks {
      let start = offset
      try await output.write((0..<size).map { pattern(start + UInt64($0)) })
      offset += UInt64(size)
    }
  }

  /// Byte `i` of what is produced.
  private static func pattern(_ i: UInt64) -> UInt8 { UInt8((i * 31 + 7) % 251) }

  private static func integers(_ count: UInt64, to output: Sluicegate.OutputStream) async throws {
    for n in 0..<count { try await output.emit(Value(n)) }
  }

  /// Integers without end from a detached task, until the request is cancelled.
  @Sendable static func forever(_ request: Request) async throws {
    try request.output.start(unbounded: true)
    let sender = try request.streamSender()
    let detached = Task.detached {
      var n: UInt64 = 0
      while true {
        try await sender.emit(Value(n))
        n += 1
      }
    }
    _ = try await detached.value
  }

  /// The same integers on two outputs, from two tasks at once.
  @Sendable static func two(_ request: Request) async throws {
    let plan = try await Plan(of: request)
    let (main, second) = (try request.output, try request.output("media:second"))
    async let beside: Void = integers(plan.chunks, to: second)
    try await integers(plan.chunks, to: main)
    try await beside
  }
}
