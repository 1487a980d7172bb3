package flow_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicegate/sluicegate/go"
	"github.com/sluicegate/sluicegate/go/flow"
	"github.com/sluicegate/sluicegate/go/internal/capi"
)

const watchdog = 4 * time.Minute

// guarded gives a test a context that ends when the test would hang.
func guarded(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(context.Background(), watchdog, errors.New("the test hangs"))
	t.Cleanup(cancel)
	return ctx
}

func scope(t testing.TB) *flow.Scope {
	t.Helper()
	scope, err := flow.NewScope("test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := scope.Close(); err != nil {
			t.Error(err)
		}
	})
	return scope
}

func manual[T any](t testing.TB, running flow.Controlled) *flow.Manual[T] {
	t.Helper()
	control, err := flow.ManualOf[T](running)
	if err != nil {
		t.Fatal(err)
	}
	return control
}

func run[R any](t testing.TB, graph flow.Graph[R], ctx context.Context, scope *flow.Scope) *flow.Running[R] {
	t.Helper()
	running, err := graph.Run(ctx, scope)
	if err != nil {
		t.Fatal(err)
	}
	return running
}

func equal[T comparable](t testing.TB, got []T, err error, want ...T) {
	t.Helper()
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("awaited: %v; came: %v, %v", want, got, err)
	}
}

// nothingIsLeft waits until the library holds no Go value more than before the test.
func nothingIsLeft(t testing.TB) {
	t.Helper()
	runtime.GC()
	before := capi.Values()
	t.Cleanup(func() {
		for limit := time.Now().Add(watchdog); capi.Values() > before; runtime.Gosched() {
			if time.Now().After(limit) {
				t.Fatalf("the library holds %d values, %d before", capi.Values(), before)
			}
			runtime.GC() // blueprints and controls go with what knows them
		}
	})
}

func TestABlueprintRunsAsOftenAsOneLikes(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	text := flow.Then(flow.Map(func(n int) string { return fmt.Sprint("value=", n) }), flow.Map(func(s string) int { return len(s) }))
	graph := flow.To(flow.Via(flow.ManualSource[int](flow.EdgeOptions{}), text), flow.Collect[int]())
	for range 3 {
		running := run(t, graph, ctx, scope)
		control := manual[int](t, running)
		if offer, err := control.Offer(ctx, 7); offer != flow.Enqueued || err != nil {
			t.Fatal(offer, err)
		}
		if !control.Complete() || control.Complete() {
			t.Error("one terminal")
		}
		got, err := running.Result.Wait(ctx)
		equal(t, got, err, 7)
		<-running.Result.Done()
		if running.Result.State() != flow.Success {
			t.Error(running.Result.State())
		}
	}
}

func TestStagesOfASource(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	even := func(n int) bool { return n%2 == 0 }
	got, err := flow.Range(0, 1<<40).Filter(even).Drop(1).Take(3).Collect(ctx, scope)
	equal(t, got, err, 2, 4, 6)
	got, err = flow.Of(1, 2, 3, 4, 1).TakeWhile(func(n int) bool { return n < 4 }).Collect(ctx, scope)
	equal(t, got, err, 1, 2, 3)
	got, err = flow.Of(1, 2, 3, 4, 1).DropWhile(func(n int) bool { return n < 4 }).Buffer(flow.EdgeOptions{Capacity: 1}).Collect(ctx, scope)
	equal(t, got, err, 4, 1)
	sum := func(state, n int) (int, error) { return state + n, nil }
	got, err = flow.Via(flow.Range(1, 5), flow.Scan(0, sum)).Collect(ctx, scope)
	equal(t, got, err, 1, 3, 6, 10)
	got, err = flow.Via(flow.Range(1, 11), flow.Fold(0, sum)).Collect(ctx, scope)
	equal(t, got, err, 55)
	done, err := flow.Run(ctx, scope, flow.Range(1, 11), flow.Reduce(0, sum))
	if err != nil {
		t.Fatal(err)
	}
	if total, err := done.Wait(ctx); total != 55 || err != nil {
		t.Error(total, err)
	}
	last, err := flow.Run(ctx, scope, flow.Empty[int](), flow.Last[int]())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := last.Wait(ctx); got.Present || err != nil {
		t.Error(got, err)
	}
	got, err = flow.FromSeq(slices.Values([]int{5, 6, 7})).Collect(ctx, scope)
	equal(t, got, err, 5, 6, 7)
}

func TestNilIsAnElementLikeAnyOther(t *testing.T) {
	ctx, scope := guarded(t), scope(t)
	got, err := flow.Of[error](nil, io.EOF, nil).Collect(ctx, scope)
	equal(t, got, err, nil, io.EOF, nil)
}

type ownError struct{ n int }

func (e *ownError) Error() string { return fmt.Sprint("own ", e.n) }

func TestAnErrorOfAFunctionComesBackAsItself(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	own := &ownError{3}
	wrapped := fmt.Errorf("wrapped: %w", io.EOF)
	cases := map[string]struct {
		source flow.Source[int]
		want   error
	}{
		"map": {flow.Via(flow.Range(0, 9), flow.TryMap(func(n int) (int, error) {
			if n == 3 {
				return 0, own
			}
			return n, nil
		})), own},
		"filter": {flow.Via(flow.Range(0, 9), flow.TryFilter(func(int) (bool, error) { return false, own })), own},
		"tap":    {flow.Via(flow.Range(0, 9), flow.TryTap(func(int) error { return wrapped })), wrapped},
		"scan":   {flow.Via(flow.Range(0, 9), flow.Scan(0, func(int, int) (int, error) { return 0, own })), own},
		"pull":   {flow.Pull(func() (func() (int, error), error) { return func() (int, error) { return 0, own }, nil }), own},
		"sequence": {flow.FromSeq2(func(yield func(int, error) bool) {
			_ = yield(1, nil) && yield(0, own)
		}), own},
		"failed": {flow.Failed[int](own), own},
	}
	for name, test := range cases {
		if _, err := test.source.Collect(ctx, scope); err != test.want {
			t.Errorf("%s: awaited: %v; came: %v", name, test.want, err)
		}
	}
	if _, err := flow.Failed[int](&sluicegate.Error{Kind: sluicegate.ErrIO, Message: "the disk is gone"}).Collect(ctx, scope); !errors.Is(err, sluicegate.ErrIO) {
		t.Error(err)
	}
}

func TestAPanicFailsTheStreamAtBothEnds(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	mapped := flow.Via(flow.ManualSource[int](flow.EdgeOptions{}), flow.Map(func(n int) int {
		if n == 3 {
			panic("three is too many")
		}
		return n
	}))
	running := run(t, flow.To(mapped, flow.Collect[int]()), ctx, scope)
	control := manual[int](t, running)
	for n := range 4 {
		if _, err := control.Offer(ctx, n); err != nil {
			t.Fatal(err)
		}
	}
	_, err := running.Result.Wait(ctx)
	if !errors.Is(err, sluicegate.ErrStageFailed) || !strings.Contains(err.Error(), "map") || !strings.Contains(err.Error(), "three is too many") {
		t.Error(err)
	}
	for {
		offer, err := control.Offer(ctx, 9)
		if err != nil {
			t.Fatal(err)
		}
		if offer == flow.QueueClosed {
			break
		}
	}
	_, err = flow.FromSeq(func(func(int) bool) { panic("no sequence") }).Collect(ctx, scope)
	if !errors.Is(err, sluicegate.ErrStageFailed) || !strings.Contains(err.Error(), "no sequence") {
		t.Error(err)
	}
}

func TestAContextCancelsARunAndAWait(t *testing.T) {
	nothingIsLeft(t)
	guard, scope := guarded(t), scope(t)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(guard)
	graph := flow.To(flow.ManualSource[int](flow.EdgeOptions{Capacity: 1}), flow.Collect[int]())
	running := run(t, graph, ctx, scope)
	control := manual[int](t, running)
	short, stop := context.WithTimeout(guard, time.Millisecond)
	defer stop()
	if _, err := running.Result.Wait(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	cancel(why)
	if _, err := running.Result.Wait(guard); err != why || running.Result.State() != flow.Cancelled {
		t.Error(err, running.Result.State())
	}
	if over, err := control.Ready(guard, 1<<40); over || err != nil {
		t.Error("the producer is told", over, err)
	}
	if _, err := graph.Run(ctx, scope); err != why {
		t.Error(err)
	}
	endless := run(t, flow.To(flow.Range(0, 1<<62), flow.Ignore[int]()), guard, scope)
	endless.Cancel()
	if _, err := endless.Result.Wait(guard); !errors.Is(err, sluicegate.ErrCancelled) {
		t.Error(err)
	}
	if state := endless.Result.State(); state != flow.Cancelled {
		t.Error("a cancel is no failure", state)
	}
}

// A living context never ends, and counts what waits for its end.
type living struct {
	context.Context
	never   chan struct{}
	waiting atomic.Int64
}

func (l *living) Done() <-chan struct{} { return l.never }

func (l *living) AfterFunc(func()) (stop func() bool) {
	l.waiting.Add(1)
	return func() bool { return l.waiting.Add(-1) >= 0 }
}

func TestAContextThatLivesOnKeepsNothingOfARunThatHasEnded(t *testing.T) {
	guard, scope := guarded(t), scope(t)
	ctx := &living{Context: context.Background(), never: make(chan struct{})}
	before := runtime.NumGoroutine()
	for range 50 {
		got, err := flow.Of(1, 2).Collect(ctx, scope)
		equal(t, got, err, 1, 2)
	}
	for ctx.waiting.Load() != 0 || runtime.NumGoroutine() > before {
		if guard.Err() != nil {
			t.Fatalf("%d wait, %d goroutines, %d before", ctx.waiting.Load(), runtime.NumGoroutine(), before)
		}
		runtime.Gosched()
	}
}

func TestAnOutletIsRangedOverAndLeavingCancels(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	var squares []int
	for n, err := range flow.Via(flow.Range(0, 1<<62), flow.Map(func(n int) int { return n * n })).All(ctx, scope) {
		if err != nil {
			t.Fatal(err)
		}
		if squares = append(squares, n); len(squares) == 4 {
			break
		}
	}
	equal(t, squares, nil, 0, 1, 4, 9)
	outlet, err := flow.Of(1).Outlet(ctx, scope)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := outlet.Recv(ctx); n != 1 || err != nil {
		t.Error(n, err)
	}
	if _, err := outlet.Recv(ctx); err != io.EOF {
		t.Error(err)
	}
}

func TestEveryStrategyHoldsThreeAndNoMore(t *testing.T) {
	nothingIsLeft(t)
	cases := []struct {
		overflow flow.Overflow
		left     []int
		lost     uint64
	}{
		{flow.DropHead, []int{8, 9, 10}, 7},
		{flow.DropNew, []int{1, 2, 3}, 7},
		{flow.DropTail, []int{1, 2, 10}, 7},
		{flow.DropBuffer, []int{10}, 9},
		{flow.Backpressure, []int{1, 2, 3}, 0},
		{flow.Fail, []int{1, 2, 3}, 0},
	}
	ctx := guarded(t)
	for _, test := range cases {
		scope, err := flow.NewSteppedScope("test", 3)
		if err != nil {
			t.Fatal(err)
		}
		running := run(t, flow.To(flow.ManualSource[int](flow.EdgeOptions{Capacity: 3, Overflow: test.overflow}), flow.Collect[int]()), ctx, scope)
		control := manual[int](t, running)
		for n := 1; n <= 10; n++ {
			offer, taken, err := control.TryOffer(n)
			if full := n > 3; taken != (!full || test.overflow != flow.Backpressure) {
				t.Error(test.overflow, n, taken)
			} else if failed := full && test.overflow == flow.Fail; (offer == flow.QueueFailed) != failed || errors.Is(err, sluicegate.ErrBufferOverflow) != failed {
				t.Error(test.overflow, n, offer, err)
			}
			if control.Held() > 3 {
				t.Error(test.overflow, control.Held())
			}
		}
		if control.Lost() != test.lost {
			t.Error(test.overflow, control.Lost())
		}
		control.Complete()
		scope.Settle()
		got, err := running.Result.Wait(ctx)
		if test.overflow == flow.Fail {
			if !errors.Is(err, sluicegate.ErrBufferOverflow) {
				t.Error(err)
			}
		} else {
			equal(t, got, err, test.left...)
		}
		if err := scope.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAScopeThatIsShutDownCancelsAndRefuses(t *testing.T) {
	nothingIsLeft(t)
	ctx := guarded(t)
	scope, err := flow.NewScope("short")
	if err != nil {
		t.Fatal(err)
	}
	graph := flow.To(flow.ManualSource[int](flow.EdgeOptions{Capacity: 1}), flow.Collect[int]())
	running := run(t, graph, ctx, scope)
	control := manual[int](t, running)
	if stages := scope.Stages(); len(stages) != 2 || stages[0].Name != "manual" || stages[1].Name != "collect" {
		t.Error(stages)
	}
	for range 2 {
		if err := scope.Shutdown(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if offer, err := control.Offer(ctx, 2); offer != flow.QueueClosed || err != nil {
		t.Error(offer, err)
	}
	if _, err := running.Result.Wait(ctx); !errors.Is(err, sluicegate.ErrScopeShutDown) || running.Result.State() != flow.Cancelled {
		t.Error(err, running.Result.State())
	}
	if _, err := graph.Run(ctx, scope); !errors.Is(err, sluicegate.ErrScopeShutDown) {
		t.Error(err)
	}
}

func TestAPromiseIsSettledOnce(t *testing.T) {
	nothingIsLeft(t)
	ctx := guarded(t)
	promise := flow.NewPromise[string]()
	done := promise.Completion()
	if !promise.TrySuccess("kept") || promise.TrySuccess("again") || promise.TryCancel() || promise.TryFailure(io.EOF) {
		t.Error("one transition wins")
	}
	if value, err := done.Wait(ctx); value != "kept" || err != nil {
		t.Error(value, err)
	}
	broken := flow.NewPromise[string]()
	own := &ownError{1}
	broken.TryFailure(own)
	if _, err := broken.Completion().Wait(ctx); err != own {
		t.Error(err)
	}
}
