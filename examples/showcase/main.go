// A fold, and a hub that shares one source with two listeners.
package main

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/sluicegate/sluicegate/go/flow"
)

func line(numbers []int) string { return strings.Trim(fmt.Sprint(numbers), "[]") }

// must keeps the example short.
func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	ctx := context.Background()
	scope := must(flow.NewScope("showcase"))
	defer scope.Close()

	// The sink's value is the sum of what the chain gives.
	squares := flow.Via(flow.Range(1, 11), flow.Map(func(n int) int { return n * n }))
	add := func(sum, n int) (int, error) { return sum + n, nil }
	sum := must(flow.Run(ctx, scope, squares, flow.Reduce(0, add)))
	fmt.Println("sum of squares:", must(sum.Wait(ctx)))

	// A hub shares one source with whoever subscribes; each listener asks for itself. The hub waits for
	// the slower one, so both hear everything.
	hub := flow.BroadcastHub[int](flow.HubOptions{})
	running := must(flow.To(flow.ManualSource[int](flow.EdgeOptions{}), hub).Run(ctx, scope))
	control := must(flow.ManualOf[int](running))
	listen := running.Result.Subscribe
	all := must(flow.Run(ctx, scope, listen(flow.HubWait), flow.Collect[int]()))
	even := func(n int) bool { return n%2 == 0 }
	evens := must(flow.Run(ctx, scope, listen(flow.HubWait).Filter(even), flow.Collect[int]()))
	for n := 1; n <= 5; n++ {
		must(control.Offer(ctx, n))
	}
	control.Complete()
	fmt.Println("all:", line(must(all.Wait(ctx))))
	fmt.Println("evens:", line(must(evens.Wait(ctx))))
}
