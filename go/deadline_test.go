package sluicegate_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluicegate/go"
)

const (
	limit = 300 * time.Millisecond
	late  = 15 * time.Second
)

// passed checks what a wait answers whose call or stream had a limit.
func passed(t *testing.T, begun time.Time, err error, what string) {
	t.Helper()
	if took := time.Since(begun); took < limit || took > late {
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
	begun := time.Now()
	callCtx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	call, err := peer.Call(callCtx, echoCap)
	if err != nil {
		t.Fatal(err)
	}
	in, err := call.Input("media:blob")
	for err == nil {
		err = in.Emit(ctx, 7) // nobody reads the echo
	}
	passed(t, begun, err, "has waited for credit")
	_, err = call.Wait(ctx)
	passed(t, begun, err, "has waited for credit")
	goesOn(t, peer)
}

// HZ-L10: the handler is told, in its own process.
func TestADeadlineReachesTheHandler(t *testing.T) {
	ctx, peer := guarded(t), spawned(t)
	begun := time.Now()
	callCtx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	call, err := peer.Call(callCtx, holdCap)
	if err != nil {
		t.Fatal(err)
	}
	out := output(t, ctx, call)
	if _, err := out.Recv(ctx); err != nil {
		t.Fatal(err)
	}
	_, err = out.Recv(ctx)
	passed(t, begun, err, "has waited for a value")
	asked, err := peer.Call(ctx, toldCap)
	if err != nil {
		t.Fatal(err)
	}
	if code, err := output(t, ctx, asked).ReadText(ctx); code != "DEADLINE_EXCEEDED" || err != nil {
		t.Errorf("the handler was told %q, %v", code, err)
	}
	goesOn(t, peer)
}

// HZ-L10: one stream's limit ends its call.
func TestALimitOfAStream(t *testing.T) {
	ctx, peer := guarded(t), spawned(t)
	begun := time.Now()
	call, err := peer.Call(ctx, echoCap)
	if err != nil {
		t.Fatal(err)
	}
	in, err := call.Input("media:blob")
	if err != nil {
		t.Fatal(err)
	}
	err = in.Limit(limit)
	for err == nil {
		err = in.Emit(ctx, 7)
	}
	passed(t, begun, err, "has waited for credit")

	call, err = peer.Call(ctx, foreverCap)
	if err != nil {
		t.Fatal(err)
	}
	out := output(t, ctx, call)
	begun = time.Now()
	if err := out.Limit(limit); err != nil {
		t.Fatal(err)
	}
	_, err = call.Wait(ctx) // nobody reads
	passed(t, begun, err, "have waited to be read")
	_, err = out.Recv(ctx)
	passed(t, begun, err, "have waited to be read")

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

// HZ-L10: a handler's own limit, as its caller sees it.
func TestALimitOfAHandler(t *testing.T) {
	ctx, peer := guarded(t), spawned(t)
	begun := time.Now()
	call, err := peer.Call(ctx, limitedCap)
	if err != nil {
		t.Fatal(err)
	}
	in, err := call.Input("media:blob")
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Emit(ctx, 7); err != nil {
		t.Fatal(err)
	}
	_, err = call.Wait(ctx)
	passed(t, begun, err, "has waited for a value")
	goesOn(t, peer)
}
