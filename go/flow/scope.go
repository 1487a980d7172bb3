package flow

import (
	"context"
	"errors"
	"time"

	"github.com/sluicegate/sluicegate/go" // also fills in the bridge
	"github.com/sluicegate/sluicegate/go/internal/bridge"
	"github.com/sluicegate/sluicegate/go/internal/capi"
)

// A Scope owns what runs on it: a thread for each chain of stages, their queues and completions. Any
// number of goroutines may use one. Close it; one that nobody knows any more stops by itself.
type Scope struct {
	core *capi.Scope
	name string
}

// NewScope makes a scope.
func NewScope(name string) (*Scope, error) { return scope(name, capi.NewScope) }

// NewHandScope makes a scope whose clock stands still until [Scope.Advance] moves it, for tests of
// stages that wait for time.
func NewHandScope(name string) (*Scope, error) { return scope(name, capi.HandScope) }

// NewSteppedScope makes a scope without threads, for tests: stages run in [Scope.Settle] only, on its
// goroutine, in an order that the seed decides, on a clock moved by hand.
func NewSteppedScope(name string, seed uint64) (*Scope, error) {
	return scope(name, func(name string) (*capi.Scope, *capi.Error) { return capi.SteppedScope(name, seed) })
}

func scope(name string, make func(string) (*capi.Scope, *capi.Error)) (*Scope, error) {
	core, err := make(name)
	if err != nil {
		return nil, fromCore(err)
	}
	return &Scope{core, name}, nil
}

// Name answers the name, for errors.
func (s *Scope) Name() string { return s.name }

// Settle runs what can run in a stepped scope until nothing can, and answers how many turns that took.
// It does nothing in a scope with threads.
func (s *Scope) Settle() uint64 { return s.core.Settle() }

// Advance moves a clock made by hand, in whole microseconds, and in a stepped scope runs what that
// wakes. The error is [sluicegate.ErrWrongMode] where the clock is the machine's.
func (s *Scope) Advance(by time.Duration) error {
	return fromCore(s.core.Advance(uint64(max(0, by.Microseconds()))))
}

// Shutdown stops everything on the scope, for good, and waits until it has stopped or ctx ends: what
// queues hold is released, whoever waits to offer is told, completions that are pending are cancelled.
// A function that runs is not interrupted; the error then names its stage. It may be called again.
func (s *Scope) Shutdown(ctx context.Context) error {
	limit := int64(-1)
	if deadline, ok := ctx.Deadline(); ok {
		limit = max(0, time.Until(deadline).Milliseconds())
	}
	stopped := make(chan error, 1)
	go func() { stopped <- fromCore(s.core.Shutdown(limit)) }()
	select {
	case err := <-stopped:
		return err
	case <-ctx.Done():
		select {
		case err := <-stopped: // the reason of the library says more
			return err
		default:
			return context.Cause(ctx)
		}
	}
}

// Close implements [io.Closer]: it is Shutdown within ten seconds.
func (s *Scope) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return s.Shutdown(ctx)
}

// Running answers how many chains of stages run now.
func (s *Scope) Running() int { return s.core.Running() }

// A Stage has the counters of a stage, in elements: exact at a quiet point, a close guess while the
// stage works.
type Stage struct {
	// Name is the stage's kind, or what it was named.
	Name string
	// Downstream was asked for below and not handed down yet; Upstream was asked for above and has not
	// arrived; Held has arrived and not left.
	Downstream, Upstream, Held uint64
	// Passed was handed down so far; Late came after the end and was dropped; Lost was discarded by an
	// overflow strategy.
	Passed, Late, Lost uint64
}

// Stages answers every stage that runs now, in the order they were made.
func (s *Scope) Stages() []Stage {
	stages := s.core.Stages()
	all := make([]Stage, len(stages))
	for i, stage := range stages {
		all[i] = Stage(stage)
	}
	return all
}

// fromCore spells an error of the library; that of a user function is the function's own.
func fromCore(e *capi.Error) error {
	if e == nil {
		return nil
	}
	if own := e.User(); own != nil {
		return own
	}
	return bridge.FromCore(e)
}

// toCore is how an error travels through a stream and comes back as the same value.
func toCore(err error) *capi.Error {
	if own := (*sluicegate.Error)(nil); errors.As(err, &own) && err == error(own) {
		return bridge.ToCore(err, capi.StageFailed)
	}
	return capi.UserError(err)
}

// finish waits for an operation without a result.
func finish(ctx context.Context, op *capi.Op) error {
	defer op.Release()
	return own(bridge.Await(ctx, op))
}

// result waits for an operation with values.
func result[T any](ctx context.Context, op *capi.Op, take func([]any) T) (T, error) {
	defer op.Release()
	var zero T
	if err := own(bridge.Await(ctx, op)); err != nil {
		return zero, err
	}
	values, err := op.TakeValues()
	if err != nil {
		return zero, fromCore(err)
	}
	return take(values), nil
}

// own finds the error of a user function behind what the library answered.
func own(err error) error {
	if known := (*sluicegate.Error)(nil); errors.As(err, &known) {
		if user := (&capi.Error{Code: known.Code}).User(); user != nil {
			return user
		}
	}
	return err
}
