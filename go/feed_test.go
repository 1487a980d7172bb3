package sluicegate_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluicegate/go"
)

const feedCap = "cap:feed;in=media:void;out=media:frames"

func openFeed(t *testing.T, options sluicegate.FeedOptions) *sluicegate.Feed {
	t.Helper()
	feed, err := sluicegate.NewFeed(options)
	if err != nil {
		t.Fatal(err)
	}
	return feed
}

func conserved(t *testing.T, feed *sluicegate.Feed) sluicegate.FeedStats {
	t.Helper()
	stats := feed.Stats()
	if stats.Captured != stats.Delivered+stats.Dropped+stats.Held {
		t.Errorf("not conserved: %+v", stats)
	}
	return stats
}

// gaps checks each gap against the numbers (HZ-V02), and answers how many came and are missing.
func gaps(t *testing.T, items func(func(sluicegate.Item, error) bool)) (count, missing uint64) {
	t.Helper()
	expected := uint64(0)
	for item, err := range items {
		if err != nil {
			t.Fatal(err)
		}
		meta, ok := item.FeedMeta()
		if !ok {
			t.Fatalf("%v is no item of a feed", item.Meta)
		}
		lost := uint64(0)
		if meta.Gap != nil {
			lost = meta.Gap.Dropped
		}
		if meta.Seq-expected != lost {
			t.Fatalf("item %d: the gap says %d, %d are missing", meta.Seq, lost, meta.Seq-expected)
		}
		expected = meta.Seq + 1
		count, missing = count+1, missing+lost
	}
	return count, missing
}

// feedPeer is a cartridge on a socket, with a small window.
func feedPeer(t *testing.T, cartridge *sluicegate.Cartridge) *sluicegate.Peer {
	t.Helper()
	ctx := guarded(t)
	host, plugin := socketPair(t)
	served := make(chan error, 1)
	go func() { served <- cartridge.ServeConn(ctx, plugin, plugin) }()
	engine, err := sluicegate.NewEngine(sluicegate.EngineOptions{Limits: sluicegate.Limits{InitialCredit: 2}})
	if err != nil {
		t.Fatal(err)
	}
	peer, err := engine.Attach(ctx, host, host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(engine.Close(), <-served); err != nil {
			t.Error(err)
		}
	})
	return peer
}

// HZ-V03: what a feed has lost is what its connection says that live sources have, and no drop.
func TestTheLossesOfAFeedAreThoseOfItsConnection(t *testing.T) {
	ctx := guarded(t)
	peer := attach(t, sluicegate.Limits{}, files)
	lossy := openFeed(t, sluicegate.FeedOptions{Capacity: 2})
	for n := range 8 {
		if err := lossy.Push([]byte{byte(n)}, time.Duration(n)); err != nil {
			t.Fatal(err)
		}
	}
	lossy.Stop()
	call := feed(t, ctx, peer, itemsCap, func(in *sluicegate.OutputStream) error { return lossy.Serve(ctx, in) })
	if items, err := output(t, ctx, call).ReadItems(ctx); err != nil || len(items) != 2 {
		t.Fatalf("collected %d, %v", len(items), err)
	}
	if _, err := call.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	if stats := conserved(t, lossy); stats.Overruns != 6 || stats.Dropped != 6 {
		t.Errorf("%+v", stats)
	}
	if told := peer.Stats(); told.Overruns != 6 || told.Drops.Total != 0 {
		t.Errorf("%s", peer.StatsJSON())
	}
}

func TestALossIsToldWithTheNextItem(t *testing.T) {
	ctx := guarded(t)
	feed := openFeed(t, sluicegate.FeedOptions{Capacity: 2})
	for n := range 5 {
		if err := feed.PushAt([]byte{byte(n)}, time.Duration(n)*time.Millisecond, time.UnixMicro(int64(n+1))); err != nil {
			t.Fatal(err)
		}
	}
	first, err := feed.Recv(ctx)
	meta, _ := first.FeedMeta()
	if err != nil || meta.Seq != 3 || meta.PTS != 3000 || meta.CapturedAt != 4 || *meta.Gap != (sluicegate.Gap{Dropped: 3}) {
		t.Fatalf("%+v %v", meta, err)
	}
	if feed.PushValue("text", 5*time.Millisecond) != nil || feed.Push(nil, 6*time.Millisecond) != nil {
		t.Fatal("it captures")
	}
	second, _ := feed.Recv(ctx)
	meta, _ = second.FeedMeta()
	if text, _ := second.Value.Text(); text != "text" || *meta.Gap != (sluicegate.Gap{Dropped: 1, DurationUS: 2000}) {
		t.Fatalf("%+v", second)
	}
	feed.Stop()
	if err := feed.Push(nil, 0); !errors.Is(err, sluicegate.ErrClosed) {
		t.Fatal(err)
	}
	if _, err := feed.Recv(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := feed.Recv(ctx); err != io.EOF {
		t.Fatal(err)
	}
	if stats := conserved(t, feed); stats.Overruns != 4 || !stats.Ended {
		t.Fatalf("%+v", stats)
	}
	if _, ok := (sluicegate.Item{}).FeedMeta(); ok {
		t.Fatal("an item without metadata is no feed's")
	}
}

func TestHZ_V01_AnOverrunFailsAFeedThatSaysSo(t *testing.T) {
	ctx := guarded(t)
	feed := openFeed(t, sluicegate.FeedOptions{Capacity: 1, Policy: sluicegate.FailOnOverrun})
	if err := feed.Push(nil, 0); err != nil {
		t.Fatal(err)
	}
	if err := feed.Push(nil, 0); !errors.Is(err, sluicegate.ErrFeedOverrun) {
		t.Fatal(err)
	}
	if _, err := feed.Recv(ctx); err != nil {
		t.Fatal(err)
	}
	var overrun *sluicegate.Error
	if _, err := feed.Recv(ctx); !errors.As(err, &overrun) || overrun.Code != "FEED_OVERRUN" || overrun.Class != "resource" {
		t.Fatal(err)
	}
	conserved(t, feed)
}

func TestHZ_V04_AFailedSourceIsNoCleanEnd(t *testing.T) {
	ctx := guarded(t)
	feed := openFeed(t, sluicegate.FeedOptions{})
	if feed.Push(nil, 0) != nil || feed.Fail(errors.New("unplugged")) != nil {
		t.Fatal("it captures")
	}
	if _, err := feed.Recv(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := feed.Recv(ctx); !errors.Is(err, sluicegate.ErrIO) || !strings.Contains(err.Error(), "unplugged") {
		t.Fatal(err)
	}
}

func TestAReceiveThatEndsWithItsContextTakesNothing(t *testing.T) {
	feed := openFeed(t, sluicegate.FeedOptions{})
	ctx, cancel := context.WithCancel(guarded(t))
	waiting := make(chan error)
	go func() {
		_, err := feed.Recv(ctx)
		waiting <- err
	}()
	cancel()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if feed.Push(nil, 0) != nil || feed.Stats().Held != 1 {
		t.Fatal("the item is still there")
	}
	if feed.Close() != nil || feed.Close() != nil {
		t.Fatal("closing never fails")
	}
	if stats := conserved(t, feed); stats.Dropped != 1 || stats.Overruns != 0 {
		t.Fatalf("%+v", stats)
	}
}

func TestHZ_V01_GapsAddUpThroughACartridge(t *testing.T) {
	const items = 3000
	ctx := guarded(t)
	feed := openFeed(t, sluicegate.FeedOptions{Capacity: 8, Format: map[string]int{"rate": 1000}})
	cartridge := sluicegate.NewCartridge(sluicegate.Manifest{Name: "feeds", Version: "1.0.0"})
	cartridge.Handle(sluicegate.Cap{URN: feedCap, OutputSequence: true, Streaming: true}, func(ctx context.Context, r *sluicegate.Request) error {
		return feed.Serve(ctx, r.Output())
	})
	call, err := feedPeer(t, cartridge).Call(ctx, feedCap)
	if err != nil {
		t.Fatal(err)
	}
	out, err := call.Output(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if info := out.Info(); !info.Unbounded || info.Mode != sluicegate.Sequence || info.Meta == nil {
		t.Fatalf("%+v", info)
	}
	if _, err := out.ReadItems(ctx); !errors.Is(err, sluicegate.ErrUnbounded) {
		t.Fatal(err)
	}
	for n := range items { // nothing is read meanwhile: the source is never held up
		if err := feed.PushValue(n, time.Duration(n)*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	call.CloseStream(out.Info().ID)
	for feed.Push(nil, 0) == nil { // until the handler has heard it
	}
	count, missing := gaps(t, out.Items(ctx))
	if _, err := call.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	stats := conserved(t, feed)
	if stats.Captured < items || stats.Delivered != count || stats.Dropped != missing || missing == 0 {
		t.Fatalf("%d came, %d are missing: %+v", count, missing, stats)
	}
}

func TestHZ_L06_ASilentFeedNoticesACancel(t *testing.T) {
	ctx := guarded(t)
	feed := openFeed(t, sluicegate.FeedOptions{})
	served := make(chan error, 1)
	cartridge := sluicegate.NewCartridge(sluicegate.Manifest{Name: "feeds", Version: "1.0.0"})
	cartridge.Handle(sluicegate.Cap{URN: feedCap, OutputSequence: true, Streaming: true}, func(_ context.Context, r *sluicegate.Request) error {
		err := feed.Serve(context.Background(), r.Output())
		served <- err
		return err
	})
	call, err := feedPeer(t, cartridge).Call(ctx, feedCap)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call.Output(ctx); err != nil {
		t.Fatal(err)
	}
	call.Cancel(nil)
	if err := <-served; !errors.Is(err, sluicegate.ErrCancelled) {
		t.Fatal(err)
	}
}

func TestCommandsAndFilesAreSources(t *testing.T) {
	ctx := guarded(t)
	feed, err := sluicegate.CommandFeed(sluicegate.FeedOptions{}, sluicegate.Command{Program: "sh", Args: []string{"-c", "printf abcdef"}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	if count, missing := gaps(t, feed.Items(ctx)); count != 2 || missing != 0 {
		t.Fatal(count, missing)
	}
	if err := feed.Push(nil, 0); !errors.Is(err, sluicegate.ErrInvalidArgument) {
		t.Fatal(err)
	}
	feed, err = sluicegate.CommandFeed(sluicegate.FeedOptions{}, sluicegate.Command{Program: "sh", Args: []string{"-c", "echo broken >&2; exit 3"}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := feed.Recv(ctx); !errors.Is(err, sluicegate.ErrPeerDied) || !strings.Contains(err.Error(), "broken") {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "clip")
	if err := os.WriteFile(path, []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	feed, err = sluicegate.FileFeed(sluicegate.FeedOptions{}, file, 0, 2*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	var content []string
	for item, err := range feed.Items(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		bytes, _ := item.Value.Bytes()
		content = append(content, string(bytes))
	}
	if strings.Join(content, " ") != "one two" {
		t.Fatal(content)
	}
}
