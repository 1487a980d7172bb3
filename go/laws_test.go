package sluicegate_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluicegate/go"
)

// windowed starts the test cartridge as a process, to which every stream starts with window chunks.
func windowed(t *testing.T, window uint64) *sluicegate.Peer {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	engine, err := sluicegate.NewEngine(sluicegate.EngineOptions{Limits: sluicegate.Limits{InitialCredit: window}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	peer, err := engine.Spawn(guarded(t), sluicegate.Command{
		Program: self, Env: []string{"SLUICEGATE_TEST_CARTRIDGE=serve"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return peer
}

// numbers emits the numbers below count.
func numbers(ctx context.Context, count int) func(*sluicegate.OutputStream) error {
	return func(in *sluicegate.OutputStream) error {
		for n := range count {
			if err := in.Emit(ctx, n); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestL9ASenderStartsWithTheWindowAndWaitsAtZero(t *testing.T) {
	// L9: nobody reads this input, so that there is room for the window and no more.
	ctx := guarded(t)
	call, err := windowed(t, 2).Call(ctx, foreverCap)
	if err != nil {
		t.Fatal(err)
	}
	defer call.Cancel(nil)
	in, err := call.Input("media:blob")
	if err != nil {
		t.Fatal(err)
	}
	if err := numbers(ctx, 2)(in); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if err := in.Emit(short, 2); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("beyond the window: %v", err)
	}
}

func TestL10L11L15WhatIsConsumedComesBackWithEveryWindow(t *testing.T) {
	// L10, L11, L15: credit comes from whoever consumes, also when no batch is full, and both directions
	// of a request are served at once.
	for _, window := range []uint64{1, 2, 3, 32} {
		ctx := guarded(t)
		call := feed(t, ctx, windowed(t, window), echoCap, numbers(ctx, 100))
		items, err := output(t, ctx, call).ReadItems(ctx)
		if err != nil || len(items) != 100 {
			t.Errorf("window %d: %d items, %v", window, len(items), err)
		}
		if _, err := call.Wait(ctx); err != nil {
			t.Error(err)
		}
	}
}

func TestL12AChunkBeyondTheWindowIsRefusedAndChangesNothing(t *testing.T) {
	window := sluicegate.NewWindow(2)
	for range 2 {
		if err := window.Arrive(); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		// L12: beyond the window, however often it comes.
		if err := window.Arrive(); !errors.Is(err, sluicegate.ErrCreditViolation) {
			t.Errorf("beyond the window: %v", err)
		}
	}
	if n := window.Remaining(); n != 0 {
		t.Errorf("%d remain", n)
	}
	if n := window.Consumed() + window.Flush(); n != 1 {
		t.Errorf("%d came back for one chunk", n)
	}
	if err := window.Arrive(); err != nil {
		t.Errorf("what came back is room again: %v", err)
	}
}

func TestL13ACancelReleasesWhoWaitsForCredit(t *testing.T) {
	// L13: eight goroutines wait for room, and all of them are told.
	ctx := guarded(t)
	call, err := windowed(t, 2).Call(ctx, foreverCap)
	if err != nil {
		t.Fatal(err)
	}
	in, err := call.Input("media:blob")
	if err != nil {
		t.Fatal(err)
	}
	var senders sync.WaitGroup
	for range 8 {
		senders.Add(1)
		go func() {
			defer senders.Done()
			for {
				if err := in.Emit(ctx, 1); err != nil {
					if !errors.Is(err, sluicegate.ErrCancelled) {
						t.Errorf("released with %v", err)
					}
					return
				}
			}
		}()
	}
	if _, err := output(t, ctx, call).Recv(ctx); err != nil {
		t.Fatal(err)
	}
	call.Cancel(nil)
	senders.Wait()
}

func TestL14ControlFlowsWhileNoDataMay(t *testing.T) {
	// L14: logs and progress cost no credit, and flow while a whole window lies unread.
	ctx := guarded(t)
	peer := windowed(t, 1)
	full, err := peer.Call(ctx, foreverCap)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Cancel(nil)
	output(t, ctx, full) // of which nothing is read
	call := feed(t, ctx, peer, tellCap, numbers(ctx, 1))
	if _, err := call.NextEvent(ctx); err != nil {
		t.Errorf("no event: %v", err)
	}
}

func TestL16L17AnUnboundedStreamEndsByACancel(t *testing.T) {
	// L16, L17: an unbounded stream is never collected whole and ends by a cancel in its middle; the
	// cartridge lives on.
	ctx := guarded(t)
	peer := windowed(t, 4)
	call, err := peer.Call(ctx, foreverCap)
	if err != nil {
		t.Fatal(err)
	}
	out := output(t, ctx, call)
	if _, err := out.ReadItems(ctx); !errors.Is(err, sluicegate.ErrUnbounded) {
		t.Errorf("collected: %v", err)
	}
	for range 100 {
		if _, err := out.Recv(ctx); err != nil {
			t.Fatal(err)
		}
	}
	call.Cancel(nil)
	if _, err := call.Wait(ctx); !errors.Is(err, sluicegate.ErrCancelled) {
		t.Errorf("ended with %v", err)
	}
	echo := feed(t, ctx, peer, echoCap, numbers(ctx, 3))
	if items, err := output(t, ctx, echo).ReadItems(ctx); err != nil || len(items) != 3 {
		t.Errorf("%d items, %v", len(items), err)
	}
}
