// A source fed by hand, three stages, a list at the end.
import Sluicegate

try await withScope("basic") { scope in  // owns the threads, and stops them when it goes
  // A blueprint: nothing runs yet, and it can run as often as one likes.
  let graph = try Source<Int, Manual<Int>>.manual()
    .map { $0 * 2 }
    .filter { $0.isMultiple(of: 2) }
    .prefix(3)  // cancels everything above straight after the third
    .toMat(.collect()) { ($0, $1) }

  let (control, result) = try graph.run(on: scope)
  for n in 1...5 {
    try await control.offer(n)  // waits while the edge is full; says so once nobody wants more
  }
  control.complete()

  for n in try await result.value() { print(n) }
  print("completed")
}
