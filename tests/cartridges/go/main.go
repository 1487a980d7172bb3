// The reference cartridge in Go: every cap of tests/cartridges/README.md, and an example of each
// kind of handler.
package main

import (
	"os"
	"strconv"

	"github.com/sluicegate/sluicegate/go"
)

// second is the media of the outputs beside the main one.
const second = "media:second"

func main() {
	window, _ := strconv.ParseUint(os.Getenv("FC_WINDOW"), 10, 64) // without one the default
	c := sluicegate.NewCartridge(sluicegate.Manifest{
		Name: "reference-go", Version: "1.0.0", Description: "Every reference cap, in Go",
		Limits: sluicegate.Limits{InitialCredit: window},
	})
	further := []sluicegate.CapOutput{{Media: second}}
	c.HandleFunc("cap:fc-echo;in=media:blob;out=media:blob", echo)
	c.Handle(sluicegate.Cap{
		URN:           "cap:fc-items;in=media:items;out=media:items",
		InputSequence: true, OutputSequence: true,
	}, items)
	c.Handle(sluicegate.Cap{
		URN:           "cap:fc-feed;in=media:feed-frames;out=media:items",
		InputSequence: true, OutputSequence: true, Streaming: true,
	}, items)
	c.HandleFunc("cap:fc-peer;in=media:blob;out=media:blob", peer)
	c.HandleFunc("cap:fc-produce;in=media:json;out=media:blob", produce)
	c.HandleFunc("cap:fc-sink;in=media:blob;out=media:json", sink)
	c.HandleFunc("cap:fc-slow;in=media:blob;out=media:json", slow)
	c.HandleFunc("cap:fc-digest;in=media:blob;out=media:json", digest)
	c.Handle(sluicegate.Cap{URN: "cap:fc-forever;in=media:blob;out=media:blob", Streaming: true}, forever)
	c.Handle(sluicegate.Cap{URN: "cap:fc-two;in=media:json;out=media:blob", Outputs: further}, two)
	c.Handle(sluicegate.Cap{URN: "cap:fc-multi;in=media:blob;out=media:text", Outputs: further}, multi)
	c.HandleFunc("cap:fc-stderr;in=media:blob;out=media:text", stderr)
	c.HandleFunc("cap:fc-crash;in=media:blob;out=media:blob", crash)
	c.HandleFunc("cap:rot13;in=media:blob;out=media:blob", rot13)
	if os.Getenv("FC_STATS") != "" {
		c.HandleFunc("cap:fc-stats;in=media:blob;out=media:json", stats(c))
	}
	c.Main()
}
