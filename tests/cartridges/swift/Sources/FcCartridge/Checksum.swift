import Digest
import Sluicegate

/// The cap that hashes.
enum Checksum {
  static let digestCap: Cap = "cap:fc-digest;in=media:blob;out=media:json"

  /// Answers how much came, in how many values, and its SHA-256.
  @Sendable static func digest(_ request: Request) async throws {
    var hash = SHA256()
    var (bytes, chunks) = (0, 0)
    for try await chunk in try await request.input().chunks {
      hash.update(chunk)
      bytes += chunk.count
      chunks += 1
    }
    let answer = #"{"bytes":\#(bytes),"chunks":\#(chunks),"sha256":"\#(hash.hexadecimal())"}"#
    try await request.output.write(answer.utf8)
  }
}
