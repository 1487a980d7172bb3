import Sluicegate

/// What `source` gives, on a scope of its own.
func all<Out: Sendable, Mat>(_ source: Source<Out, Mat>) async throws -> [Out] {
  try await withScope("test") { scope in
    try await source.to(.collect()).run(on: scope).value(within: .seconds(120))
  }
}
