import Foundation
import Sluicegate

/// The command line.
struct Order: Sendable {
  let cartridge: String
  let cap: String
  let chunks: Int
  let size: Int
  let calls: Int
  let cancelAfter: Duration?

  /// Nothing for a wrong command line.
  init?(_ arguments: [String]) {
    guard (5...6).contains(arguments.count) else { return nil }
    let numbers = arguments[2...].compactMap(Int.init).filter { $0 >= 0 }
    guard numbers.count == arguments.count - 2 else { return nil }
    (cartridge, cap) = (arguments[0], arguments[1])
    (chunks, size, calls) = (numbers[0], numbers[1], numbers[2])
    cancelAfter = numbers.count == 4 ? .milliseconds(numbers[3]) : nil
  }

  /// A program, or a command line of plain words.
  var command: Command {
    let words = cartridge.split(whereSeparator: \.isWhitespace).map(String.init)
    guard let program = words.first, !FileManager.default.fileExists(atPath: cartridge) else {
      return Command(cartridge)
    }
    return Command(program, Array(words.dropFirst()))
  }

  /// The media of the cap's argument, from its URN.
  var argument: String {
    let part = cap.split(separator: ";").first { $0.hasPrefix("in=") }
    return part.map { String($0.dropFirst(3)) } ?? "media:blob"
  }
}
