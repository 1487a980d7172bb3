// A source that is fed by hand, a chain of stages, and a sink that collects what comes out.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/sluicegate/sluicegate/go/flow"
)

func main() {
	ctx := context.Background()
	scope, err := flow.NewScope("basic") // owns the threads of what runs
	if err != nil {
		log.Fatal(err)
	}
	defer scope.Close()

	// A blueprint: nothing runs yet, and it could run any number of times.
	doubled := flow.Via(flow.ManualSource[int](flow.EdgeOptions{}), flow.Map(func(n int) int { return n * 2 }))
	graph := flow.To(doubled.Filter(func(n int) bool { return n%2 == 0 }).Take(3), flow.Collect[int]())

	// A run gives the result of its sink, and the control of its source.
	running, err := graph.Run(ctx, scope)
	if err != nil {
		log.Fatal(err)
	}
	control, err := flow.ManualOf[int](running)
	if err != nil {
		log.Fatal(err)
	}
	for n := 1; n <= 5; n++ {
		// Waits while the queue is full. After the third element nobody takes any: that is told here.
		if _, err := control.Offer(ctx, n); err != nil {
			log.Fatal(err)
		}
	}
	control.Complete()

	numbers, err := running.Result.Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, n := range numbers {
		fmt.Println(n)
	}
	fmt.Println("completed")
}
