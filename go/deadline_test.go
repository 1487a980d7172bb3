package sluicegate_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluicegate/go"
)

// limit is what a call or a stream may take that stands still before it is set.
const limit = 300 * time.Millisecond

// passed checks what a wait answers whose call or stream had this limit.
func passed(t *testing.T, limit time.Duration, begun time.Time, err error, what string) {
	t.Helper()
	if took := time.Since(begun); took < limit {
		t.Errorf("it ended after %v", took)
	}
	var detail *sluicegate.Error
	if !errors.Is(err, sluicegate.ErrTimedOut) || !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &detail) {
		t.Fatalf("it ended with %v", err)
	}
	if detail.Code != "DEADLINE_EXCEEDED" || !strings.Contains(detail.Message, what) {
		t.Errorf("not %q: %v", what, err)
	}
}

// tooSoon reports whether a limit has passed before anybody waited: it tells nothing of what stands still.
func tooSoon(err error) bool {
	return errors.Is(err, sluicegate.ErrTimedOut) && strings.Contains(err.Error(), "none of its streams was waited on")
}

// standsStill tries with longer and longer limits, where one begins before the wait does: until one does
// not pass before, however slow the machine is.
func standsStill(t *testing.T, try func(limit time.Duration) bool) {
	t.Helper()
	for longer := limit; !try(longer); longer *= 4 {
		if longer > watchdog {
			t.Fatalf("nothing stands still within %v", longer)
		}
	}
}

// goesOn checks that the connection serves another call.
func goesOn(t *testing.T, peer *sluicegate.Peer) {
	t.Helper()
	ctx := guarded(t)
	call := feed(t, ctx, peer, echoCap, func(in *sluicegate.OutputStream) error { return in.Emit(ctx, "on") })
	if text, err := output(t, ctx, call).ReadText(ctx); text != "on" || err != nil {
		t.Errorf("another call answers %q, %v", text, err)
	}
}

func spawned(t *testing.T) *sluicegate.Peer {
	t.Helper()
	peer, err := spawn(t, "serve")
	if err != nil {
		t.Fatal(err)
	}
	return peer
}

// HZ-L10: the deadline of a call's context ends every wait of the call, whatever context it has.
func TestADeadlineEndsWaitsForCredit(t *testing.T) {
	ctx, peer := guarded(t), spawned(t)
	standsStill(t, func(limit time.Duration) bool {
		begun := time.Now()
		callCtx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		call, err := peer.Call(callCtx, foreverCap)
		if err != nil && callCtx.Err() == nil {
			t.Fatal(err)
		} else if err != nil {
			return false
		}
		in, err := call.Input("media:blob")
		for err == nil {
			err = in.Emit(ctx, 7) // nobody reads it
		}
		if in == nil || in.Stats().Stalled < limit/2 {
			return false
		}
		passed(t, limit, begun, err, "has waited for credit")
		_, err = call.Wait(ctx)
		passed(t, limit, begun, err, "has waited for credit")
		return true
	})
	goesOn(t, peer)
}

// HZ-L10: the handler is told, in its own process.
func TestADeadlineReachesTheHandler(t *testing.T) {
	ctx := guarded(t)
	standsStill(t, func(limit time.Duration) bool {
		peer := spawned(t)
		begun := time.Now()
		callCtx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		call, err := peer.Call(callCtx, holdCap)
		if err != nil && callCtx.Err() == nil {
			t.Fatal(err)
		} else if err != nil {
			return false
		}
		out, err := call.Output(ctx)
		if err == nil {
			_, err = out.Recv(ctx)
		}
		if err == nil {
			_, err = out.Recv(ctx)
			if tooSoon(err) {
				return false
			}
			passed(t, limit, begun, err, "has waited for a value")
		} else if errors.Is(err, sluicegate.ErrTimedOut) {
			return false
		} else {
			t.Fatal(err)
		}
		asked, err := peer.Call(ctx, toldCap)
		if err != nil {
			t.Fatal(err)
		}
		if code, err := output(t, ctx, asked).ReadText(ctx); code != "DEADLINE_EXCEEDED" || err != nil {
			t.Errorf("the handler was told %q, %v", code, err)
		}
		goesOn(t, peer)
		return true
	})
}

// HZ-L10: one stream's limit ends its call.
func TestALimitOfAStream(t *testing.T) {
	ctx, peer := guarded(t), spawned(t)
	call, err := peer.Call(ctx, foreverCap)
	if err != nil {
		t.Fatal(err)
	}
	in, err := call.Input("media:blob")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			err = in.Emit(ctx, 7) // nobody reads it
		}
		ended <- err
	}()
	until(t, "the sender to wait", func() bool { return in.Stats().Stalled > 0 })
	begun := time.Now()
	if err := in.Limit(limit); err != nil {
		t.Fatal(err)
	}
	passed(t, limit, begun, <-ended, "has waited for credit")

	call, err = peer.Call(ctx, foreverCap)
	if err != nil {
		t.Fatal(err)
	}
	out := output(t, ctx, call)
	until(t, "a value to read", func() bool { return out.Stats().Chunks > 0 })
	begun = time.Now()
	if err := out.Limit(limit); err != nil {
		t.Fatal(err)
	}
	_, err = call.Wait(ctx) // nobody reads
	passed(t, limit, begun, err, "have waited to be read")
	_, err = out.Recv(ctx)
	passed(t, limit, begun, err, "have waited to be read")

	call, err = peer.Call(ctx, echoCap)
	if err != nil {
		t.Fatal(err)
	}
	if in, err = call.Input("media:blob"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(in.Limit(time.Nanosecond), in.Limit(-1), in.Emit(ctx, 7)); err != nil && !errors.Is(err, sluicegate.ErrTimedOut) {
		t.Errorf("a limit that was taken back: %v", err)
	}
	goesOn(t, peer)
}

// HZ-L10: a handler's own limit, as its caller sees it. The first value says which.
func TestALimitOfAHandler(t *testing.T) {
	ctx, peer := guarded(t), spawned(t)
	standsStill(t, func(limit time.Duration) bool {
		begun := time.Now()
		call, err := peer.Call(ctx, limitedCap)
		if err != nil {
			t.Fatal(err)
		}
		in, err := call.Input("media:blob")
		if err != nil {
			t.Fatal(err)
		}
		if err := in.Emit(ctx, limit); err != nil {
			t.Fatal(err)
		}
		if _, err = call.Wait(ctx); tooSoon(err) {
			return false
		}
		passed(t, limit, begun, err, "has waited for a value")
		return true
	})
	goesOn(t, peer)
}
