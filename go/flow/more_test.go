package flow_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/sluicegate/sluicegate/go"
	"github.com/sluicegate/sluicegate/go/flow"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestFilterMapKeepsWhatComesWithTrue(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	numbers := flow.FilterMap(func(s string) (int, bool) {
		n, err := strconv.Atoi(s)
		return n, err == nil
	})
	got, err := flow.Via(flow.Of("1", "x", "3", ""), numbers).Collect(ctx, scope)
	equal(t, got, err, 1, 3)
	own := errors.New("own")
	failing := flow.TryFilterMap(func(string) (int, bool, error) { return 0, true, own })
	if _, err := flow.Via(flow.Of("1"), failing).Collect(ctx, scope); err != own {
		t.Error(err)
	}
	nils, err := flow.Via(flow.Of(1, 2), flow.FilterMap(func(n int) (error, bool) { return nil, n == 2 })).Collect(ctx, scope)
	equal(t, nils, err, nil)
}

func TestAFailureBecomesALastElementOrPasses(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	own, other := &ownError{1}, &ownError{2}
	failing := flow.Concat(flow.Of(1, 2), flow.Failed[int](own))
	recovered := failing.Recover(func(failure error) (int, error) {
		if failure != own {
			t.Error(failure)
		}
		return 9, nil
	})
	got, err := recovered.Collect(ctx, scope)
	equal(t, got, err, 1, 2, 9)
	passing := failing.Recover(func(failure error) (int, error) { return 0, failure })
	if _, err := passing.Collect(ctx, scope); err != own {
		t.Error(err)
	}
	replaced := failing.Recover(func(error) (int, error) { return 0, other })
	if _, err := replaced.Collect(ctx, scope); err != other {
		t.Error(err)
	}
	eof := failing.Recover(func(error) (int, error) { return 0, io.EOF })
	if _, err := eof.Collect(ctx, scope); err != io.EOF {
		t.Error(err)
	}
	panicking := failing.Recover(func(error) (int, error) { panic("no cure") })
	if _, err := panicking.Collect(ctx, scope); !errors.Is(err, sluicegate.ErrStageFailed) || !strings.Contains(err.Error(), "no cure") {
		t.Error(err)
	}
	untouched, err := flow.Of(1).Recover(func(error) (int, error) { return 9, nil }).Collect(ctx, scope)
	equal(t, untouched, err, 1)
}

func TestPagesAreFetchedByTheirCursors(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	own := errors.New("own")
	table := map[string]flow.Rows[int, string]{
		"":  {Rows: []int{1, 2, 3}, Next: "b", More: true},
		"b": {Next: "c", More: true}, // empty
		"c": {Rows: []int{4}},
	}
	for _, mark := range []uint64{0, 2} {
		var asked []string
		rows := flow.Pages("", mark, func(cursor string) (flow.Rows[int, string], error) {
			asked = append(asked, cursor)
			return table[cursor], nil
		})
		for range 2 {
			asked = nil
			got, err := rows.Collect(ctx, scope)
			equal(t, got, err, 1, 2, 3, 4)
			if !slices.Equal(asked, []string{"", "b", "c"}) {
				t.Error(asked)
			}
		}
		asked = nil
		got, err := rows.Take(2).Collect(ctx, scope)
		equal(t, got, err, 1, 2)
		if mark == 0 && !slices.Equal(asked, []string{""}) {
			t.Error("a page is fetched that nobody wants:", asked)
		}
	}
	failing := flow.Pages(0, 0, func(cursor int) (flow.Rows[int, int], error) {
		if cursor == 2 {
			return flow.Rows[int, int]{}, own
		}
		return flow.Rows[int, int]{Rows: []int{cursor}, Next: cursor + 1, More: true}, nil
	})
	if _, err := failing.Collect(ctx, scope); err != own {
		t.Error(err)
	}
}

func TestTheFirstSourceIsPreferred(t *testing.T) {
	nothingIsLeft(t)
	ctx := guarded(t)
	scope := stepped(t)
	control := func(hub *flow.Running[*flow.Subscriber[int]]) *flow.Manual[int] { return manual[int](t, hub) }
	edge := flow.EdgeOptions{Capacity: 4}
	merged := flow.MergePrefer(flow.ManualSource[int](edge), flow.ManualSource[int](edge))
	running := run(t, flow.To(merged, flow.ProbeSink[int]()), ctx, scope)
	first, second := control(running), control(running)
	for n := range 3 {
		for _, source := range []struct {
			of *flow.Manual[int]
			n  int
		}{{second, 10 + n}, {first, n}} {
			if offer, taken, err := source.of.TryOffer(source.n); offer != flow.Enqueued || !taken || err != nil {
				t.Fatal(offer, taken, err)
			}
		}
	}
	first.Complete()
	second.Complete()
	running.Result.Request(100)
	var got []int
	for {
		scope.Settle()
		signal, err := running.Result.Signal(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if signal.Kind != flow.SignalNext {
			break
		}
		got = append(got, signal.Element)
	}
	equal(t, got, nil, 0, 1, 2, 10, 11, 12)
}

func stepped(t *testing.T) *flow.Scope {
	t.Helper()
	scope, err := flow.NewSteppedScope("test", 5)
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

func TestGroupsAndQueuesByBytes(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	size := func(s string) uint64 { return uint64(len(s)) }
	got := lines(t, flow.Via(flow.Of("a", "bb", "c", "dddddd", "e"), flow.BatchBytes(3, size)), ctx, scope)
	if got != "[[a bb] [c] [dddddd] [e]]" {
		t.Error(got)
	}
	if err := flow.BatchBytes(0, size).Err(); !errors.Is(err, sluicegate.ErrInvalidArgument) {
		t.Error(err)
	}
	queued, err := flow.Via(flow.Of("aa", "bb", "cc"), flow.Sized(size)).Buffer(flow.EdgeOptions{Bytes: 4}).Collect(ctx, scope)
	equal(t, queued, err, "aa", "bb", "cc")
}

func TestWhoListensIsTold(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), stepped(t)
	running := run(t, flow.To(flow.ManualSource[int](flow.EdgeOptions{Capacity: 64}), flow.BroadcastHub[int](flow.HubOptions{})), ctx, scope)
	control, hub := manual[int](t, running), running.Result
	held := map[flow.HubPolicy]int{flow.HubDropHead: 2, flow.HubDropNew: 2, flow.HubDropTail: 2, flow.HubDropBuffer: 0}
	probes := map[flow.HubPolicy]*flow.Subscriber[int]{}
	for policy := range held {
		subscription := hub.SubscribeWith(flow.SubscribeOptions{Policy: policy, Capacity: 2}).Named(itoa(int(policy)))
		probes[policy] = run(t, flow.To(subscription, flow.ProbeSink[int]()), ctx, scope).Result
	}
	quick := run(t, flow.To(hub.Subscribe(flow.HubWait), flow.Ignore[int]()), ctx, scope)
	scope.Settle()
	if n := hub.Subscribers(); n != 5 {
		t.Error(n)
	}
	for n := range 11 {
		if offer, taken, err := control.TryOffer(n); offer != flow.Enqueued || !taken || err != nil {
			t.Fatal(offer, taken, err)
		}
		scope.Settle()
	}
	listeners := hub.Listeners()
	if len(listeners) != 5 {
		t.Fatal(listeners)
	}
	lost := map[string]uint64{}
	for _, listener := range listeners {
		lost[listener.Name] = listener.Lost
		if listener.Held > 4 {
			t.Errorf("%+v", listener)
		}
		if listener.Lost+listener.Held != 11 && listener.Demand == 0 {
			t.Errorf("a loss is not told: %+v", listener)
		}
	}
	for policy := range held {
		if lost[itoa(int(policy))] == 0 {
			t.Errorf("policy %d has lost nothing: %v", policy, lost)
		}
	}
	if hub.Over() {
		t.Error("the source goes on")
	}
	control.Complete()
	for policy, probe := range probes {
		var got []int
		probe.Request(100)
		for {
			scope.Settle()
			signal, err := probe.Signal(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if signal.Kind != flow.SignalNext {
				break
			}
			got = append(got, signal.Element)
		}
		if uint64(len(got))+lost[itoa(int(policy))] != 11 {
			t.Errorf("policy %d: %v and %d lost", policy, got, lost[itoa(int(policy))])
		}
		if newest := policy == flow.HubDropHead || policy == flow.HubDropTail; newest && got[len(got)-1] != 10 {
			t.Errorf("policy %d keeps the newest: %v", policy, got)
		}
	}
	if _, err := quick.Result.Wait(ctx); err != nil {
		t.Error(err)
	}
	if !hub.Over() {
		t.Error("the source has ended and all was shared")
	}
}

func TestAMergeHubTellsWhichProducersFailed(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	merged := run(t, flow.To(flow.MergeHubSource[int](flow.EdgeOptions{}), flow.Collect[int]()), ctx, scope)
	hub, err := flow.MergeHubOf[int](merged)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := hub.Failures(); n != 0 || err != nil {
		t.Error(n, err)
	}
	own := &ownError{4}
	for _, source := range []flow.Source[int]{flow.Of(1), flow.Failed[int](own), flow.Of(2)} {
		if _, err := flow.Run(ctx, scope, source, hub.Sink()); err != nil {
			t.Fatal(err)
		}
	}
	hub.Complete()
	got, err := merged.Result.Wait(ctx)
	slices.Sort(got)
	equal(t, got, err, 1, 2)
	if n, err := hub.Failures(); n != 1 || err != own {
		t.Error(n, err)
	}
}

func TestAScopeSaysWhoWaitsForWhom(t *testing.T) {
	ctx := guarded(t)
	scope := stepped(t)
	running := run(t, flow.To(flow.ManualSource[int](flow.EdgeOptions{}).Filter(func(int) bool { return true }).Named("work"), flow.ProbeSink[int]()), ctx, scope)
	scope.Settle()
	who := func() map[string]flow.WaitsFor {
		told := map[string]flow.WaitsFor{}
		explanation := scope.Explain()
		if explanation.Scope != "test" || !strings.Contains(explanation.String(), "work") {
			t.Errorf("%+v: %v", explanation, explanation)
		}
		for _, stage := range explanation.Stages {
			told[stage.Name] = stage.WaitsFor
		}
		return told
	}
	if told := who(); told["work"] != flow.WaitsForConsumer {
		t.Error(told)
	}
	running.Result.Request(1)
	scope.Settle()
	if told := who(); told["work"] != flow.WaitsForSource {
		t.Error(told)
	}
	if none := (flow.Explanation{}); none.String() != "" || len(none.JSON()) == 0 {
		t.Error("the zero value says nothing")
	}
}

func TestReadersAndWritersAreSourcesAndSinks(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	var closed atomic.Int64
	of := func(reader io.Reader, err error) func() (io.Reader, error) {
		return func() (io.Reader, error) {
			return struct {
				io.Reader
				io.Closer
			}{reader, closer(func() { closed.Add(1) })}, err
		}
	}
	text := "one\r\n\ntwo\nthree"
	got, err := flow.Lines(5, of(iotest.OneByteReader(strings.NewReader(text)), nil)).Collect(ctx, scope)
	equal(t, got, err, "one", "", "two", "three")
	if _, err := flow.Lines(4, of(strings.NewReader(text), nil)).Collect(ctx, scope); !errors.Is(err, sluicegate.ErrLimitReached) {
		t.Error(err)
	}
	got, err = flow.Lines(5, of(strings.NewReader(text), nil)).Take(1).Collect(ctx, scope)
	equal(t, got, err, "one")
	for closed.Load() < 3 && ctx.Err() == nil {
		runtime.Gosched()
	}
	if _, err := flow.Lines(5, func() (io.Reader, error) { return nil, io.ErrNoProgress }).Collect(ctx, scope); err != io.ErrNoProgress {
		t.Error(err)
	}
	if _, err := flow.Chunks(3, of(iotest.TimeoutReader(strings.NewReader(text)), nil)).Collect(ctx, scope); err != iotest.ErrTimeout {
		t.Error(err)
	}
	if err := flow.Lines(0, nil).Err(); !errors.Is(err, sluicegate.ErrInvalidArgument) {
		t.Error(err)
	}
	if err := flow.Chunks(0, nil).Err(); !errors.Is(err, sluicegate.ErrInvalidArgument) {
		t.Error(err)
	}
	var copied strings.Builder
	written, err := flow.Run(ctx, scope, flow.Chunks(3, of(iotest.DataErrReader(strings.NewReader(text)), nil)), flow.ToWriter[[]byte](&copied))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := written.Wait(ctx); n != int64(len(text)) || copied.String() != text || err != nil {
		t.Error(n, copied.String(), err)
	}
	full, err := flow.Run(ctx, scope, flow.Of("text"), flow.ToWriter[string](failingWriter{}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := full.Wait(ctx); err != io.ErrShortWrite {
		t.Error(err)
	}
}

// A sequence may end its goroutine: nobody waits for what does not come any more.
func TestASequenceThatEndsItsGoroutineFailsTheStream(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	source := flow.FromSeq(func(yield func(int) bool) {
		yield(1)
		runtime.Goexit()
	})
	ended, err := flow.Run(ctx, scope, source, flow.ForEach(func(int) error { return nil }))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ended.Wait(ctx); err == nil || !strings.Contains(err.Error(), "runtime.Goexit") {
		t.Error(err)
	}
}

// A reader is closed once, however its run ends, and a writer never is: it stays its owner's.
func TestAReaderIsClosedOnceHoweverItsRunEnds(t *testing.T) {
	nothingIsLeft(t)
	ctx := guarded(t)
	broken := errors.New("broken")
	endless := func() io.Reader { return iotest.OneByteReader(strings.NewReader(strings.Repeat("line\n", 1000))) }
	type lines = flow.Source[string]
	for how, ends := range map[string]struct {
		reader func() io.Reader
		with   func(lines) lines
		err    error
	}{
		"it finishes": {endless, func(s lines) lines { return s }, nil},
		"it fails":    {func() io.Reader { return iotest.ErrReader(broken) }, func(s lines) lines { return s }, broken},
		"it is left":  {endless, func(s lines) lines { return s.Take(3) }, nil},
		"what comes behind fails": {endless, func(s lines) lines {
			return flow.Via(s, flow.TryMap(func(string) (string, error) { return "", broken }))
		}, broken},
	} {
		t.Run(how, func(t *testing.T) {
			scope := scope(t)
			var opened, closed atomic.Int64
			source := flow.Lines(5, func() (io.Reader, error) {
				opened.Add(1)
				return struct {
					io.Reader
					io.Closer
				}{ends.reader(), closer(func() { closed.Add(1) })}, nil
			})
			written, err := flow.Run(ctx, scope, ends.with(source), flow.ToWriter[string](struct {
				io.Writer
				io.Closer
			}{io.Discard, closer(func() { t.Error("a writer was closed") })}))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := written.Wait(ctx); !errors.Is(err, ends.err) {
				t.Error(err)
			}
			if err := scope.Close(); err != nil {
				t.Error(err)
			}
			if opened.Load() != 1 || closed.Load() != 1 {
				t.Errorf("opened %d times, closed %d times", opened.Load(), closed.Load())
			}
		})
	}
	t.Run("its scope is closed", func(t *testing.T) {
		scope := scope(t)
		var closed atomic.Int64
		reading := make(chan struct{}, 1)
		source := flow.Lines(5, func() (io.Reader, error) {
			reading <- struct{}{}
			return struct {
				io.Reader
				io.Closer
			}{endless(), closer(func() { closed.Add(1) })}, nil
		})
		hold := make(chan struct{})
		held, err := flow.Run(ctx, scope, source, flow.ForEach(func(string) error { <-hold; return nil }))
		if err != nil {
			t.Fatal(err)
		}
		<-reading
		closing := make(chan error)
		go func() { closing <- scope.Close() }()
		close(hold)
		if err := <-closing; err != nil {
			t.Error(err)
		}
		if _, err := held.Wait(ctx); err != nil && !errors.Is(err, sluicegate.ErrScopeShutDown) {
			t.Error(err)
		}
		if closed.Load() != 1 {
			t.Errorf("closed %d times", closed.Load())
		}
	})
}

type closer func()

func (c closer) Close() error { c(); return nil }

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestChannelsFeedAndTakeStreams(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	from, to := make(chan int), make(chan int)
	running := run(t, flow.To(flow.ManualSource[int](flow.EdgeOptions{Capacity: 1}), flow.ToOutlet[int](flow.EdgeOptions{Capacity: 1})), ctx, scope)
	fed, taken := make(chan error, 1), make(chan error, 1)
	go func() { fed <- manual[int](t, running).SendFrom(ctx, from) }()
	go func() { taken <- running.Result.SendTo(ctx, to) }()
	for n := range 100 {
		from <- n
		if got := <-to; got != n {
			t.Fatal(got)
		}
	}
	close(from)
	if err := errors.Join(<-fed, <-taken); err != nil {
		t.Error(err)
	}
	over := run(t, flow.To(flow.ManualSource[int](flow.EdgeOptions{}), flow.ToOutlet[int](flow.EdgeOptions{})), ctx, scope)
	why := errors.New("enough")
	short, cancel := context.WithCancelCause(ctx)
	cancel(why)
	control := manual[int](t, over)
	if err := control.SendFrom(short, from); err != nil && err != why { // from is closed: either may be seen first
		t.Error(err)
	}
	if err := control.SendFrom(short, nil); err != why {
		t.Error(err)
	}
	over.Result.Cancel()
	many := make(chan int, 1000)
	for n := range cap(many) {
		many <- n
	}
	for !control.Over() && ctx.Err() == nil {
		runtime.Gosched()
	}
	if err := control.SendFrom(ctx, many); err != nil {
		t.Error("nobody wants more:", err)
	}
}

func TestUnfoldAndRepeat(t *testing.T) {
	ctx, scope := guarded(t), scope(t)
	fibonacci := flow.Unfold([2]int{0, 1}, func(state [2]int) (int, [2]int, error) {
		if state[0] > 20 {
			return 0, state, io.EOF
		}
		return state[0], [2]int{state[1], state[0] + state[1]}, nil
	})
	for range 2 {
		got, err := fibonacci.Collect(ctx, scope)
		equal(t, got, err, 0, 1, 1, 2, 3, 5, 8, 13)
	}
	got, err := flow.Repeat("a").Take(2).Collect(ctx, scope)
	equal(t, got, err, "a", "a")
}

func TestTicksComeByTheClockOfTheScope(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), stepped(t)
	running := run(t, flow.To(flow.Tick(time.Second, "tick"), flow.ProbeSink[string]()), ctx, scope)
	ticks := func(after time.Duration) int {
		t.Helper()
		if err := scope.Advance(after); err != nil {
			t.Fatal(err)
		}
		n := 0
		for scope.Settle(); ; n++ {
			signal, err := running.Result.Signal(noTime)
			if err != nil {
				return n
			}
			if signal.Kind != flow.SignalNext || signal.Element != "tick" {
				t.Fatal(signal)
			}
		}
	}
	if n := ticks(10 * time.Second); n != 0 {
		t.Error("nobody has asked:", n)
	}
	running.Result.Request(2)
	for _, want := range []struct {
		after time.Duration
		n     int
	}{{0, 0}, {999 * time.Millisecond, 0}, {time.Millisecond, 1}, {time.Second, 1}, {10 * time.Second, 0}} {
		if n := ticks(want.after); n != want.n {
			t.Errorf("%v later: %d, not %d", want.after, n, want.n)
		}
	}
	if err := flow.Tick(0, 1).Err(); !errors.Is(err, sluicegate.ErrInvalidArgument) {
		t.Error(err)
	}
}

func TestTheZeroValueOfABlueprintSaysSo(t *testing.T) {
	ctx, scope := guarded(t), scope(t)
	var (
		source flow.Source[int]
		stage  flow.Flow[int, int]
		sink   flow.Sink[int, struct{}]
		graph  flow.Graph[struct{}]
	)
	_, ran := graph.Run(ctx, scope)
	for what, err := range map[string]error{
		"source": source.Err(), "flow": stage.Err(), "sink": sink.Err(), "graph": graph.Err(), "run": ran,
		"via": flow.Via(source, flow.Take[int](1)).Err(), "behind": flow.Of(1).Via(stage).Err(), "named": source.Named("x").Err(),
		"merge": flow.Merge(flow.Of(1), source).Err(), "zip": flow.Zip(source, source).Err(), "retry": source.Retry(1, 0, 0).Err(),
		"to": flow.To(flow.Of(1), sink).Err(), "broadcast": flow.Broadcast(flow.FanOptions{}, sink).Err(),
	} {
		if !errors.Is(err, sluicegate.ErrInvalidArgument) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
