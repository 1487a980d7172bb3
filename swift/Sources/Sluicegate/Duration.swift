/// A time as core counts it, as many microseconds as 64 bits can hold; one below zero is none.
func microseconds(_ duration: Duration) -> UInt64 { duration.clamped(unitsPerSecond: 1_000_000) }

/// A limit for a whole call, request or stream as core takes it: `nil` for none, and for more than a
/// hundred years.
func limitMicroseconds(_ limit: Duration?) -> UInt64? {
  guard let limit, limit < .seconds(100 * 365 * 86_400) else { return nil }
  return microseconds(limit)
}

extension Duration {
  /// Nanoseconds, as many as 64 bits can hold.
  var clampedNanoseconds: UInt64 { clamped(unitsPerSecond: 1_000_000_000) }

  fileprivate func clamped(unitsPerSecond units: UInt64) -> UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    let (whole, over) = UInt64(seconds).multipliedReportingOverflow(by: units)
    let fraction = UInt64(attoseconds) / (1_000_000_000_000_000_000 / units)
    let (sum, carry) = whole.addingReportingOverflow(fraction)
    return over || carry ? .max : sum
  }
}
