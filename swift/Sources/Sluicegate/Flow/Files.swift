import Foundation
internal import SluicegateCore

/// Where a pipeline reads bytes from, or writes them to.
public enum StreamFile: Sendable {
  /// The file at this path. Each run opens it, and closes it at its end; a run that writes makes it, or
  /// discards what it held.
  case path(String)
  /// A descriptor that is open and blocks. It stays the caller's, to be closed after the run. Runs once:
  /// another run throws `alreadySubscribed`.
  case descriptor(Int32)
  /// The descriptor of a handle, which is kept while the blueprint is. Runs once, as a descriptor does.
  case handle(FileHandle)

  fileprivate var refusal: String? {
    switch self {
    case .path: nil
    case .descriptor, .handle: "a file that is open runs once; give its path instead"
    }
  }
}

extension Source where Out == String, Mat == NotUsed {
  /// The lines of a file, without their ends (`\n` or `\r\n`).
  ///
  /// The file is opened when the first line is asked for, and read only while a line is wanted and none
  /// has been read: what one read takes beyond that line, 16 KiB at most, is kept for those behind it. A
  /// line of more than `maxBytes` fails the stream with `limitReached`, one that is no UTF-8 with
  /// `malformed`, what the system refuses with `io`. Reads hold a thread of the scope. One that blocks is
  /// not interrupted: a scope that is shut down waits for it within its limit.
  ///
  /// Throws `invalidArgument` for lines of 0 bytes.
  public static func lines(
    _ file: StreamFile, maxBytes: UInt64 = 65_536
  ) throws(SluicegateError) -> Self {
    try reading(file, "lines", "a line length", maxBytes) { Lines(file, max: maxBytes) }
  }
}

extension Source where Out == [UInt8], Mat == NotUsed {
  /// A file in pieces of at most `size` bytes, each as large as one read gives, and never more than a MiB.
  ///
  /// A piece is read once it is asked for, and none ahead. The file is opened, and fails the stream, as in
  /// ``lines(_:maxBytes:)``.
  ///
  /// Throws `invalidArgument` for pieces of 0 bytes.
  public static func chunks(
    _ file: StreamFile, size: UInt64 = 65_536
  ) throws(SluicegateError) -> Self {
    try reading(file, "chunks", "a chunk", size) { Chunks(file, size: size) }
  }
}

extension Source where Mat == NotUsed {
  fileprivate static func reading<Reader: IteratorOfFile>(
    _ file: StreamFile, _ name: String, _ what: String, _ size: UInt64,
    _ reader: @escaping @Sendable () -> Reader
  ) throws(SluicegateError) -> Self where Reader.Element == Out {
    guard size > 0 else {
      throw SluicegateError(.invalidArgument, "\(what) of 0 bytes: it must be 1 or more")
    }
    let generated = sourceGenerated(
      make: Generating {
        let reader = reader()
        return Calling { _ in
          guard let element = try reader.next() else { return .no }
          return .values(tokens: [give(element)])
        }
      }
    ).named(name: name)
    guard let refusal = file.refusal else { return Source(generated, .none()) }
    return Source(generated.once(message: "\(name): \(refusal)"), .none())
  }
}

extension Sink where In: Sequence, In.Element == UInt8, Mat == Completion<UInt64> {
  /// Writes each element to a file. The completion's value is how many bytes were written.
  ///
  /// The next element is asked for once the last was written. The file is opened with the first element,
  /// or at the end if there is none. What the system refuses fails the stream with `io`; a pipe whose
  /// reader has gone does too, and raises no signal. A write that blocks is not interrupted.
  public static func writer(_ file: StreamFile) -> Self {
    Self(file) { element, opened in
      let whole: Void? = try element.withContiguousStorageIfAvailable {
        try opened.put(UnsafeRawBufferPointer($0))
      }
      if whole == nil { try Array(element).withUnsafeBytes(opened.put) }
    }
  }
}

extension Sink where In == String, Mat == Completion<UInt64> {
  /// ``Sink/writer(_:)`` for text, as UTF-8. It adds nothing: a line needs its end.
  public static func writer(_ file: StreamFile) -> Self {
    Self(file) { element, opened in
      var element = element
      try element.withUTF8 { try opened.put(UnsafeRawBufferPointer($0)) }
    }
  }
}

extension Sink where Mat == Completion<UInt64> {
  fileprivate init(_ file: StreamFile, _ put: @escaping @Sendable (In, Writing) throws -> Void) {
    let write = Flow<In, Writing?, NotUsed>.fold(nil) { writing, element in
      let writing = try writing ?? Writing(file)
      try put(element, writing)
      return writing
    }
    let flush = Flow<Writing?, UInt64, NotUsed>.map { try ($0 ?? Writing(file)).finish() }
    let flow = write.named("writer").via(flush.named("flush")).core
    let core = flow.to(sink: sinkEnd(last: true))
    self.init(
      file.refusal.map { core.once(message: "writer: \($0)") } ?? core,
      .one { run, index in Completion(try run.completion(index: index)) { look($0[0]) } })
  }
}

/// An open file for the length of one run: closed with its last reference if the run has opened it.
private final class OpenFile: Sendable {
  private let descriptor: Int32
  private let kept: FileHandle?
  private let ours: Bool

  init(_ file: StreamFile, _ flags: Int32) throws {
    switch file {
    case .path(let path):
      let opened = try posix("open") { Int(open(path, flags | O_CLOEXEC, 0o666)) }
      (descriptor, kept, ours) = (Int32(opened), nil, true)
    case .descriptor(let given): (descriptor, kept, ours) = (given, nil, false)
    case .handle(let handle): (descriptor, kept, ours) = (handle.fileDescriptor, handle, false)
    }
  }

  deinit { if ours { close(descriptor) } }

  /// Reads into `buffer` once. 0 is the end.
  func take(_ buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    try posix("read") { read(descriptor, buffer.baseAddress, buffer.count) }
  }

  /// Writes all of it.
  func put(_ bytes: UnsafeRawBufferPointer) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let some = UnsafeRawBufferPointer(rebasing: rest)
      let taken = try posix("write") {
        withoutBrokenPipeSignal { write(descriptor, some.baseAddress, some.count) }
      }
      rest = rest.dropFirst(taken)
    }
  }
}

/// What a call of the system answers; again if a signal came in between.
private func posix(_ what: String, _ call: () -> Int) throws -> Int {
  while true {
    let answer = call()
    if answer >= 0 { return answer }
    let code = errno
    if code != EINTR { throw SluicegateError(.io, "\(what): \(String(cString: strerror(code)))") }
  }
}

/// A write to a pipe that nobody reads is an error of the write; the signal that comes with it, which
/// would end the program, is taken off this thread.
private func withoutBrokenPipeSignal(_ write: () -> Int) -> Int {
  var (signals, before, raised) = (sigset_t(), sigset_t(), sigset_t())
  sigemptyset(&signals)
  sigaddset(&signals, SIGPIPE)
  sigpending(&raised)
  let waited = sigismember(&raised, SIGPIPE) == 1  // somebody else's
  pthread_sigmask(SIG_BLOCK, &signals, &before)
  let answer = write()
  let code = errno
  if answer < 0, code == EPIPE, !waited {
    sigpending(&raised)
    var signal: Int32 = 0
    if sigismember(&raised, SIGPIPE) == 1 { sigwait(&signals, &signal) }
  }
  pthread_sigmask(SIG_SETMASK, &before, nil)
  errno = code
  return answer
}

/// What reads a file: opened with the first element, closed at the end.
private protocol IteratorOfFile: Sendable {
  associatedtype Element: Sendable
  func next() throws -> Element?
}

/// The file of one run, as its reads go on.
///
/// `@unchecked Sendable`: an island is asked by one thread at a time.
private final class Reading: @unchecked Sendable {
  private let file: StreamFile
  private var opened: OpenFile?
  private var over = false
  private var buffer: [UInt8]

  init(_ file: StreamFile, buffer: Int) {
    self.file = file
    self.buffer = [UInt8](repeating: 0, count: buffer)
  }

  /// What one read gives; nothing at the end, and then the file is closed.
  func some() throws -> ArraySlice<UInt8> {
    if over { return [] }
    let opened = try self.opened ?? OpenFile(file, O_RDONLY)
    self.opened = opened
    let n = try buffer.withUnsafeMutableBytes(opened.take)
    if n == 0 { (self.opened, over) = (nil, true) }
    return buffer[..<n]
  }
}

private final class Chunks: IteratorOfFile {
  private let reading: Reading

  init(_ file: StreamFile, size: UInt64) {
    reading = Reading(file, buffer: Int(min(size, 1 << 20)))
  }

  func next() throws -> [UInt8]? {
    let chunk = try reading.some()
    return chunk.isEmpty ? nil : Array(chunk)
  }
}

/// `@unchecked Sendable`: an island is asked by one thread at a time.
private final class Lines: IteratorOfFile, @unchecked Sendable {
  private let reading: Reading
  private let max: Int
  private var held: [UInt8] = []
  private var begin = 0  // of the next line, in what is held
  private var number = 0

  init(_ file: StreamFile, max: UInt64) {
    reading = Reading(file, buffer: 16_384)
    self.max = Int(clamping: max)
  }

  func next() throws -> String? {
    number += 1
    var seen = begin
    while true {
      if let end = held[seen...].firstIndex(of: UInt8(ascii: "\n")) {
        defer { begin = end + 1 }
        let line = held[begin..<end]
        return try text(line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
      }
      // Its end may be on its way, in two bytes.
      if held.count - begin - 1 > max { throw tooLong }
      held.removeSubrange(..<begin)
      (begin, seen) = (0, held.count)
      let more = try reading.some()
      if more.isEmpty {
        defer { held = [] }
        return try held.isEmpty ? nil : text(held[...])
      }
      held += more
    }
  }

  private var tooLong: SluicegateError {
    SluicegateError(.limitReached, "line \(number) is longer than \(max) bytes")
  }

  private func text(_ line: ArraySlice<UInt8>) throws -> String {
    guard line.count <= max else { throw tooLong }
    let text = String(decoding: line, as: UTF8.self)
    // What is no UTF-8 was replaced.
    guard text.utf8.elementsEqual(line) else {
      throw SluicegateError(.malformed, "line \(number) is no UTF-8")
    }
    return text
  }
}

/// What one run writes.
///
/// `@unchecked Sendable`: an island is asked by one thread at a time.
private final class Writing: @unchecked Sendable {
  private var opened: OpenFile?
  private var written: UInt64 = 0

  init(_ file: StreamFile) throws {
    opened = try OpenFile(file, O_WRONLY | O_CREAT | O_TRUNC)
  }

  func put(_ bytes: UnsafeRawBufferPointer) throws {
    try opened?.put(bytes)
    written += UInt64(bytes.count)
  }

  /// Closes it; answers how many bytes were written.
  func finish() -> UInt64 {
    opened = nil
    return written
  }
}
