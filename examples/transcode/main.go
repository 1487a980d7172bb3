// A live feed into a cartridge in another process, and what comes back through a pipeline.
//
// Usage: transcode CARTRIDGE, a program that answers cap:fc-feed (tests/cartridges).
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"slices"
	"time"

	"github.com/sluicegate/sluicegate/go"
	"github.com/sluicegate/sluicegate/go/flow"
)

// must keeps the example short.
func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: transcode CARTRIDGE")
	}
	ctx := context.Background()
	engine := must(sluicegate.NewEngine(sluicegate.EngineOptions{}))
	transcoder := must(engine.Spawn(ctx, sluicegate.Command{Program: os.Args[1]}))
	call := must(transcoder.Call(ctx, "cap:fc-feed;in=media:feed-frames;out=media:items"))
	frames := must(call.Input("media:feed-frames"))

	// Twenty frames; the ring could hold them all.
	feed := must(sluicegate.NewFeed(sluicegate.FeedOptions{Capacity: 64}))
	go func() {
		for n := range 20 {
			check(feed.Push(make([]byte, 1000), time.Duration(5*n)*time.Millisecond))
		}
		feed.Stop()
	}()
	served := make(chan error, 1)
	go func() {
		err := feed.Serve(ctx, frames)
		if err == nil {
			err = call.FinishInput(ctx)
		}
		served <- err
	}()

	// Items are offered as they come; the pipeline's demand decides how fast.
	scope := must(flow.NewScope("transcode"))
	defer scope.Close()
	number := func(item sluicegate.Item) int {
		meta, _ := item.FeedMeta()
		return int(meta.Seq)
	}
	numbers := flow.Via(flow.ManualSource[sluicegate.Item](flow.EdgeOptions{}), flow.Map(number))
	running := must(flow.To(numbers, flow.Collect[int]()).Run(ctx, scope))
	control := must(flow.ManualOf[sluicegate.Item](running))
	output := must(call.Output(ctx))
	for item, err := range output.Items(ctx) {
		check(err)
		must(control.Offer(ctx, item))
	}
	control.Complete()
	came := must(running.Result.Wait(ctx))
	check(<-served)
	must(call.Wait(ctx))

	fmt.Printf("%d frames came back, in order: %t\n", len(came), slices.IsSorted(came))
	stats := feed.Stats()
	conserved := stats.Captured == stats.Delivered+stats.Dropped
	fmt.Printf("captured %d, captured = delivered + dropped: %t\n", stats.Captured, conserved)
	check(transcoder.Close(ctx))
	check(engine.Close())
}
