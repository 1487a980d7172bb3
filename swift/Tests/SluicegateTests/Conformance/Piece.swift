import Foundation
import Sluicegate

/// What flows: numbers, and groups behind a batch.
enum Piece: Sendable, Hashable {
  case number(UInt64)
  indirect case group([Piece])

  var number: UInt64 {
    guard case .number(let number) = self else { preconditionFailure("a group, not a number") }
    return number
  }

  /// As a script writes it, in one text.
  var text: String {
    switch self {
    case .number(let number): "\"\(number)\""
    case .group(let pieces): "[" + pieces.map(\.text).joined(separator: ",") + "]"
    }
  }

  static func text(_ json: Any) throws -> String {
    switch json {
    case let number as String: return "\"\(number)\""
    case let pieces as [Any]: return "[" + (try pieces.map(text)).joined(separator: ",") + "]"
    default: throw ReplayFailure("no element: \(json)")
    }
  }
}

/// Stages of lines, as scripts tell of them.
typealias Line = Flow<Piece, Piece, NotUsed>

extension Flow where In == Piece, Out == Piece, Mat == NotUsed {
  /// One stage of a script, under `name`.
  static func scripted(_ json: Any, _ name: String) throws -> Line {
    var told = try Fields(json)
    let kind = try told.text("stage")
    let line: Line
    switch kind {
    case "map_add":
      let k = try told.number("k")
      line = Line.map { .number($0.number &+ k) }.named(name)
    case "filter_mod":
      let (m, r) = (try told.number("m"), try told.number("r"))
      line = Line.filter { m != 0 && $0.number % m == r }.named(name)
    case "take": line = Line.prefix(try told.number("n")).named(name)
    case "drop": line = Line.dropFirst(try told.number("n")).named(name)
    case "page":
      line = try Line.page(try told.number("size"), mark: try told.number("mark")).named(name)
    case "expand":
      let k = try told.number("k")
      line = Line.flatMap { piece in
        (0..<k).map { .number(piece.number &* k &+ $0) }
      }.named(name)
    case "batch":
      line = try Flow<Piece, [Piece], NotUsed>.batch(try told.number("k")).named(name)
        .via(Flow<[Piece], Piece, NotUsed>.map { .group($0) }.named("plain"))
    default: throw ReplayFailure("unknown stage \(kind)")
    }
    try told.done()
    return line
  }
}
