// The reference cartridge in Swift: every cap of `tests/cartridges/README.md`.
import Sluicegate

var cartridge = Cartridge(
  name: "reference-swift", version: "1.0.0", description: "Every reference cap, in Swift")
cartridge.handle(Flow.echoCap, Flow.echo)
cartridge.handle(Flow.itemsCap, Flow.items)
cartridge.handle(Flow.feedCap, Flow.items)
cartridge.handle(Flow.peerCap, Flow.peer)
cartridge.handle(Flow.sinkCap, Flow.sink)
cartridge.handle(Flow.slowCap, Flow.slow)
cartridge.handle(Flow.multiCap, Flow.multi)
cartridge.handle(Flow.stderrCap, Flow.stderr)
cartridge.handle(Flow.xorCap, Flow.xor)
cartridge.handle(Produce.produceCap, Produce.produce)
cartridge.handle(Produce.foreverCap, Produce.forever)
cartridge.handle(Produce.twoCap, Produce.two)
cartridge.handle(Checksum.digestCap, Checksum.digest)
try await cartridge.run()
