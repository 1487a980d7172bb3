package flow_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluicegate/go"
	"github.com/sluicegate/sluicegate/go/flow"
)

var errRefused = errors.New("refused here")

// A counted element, as the library holds it: nothingIsLeft counts those that are not released.
type counted struct{ n int }

// numbers are counted elements; every function of the table fails at the one in the middle.
func numbers() flow.Source[*counted] {
	return flow.Of(&counted{1}, &counted{2}, &counted{666}, &counted{4}, &counted{5})
}

// at is what a function does that fails in its way at one of the numbers.
func at(bad func() error, in *counted) error {
	if in.n == 666 {
		return bad()
	}
	return nil
}

func drained[T any](source flow.Source[T]) func(context.Context, *flow.Scope) error {
	return func(ctx context.Context, scope *flow.Scope) error {
		_, err := source.Collect(ctx, scope)
		return err
	}
}

func into[R any](sink flow.Sink[*counted, *flow.Completion[R]]) func(context.Context, *flow.Scope) error {
	return func(ctx context.Context, scope *flow.Scope) error {
		done, err := flow.Run(ctx, scope, numbers(), sink)
		if err == nil {
			_, err = done.Wait(ctx)
		}
		return err
	}
}

// Every function that may be handed over fails the stream: with its own error, or what its panic said.
func TestAFunctionThatFailsFailsTheStreamWhicheverItIs(t *testing.T) {
	type rows = flow.Rows[*counted, *counted]
	type test struct {
		name  string
		plain bool // the function has no error to answer
		run   func(bad func() error) func(context.Context, *flow.Scope) error
	}
	via := func(make func(one func(*counted) (*counted, error)) flow.Flow[*counted, *counted]) func(func() error) func(context.Context, *flow.Scope) error {
		return func(bad func() error) func(context.Context, *flow.Scope) error {
			return drained(numbers().Via(make(func(in *counted) (*counted, error) { return &counted{in.n}, at(bad, in) })))
		}
	}
	type one = func(*counted) (*counted, error)
	type numbered = flow.Flow[*counted, *counted]
	tests := []test{
		{"Map", true, via(func(f one) numbered { return flow.Map(func(in *counted) *counted { _, _ = f(in); return in }) })},
		{"TryMap", false, via(func(f one) numbered { return flow.TryMap(f) })},
		{"Filter", true, via(func(f one) numbered { return flow.Filter(func(in *counted) bool { _, _ = f(in); return true }) })},
		{"TryFilter", false, via(func(f one) numbered {
			return flow.TryFilter(func(in *counted) (bool, error) { _, err := f(in); return true, err })
		})},
		{"FilterMap", true, via(func(f one) numbered {
			return flow.FilterMap(func(in *counted) (*counted, bool) { out, _ := f(in); return out, true })
		})},
		{"TryFilterMap", false, via(func(f one) numbered {
			return flow.TryFilterMap(func(in *counted) (*counted, bool, error) { out, err := f(in); return out, true, err })
		})},
		{"Tap", true, via(func(f one) numbered { return flow.Tap(func(in *counted) { _, _ = f(in) }) })},
		{"TryTap", false, via(func(f one) numbered { return flow.TryTap(func(in *counted) error { _, err := f(in); return err }) })},
		{"TakeWhile", true, via(func(f one) numbered { return flow.TakeWhile(func(in *counted) bool { _, _ = f(in); return true }) })},
		{"DropWhile", true, via(func(f one) numbered { return flow.DropWhile(func(in *counted) bool { _, _ = f(in); return true }) })},
		{"Scan", false, via(func(f one) numbered {
			return flow.Scan(&counted{}, func(_, in *counted) (*counted, error) { return f(in) })
		})},
		{"Fold", false, via(func(f one) numbered {
			return flow.Fold(&counted{}, func(_, in *counted) (*counted, error) { return f(in) })
		})},
		{"Conflate", false, func(bad func() error) func(context.Context, *flow.Scope) error {
			return conflated(bad)
		}},
		{"Expand", false, via(func(f one) numbered {
			return flow.Expand(func(in *counted) ([]*counted, error) { out, err := f(in); return []*counted{in, out}, err })
		})},
		{"MapParallel", false, via(func(f one) numbered { return flow.MapParallel(2, f) })},
		{"MapParallelUnordered", false, via(func(f one) numbered { return flow.MapParallelUnordered(2, f) })},
		{"GroupBy", true, via(func(f one) numbered {
			return flow.GroupBy(2, 2, func(in *counted) int { _, _ = f(in); return 1 }, flow.Take[*counted](9))
		})},
		{"GroupBy, strings", true, via(func(f one) numbered {
			return flow.GroupBy(2, 2, func(in *counted) string { _, _ = f(in); return "key" }, flow.Take[*counted](9))
		})},
		{"Sized", true, via(func(f one) numbered { return flow.Sized(func(in *counted) uint64 { _, _ = f(in); return 1 }) })},
		{"Recover", false, func(bad func() error) func(context.Context, *flow.Scope) error {
			failing := flow.Concat(flow.Of(&counted{1}), flow.Failed[*counted](io.ErrNoProgress))
			return drained(failing.Recover(func(error) (*counted, error) { return nil, bad() }))
		}},
		{"BatchBytes", true, func(bad func() error) func(context.Context, *flow.Scope) error {
			return drained(flow.Via(numbers(), flow.BatchBytes(9, func(in *counted) uint64 { _ = at(bad, in); return 8 })))
		}},
		{"Pull", false, func(bad func() error) func(context.Context, *flow.Scope) error {
			return drained(flow.Pull(func() (func() (*counted, error), error) {
				return func() (*counted, error) { return &counted{}, bad() }, nil
			}))
		}},
		{"Pull, opening", false, func(bad func() error) func(context.Context, *flow.Scope) error {
			return drained(flow.Pull(func() (func() (*counted, error), error) { return nil, bad() }))
		}},
		{"Unfold", false, func(bad func() error) func(context.Context, *flow.Scope) error {
			return drained(flow.Unfold(0, func(n int) (*counted, int, error) {
				if n == 2 {
					return nil, n, bad()
				}
				return &counted{n}, n + 1, nil
			}))
		}},
		{"Fetch", false, func(bad func() error) func(context.Context, *flow.Scope) error {
			return drained(flow.Fetch(func(uint64, uint64) ([]*counted, error) { return []*counted{{1}}, bad() }))
		}},
		{"Pages", false, func(bad func() error) func(context.Context, *flow.Scope) error {
			return drained(flow.Pages(&counted{1}, 0, func(from *counted) (rows, error) {
				if from.n == 2 {
					return rows{Rows: []*counted{{2}}}, bad()
				}
				return rows{Rows: []*counted{{1}}, Next: &counted{2}, More: true}, nil
			}))
		}},
		{"FromSeq", true, func(bad func() error) func(context.Context, *flow.Scope) error {
			return drained(flow.FromSeq(func(yield func(*counted) bool) { _ = yield(&counted{1}) && bad() == nil }))
		}},
		{"FromSeq2", false, func(bad func() error) func(context.Context, *flow.Scope) error {
			return drained(flow.FromSeq2(func(yield func(*counted, error) bool) { _ = yield(&counted{1}, nil) && yield(nil, bad()) }))
		}},
		{"Lines", false, func(bad func() error) func(context.Context, *flow.Scope) error {
			return drained(flow.Lines(9, func() (io.Reader, error) { return nil, bad() }))
		}},
		{"Chunks", false, func(bad func() error) func(context.Context, *flow.Scope) error {
			return drained(flow.Chunks(9, func() (io.Reader, error) { return nil, bad() }))
		}},
		{"ForEach", false, func(bad func() error) func(context.Context, *flow.Scope) error {
			return into(flow.ForEach(func(in *counted) error { return at(bad, in) }))
		}},
		{"Source.ForEach", false, func(bad func() error) func(context.Context, *flow.Scope) error {
			return func(ctx context.Context, scope *flow.Scope) error {
				return numbers().ForEach(ctx, scope, func(in *counted) error { return at(bad, in) })
			}
		}},
		{"Reduce", false, func(bad func() error) func(context.Context, *flow.Scope) error {
			return into(flow.Reduce(&counted{}, func(state, in *counted) (*counted, error) { return state, at(bad, in) }))
		}},
		{"Partition", true, func(bad func() error) func(context.Context, *flow.Scope) error {
			return func(ctx context.Context, scope *flow.Scope) error {
				collect := flow.Collect[*counted]()
				done, err := flow.Run(ctx, scope, numbers(), flow.Partition(flow.FanOptions{}, func(in *counted) int { _ = at(bad, in); return 0 }, collect, collect))
				if err != nil {
					return err
				}
				_, left := done[0].Wait(ctx)
				if _, right := done[1].Wait(ctx); fmt.Sprint(left) != fmt.Sprint(right) {
					return fmt.Errorf("left %v, right %w", left, right)
				}
				return left
			}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			nothingIsLeft(t)
			ctx, scope := guarded(t), scope(t)
			panics := test.run(func() error { panic("panicked here") })
			if err := panics(ctx, scope); !errors.Is(err, sluicegate.ErrStageFailed) || !strings.Contains(err.Error(), "panicked here") {
				t.Error("a panic:", err)
			}
			if test.plain {
				return
			}
			if err := test.run(func() error { return errRefused })(ctx, scope); err != errRefused {
				t.Error("an error:", err)
			}
		})
	}
}

// conflated folds two while nothing is wanted: the first of all has no state to be folded into.
func conflated(bad func() error) func(context.Context, *flow.Scope) error {
	return func(ctx context.Context, _ *flow.Scope) error {
		scope, err := flow.NewSteppedScope("test", 1)
		if err != nil {
			return err
		}
		defer scope.Close()
		stage := flow.Conflate(func(state, in *counted) (*counted, error) { return state, at(bad, in) })
		probe, err := flow.Run(ctx, scope, numbers().Via(stage), flow.ProbeSink[*counted]())
		if err != nil {
			return err
		}
		scope.Settle()
		probe.Request(9)
		scope.Settle()
		told, err := probe.Signal(ctx)
		if err != nil {
			return err
		}
		return told.Err
	}
}

// A script plays numbers, demand and time, and says what came out and when.
type script struct {
	t     *testing.T
	ctx   context.Context
	scope *flow.Scope
	in    *flow.Manual[int]
	out   *flow.Subscriber[int]
	said  []string
}

func play(t *testing.T, stage flow.Flow[int, int]) *script {
	t.Helper()
	ctx, scope := guarded(t), stepped(t)
	running := run(t, flow.To(flow.ManualSource[int](flow.EdgeOptions{Capacity: 4}).Via(stage), flow.ProbeSink[int]()), ctx, scope)
	scope.Settle()
	return &script{t, ctx, scope, manual[int](t, running), running.Result, nil}
}

// act: a number is offered, "?9" asks for nine, "+9" lets nine seconds pass, "$" completes.
func (s *script) act(word string) {
	s.t.Helper()
	n := 0
	_, _ = fmt.Sscan(strings.TrimLeft(word, "?+"), &n)
	switch word[0] {
	case '?':
		s.out.Request(uint64(n))
	case '+':
		s.said = append(s.said, "+")
		if err := s.scope.Advance(time.Duration(n) * time.Second); err != nil {
			s.t.Error(err)
		}
	case '$':
		s.in.Complete()
	default:
		if offer, taken, err := s.in.TryOffer(n); offer != flow.Enqueued || !taken || err != nil {
			s.t.Error(word, offer, taken, err)
		}
	}
	s.scope.Settle()
	s.hear()
}

// hear notes what the probe was told by now: nothing more comes before the next word.
func (s *script) hear() {
	over, stop := context.WithDeadline(s.ctx, time.Unix(0, 0))
	defer stop()
	for {
		told, err := s.out.Signal(over)
		switch {
		case err != nil:
			return
		case told.Kind == flow.SignalNext:
			s.said = append(s.said, fmt.Sprint(told.Element))
		case told.Kind == flow.SignalComplete:
			s.said = append(s.said, "|")
		case errors.Is(told.Err, sluicegate.ErrTimedOut):
			s.said = append(s.said, "late")
		default:
			s.said = append(s.said, told.Err.Error())
		}
	}
}

func TestStagesByAClockMovedByHand(t *testing.T) {
	sum := func(state, next int) (int, error) { return state + next, nil }
	seen := []int{}
	tests := []struct {
		name         string
		stage        flow.Flow[int, int]
		script, want string
	}{
		{"CompletionTimeout", flow.CompletionTimeout[int](2 * time.Second), "?9 1 +1 2 +1", "1 + 2 + late"},
		{"CompletionTimeout, in time", flow.CompletionTimeout[int](2 * time.Second), "?9 1 +1 $ +5", "1 + | +"},
		{"InitialTimeout", flow.InitialTimeout[int](2 * time.Second), "?9 +1 +1", "+ + late"},
		{"InitialTimeout, in time", flow.InitialTimeout[int](2 * time.Second), "?9 +1 1 +5 2 $", "+ 1 + 2 |"},
		{"Conflate", flow.Conflate(sum), "1 2 3 4 5 6 ?1 7 8 ?9 $", "21 15 |"},
		{"Debounce", flow.Debounce[int](2 * time.Second), "?9 1 +1 2 +1 3 +2 4 $", "+ + + 3 4 |"},
		{"DropWithin", flow.DropWithin[int](2 * time.Second), "?9 1 +1 2 +1 3 $", "+ + 3 |"},
		{"TakeWithin", flow.TakeWithin[int](2 * time.Second), "?9 1 +1 2 +1", "1 + 2 + |"},
		{"Delay", flow.Delay[int](2*time.Second, 2), "?9 1 +1 2 3 +1 +1 +1 $", "+ + 1 + 2 + 3 |"},
		{"Tap", flow.Tap(func(n int) { seen = append(seen, n) }), "1 2 ?1 ?1 $", "1 2 |"},
		{"MapParallelUnordered", flow.MapParallelUnordered(1, func(n int) (int, error) { return n * n, nil }), "?9 1 2 3 $", "1 4 9 |"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			nothingIsLeft(t)
			script := play(t, test.stage)
			for _, word := range strings.Fields(test.script) {
				script.act(word)
			}
			if said := strings.Join(script.said, " "); said != test.want {
				t.Errorf("awaited: %s; came: %s", test.want, said)
			}
			if !script.in.Over() {
				t.Error("the producer is not told that it is over")
			}
		})
	}
	equal(t, seen, nil, 1, 2)
}

func TestSinksThatCall(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	var seen []string
	look := func(s string) error { seen = append(seen, s); return nil }
	if err := flow.Of("a", "b").ForEach(ctx, scope, look); err != nil {
		t.Error(err)
	}
	done, err := flow.Run(ctx, scope, flow.Of(1, 2), flow.Into(flow.Map(itoa), flow.ForEach(look)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = done.Wait(ctx)
	equal(t, seen, err, "a", "b", "1", "2")
	if err := flow.Into(flow.Batch[int](0), flow.Collect[[]int]()).Err(); !errors.Is(err, sluicegate.ErrInvalidArgument) {
		t.Error(err)
	}
	unordered := flow.MapParallelUnordered(3, func(n int) (int, error) { return n * n, nil })
	got, err := flow.Range(0, 9).Via(unordered).Collect(ctx, scope)
	slices.Sort(got)
	equal(t, got, err, 0, 1, 4, 9, 16, 25, 36, 49, 64)
}

func TestThreadsWaitForAClockMovedByHand(t *testing.T) {
	nothingIsLeft(t)
	ctx := guarded(t)
	scope, err := flow.NewHandScope("by hand")
	if err != nil {
		t.Fatal(err)
	}
	defer scope.Close()
	running := run(t, flow.To(flow.Of(1).Via(flow.Delay[int](time.Hour, 1)), flow.Collect[int]()), ctx, scope)
	for over := false; !over; {
		if err := scope.Advance(time.Hour); err != nil { // again if the thread has not taken the element before
			t.Fatal(err)
		}
		select {
		case <-running.Result.Done():
			over = true
		case <-time.After(time.Millisecond):
		}
	}
	got, err := running.Result.Wait(ctx)
	equal(t, got, err, 1)
}

func TestOffersCountByTheirSize(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), stepped(t)
	edge := flow.EdgeOptions{Capacity: 9, Bytes: 10}
	running := run(t, flow.To(flow.ManualSource[string](edge), flow.ProbeSink[string]()), ctx, scope)
	control := manual[string](t, running)
	if offer, err := control.OfferSized(ctx, "a", 6); offer != flow.Enqueued || err != nil {
		t.Fatal(offer, err)
	}
	full, stop := context.WithDeadline(ctx, time.Unix(0, 0))
	defer stop()
	if _, err := control.OfferSized(full, "b", 6); !errors.Is(err, context.DeadlineExceeded) {
		t.Error("there is no room for twelve bytes:", err)
	}
	if offer, err := control.OfferSized(ctx, "c", 4); offer != flow.Enqueued || err != nil || control.Held() != 2 {
		t.Error(offer, err, control.Held())
	}
}

// What waits in queues is released, and who waits for room is told, when a run is cancelled.
func TestACancelReleasesWhatIsInQueuesAndWakesTheProducer(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	edge := flow.EdgeOptions{Capacity: 4}
	source := flow.ManualSource[*counted](edge).Via(flow.Buffer[*counted](edge)).Via(flow.MapParallel(2, func(in *counted) (*counted, error) { return in, nil }))
	running := run(t, flow.To(source, flow.ProbeSink[*counted]()), ctx, scope)
	control := manual[*counted](t, running)
	offered, result := make(chan int, 100), make(chan error, 1)
	go func() {
		for n := range cap(offered) {
			offer, err := control.Offer(ctx, &counted{n})
			if offer != flow.Enqueued || err != nil {
				if offer != flow.QueueClosed {
					err = fmt.Errorf("%v: %w", offer, errRefused)
				}
				result <- err
				return
			}
			offered <- n
		}
		result <- errors.New("nothing has stopped it")
	}()
	running.Result.Request(1)
	if told, err := running.Result.Signal(ctx); err != nil || told.Element.n != 0 {
		t.Fatal(told, err)
	}
	for range 5 { // more than one queue holds: both have some
		<-offered
	}
	running.Cancel()
	if err := <-result; err != nil {
		t.Error(err)
	}
	if !control.Over() {
		t.Error("the producer is not told that it is over")
	}
}
