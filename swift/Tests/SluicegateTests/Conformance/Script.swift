import Foundation

/// Why a replay failed.
struct ReplayFailure: Error, CustomStringConvertible {
  var description: String

  init(_ description: String) { self.description = description }

  func at(_ place: String) -> ReplayFailure { ReplayFailure("\(place): \(description)") }
}

/// What an operation answered, in the words of the scripts.
enum Answer: Hashable {
  case nothing
  case word(String)
  case closed(String)

  init(_ json: Any) throws {
    switch json {
    case is NSNull: self = .nothing
    case let word as String: self = .word(word)
    case let object as [String: Any]:
      var fields = Fields(object)
      self = .closed(try fields.text("closed"))
      try fields.done()
    default: throw ReplayFailure("no answer: \(json)")
    }
  }

  static let timedOut = Answer.word("timed_out")
  static let cancelled = Answer.word("cancelled")
}

/// One object of a script. Whoever reads it says `done()`, so that an unknown key is a failure.
struct Fields {
  private var rest: [String: Any]

  init(_ object: [String: Any]) { rest = object }

  init(_ json: Any) throws {
    guard let object = json as? [String: Any] else { throw ReplayFailure("no object: \(json)") }
    rest = object
  }

  mutating func take(_ key: String) throws -> Any {
    guard let value = rest.removeValue(forKey: key) else { throw ReplayFailure("no key \(key)") }
    return value
  }

  mutating func text(_ key: String) throws -> String {
    guard let text = try take(key) as? String else { throw ReplayFailure("\(key) is no text") }
    return text
  }

  mutating func optionalText(_ key: String) throws -> String? {
    let value = try take(key)
    if value is NSNull { return nil }
    guard let text = value as? String else { throw ReplayFailure("\(key) is no text") }
    return text
  }

  mutating func number(_ key: String) throws -> UInt64 {
    let text = try text(key)
    guard let number = UInt64(text) else { throw ReplayFailure("\(key) is no number: \(text)") }
    return number
  }

  mutating func optionalNumber(_ key: String) throws -> UInt64? {
    guard let text = try optionalText(key) else { return nil }
    guard let number = UInt64(text) else { throw ReplayFailure("\(key) is no number: \(text)") }
    return number
  }

  mutating func list(_ key: String) throws -> [Any] {
    guard let list = try take(key) as? [Any] else { throw ReplayFailure("\(key) is no list") }
    return list
  }

  mutating func object(_ key: String) throws -> [String: Any] {
    guard let object = try take(key) as? [String: Any] else {
      throw ReplayFailure("\(key) is no object")
    }
    return object
  }

  mutating func answer() throws -> Answer { try Answer(take("answer")) }

  func done() throws {
    guard rest.isEmpty else { throw ReplayFailure("unknown keys \(rest.keys.sorted())") }
  }
}

/// One script: what it opens with, and its steps.
struct Script {
  let file: String
  let name: String
  let machine: String
  let head: [String: Any]
  let steps: [Any]

  var place: String { "\(file): \"\(name)\"" }

  fileprivate init(_ json: Any, machine: String, file: String) throws {
    guard var object = json as? [String: Any],
      let name = object.removeValue(forKey: "name") as? String,
      let steps = object.removeValue(forKey: "steps") as? [Any]
    else { throw ReplayFailure("a script without name or steps") }
    self.file = file
    self.name = name
    self.machine = machine
    self.steps = steps
    head = object
  }

  /// Where the scripts lie.
  static func folder(_ kind: String) -> URL {
    repository.appendingPathComponent("tests/conformance/\(kind)")
  }

  /// The files of a folder, in order of their names. Whatever lies there is a file of scripts.
  static func files(_ kind: String) throws -> [URL] {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder(kind).path).sorted()
    guard !names.isEmpty else { throw ReplayFailure("no scripts in \(kind)") }
    return names.map { folder(kind).appendingPathComponent($0) }
  }

  /// The scripts of a file, `.json.gz` or `.json`.
  static func read(_ file: URL) throws -> [Script] {
    let name = file.lastPathComponent
    do {
      guard name.hasSuffix(".json.gz") || name.hasSuffix(".json") else {
        throw ReplayFailure("neither .json.gz nor .json")
      }
      let data = try name.hasSuffix(".gz") ? unpacked(file) : Data(contentsOf: file)
      var top = try Fields(JSONSerialization.jsonObject(with: data))
      _ = try top.text("generated")
      let machine = try top.text("machine")
      let scripts = try top.list("scripts").map { try Script($0, machine: machine, file: name) }
      try top.done()
      return scripts
    } catch {
      throw ReplayFailure("\(name): \(error)")
    }
  }

  /// Foundation unpacks nothing; every system with this package's tools has gunzip.
  private static func unpacked(_ file: URL) throws -> Data {
    let gunzip = Process()
    gunzip.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    gunzip.arguments = ["gunzip", "--stdout", file.path]
    let output = Pipe()
    gunzip.standardOutput = output
    gunzip.standardError = FileHandle.nullDevice
    try gunzip.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    gunzip.waitUntilExit()
    guard gunzip.terminationStatus == 0 else {
      throw ReplayFailure("gunzip ended with \(gunzip.terminationStatus)")
    }
    return data
  }
}

/// The folder that holds everything, found from this file.
let repository = URL(fileURLWithPath: #filePath)
  .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  .deletingLastPathComponent().deletingLastPathComponent()
