// The reference host in Swift: `tests/hosts/README.md` says what it does.
import Foundation
import Sluicegate

/// The line of what did not go well.
func tell(_ error: any Error) throws {
  let known = error as? SluicegateError
  let code = try json(known?.code ?? "")
  let message = try json(known?.message ?? String(describing: error))
  print(#"{"ok":false,"code":\#(code),"message":\#(message)}"#)
}

func json(_ text: String) throws -> String {
  let encoder = JSONEncoder()
  encoder.outputFormatting = .withoutEscapingSlashes
  return String(decoding: try encoder.encode(text), as: UTF8.self)
}

func run(_ order: Order, on engine: Engine) async throws -> Int32 {
  let peer: Peer
  do {
    peer = try await engine.spawn(order.command)
  } catch {
    try tell(error)
    return 1
  }
  for _ in 0..<order.calls {
    do {
      print(#"{"ok":true,"bytes":\#(try await once(peer, order))}"#)
    } catch {
      try tell(error)
    }
  }
  await peer.close()  // waits until it is gone
  return 0
}

guard let order = Order(Array(CommandLine.arguments.dropFirst())) else {
  let usage = "usage: HOST CARTRIDGE CAP CHUNKS SIZE CALLS [CANCEL_MS]\n"
  FileHandle.standardError.write(Data(usage.utf8))
  exit(2)
}
let engine = Engine()
let status = try await run(order, on: engine)
await engine.close()
exit(status)
