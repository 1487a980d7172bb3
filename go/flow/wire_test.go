package flow_test

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicegate/sluicegate/go"
	"github.com/sluicegate/sluicegate/go/flow"
)

const (
	squaresCap = "cap:squares;in=media:numbers;out=media:numbers"
	echoCap    = "cap:items;in=media:items;out=media:items"
)

var errOdd = &sluicegate.Error{Kind: sluicegate.ErrRemote, Code: "ODD", Class: sluicegate.ClassInput, Message: "an odd number"}

// peer is a cartridge whose handlers are pipelines, in this process, with a window of so many chunks.
func peer(t *testing.T, ctx context.Context, scope *flow.Scope, window uint64) *sluicegate.Peer {
	t.Helper()
	cartridge := sluicegate.NewCartridge(sluicegate.Manifest{Name: "test", Limits: sluicegate.Limits{InitialCredit: window}})
	cartridge.HandleFunc(squaresCap, func(ctx context.Context, r *sluicegate.Request) error {
		in, err := r.Input(ctx)
		if err != nil {
			return err
		}
		squares := flow.Then(flow.Decode[int](), flow.TryMap(func(n int) (int, error) {
			if n%2 == 1 {
				return 0, errOdd
			}
			return n * n, nil
		}))
		done, err := flow.Run(ctx, scope, flow.Via(flow.FromInput(in), squares), flow.ToOutput[int](r.Output()))
		if err != nil {
			return err
		}
		_, err = done.Wait(ctx)
		return err
	})
	cartridge.Handle(sluicegate.Cap{URN: echoCap, InputSequence: true, OutputSequence: true}, func(ctx context.Context, r *sluicegate.Request) error {
		in, err := r.Input(ctx)
		if err != nil {
			return err
		}
		done, err := flow.Run(ctx, scope, flow.FromInput(in), flow.ToOutputItems(r.Output()))
		if err != nil {
			return err
		}
		_, err = done.Wait(ctx)
		return err
	})
	engine, err := sluicegate.NewEngine(sluicegate.EngineOptions{Limits: sluicegate.Limits{InitialCredit: window}})
	if err != nil {
		t.Fatal(err)
	}
	host, own := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- cartridge.ServeConn(context.Background(), own, own) }()
	connected, err := engine.Attach(ctx, host, host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(engine.Close(), <-served); err != nil {
			t.Error(err)
		}
	})
	return connected
}

// opened is a call with an argument stream.
func opened(t *testing.T, ctx context.Context, peer *sluicegate.Peer, cap, media string) (*sluicegate.Call, *sluicegate.OutputStream) {
	t.Helper()
	call, err := peer.Call(ctx, cap)
	if err != nil {
		t.Fatal(err)
	}
	in, err := call.Input(media)
	if err != nil {
		t.Fatal(err)
	}
	return call, in
}

func TestAPipelineOverTwoProcessesHasOneDemand(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	call, in := opened(t, ctx, peer(t, ctx, scope, 4), squaresCap, "media:numbers")
	var made atomic.Int64
	evens := flow.Via(flow.Range(0, 1<<62), flow.Map(func(n int) int { made.Add(1); return 2 * n })).Take(100_000)
	sent, err := flow.Run(ctx, scope, evens, flow.ToOutput[int](in))
	if err != nil {
		t.Fatal(err)
	}
	out, err := call.Output(ctx)
	if err != nil {
		t.Fatal(err)
	}
	// Nobody reads: what is made is what two windows of 4 hold, and a few on their way.
	sluggish := func() bool { return in.Stats().Window == 0 && made.Load() >= 8 }
	for !sluggish() && ctx.Err() == nil {
		runtime.Gosched()
	}
	if n := made.Load(); n > 40 {
		t.Errorf("the source ran ahead of the reader: %d", n)
	}
	got, err := flow.Via(flow.FromInput(out), flow.Decode[int]()).Take(1000).Collect(ctx, scope)
	if err != nil || len(got) != 1000 || got[999] != 4*999*999 {
		t.Fatal(len(got), err)
	}
	// The end of take has cancelled the call, and so the pipelines above it, in both processes.
	if _, err := sent.Wait(ctx); !errors.Is(err, sluicegate.ErrCancelled) {
		t.Error(err)
	}
	if n := made.Load(); n > 1100 {
		t.Errorf("the source ran ahead of the reader: %d", n)
	}
}

func TestAPipelineThatFailsFailsItsRequest(t *testing.T) {
	ctx, scope := guarded(t), scope(t)
	call, in := opened(t, ctx, peer(t, ctx, scope, 4), squaresCap, "media:numbers")
	if _, err := flow.Run(ctx, scope, flow.Of(2, 4, 5, 6), flow.ToOutput[int](in)); err != nil {
		t.Fatal(err)
	}
	out, err := call.Output(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, err = flow.FromInput(out).Collect(ctx, scope)
	if known := (*sluicegate.Error)(nil); !errors.As(err, &known) || known.Code != errOdd.Code || known.Message != errOdd.Message {
		t.Error(err)
	}
	again := flow.FromInput(out)
	for _, want := range []error{nil, sluicegate.ErrAlreadySubscribed} {
		if _, err := again.Collect(ctx, scope); want != nil && !errors.Is(err, want) {
			t.Error(err)
		}
	}
}

func TestItemsKeepTheirMetadata(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	call, in := opened(t, ctx, peer(t, ctx, scope, 4), echoCap, "media:items")
	feed, err := sluicegate.NewFeed(sluicegate.FeedOptions{Capacity: 100})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 50 {
		if err := feed.PushValue(n, time.Duration(n)*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	feed.Stop()
	sent, err := flow.Run(ctx, scope, flow.FromFeed(feed), flow.ToOutputItems(in))
	if err != nil {
		t.Fatal(err)
	}
	out, err := call.Output(ctx)
	if err != nil {
		t.Fatal(err)
	}
	items, err := flow.FromInput(out).Collect(ctx, scope)
	if err != nil || len(items) != 50 {
		t.Fatal(len(items), err)
	}
	for n, item := range items {
		meta, ok := item.FeedMeta()
		if !ok || meta.Seq != uint64(n) || meta.PTS != uint64(n)*1000 || item.Value.String() != itoa(n) {
			t.Fatal(n, meta, item.Value)
		}
	}
	if _, err := sent.Wait(ctx); err != nil {
		t.Error(err)
	}
	if stats := feed.Stats(); stats.Captured != 50 || stats.Delivered != 50 || stats.Dropped != 0 {
		t.Errorf("%+v", stats)
	}
}

func TestACancelledPipelineGivesItsFeedUp(t *testing.T) {
	ctx, scope := guarded(t), scope(t)
	feed, err := sluicegate.NewFeed(sluicegate.FeedOptions{Capacity: 4})
	if err != nil {
		t.Fatal(err)
	}
	if err := feed.Push([]byte("one"), 0); err != nil {
		t.Fatal(err)
	}
	first, err := flow.Run(ctx, scope, flow.FromFeed(feed), flow.First[sluicegate.Item]())
	if err != nil {
		t.Fatal(err)
	}
	got, err := first.Wait(ctx)
	if content, _ := got.Value.Value.Bytes(); string(content) != "one" || err != nil {
		t.Fatal(got, err)
	}
	for feed.Push([]byte("two"), 0) == nil {
		if ctx.Err() != nil {
			t.Fatal("a feed that nobody reads any more goes on capturing")
		}
	}
	if err := feed.Push(nil, 0); !errors.Is(err, sluicegate.ErrClosed) {
		t.Error(err)
	}
}

func TestWhatIsNoValueFailsThePipelineAndNotTheProcess(t *testing.T) {
	ctx, scope := guarded(t), scope(t)
	call, in := opened(t, ctx, peer(t, ctx, scope, 4), squaresCap, "media:numbers")
	sent, err := flow.Run(ctx, scope, flow.Of[any](2, make(chan int)), flow.ToOutput[any](in))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sent.Wait(ctx); !errors.Is(err, sluicegate.ErrInvalidArgument) {
		t.Error(err)
	}
	if err := in.Emit(ctx, 4); err != nil {
		t.Error("a pipeline that fails leaves the stream open:", err)
	}
	if err := call.FinishInput(ctx); err != nil {
		t.Error(err)
	}
	out, err := call.Output(ctx)
	if err != nil {
		t.Fatal(err)
	}
	got, err := flow.Via(flow.FromInput(out), flow.Decode[string]()).Collect(ctx, scope)
	if !errors.Is(err, sluicegate.ErrMalformed) || got != nil {
		t.Error("a number is no text:", got, err)
	}
	_, _ = io.Copy(io.Discard, out.Reader(ctx))
}
