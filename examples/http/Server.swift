// A server of one kind of answer, on the system's sockets: Swift's own library has none.
import Dispatch
import Foundation

#if canImport(Glibc)
  import Glibc
  private let stream = Int32(SOCK_STREAM.rawValue)
#else
  import Darwin
  private let stream = SOCK_STREAM
#endif

/// A client that waits for its answer. Writing waits for the client, off the tasks' threads.
struct Client: Sendable {
  fileprivate let descriptor: Int32

  /// Sends a text; false once the client has left.
  func send(_ text: String) async -> Bool {
    await withCheckedContinuation { done in
      DispatchQueue.global().async {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
          let sent = rest.withUnsafeBytes {
            Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
          }
          guard sent > 0 else { return done.resume(returning: false) }
          rest = rest.dropFirst(sent)
        }
        done.resume(returning: true)
      }
    }
  }

  /// One piece of a chunked answer; the empty one is the end.
  func chunk(_ text: String) async -> Bool {
    await send("\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n")
  }

  /// The path that the client asks for. Read to the end of the request's head: what is left unread at
  /// the close would cut the answer off.
  fileprivate func request() -> String {
    var head = ""
    var bytes = [UInt8](repeating: 0, count: 4096)
    while !head.hasSuffix("\r\n\r\n"), head.utf8.count < 65_536 {
      let count = recv(descriptor, &bytes, bytes.count, 0)
      guard count > 0 else { break }
      head += String(decoding: bytes.prefix(count), as: UTF8.self)
    }
    let line = head.split(separator: " ")
    return line.count > 1 ? String(line[1]) : ""
  }
}

/// Answers clients for ever, each in a task of its own.
func serve(port: UInt16, _ answer: @escaping @Sendable (String, Client) async -> Void) -> Never {
  let listener = socket(AF_INET, stream, 0)
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = port.bigEndian
  address.sin_addr.s_addr = inet_addr("127.0.0.1")
  var size = socklen_t(MemoryLayout<sockaddr_in>.size)
  withUnsafeMutablePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      guard bind(listener, $0, size) == 0, listen(listener, 64) == 0,
        getsockname(listener, $0, &size) == 0
      else { fatalError("cannot listen: \(String(cString: strerror(errno)))") }
    }
  }
  print("listening on \(UInt16(bigEndian: address.sin_port))")
  fflush(nil)
  while true {
    let client = Client(descriptor: accept(listener, nil, nil))
    guard client.descriptor >= 0 else { continue }
    DispatchQueue.global().async {
      let path = client.request()
      Task {
        await answer(path, client)
        close(client.descriptor)
      }
    }
  }
}
