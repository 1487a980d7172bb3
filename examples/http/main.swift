// `GET /stream?n=5` answers numbers, one JSON line each: one pipeline a request. A reader that is slow
// makes the pipeline wait, one that leaves cancels it.
import Foundation
import Sluicegate

/// How many numbers the last pipeline has made.
final class Made: @unchecked Sendable {
  private let lock = NSLock()
  private var count: UInt64 = 0
  var value: UInt64 { lock.withLock { count } }
  func add() { lock.withLock { count += 1 } }
  func restart() { lock.withLock { count = 0 } }
}

let made = Made()
let scope = try Scope("http")

@Sendable func stream(_ n: UInt64, _ client: Client) async {
  made.restart()
  let lines = Source(UInt64(0)...)
    .tap { _ in made.add() }
    .map { $0 * 2 }
    .prefix(n)
    .map { "{\"value\":\($0)}\n" }
  guard let outlet = try? lines.run(on: scope),
    await client.send(
      "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n"
        + "Connection: close\r\n\r\n")
  else { return }
  while let line = try? await outlet.next() {
    guard await client.chunk(line) else {
      outlet.cancel()  // the client has left: nothing more is made
      print("cancelled after \(made.value)")
      fflush(nil)
      return
    }
  }
  _ = await client.chunk("")
}

@Sendable func answer(_ path: String, _ client: Client) async {
  func text(_ status: String, _ text: String) async {
    _ = await client.send(
      "HTTP/1.1 \(status)\r\nContent-Length: \(text.utf8.count)\r\nConnection: close\r\n\r\n\(text)")
  }
  let asked = "/stream?n="
  if path == "/stream" || path.hasPrefix("/stream?") {
    let digits = path.hasPrefix(asked) && !path.hasPrefix(asked + "+")
    if digits, let n = UInt64(path.dropFirst(asked.count)) {
      await stream(n, client)
    } else {
      await text("400 Bad Request", "n must be a whole number from 0 to \(UInt64.max)\n")
    }
  } else if path == "/made" {
    await text("200 OK", "\(made.value)")
  } else {
    await text("404 Not Found", "GET /stream?n=5 or /made\n")
  }
}

serve(port: CommandLine.arguments.dropFirst().first.flatMap { UInt16($0) } ?? 9292, answer)
