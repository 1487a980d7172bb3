import Foundation

/// A connection whose far end says what a test has it say: frames of version 6, by hand.
struct Played {
  /// What the near end reads from and writes to; whoever it is given to owns it.
  let near: (reading: Int32, writing: Int32)
  private let far: (reading: Int32, writing: Int32)

  init() throws {
    let (toNear, toFar) = (try pipe(), try pipe())
    near = (toNear.reading, toFar.writing)
    far = (toFar.reading, toNear.writing)
  }

  /// Says frames, of which all fit into the pipe.
  func says(_ frames: [UInt8]...) {
    FileHandle(fileDescriptor: far.writing).write(Data(frames.joined()))
  }

  /// Waits until the near end has begun to speak.
  func hears() async throws {
    let reading = far.reading
    let first = await withCheckedContinuation { heard in
      Thread.detachNewThread {  // reading holds a thread
        heard.resume(returning: FileHandle(fileDescriptor: reading).readData(ofLength: 4).count)
      }
    }
    guard first == 4 else { throw POSIXError(.EPIPE) }
  }

  /// Hangs up.
  func end() {
    for descriptor in [far.writing, far.reading] {
      try? FileHandle(fileDescriptor: descriptor).close()
    }
  }

  /// A HELLO that proposes the ordinary limits and a window of 32 chunks.
  static let hello = bytes(
    "00000058a5000601000200030005a5696d61785f6672616d651a00380000696d61785f6368756e6b1a00040000"
      + "726d61785f72656f726465725f62756666657218406e696e697469616c5f63726564697418206776657273696f6e06")
  /// What a switch says to a host that it takes in: the network is free, requests may be routed.
  static let policy = bytes(
    "00000022a50006010f0200030005a2676e6574776f726b6466756c6c68726f757461626c65f5")
  /// A chunk of a request that there never was, 99.
  static let stray = bytes("0000001da80006010302186303000641000b62696e0e00101baf63bd4c8601b7df")

  private static func bytes(_ hex: String) -> [UInt8] {
    let digits = hex.utf8.map { UInt8($0 < 97 ? $0 - 48 : $0 - 87) }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }
}
