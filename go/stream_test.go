package sluicegate_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluicegate/go"
	"github.com/sluicegate/sluicegate/go/internal/capi"
)

func emitAll(ctx context.Context, values ...any) func(*sluicegate.OutputStream) error {
	return func(in *sluicegate.OutputStream) error {
		for _, v := range values {
			if err := in.Emit(ctx, v); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestValuesKeepTheirTypes(t *testing.T) {
	ctx := guarded(t)
	values := []any{0, uint64(1<<64 - 1), -5, 1.25, true, nil, "text", []any{1, "a"}, map[string]any{"k": "v"}, []byte("bytes")}
	call := feed(t, ctx, attach(t, sluicegate.Limits{}, files), echoCap, emitAll(ctx, values...))
	var got []sluicegate.Value
	for item, err := range output(t, ctx, call).Items(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if item.Meta != nil {
			t.Errorf("meta %s out of nowhere", item.Meta)
		}
		got = append(got, item.Value)
	}
	if len(got) != len(values) {
		t.Fatalf("sent %d values, got %d: %v", len(values), len(got), got)
	}
	for i, v := range values {
		want, err := sluicegate.Encode(v)
		if err != nil || !bytes.Equal(got[i], want) {
			t.Errorf("sent %s, got %s (%v)", want, got[i], err)
		}
	}
	if end, err := call.Wait(ctx); err != nil || end.ExitCode != 0 || end.Progress != 1 {
		t.Errorf("got %+v, %v", end, err)
	}
}

// Bytes of any size pass, however small window and chunks are, over files and over plain readers.
func TestBytesPassWhole(t *testing.T) {
	for _, limits := range []sluicegate.Limits{{MaxChunk: 262_144}, {InitialCredit: 1, MaxChunk: 100}, {InitialCredit: 3, MaxChunk: 70_000}} {
		for _, transport := range []string{files, pipes, sockets, conns} {
			t.Run(fmt.Sprintf("%s %d", transport, limits.MaxChunk), func(t *testing.T) {
				ctx := guarded(t)
				source := rand.NewChaCha8([32]byte{7})
				data := make([]byte, 12_345+20*limits.MaxChunk)
				_, _ = source.Read(data)
				peer := attach(t, limits, transport)
				call := feed(t, ctx, peer, echoCap, func(in *sluicegate.OutputStream) error {
					for rest := data; len(rest) > 0; {
						n := min(len(rest), 1+int(source.Uint64()%300_000))
						if _, err := in.WriteContext(ctx, rest[:n]); err != nil {
							return err
						}
						rest = rest[n:]
					}
					return nil
				})
				hash := sha256.New()
				n, err := io.Copy(hash, output(t, ctx, call).Reader(ctx))
				if err != nil || n != int64(len(data)) || !bytes.Equal(hash.Sum(nil), sum(data)) {
					t.Errorf("sent %d bytes, got %d, %v; or they differ", len(data), n, err)
				}
				if _, err := call.Wait(ctx); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func sum(data []byte) []byte {
	s := sha256.Sum256(data)
	return s[:]
}

func TestReaderReadsInPieces(t *testing.T) {
	ctx := guarded(t)
	call := feed(t, ctx, attach(t, sluicegate.Limits{}, files), echoCap, emitAll(ctx, []byte("byt"), []byte("es")))
	reader := output(t, ctx, call).Reader(ctx)
	var got []byte
	for buffer := make([]byte, 1); ; {
		n, err := reader.Read(buffer)
		got = append(got, buffer[:n]...)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if string(got) != "bytes" {
		t.Errorf("got %q", got)
	}
	if n, err := reader.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("after the end: %d, %v", n, err)
	}
}

func TestReaderRefusesWhatAreNoBytes(t *testing.T) {
	ctx := guarded(t)
	call := feed(t, ctx, attach(t, sluicegate.Limits{}, files), echoCap, emitAll(ctx, []byte("x"), 7))
	got, err := io.ReadAll(output(t, ctx, call).Reader(ctx))
	if string(got) != "x" || !errors.Is(err, sluicegate.ErrWrongMode) {
		t.Errorf("got %q, %v", got, err)
	}
	call.Cancel(nil)
}

// HZ-W03: an item wider than the window arrives whole, with its metadata.
func TestItemsWiderThanTheWindow(t *testing.T) {
	ctx := guarded(t)
	peer := attach(t, sluicegate.Limits{InitialCredit: 2, MaxChunk: 1000}, files)
	sizes := []int{1, 50_000, 0, 999, 1000, 1001}
	call, err := peer.Call(ctx, itemsCap)
	if err != nil {
		t.Fatal(err)
	}
	in, err := call.Input("media:items")
	if err != nil {
		t.Fatal(err)
	}
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		for i, size := range sizes {
			if err := in.EmitItem(ctx, bytes.Repeat([]byte{byte(i)}, size), map[string]any{"i": i}); err != nil {
				t.Error(err)
			}
		}
		if err := in.EmitItem(ctx, "without", nil); err != nil {
			t.Error(err)
		}
		if _, err := in.Write([]byte("x")); !errors.Is(err, sluicegate.ErrWrongMode) {
			t.Errorf("a write on a sequence answers %v", err)
		}
		if err := call.FinishInput(ctx); err != nil {
			t.Error(err)
		}
	}()
	out := output(t, ctx, call)
	if info := out.Info(); info.Mode != sluicegate.Sequence || info.Media != "media:items" || info.Output != sluicegate.Unnamed || info.Unbounded {
		t.Errorf("got %+v", info)
	}
	got, err := out.ReadItems(ctx)
	<-fed
	if err != nil || len(got) != len(sizes)+1 {
		t.Fatalf("got %d items, %v", len(got), err)
	}
	for i, size := range sizes {
		var meta struct{ I int }
		content, ok := got[i].Value.Bytes()
		if err := got[i].Meta.Unmarshal(&meta); err != nil || meta.I != i || !ok || len(content) != size {
			t.Errorf("item %d: meta %s, %d bytes, want %d (%v)", i, got[i].Meta, len(content), size, err)
		}
	}
	if text, _ := got[len(sizes)].Value.Text(); text != "without" || got[len(sizes)].Meta != nil {
		t.Errorf("got %+v", got[len(sizes)])
	}
}

// HZ-S14: a receive that gives up has taken nothing: each number comes once, in order.
func TestTimedReceivesLoseNothing(t *testing.T) {
	ctx := guarded(t)
	const n = 5000
	peer := attach(t, sluicegate.Limits{InitialCredit: 4}, files)
	out := output(t, ctx, feed(t, ctx, peer, countCap, emitAll(ctx, n)))
	for next := uint64(0); ; {
		limited, cancel := context.WithTimeout(ctx, time.Duration(next%200)*time.Microsecond)
		item, err := out.Recv(limited)
		cancel()
		if errors.Is(err, sluicegate.ErrTimedOut) {
			continue
		}
		if err == io.EOF && next == n {
			return
		}
		var got uint64
		if err == nil {
			err = item.Value.Unmarshal(&got)
		}
		if err != nil || got != next {
			t.Fatalf("got %d, %v; want %d", got, err, next)
		}
		next++
	}
}

// HZ-F09: cancelling blocked receives and writes reaches them all, and nothing is lost.
func TestCancellingReceivesAndWrites(t *testing.T) {
	const waiters = 500
	ctx := guarded(t)
	peer := attach(t, sluicegate.Limits{InitialCredit: 1}, files)
	held, err := peer.Call(ctx, holdCap)
	if err != nil {
		t.Fatal(err)
	}
	out := output(t, ctx, held)
	if item, err := out.Recv(ctx); err != nil || item.Value.String() != `"ready"` {
		t.Fatalf("got %v, %v", item, err)
	}
	in, err := held.Input("media:blob")
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Emit(ctx, 0); err != nil { // the only credit there is
		t.Fatal(err)
	}
	limited, cancel := context.WithCancel(ctx)
	done := make(chan error, 2*waiters)
	for range waiters {
		go func() {
			_, err := out.Recv(limited)
			done <- err
		}()
		go func() { done <- in.Emit(limited, 1) }()
	}
	until(t, "everyone to wait", func() bool { return capi.Bells() >= 2*waiters })
	cancel()
	for range 2 * waiters {
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
	}
	if got := in.Stats(); got.Chunks != 1 || got.InitialCredit != 1 {
		t.Errorf("a cancelled write was sent: %+v", got)
	}
	held.Cancel(nil)
	if _, err := out.Recv(ctx); !errors.Is(err, sluicegate.ErrCancelled) {
		t.Errorf("got %v", err)
	}
	if err := in.Emit(ctx, 1); !errors.Is(err, sluicegate.ErrCancelled) {
		t.Errorf("got %v", err)
	}
}

// HZ-C19: a reader that does not read holds its sender back at the window.
func TestAReaderThatSleepsHoldsItsSenderBack(t *testing.T) {
	ctx := guarded(t)
	peer := attach(t, sluicegate.Limits{InitialCredit: 4, MaxChunk: 1000}, files)
	call, err := peer.Call(ctx, holdCap)
	if err != nil {
		t.Fatal(err)
	}
	in, err := call.Input("media:blob")
	if err != nil {
		t.Fatal(err)
	}
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	type written struct {
		n   int
		err error
	}
	done := make(chan written, 1)
	go func() {
		n, err := in.WriteContext(limited, make([]byte, 64<<20))
		done <- written{n, err}
	}()
	until(t, "the sender to wait", func() bool { return in.Stats().Stalled > 0 })
	time.Sleep(100 * time.Millisecond) // in which it would go on, if it could
	cancel()
	if got := <-done; !errors.Is(got.err, context.Canceled) || got.n != 0 {
		t.Errorf("wrote %d, %v", got.n, got.err)
	}
	if got := in.Stats(); got.Chunks != 4 || got.Window != 0 || got.Stalled == 0 {
		t.Errorf("got %+v", got)
	}
	call.Cancel(nil)
}

func TestUnboundedStreamsAreNotCollected(t *testing.T) {
	ctx := guarded(t)
	peer := attach(t, sluicegate.Limits{}, files)
	call, err := peer.Call(ctx, foreverCap)
	if err != nil {
		t.Fatal(err)
	}
	out := output(t, ctx, call)
	info := out.Info()
	if !info.Unbounded || info.Meta.String() != `{"from": "go"}` {
		t.Errorf("got %+v", info)
	}
	if _, err := out.ReadAll(ctx); !errors.Is(err, sluicegate.ErrUnbounded) {
		t.Errorf("got %v", err)
	}
	if _, err := out.ReadText(ctx); !errors.Is(err, sluicegate.ErrUnbounded) {
		t.Errorf("got %v", err)
	}
	if _, err := out.ReadItems(ctx); !errors.Is(err, sluicegate.ErrUnbounded) {
		t.Errorf("got %v", err)
	}
	seen := 0
	for _, err := range out.Items(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if seen++; seen == 1000 {
			break
		}
	}
	out.Cancel()
	if _, err := call.Wait(ctx); !errors.Is(err, sluicegate.ErrCancelled) {
		t.Errorf("got %v", err)
	}
}

// Several goroutines may write and read one stream; each value is whole and reaches one reader.
func TestManyWritersAndReaders(t *testing.T) {
	const goroutines, each = 8, 200
	ctx := guarded(t)
	peer := attach(t, sluicegate.Limits{InitialCredit: 3}, files)
	call := feed(t, ctx, peer, echoCap, func(in *sluicegate.OutputStream) error {
		var writers sync.WaitGroup
		failures := make([]error, goroutines)
		for g := range goroutines {
			writers.Add(1)
			go func() {
				defer writers.Done()
				for i := range each {
					failures[g] = errors.Join(failures[g], in.Emit(ctx, g*each+i))
				}
			}()
		}
		writers.Wait()
		return errors.Join(failures...)
	})
	out := output(t, ctx, call)
	var mutex sync.Mutex
	var readers sync.WaitGroup
	seen := map[uint64]int{}
	for range goroutines {
		readers.Add(1)
		go func() {
			defer readers.Done()
			for item, err := range out.Items(ctx) {
				var n uint64
				if err == nil {
					err = item.Value.Unmarshal(&n)
				}
				if err != nil {
					t.Error(err)
					return
				}
				mutex.Lock()
				seen[n]++
				mutex.Unlock()
			}
		}()
	}
	readers.Wait()
	if len(seen) != goroutines*each {
		t.Errorf("%d values of %d", len(seen), goroutines*each)
	}
	for n, times := range seen {
		if times != 1 {
			t.Errorf("%d came %d times", n, times)
		}
	}
}

func TestCloseMayBeCalledAgain(t *testing.T) {
	ctx := guarded(t)
	call := feed(t, ctx, attach(t, sluicegate.Limits{}, files), echoCap, func(in *sluicegate.OutputStream) error {
		if _, err := in.WriteString("held back by coalescing"); err != nil {
			return err
		}
		closed := make(chan error, 8)
		for range 8 {
			go func() { closed <- in.Close() }()
		}
		var err error
		for range 8 {
			err = errors.Join(err, <-closed)
		}
		if _, late := in.Write([]byte("x")); !errors.Is(late, sluicegate.ErrClosed) {
			return fmt.Errorf("a write after Close answers %v", late)
		}
		return err
	})
	text, err := output(t, ctx, call).ReadAll(ctx)
	if err != nil || string(text) != "held back by coalescing" {
		t.Errorf("got %q, %v", text, err)
	}
}
