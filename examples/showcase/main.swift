// A chain with a folded result, and a hub with two listeners.
import Sluicegate

func line(_ numbers: [Int]) -> String { numbers.map(String.init).joined(separator: " ") }

try await withScope("showcase") { scope in
  // The sink's value is the sum of what the chain gives.
  let squares = Source(1...10).map { $0 * $0 }
  let sum = try await squares.to(.fold(0) { $0 + $1 }).run(on: scope).value()
  print("sum of squares: \(sum)")

  // A hub shares one source with whoever subscribes; each listener asks for itself. The hub waits for
  // the slower one, so both hear everything.
  let graph = try Source<Int, Manual<Int>>.manual().toMat(try .broadcastHub()) { ($0, $1) }
  let (control, hub) = try graph.run(on: scope)
  let all = try hub.subscribe().to(.collect()).run(on: scope)
  let evens = try hub.subscribe().filter { $0.isMultiple(of: 2) }.to(.collect()).run(on: scope)
  for n in 1...5 { try await control.offer(n) }
  control.complete()
  print("all: \(line(try await all.value()))")
  print("evens: \(line(try await evens.value()))")
}
