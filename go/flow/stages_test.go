package flow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sluicegate/sluicegate/go"
	"github.com/sluicegate/sluicegate/go/flow"
)

func lines[T any](t testing.TB, source flow.Source[T], ctx context.Context, scope *flow.Scope) string {
	t.Helper()
	all, err := source.Collect(ctx, scope)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(all)
}

func TestGroups(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	cases := []struct{ got, want string }{
		{lines(t, flow.Via(flow.Range(0, 5), flow.Batch[int](2)), ctx, scope), "[[0 1] [2 3] [4]]"},
		{lines(t, flow.Via(flow.Range(0, 5), flow.BatchWithin[int](2, time.Hour)), ctx, scope), "[[0 1] [2 3] [4]]"},
		{lines(t, flow.Via(flow.Range(0, 4), flow.Sliding[int](2, 1)), ctx, scope), "[[0 1] [1 2] [2 3]]"},
		{lines(t, flow.Via(flow.Via(flow.Range(0, 5), flow.Batch[int](2)), flow.Flatten[int]()), ctx, scope), "[0 1 2 3 4]"},
		{lines(t, flow.Via(flow.Range(0, 3), flow.Expand(func(n int) ([]string, error) {
			return slices.Repeat([]string{fmt.Sprint(n)}, n), nil
		})), ctx, scope), "[1 2 2]"},
		{lines(t, flow.Via(flow.Range(0, 9), flow.MapParallel(3, func(n int) (int, error) { return n * n, nil })), ctx, scope), "[0 1 4 9 16 25 36 49 64]"},
		{lines(t, flow.Zip(flow.Range(0, 3), flow.Of("a", "b")), ctx, scope), "[{0 a} {1 b}]"},
		{lines(t, flow.Concat(flow.Range(0, 2), flow.Empty[int](), flow.Range(5, 7)), ctx, scope), "[0 1 5 6]"},
	}
	for _, test := range cases {
		if test.got != test.want {
			t.Errorf("awaited: %s; came: %s", test.want, test.got)
		}
	}
	merged, err := flow.Merge(flow.Range(0, 3), flow.Range(3, 6)).Collect(ctx, scope)
	slices.Sort(merged)
	equal(t, merged, err, 0, 1, 2, 3, 4, 5)
	if err := flow.Batch[int](0).Err(); !errors.Is(err, sluicegate.ErrInvalidArgument) {
		t.Error(err)
	}
	if _, err := flow.Via(flow.Range(0, 5), flow.Sliding[int](0, 1)).Collect(ctx, scope); !errors.Is(err, sluicegate.ErrInvalidArgument) {
		t.Error("a run answers what the blueprint did:", err)
	}
}

func TestFanOut(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	collect := flow.Collect[int]()
	odd := func(n int) int { return n % 2 }
	both := func(sink flow.Sink[int, []*flow.Completion[[]int]]) (left, right []int) {
		t.Helper()
		done, err := flow.Run(ctx, scope, flow.Range(0, 6), sink)
		if err != nil {
			t.Fatal(err)
		}
		if left, err = done[0].Wait(ctx); err != nil {
			t.Fatal(err)
		}
		if right, err = done[1].Wait(ctx); err != nil {
			t.Fatal(err)
		}
		return left, right
	}
	left, right := both(flow.Broadcast(flow.FanOptions{}, collect, collect))
	equal(t, left, nil, 0, 1, 2, 3, 4, 5)
	equal(t, right, nil, 0, 1, 2, 3, 4, 5)
	left, right = both(flow.Partition(flow.FanOptions{Edge: flow.EdgeOptions{Capacity: 1}}, odd, collect, collect))
	equal(t, left, nil, 0, 2, 4)
	equal(t, right, nil, 1, 3, 5)
	left, right = both(flow.Balance(flow.FanOptions{Edge: flow.EdgeOptions{Capacity: 1}}, collect, collect))
	all := append(left, right...)
	slices.Sort(all)
	equal(t, all, nil, 0, 1, 2, 3, 4, 5)
}

func TestASinkThatCancelsEndsAFanOutIfThatIsSaid(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), stepped(t)
	endless := flow.ManualSource[int](flow.EdgeOptions{})
	for _, ends := range []bool{true, false} {
		sink := flow.Broadcast(flow.FanOptions{EndWithFirst: ends}, flow.ProbeSink[int](), flow.ProbeSink[int]())
		running := run(t, flow.To(endless, sink), ctx, scope)
		source, probes := manual[int](t, running), running.Result
		probes[0].Cancel()
		probes[1].Request(2)
		scope.Settle()
		offer, _, err := source.TryOffer(1)
		scope.Settle()
		if over := source.Over(); over != ends || err != nil || (offer == flow.QueueClosed) != ends {
			t.Errorf("ends: %v, over: %v, offer: %v, %v", ends, over, offer, err)
		}
		source.Complete()
		scope.Settle()
		told, err := probes[1].Signal(ctx)
		if want := flow.SignalNext; err != nil || (told.Kind == want) == ends {
			t.Errorf("ends: %v, told: %v, %v", ends, told, err)
		}
	}
}

func TestHubs(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	running := run(t, flow.To(flow.ManualSource[int](flow.EdgeOptions{}), flow.BroadcastHub[int](flow.HubOptions{})), ctx, scope)
	control, hub := manual[int](t, running), running.Result
	once := flow.To(hub.Subscribe(flow.HubWait), flow.Collect[int]())
	first := run(t, once, ctx, scope)
	second := run(t, flow.To(hub.Subscribe(flow.HubWait), flow.Collect[int]()), ctx, scope)
	for n := range 50 {
		if _, err := control.Offer(ctx, n); err != nil {
			t.Fatal(err)
		}
	}
	control.Complete()
	for _, listener := range []*flow.Running[*flow.Completion[[]int]]{first, second} {
		if got, err := listener.Result.Wait(ctx); len(got) != 50 || err != nil {
			t.Error(got, err)
		}
	}
	again, err := once.Run(ctx, scope)
	if err == nil {
		_, err = again.Result.Wait(ctx)
	}
	if !errors.Is(err, sluicegate.ErrAlreadySubscribed) {
		t.Error(err)
	}

	merged := run(t, flow.To(flow.MergeHubSource[int](flow.EdgeOptions{}), flow.Collect[int]()), ctx, scope)
	into, err := flow.MergeHubOf[int](merged)
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range []flow.Source[int]{flow.Range(0, 3), flow.Range(3, 6)} {
		if _, err := flow.Run(ctx, scope, source, into.Sink()); err != nil {
			t.Fatal(err)
		}
	}
	into.Complete()
	got, err := merged.Result.Wait(ctx)
	slices.Sort(got)
	equal(t, got, err, 0, 1, 2, 3, 4, 5)
}

func TestTimeByAClockMovedByHand(t *testing.T) {
	nothingIsLeft(t)
	ctx := guarded(t)
	scope, err := flow.NewSteppedScope("test", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer scope.Close()
	late := run(t, flow.To(flow.ManualSource[int](flow.EdgeOptions{}).Via(flow.IdleTimeout[int](time.Second)), flow.Collect[int]()), ctx, scope)
	kept := manual[int](t, late)
	paced := run(t, flow.To(flow.Via(flow.Range(0, 3), flow.Throttle[int](1, time.Second, 1)), flow.Collect[int]()), ctx, scope)
	scope.Settle()
	if late.Result.State() != flow.Pending || paced.Result.State() != flow.Pending {
		t.Error("the clock stands still")
	}
	if err := scope.Advance(time.Second); err != nil {
		t.Fatal(err)
	}
	if _, err := late.Result.Wait(ctx); !errors.Is(err, sluicegate.ErrTimedOut) || !kept.Over() {
		t.Error(err)
	}
	for range 3 {
		if err := scope.Advance(time.Second); err != nil {
			t.Fatal(err)
		}
	}
	got, err := paced.Result.Wait(ctx)
	equal(t, got, err, 0, 1, 2)
}

func TestFailuresAreTriedAgainOrReplaced(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	own, runs := errors.New("own"), 0
	flaky := flow.Pull(func() (func() (int, error), error) {
		runs++
		return func() (int, error) { return runs, own }, nil
	})
	if _, err := flaky.Retry(3, time.Microsecond, time.Microsecond).Collect(ctx, scope); err != own || runs != 3 {
		t.Error(err, runs)
	}
	got, err := flow.Failed[int](own).RecoverWith(flow.Of(7)).Collect(ctx, scope)
	equal(t, got, err, 7)
	rows := flow.Fetch(func(from, n uint64) ([]uint64, error) {
		var page []uint64
		for row := from; row < min(200, from+n); row++ {
			page = append(page, row)
		}
		return page, nil
	})
	all, err := rows.Via(flow.Page[uint64](64, 48)).Collect(ctx, scope)
	if len(all) != 200 || err != nil {
		t.Error(len(all), err)
	}
}
