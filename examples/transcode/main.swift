// A live feed into a cartridge in another process, and what comes back through a pipeline.
//
// Usage: transcode CARTRIDGE, a program that answers cap:fc-feed (tests/cartridges).
import Foundation
import Sluicegate

guard CommandLine.arguments.count == 2 else {
  FileHandle.standardError.write(Data("usage: transcode CARTRIDGE\n".utf8))
  exit(2)
}
let engine = Engine()
let transcoder = try await engine.spawn(Command(CommandLine.arguments[1]))
let call = try transcoder.call("cap:fc-feed;in=media:feed-frames;out=media:items")
let frames = try call.input("media:feed-frames")

// Twenty frames; the ring could hold them all.
let feed = try Feed(capacity: 64)
let capture = Thread {
  for n in 0..<20 {
    _ = try? feed.push([UInt8](repeating: UInt8(n), count: 1000), at: .milliseconds(5 * n))
  }
  feed.stop()
}
capture.start()
async let served: Void = {
  try await feed.serve(frames)
  try await call.finishInput()
}()

try await withScope("transcode") { scope in
  // Items are offered as they come; the pipeline's demand decides how fast.
  let graph = try Source<Item, Manual<Item>>.manual()
    .compactMap { FeedMeta($0)?.seq }
    .toMat(.collect()) { ($0, $1) }
  let (control, result) = try graph.run(on: scope)
  for try await item in try await call.output() { try await control.offer(item) }
  control.complete()
  let numbers = try await result.value()
  print("\(numbers.count) frames came back, in order: \(numbers == numbers.sorted())")
}
try await served
_ = try await call.wait()
let stats = try feed.stats()
let conserved = stats.captured == stats.delivered + stats.dropped
print("captured \(stats.captured), captured = delivered + dropped: \(conserved)")
await engine.close()
