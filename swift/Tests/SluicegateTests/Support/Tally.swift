/// Counts elements: how many were made, and how many of them are alive.
final class Tally: Sendable {
  let made = Counter()
  let alive = Counter()

  func make() -> Tallied {
    made.add()
    alive.add()
    return Tallied(made.value, self)
  }

  /// Waits until all that was made was released.
  func isEven() async { await until { self.alive.value == 0 } }
}

/// An element that tells its ``Tally`` when it is released. Releasing one twice would end the program.
final class Tallied: Sendable {
  let n: Int
  /// How often it has gone round a loop.
  let turns = Counter()
  private let tally: Tally

  fileprivate init(_ n: Int, _ tally: Tally) {
    self.n = n
    self.tally = tally
  }

  deinit { tally.alive.add(-1) }
}
