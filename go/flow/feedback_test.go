package flow_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluicegate/go"
	"github.com/sluicegate/sluicegate/go/flow"
)

// halve sends even numbers round again, as their half, and lets odd ones out.
func halve(n int) flow.Round[int, string] {
	if n%2 == 0 {
		return flow.Again[string](n / 2)
	}
	return flow.Out[int](fmt.Sprint("odd ", n))
}

func TestElementsGoRoundUntilTheyAreLetOut(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	want := "[odd 1 odd 3 odd 5]"
	for _, capacity := range []uint64{1, 2, 64} {
		body := flow.Map(halve)
		if got := lines(t, flow.Via(flow.Of(1, 3, 5), flow.Feedback(capacity, body)), ctx, scope); got != want {
			t.Errorf("awaited: %s; came: %s", want, got)
		}
		body = flow.Then(flow.Buffer[int](flow.EdgeOptions{Capacity: 1}), flow.MapParallel(3, func(n int) (flow.Round[int, string], error) { return halve(n), nil }))
		all, err := flow.Via(flow.Range(1, 100), flow.Feedback(capacity, body)).Collect(ctx, scope)
		if len(all) != 99 || err != nil {
			t.Error(len(all), err)
		}
	}
}

func TestACycleWithoutAPlaceForEachElementIsRefused(t *testing.T) {
	nothingIsLeft(t)
	all := flow.Filter(func(int) bool { return true })
	one := flow.Expand(func(n int) ([]int, error) { return []int{n}, nil })
	for what, test := range map[string]struct {
		loop flow.Flow[int, string]
		why  string
	}{
		"no place": {flow.Feedback(0, flow.Map(halve)), "a cycle without a buffer"},
		"filter":   {flow.Feedback(4, flow.Then(all, flow.Map(halve))), "more or fewer elements"},
		"expand":   {flow.Feedback(4, flow.Then(one, flow.Map(halve))), "more or fewer elements"},
		"debounce": {flow.Feedback(4, flow.Then(flow.Debounce[int](time.Second), flow.Map(halve))), "more or fewer elements"},
	} {
		if err := test.loop.Err(); !errors.Is(err, sluicegate.ErrPlanRefused) || !strings.Contains(err.Error(), test.why) {
			t.Errorf("%s: awaited: %s; came: %v", what, test.why, err)
		}
	}
	if err := flow.Feedback(1, flow.Flow[int, flow.Round[int, int]]{}).Err(); !errors.Is(err, sluicegate.ErrInvalidArgument) {
		t.Error(err)
	}
}

func TestWhatIsInALoopAtACancelIsLetGoOfOnce(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), stepped(t)
	forever := flow.Then(flow.Delay[*counted](time.Second, 8), flow.Map(func(in *counted) flow.Round[*counted, *counted] {
		return flow.Again[*counted](&counted{in.n + 1})
	}))
	probe, err := flow.Run(ctx, scope, numbers().Via(flow.Feedback(3, forever)), flow.ProbeSink[*counted]())
	if err != nil {
		t.Fatal(err)
	}
	probe.Request(5)
	scope.Settle()
	for range 3 {
		if err := scope.Advance(time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if held := scope.Stages(); len(held) == 0 {
		t.Error("it runs")
	}
	probe.Cancel()
	scope.Settle()
	if scope.Running() != 0 {
		t.Error("it is cancelled")
	}
}

func TestAFailureInALoopIsTheStreams(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	body := flow.TryMap(func(in *counted) (flow.Round[*counted, *counted], error) {
		return flow.Out[*counted](&counted{in.n}), at(func() error { return errRefused }, in)
	})
	if _, err := flow.Via(numbers(), flow.Feedback(2, body)).Collect(ctx, scope); err != errRefused {
		t.Error(err)
	}
}
