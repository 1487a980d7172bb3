package sluicegate_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluicegate/sluicegate/go"
	"github.com/sluicegate/sluicegate/go/internal/capi"
)

// The wait/wake contract of docs/waiting.md, sentence by sentence.

// A channel that was closed twice would panic; one that is never closed ends the test.
func TestWakeFiresOnce(t *testing.T) {
	ctx := guarded(t)
	for range 200 {
		gate := capi.NewGate(0)
		op := gate.AcquireOp(1)
		rung, answered, _ := op.Poll()
		if answered {
			t.Fatal("an empty gate answered")
		}
		var wakers sync.WaitGroup
		for range 4 {
			wakers.Add(1)
			go func() {
				defer wakers.Done()
				gate.Grant(1)
			}()
		}
		select {
		case <-rung:
		case <-ctx.Done():
			t.Fatal(context.Cause(ctx))
		}
		wakers.Wait()
		gate.Close("DONE")
		if answered, err := op.Try(); !answered || err != nil {
			t.Fatalf("woken, and asked: %v, %v", answered, err)
		}
		op.Release()
	}
	if n := capi.Bells(); n != 0 {
		t.Errorf("%d bells are left", n)
	}
}

// Once Release has returned, the channel is as it was, whatever another goroutine grants.
func TestWithdrawJoins(t *testing.T) {
	gate := capi.NewGate(0)
	var stop atomic.Bool
	var granter sync.WaitGroup
	granter.Add(1)
	go func() {
		defer granter.Done()
		for !stop.Load() {
			gate.Grant(1)
			if _, err := gate.TryAcquire(1); err != nil {
				t.Error(err)
				return
			}
			runtime.Gosched()
		}
	}()
	isClosed := func(rung <-chan struct{}) bool {
		select {
		case <-rung:
			return true
		default:
			return false
		}
	}
	type withdrawn struct {
		rung   <-chan struct{}
		before bool
	}
	var all []withdrawn
	for range 5000 {
		op := gate.AcquireOp(1)
		rung, answered, _ := op.Poll()
		op.Release()
		if !answered {
			all = append(all, withdrawn{rung, isClosed(rung)})
		}
	}
	stop.Store(true)
	granter.Wait()
	for _, each := range all {
		if isClosed(each.rung) != each.before {
			t.Fatal("it rang after it was withdrawn")
		}
	}
	if n := capi.Bells(); n != 0 {
		t.Errorf("%d bells are left", n)
	}
}

func TestLeavingHandsOn(t *testing.T) {
	ctx := guarded(t)
	for _, served := range []bool{false, true} {
		gate, n := sluicegate.NewGate(1), uint64(2)
		if served {
			gate, n = sluicegate.NewGate(0), 1
		}
		leaving, leave := context.WithCancel(ctx)
		head, behind := make(chan error, 1), make(chan error, 1)
		go func() { head <- gate.Acquire(leaving, n) }()
		inLine(t, gate, 1)
		go func() { behind <- gate.Acquire(ctx, 1) }()
		inLine(t, gate, 2)
		leave()
		if served {
			gate.Grant(1) // before or after the head has left
		}
		if err := <-head; err == nil {
			gate.Grant(1)
		}
		if err := <-behind; err != nil {
			t.Fatal(err)
		}
		if left := gate.Available(); left != 0 {
			t.Errorf("%d are left", left)
		}
	}
}
