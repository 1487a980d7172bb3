import Foundation
import Sluicegate

/// One call; answers how many bytes of content came.
func once(_ peer: Peer, _ order: Order) async throws -> Int {
  let call = try peer.call(order.cap)
  return try await withThrowingTaskGroup(of: Void.self) { group in
    group.addTask { try await send(order, to: call) }  // why it could not is seen at the end
    if let limit = order.cancelAfter {
      group.addTask {
        try await Task.sleep(for: limit)
        call.cancel(SluicegateError(.cancelled, "the host was told to cancel", class: .user))
      }
    }
    let received: Int
    do {
      received = try await receive(call, from: peer)
    } catch {
      _ = try await call.wait()  // how the call ended explains best
      throw error
    }
    _ = try await call.wait()
    group.cancelAll()
    return received
  }
}

private func send(_ order: Order, to call: Call) async throws {
  let stream = try call.input(order.argument)
  for chunk in 0..<order.chunks {
    let start = chunk * order.size
    try await stream.write((start..<start + order.size).map { UInt8(($0 % 251 * 31 + 7) % 251) })
  }
  try await call.finishInput()
}

/// How many bytes of content came. With HOST_STATS, what both ends say of the connection goes there: the
/// host once a value has come, the cartridge in what comes after that.
private func receive(_ call: Call, from peer: Peer) async throws -> Int {
  var bytes = 0
  var told: [UInt8] = []
  for try await item in try await call.output() {
    bytes += item.value.bytes?.count ?? item.value.text?.utf8.count ?? 0
    if told.isEmpty {
      told = Array("\(peer.statsJSON)\n".utf8)
    } else if let content = item.value.bytes {
      told += content
    }
  }
  if let path = ProcessInfo.processInfo.environment["HOST_STATS"] {
    try Data(told).write(to: URL(fileURLWithPath: path))
  }
  return bytes
}
