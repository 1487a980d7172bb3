// The reference cartridge in Swift: every cap of `tests/cartridges/README.md`.
import Foundation
import Sluicegate

let environment = ProcessInfo.processInfo.environment
let window = environment["FC_WINDOW"].flatMap(UInt64.init)  // without one the default
var cartridge = Cartridge(
  name: "reference-swift", version: "1.0.0", description: "Every reference cap, in Swift",
  limits: Limits(initialCredit: window))
cartridge.handle(Flow.echoCap, Flow.echo)
cartridge.handle(Flow.itemsCap, Flow.items)
cartridge.handle(Flow.feedCap, Flow.items)
cartridge.handle(Flow.peerCap, Flow.peer)
cartridge.handle(Flow.sinkCap, Flow.sink)
cartridge.handle(Flow.slowCap, Flow.slow)
cartridge.handle(Flow.multiCap, Flow.multi)
cartridge.handle(Flow.stderrCap, Flow.stderr)
cartridge.handle(Flow.crashCap, Flow.crash)
cartridge.handle(Flow.xorCap, Flow.xor)
cartridge.handle(Produce.produceCap, Produce.produce)
cartridge.handle(Produce.foreverCap, Produce.forever)
cartridge.handle(Produce.twoCap, Produce.two)
cartridge.handle(Checksum.digestCap, Checksum.digest)
if environment["FC_STATS"] == nil {
  try await cartridge.run()
} else {
  try await Stats.serve()
}
