package sluicegate

import (
	"context"
	"iter"
	"runtime"
	"weak"

	"github.com/sluicegate/sluicegate/go/internal/capi"
)

// A Call is one call of a cap, as the caller sees it. Any number of goroutines may use it, and both
// directions should be served at the same time (L15): a call that writes all its input before it
// reads waits for ever once the windows are full.
//
// A call that nobody knows any more, its streams included, is cancelled by the garbage collector;
// cancel it or its context instead of waiting for that.
type Call struct {
	core *capi.Call
	stop func() bool // takes back the cancel at the end of the context
}

// newCall ties a call to its context. The context does not keep the call alive; the call's streams
// do.
func newCall(ctx context.Context, core *capi.Call) *Call {
	known := weak.Make(core)
	stop := context.AfterFunc(ctx, func() {
		if core := known.Value(); core != nil {
			core.Cancel(toCore(contextError(ctx), ErrCancelled))
		}
	})
	runtime.AddCleanup(core, func(stop func() bool) { stop() }, stop)
	return &Call{core: core, stop: stop}
}

// ID answers the call's id in text form.
func (c *Call) ID() string { return c.core.ID() }

// Input opens an argument stream with that media. It never waits.
func (c *Call) Input(media string) (*OutputStream, error) {
	out, err := c.core.Input(media)
	if err != nil {
		return nil, fromCore(err)
	}
	return &OutputStream{core: out, call: c.core}, nil
}

// FinishInput closes the argument streams that are open and says that there are no more. It waits
// for credit, for what is not flushed, until ctx ends.
func (c *Call) FinishInput(ctx context.Context) error { return finish(ctx, c.core.FinishInputOp()) }

// Output answers the main output, waiting for it to start until ctx ends.
func (c *Call) Output(ctx context.Context) (*InputStream, error) {
	return input(ctx, c.core.OutputOp(), c.core)
}

// NextOutput answers the next output, main or not, waiting for it to start until ctx ends, or
// [io.EOF] once the call is over.
func (c *Call) NextOutput(ctx context.Context) (*InputStream, error) {
	return input(ctx, c.core.NextOutputOp(), c.core)
}

// Outputs ranges over the outputs as they start. It ends without an error once the call is over,
// else with the error as the last pair.
func (c *Call) Outputs(ctx context.Context) iter.Seq2[*InputStream, error] {
	return each(ctx, c.NextOutput)
}

// An Event is what a cartridge tells about its work: a log line, or progress.
type Event struct {
	// IsProgress tells the two apart.
	IsProgress bool
	// Level of a log line, like "info".
	Level string
	// Class of a log line.
	Class Class
	// Progress from 0 to 1.
	Progress float64
	// Message for people.
	Message string
}

// NextEvent answers the next event, waiting for it until ctx ends, or [io.EOF] once the call is
// over.
func (c *Call) NextEvent(ctx context.Context) (Event, error) {
	event, err := result(ctx, c.core.NextEventOp(), (*capi.Op).TakeEvent)
	return Event{
		IsProgress: event.IsProgress, Level: event.Level, Class: Class(event.Class),
		Progress: event.Value, Message: event.Message,
	}, err
}

// Events ranges over the events. It ends without an error once the call is over, else with the
// error as the last pair.
func (c *Call) Events(ctx context.Context) iter.Seq2[Event, error] { return each(ctx, c.NextEvent) }

// A Terminal is how a call ended.
type Terminal struct {
	// ExitCode is 0 for success.
	ExitCode int64
	// Progress is the final progress, from 0 to 1.
	Progress float64
	// Message may be empty.
	Message string
}

// Wait answers how the call ended, waiting for it until ctx ends. A call that failed, was cancelled
// or lost its peer answers that, an [*Error].
func (c *Call) Wait(ctx context.Context) (Terminal, error) {
	terminal, err := result(ctx, c.core.WaitOp(), (*capi.Op).TakeTerminal)
	if err == nil {
		c.stop()
	}
	return Terminal(terminal), err
}

// Err answers why the call failed, an [*Error], or nil while it runs and after it has ended well. It
// never waits.
func (c *Call) Err() error {
	op := c.core.WaitOp()
	defer op.Release()
	_, err := op.Try()
	return fromReason(err)
}

// CloseStream asks the handler to stop capturing for one output, or with the absent name for all of
// the call. What the live source holds still comes, so read on; then the call ends by itself. It is
// no cancel, and it never waits.
func (c *Call) CloseStream(output StreamName) {
	c.core.CloseStream(capi.StreamName{Text: output.text, Present: output.present})
}

// Cancel cancels the call, its peer is told. A nil reason says that a person asked for it. It never
// waits; a call that is over is left alone.
func (c *Call) Cancel(reason error) {
	if reason == nil {
		c.core.Cancel(nil)
		return
	}
	c.core.Cancel(toCore(reason, ErrCancelled))
}
