package flow_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/sluicegate/sluicegate/go/flow"
)

// A blueprint runs as often as one likes, each time from its start.
func Example() {
	scope, err := flow.NewScope("example")
	if err != nil {
		panic(err)
	}
	defer scope.Close()
	ctx := context.Background()
	words := flow.Of(strings.Split("how  many letters", " ")...).Filter(func(w string) bool { return w != "" })
	lengths := flow.Via(words, flow.Map(func(w string) int { return len(w) }))
	for range 2 {
		fmt.Println(lengths.Collect(ctx, scope))
	}
	// Output:
	// [3 4 7] <nil>
	// [3 4 7] <nil>
}

// Leaving the loop cancels the pipeline, so an endless source is no harm.
func ExampleSource_All() {
	scope, err := flow.NewScope("example")
	if err != nil {
		panic(err)
	}
	defer scope.Close()
	for n, err := range flow.Range(1, 1<<62).All(context.Background(), scope) {
		if err != nil {
			panic(err)
		}
		if n > 3 {
			break
		}
		fmt.Println(n)
	}
	// Output:
	// 1
	// 2
	// 3
}

// What is offered waits for demand from below; the completion has the sink's result.
func ExampleManualSource() {
	scope, err := flow.NewScope("example")
	if err != nil {
		panic(err)
	}
	defer scope.Close()
	ctx := context.Background()
	sum := flow.Reduce(0, func(sum, n int) (int, error) { return sum + n, nil })
	running, err := flow.To(flow.ManualSource[int](flow.EdgeOptions{Capacity: 2}), sum).Run(ctx, scope)
	if err != nil {
		panic(err)
	}
	source, err := flow.ManualOf[int](running)
	if err != nil {
		panic(err)
	}
	for n := range 5 {
		if _, err := source.Offer(ctx, n); err != nil {
			panic(err)
		}
	}
	source.Complete()
	fmt.Println(running.Result.Wait(ctx))
	// Output: 10 <nil>
}

// A page is fetched when a row of it is wanted, and not before.
func ExamplePages() {
	scope, err := flow.NewScope("example")
	if err != nil {
		panic(err)
	}
	defer scope.Close()
	rows := flow.Pages(1, 0, func(page int) (flow.Rows[string, int], error) {
		fmt.Println("fetch page", page)
		return flow.Rows[string, int]{Rows: []string{fmt.Sprint(page, "a"), fmt.Sprint(page, "b")}, Next: page + 1, More: page < 9}, nil
	})
	fmt.Println(rows.Take(3).Collect(context.Background(), scope))
	// Output:
	// fetch page 1
	// fetch page 2
	// [1a 1b 2a] <nil>
}

// Even numbers go round again as their half, until they are odd.
func ExampleFeedback() {
	scope, err := flow.NewScope("example")
	if err != nil {
		panic(err)
	}
	defer scope.Close()
	halve := flow.Map(func(n int) flow.Round[int, string] {
		if n%2 == 0 {
			return flow.Again[string](n / 2)
		}
		return flow.Out[int](fmt.Sprint("odd ", n))
	})
	odd := flow.Via(flow.Of(12, 5), flow.Feedback(1, halve))
	fmt.Println(odd.Collect(context.Background(), scope))
	// Output: [odd 3 odd 5] <nil>
}

func ExampleToWriter() {
	scope, err := flow.NewScope("example")
	if err != nil {
		panic(err)
	}
	defer scope.Close()
	ctx := context.Background()
	open := func() (io.Reader, error) { return strings.NewReader("one\ntwo\n"), nil }
	loud := flow.Map(func(line string) string { return strings.ToUpper(line) + "!\n" })
	written, err := flow.Run(ctx, scope, flow.Via(flow.Lines(80, open), loud), flow.ToWriter[string](os.Stdout))
	if err != nil {
		panic(err)
	}
	fmt.Println(written.Wait(ctx))
	// Output:
	// ONE!
	// TWO!
	// 10 <nil>
}

// Everybody who listens gets every element, at a pace that its policy decides.
func ExampleBroadcastHub() {
	scope, err := flow.NewScope("example")
	if err != nil {
		panic(err)
	}
	defer scope.Close()
	ctx := context.Background()
	hub, err := flow.Run(ctx, scope, flow.Of("a", "b"), flow.BroadcastHub[string](flow.HubOptions{}))
	if err != nil {
		panic(err)
	}
	// The hub holds the source until somebody listens.
	fmt.Println(hub.Subscribe(flow.HubWait).Collect(ctx, scope))
	// Output: [a b] <nil>
}

// A failure of a stage comes out as the very error that its function answered.
func ExampleSource_Recover() {
	scope, err := flow.NewScope("example")
	if err != nil {
		panic(err)
	}
	defer scope.Close()
	parse := flow.TryMap(func(s string) (n int, err error) {
		_, err = fmt.Sscan(s, &n)
		return n, err
	})
	numbers := flow.Via(flow.Of("1", "2", "x"), parse).Recover(func(failure error) (int, error) {
		fmt.Println("failed:", failure)
		return -1, nil
	})
	fmt.Println(numbers.Collect(context.Background(), scope))
	// Output:
	// failed: expected integer
	// [1 2 -1] <nil>
}
