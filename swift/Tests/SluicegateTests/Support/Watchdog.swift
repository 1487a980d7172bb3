import Foundation
import Sluicegate
import XCTest

/// Runs `body`; a body that hangs ends the test program with a message instead.
func watched<Answer: Sendable>(
  _ limit: Duration = .seconds(240), _ name: String = #function,
  _ body: @Sendable () async throws -> Answer
) async throws -> Answer {
  let dog = Task {
    guard (try? await Task.sleep(for: limit)) != nil else { return }
    fatalError("\(name) hangs: it did not end within \(limit)")
  }
  defer { dog.cancel() }
  return try await body()
}

/// Asks again, giving way in between, until `condition` holds; the watchdog bounds it.
func until(_ condition: () -> Bool) async {
  while !condition() { await Task.yield() }
}

/// Resident memory of this process, in bytes, once the allocator has given back all that is free: its
/// pools grow with the number of threads that happened to free at once.
func residentMemory() throws -> Int {
  if let trim = dlsym(nil, "malloc_trim") {
    _ = unsafeBitCast(trim, to: (@convention(c) (Int) -> Int32).self)(0)
  }
  let statm = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
  let pages = statm.split(separator: " ")[1]
  return (Int(pages) ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
}

/// The error that `body` throws.
func thrown(by body: () async throws -> Void) async -> (any Error)? {
  do {
    try await body()
    return nil
  } catch {
    return error
  }
}

/// The kind of the error that `body` throws, if it is one of the library's.
func kind(_ body: () async throws -> Void) async -> SluicegateError.Kind? {
  await thrown(by: body).flatMap { ($0 as? SluicegateError)?.kind }
}
