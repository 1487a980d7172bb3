package sluicegate

import (
	"context"
	"io"
	"iter"
	"math"
	"sync"
	"time"

	"github.com/sluicegate/sluicegate/go/internal/capi"
)

// A Request is one call of a cap, as the cartridge sees it. Any number of goroutines may use it.
type Request struct {
	core   *capi.Request
	ctx    context.Context
	output func() *OutputStream
}

func newRequest(ctx context.Context, core *capi.Request) *Request {
	output := sync.OnceValue(func() *OutputStream { return &OutputStream{core: core.Output()} })
	return &Request{core: core, ctx: ctx, output: output}
}

// ID answers the request's id in text form.
func (r *Request) ID() string { return r.core.ID() }

// Cap answers the URN that was called.
func (r *Request) Cap() string { return r.core.Cap() }

// Context answers the context of the request: it ends when the request is cancelled, when the host
// goes away, and when the request is over. [context.Cause] gives the reason, an [*Error].
func (r *Request) Context() context.Context { return r.ctx }

// Input answers the first input stream, waiting for it to start until ctx ends.
func (r *Request) Input(ctx context.Context) (*InputStream, error) {
	return input(ctx, r.core.InputOp(), nil)
}

// NextInput answers the next input stream, waiting for it to start until ctx ends, or [io.EOF] once
// the caller has finished its input.
func (r *Request) NextInput(ctx context.Context) (*InputStream, error) {
	return input(ctx, r.core.NextInputOp(), nil)
}

// Inputs ranges over the input streams as they start. It ends without an error once the caller has
// finished its input, else with the error as the last pair.
func (r *Request) Inputs(ctx context.Context) iter.Seq2[*InputStream, error] {
	return each(ctx, r.NextInput)
}

// Output answers the main output, the same each time. It panics if the cap declares none.
func (r *Request) Output() *OutputStream { return r.output() }

// OutputFor answers the declared output with that media.
func (r *Request) OutputFor(media string) (*OutputStream, error) {
	out, err := r.core.OutputFor(media)
	if err != nil {
		return nil, fromCore(err)
	}
	return &OutputStream{core: out}, nil
}

// Sender answers a detached emitter of the main output, for goroutines of their own.
func (r *Request) Sender() *StreamSender { return &StreamSender{r.core.Sender()} }

// Progress tells the caller how far the request is: a value from 0 to 1. It never waits.
func (r *Request) Progress(value float64, message string) error {
	return fromCore(r.core.Progress(value, valid(message)))
}

// Log tells the caller something, with a level like "info" and a class that is never left out. It
// never waits.
func (r *Request) Log(level string, class Class, message string) error {
	return fromCore(r.core.Log(level, string(class), valid(message)))
}

// Peer calls another cap through the host. If ctx ends before the call does, the call is cancelled.
func (r *Request) Peer(ctx context.Context, cap string) (*Call, error) {
	call, err := r.core.Peer(cap)
	if err != nil {
		return nil, fromCore(err)
	}
	return newCall(ctx, call), nil
}

// Limit allows the request so much time from now until it has ended. Then its caller is told by an
// error with code DEADLINE_EXCEEDED, every wait of the request answers [ErrTimedOut] and what stood
// still (L13), its context ends, and what the handler still does for it has no effect. The last limit
// that was set counts; zero is at once, a negative one is none. It never waits.
func (r *Request) Limit(limit time.Duration) error { return fromCore(r.core.Limit(millis(limit))) }

// Cancelled answers why the request was cancelled, an [*Error], or nil.
func (r *Request) Cancelled() error { return fromReason(r.core.CancelReason()) }

// Finish ends the request well, with a final progress (NaN for none) and a message (empty for
// none). It flushes and closes what the handler left open, waiting for credit until ctx ends. A
// handler that returns nil finishes its request without any; one that wants a message calls Finish
// as the last thing it does.
func (r *Request) Finish(ctx context.Context, progress float64, message string) error {
	return finish(ctx, r.core.FinishOp(progress, valid(message)))
}

// Fail ends the request with an error; an [*Error] keeps its code and class. It never waits. A
// handler that returns an error fails its request with it.
func (r *Request) Fail(reason error) { r.core.Fail(toCore(reason, ErrRemote)) }

func (r *Request) finishPlainly(ctx context.Context) error {
	return finish(ctx, r.core.FinishOp(math.NaN(), ""))
}

func input(ctx context.Context, op *capi.Op, call *capi.Call) (*InputStream, error) {
	core, err := result(ctx, op, (*capi.Op).TakeInput)
	if err != nil {
		return nil, err
	}
	return &InputStream{core: core, call: call}, nil
}

// each ranges over what next answers until io.EOF.
func each[T any](ctx context.Context, next func(context.Context) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			value, err := next(ctx)
			if err == io.EOF {
				return
			}
			if !yield(value, err) || err != nil {
				return
			}
		}
	}
}
