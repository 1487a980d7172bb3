package sluicegate_test

import (
	"context"
	"errors"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicegate/sluicegate/go"
	"github.com/sluicegate/sluicegate/go/internal/capi"
)

// guarded gives a test a context that ends when the test would hang.
func guarded(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(context.Background(), 4*watchdog, errors.New("the test hangs"))
	t.Cleanup(cancel)
	return ctx
}

// until yields until condition holds, under the watchdog.
func until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for limit := time.Now().Add(watchdog); !condition(); runtime.Gosched() {
		if time.Now().After(limit) {
			t.Fatalf("waited %s for %s", watchdog, what)
		}
	}
}

// inLine yields until n goroutines stand in line at the gate.
func inLine(t testing.TB, gate *sluicegate.Gate, n uint64) {
	t.Helper()
	until(t, "the line", func() bool { return gate.Waiting() == n })
}

// HZ-G01: no wake-up is lost.
func TestGrantsReachEveryoneWhoWaits(t *testing.T) {
	ctx := guarded(t)
	for range 2000 {
		gate := sluicegate.NewGate(0)
		done := make(chan error, 2)
		for range 2 {
			go func() { done <- gate.Acquire(ctx, 1) }()
		}
		go func() {
			gate.Grant(1)
			gate.Grant(1)
		}()
		for range 2 {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		if left := gate.Available(); left != 0 {
			t.Fatalf("%d left", left)
		}
	}
}

// HZ-G02: closing wakes everyone with the reason, and later callers get it at once.
func TestCloseWakesEveryoneWithTheReason(t *testing.T) {
	ctx := guarded(t)
	gate := sluicegate.NewGate(0)
	done := make(chan error, 8)
	for range 8 {
		go func() { done <- gate.Acquire(ctx, 1) }()
	}
	inLine(t, gate, 8)
	if !gate.Close("CANCELLED") {
		t.Error("the first Close did not close")
	}
	if gate.Close("AGAIN") {
		t.Error("the second Close closed")
	}
	go func() { done <- gate.Acquire(ctx, 1) }()
	for range 9 {
		err := <-done
		var why *sluicegate.Error
		if !errors.Is(err, sluicegate.ErrClosed) || !errors.As(err, &why) || why.Code != "CANCELLED" {
			t.Errorf("got %v", err)
		}
	}
}

func TestCloseWithKeepsWhatAnErrorSays(t *testing.T) {
	gate := sluicegate.NewGate(3)
	gate.CloseWith(&sluicegate.Error{Kind: sluicegate.ErrPeerDied, Message: "gone"})
	err := gate.Acquire(guarded(t), 1)
	var why *sluicegate.Error
	if !errors.Is(err, sluicegate.ErrPeerDied) || !errors.As(err, &why) {
		t.Fatalf("got %v", err)
	}
	if why.Code != "PEER_DIED" || why.Class != sluicegate.ClassEnvironment || why.Message != "gone" {
		t.Errorf("got %+v", why)
	}
	if gate.Available() != 3 {
		t.Error("closing took credit")
	}
}

// HZ-G06, HZ-G07: the ends of the range.
func TestCreditSaturates(t *testing.T) {
	gate := sluicegate.NewGate(0)
	for _, n := range []uint64{1<<31 - 1, 1 << 31, 1 << 32, 1<<63 - 1} {
		gate := sluicegate.NewGate(0)
		gate.Grant(n)
		if got := gate.Available(); got != n {
			t.Errorf("granted %d, available %d", n, got)
		}
	}
	gate.Grant(math.MaxUint64)
	gate.Grant(math.MaxUint64)
	gate.Grant(1)
	if got := gate.Available(); got != math.MaxUint64 {
		t.Errorf("available %d", got)
	}
	if err := gate.Acquire(guarded(t), 1); err != nil {
		t.Error(err)
	}
	if err := gate.Acquire(guarded(t), math.MaxUint64-1); err != nil {
		t.Error(err)
	}
	if got := gate.Available(); got != 0 {
		t.Errorf("available %d", got)
	}
}

// HZ-G08: extreme limits.
func TestExtremeLimits(t *testing.T) {
	gate := sluicegate.NewGate(1)
	past, cancel := context.WithTimeout(guarded(t), 0)
	defer cancel()
	if err := gate.Acquire(past, 1); err != nil {
		t.Errorf("a limit of zero is a try, and there was credit: %v", err)
	}
	err := gate.Acquire(past, 1)
	if !errors.Is(err, sluicegate.ErrTimedOut) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	soon, cancel := context.WithTimeout(guarded(t), time.Nanosecond)
	defer cancel()
	if err := gate.Acquire(soon, 1); !errors.Is(err, sluicegate.ErrTimedOut) {
		t.Errorf("got %v", err)
	}
	for _, late := range []func() (context.Context, context.CancelFunc){
		func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(context.Background(), math.MaxInt64)
		},
		func() (context.Context, context.CancelFunc) { return context.Background(), func() {} },
	} {
		ctx, cancel := late()
		done := make(chan error, 1)
		go func() { done <- gate.Acquire(ctx, 1) }()
		inLine(t, gate, 1)
		gate.Grant(1)
		if err := <-done; err != nil {
			t.Error(err)
		}
		cancel()
	}
}

func TestACancelledContextTakesNothing(t *testing.T) {
	gate := sluicegate.NewGate(5)
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("changed my mind")
	cancel(why)
	err := gate.Acquire(ctx, 1)
	if !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	if gate.Available() != 5 {
		t.Error("it took credit")
	}
}

// HZ-F07: a gate that only a waiting goroutine knows is not collected under it.
func TestCollectionLeavesAGateInUseAlone(t *testing.T) {
	ctx := guarded(t)
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	router := sluicegate.NewRouter()
	done := make(chan error, 1)
	line := make(chan func() uint64)
	go func() {
		gate := sluicegate.NewGate(0)
		if err := router.Register("request", sluicegate.Unnamed, gate); err != nil {
			done <- err
			return
		}
		line <- gate.Waiting
		done <- gate.Acquire(ctx, 1)
	}()
	waiting := <-line
	until(t, "the line", func() bool { return waiting() == 1 })
	waiting = nil
	stop := make(chan struct{})
	var collectors sync.WaitGroup
	for range 4 {
		collectors.Add(1)
		go func() {
			defer collectors.Done()
			for {
				select {
				case <-stop:
					return
				default:
					runtime.GC()
				}
			}
		}()
	}
	for range 50 {
		runtime.GC()
	}
	if got := router.Grant("request", sluicegate.Unnamed, 1); got != sluicegate.Granted {
		t.Errorf("got %s", got)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	close(stop)
	collectors.Wait()
}

// HZ-F06: what nobody knows any more is freed, and what waits is not.
func TestCollectionFreesHandles(t *testing.T) {
	before := capi.LiveHandles()
	for range 1000 {
		sluicegate.NewGate(1).Grant(1)
		sluicegate.NewWindow(1).Flush()
		sluicegate.NewRouter().Len()
	}
	until(t, "the clean-ups", func() bool {
		runtime.GC()
		return capi.LiveHandles() <= before
	})
}

// HZ-F08: a goroutine that waits holds no thread.
func TestTwentyThousandWaitersHoldNoThreads(t *testing.T) {
	const waiters = 20_000
	ctx := guarded(t)
	gates := make([]*sluicegate.Gate, waiters)
	done := make(chan error, waiters)
	for i := range gates {
		gates[i] = sluicegate.NewGate(0)
		go func() { done <- gates[i].Acquire(ctx, 1) }()
	}
	for _, gate := range gates {
		inLine(t, gate, 1)
	}
	// One for each would be more than the runtime allows; those that are there serve whoever runs.
	if n := threads(t); n >= waiters/20 {
		t.Errorf("%d threads for %d waiters", n, waiters)
	}
	for _, gate := range gates {
		gate.Grant(1)
	}
	for range gates {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if n := capi.Bells(); n != 0 {
		t.Errorf("%d bells are left", n)
	}
}

func threads(t *testing.T) int {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Logf("threads are not counted here: %v", err)
		return 0
	}
	return len(tasks)
}

// HZ-F09: cancelling reaches everyone, and takes nothing.
func TestCancellingReachesAThousandWaiters(t *testing.T) {
	const waiters = 1000
	goroutines := runtime.NumGoroutine()
	gate := sluicegate.NewGate(0)
	ctx, cancel := context.WithCancel(guarded(t))
	done := make(chan error, waiters)
	for range waiters {
		go func() { done <- gate.Acquire(ctx, 1) }()
	}
	inLine(t, gate, waiters)
	cancel() // nothing else ends these waits but the watchdog, with another error
	for range waiters {
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
	}
	gate.Grant(waiters)
	if gate.Available() != waiters {
		t.Errorf("%d of %d left: a cancelled call took credit", gate.Available(), waiters)
	}
	if n := capi.Bells(); n != 0 {
		t.Errorf("%d bells are left", n)
	}
	until(t, "the goroutines", func() bool { return runtime.NumGoroutine() <= goroutines+1 })
}

// HZ-F13, HZ-F06: rings and withdrawals cross at full speed under the collector; credit is
// conserved and no bell is left.
func TestRingsAndWithdrawalsCross(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	const goroutines, rounds = 16, 300
	ctx := guarded(t)
	gate := sluicegate.NewGate(0)
	var taken, granted atomic.Uint64
	stop := make(chan struct{})
	var granter sync.WaitGroup
	granter.Add(1)
	go func() {
		defer granter.Done()
		for {
			select {
			case <-stop:
				return
			default:
				gate.Grant(1)
				granted.Add(1)
				runtime.Gosched()
			}
		}
	}()
	var takers sync.WaitGroup
	for i := range goroutines {
		takers.Add(1)
		go func() {
			defer takers.Done()
			for round := range rounds {
				ctx, cancel := context.WithTimeout(ctx, time.Duration((i*rounds+round)%97)*time.Microsecond)
				switch err := gate.Acquire(ctx, 1); {
				case err == nil:
					taken.Add(1)
				case !errors.Is(err, sluicegate.ErrTimedOut):
					t.Errorf("got %v", err)
				}
				cancel()
			}
		}()
	}
	takers.Wait()
	close(stop)
	granter.Wait()
	if granted.Load() != taken.Load()+gate.Available() {
		t.Errorf("granted %d, taken %d, left %d", granted.Load(), taken.Load(), gate.Available())
	}
	if gate.Waiting() != 0 || capi.Bells() != 0 {
		t.Errorf("%d in line, %d bells left", gate.Waiting(), capi.Bells())
	}
}
