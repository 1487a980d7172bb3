package flow

import (
	"context"
	"iter"

	"github.com/sluicegate/sluicegate/go"
	"github.com/sluicegate/sluicegate/go/internal/bridge"
	"github.com/sluicegate/sluicegate/go/internal/capi"
)

// A Graph is a blueprint with neither input nor output left: it can run, as often as one likes.
type Graph[R any] struct {
	core *capi.Graph
	take func(*capi.Run) R
	err  error
}

// To closes a source with a sink. A run of it can be cancelled by its context.
func To[T, R any](s Source[T], sink Sink[T, R]) Graph[R] {
	if err := first(s.Err(), sink.Err()); err != nil {
		return Graph[R]{err: err}
	}
	cut, err := capi.SwitchFlow()
	if err != nil {
		return Graph[R]{err: fromCore(err)}
	}
	whole, err := s.core.Via(cut)
	if err != nil {
		return Graph[R]{err: fromCore(err)}
	}
	core, err := whole.To(sink.core)
	return Graph[R]{core, sink.take, fromCore(err)}
}

// Err answers why the blueprint cannot run, or nil.
func (g Graph[R]) Err() error { return made(g.core != nil, g.err) }

// A Running is what a run gives.
type Running[R any] struct {
	// Result is the result or control of the sink.
	Result R

	core *capi.Run
	cut  *capi.KillSwitch
}

// Run runs the graph: fresh stages, fresh queues, fresh controls. When ctx ends, the run is cancelled:
// its completion is [Cancelled], and waiting for it gives ctx's error.
func (g Graph[R]) Run(ctx context.Context, scope *Scope) (*Running[R], error) {
	if err := g.Err(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	core, err := g.core.Run(scope.core)
	if err != nil {
		return nil, fromCore(err)
	}
	cut, err := core.Switch()
	if err != nil {
		return nil, fromCore(err)
	}
	running := &Running[R]{g.take(core), core, cut}
	if ctx.Done() != nil {
		go cancelWith(ctx, cut)
	}
	return running, nil
}

// cancelWith cancels a run when ctx ends, and leaves nothing at ctx once the run has ended.
func cancelWith(ctx context.Context, cut *capi.KillSwitch) {
	op := cut.EndedOp()
	defer op.Release()
	if bridge.Await(ctx, op) != nil {
		cut.Cancel(capi.UserError(context.Cause(ctx)))
	}
}

// Cancel ends the run: the source is cancelled, the completion is [Cancelled], and waiting for it gives
// [sluicegate.ErrCancelled].
// What has ended stays as it is.
func (r *Running[R]) Cancel() {
	r.cut.Cancel(bridge.ToCore(&sluicegate.Error{Kind: sluicegate.ErrCancelled, Message: "the run was cancelled"}, capi.Cancelled))
}

func (r *Running[R]) controls() *capi.Run { return r.core }

// A Controlled is a [Running] of any result.
type Controlled interface{ controls() *capi.Run }

// ManualOf takes the control of a run's manual source: of the first one that was not taken yet, in the
// order of the stages. T is the type of its elements.
func ManualOf[T any](running Controlled) (*Manual[T], error) {
	core, err := running.controls().Manual()
	if err != nil {
		return nil, fromCore(err)
	}
	return &Manual[T]{core}, nil
}

// Run is To and [Graph.Run] in one.
func Run[T, R any](ctx context.Context, scope *Scope, s Source[T], sink Sink[T, R]) (R, error) {
	running, err := To(s, sink).Run(ctx, scope)
	if err != nil {
		var zero R
		return zero, err
	}
	return running.Result, nil
}

// Collect runs the source and answers all its elements.
func (s Source[T]) Collect(ctx context.Context, scope *Scope) ([]T, error) {
	done, err := Run(ctx, scope, s, Collect[T]())
	if err != nil {
		return nil, err
	}
	return done.Wait(ctx)
}

// ForEach runs the source and calls f with each element, until f answers an error.
func (s Source[T]) ForEach(ctx context.Context, scope *Scope, f func(T) error) error {
	done, err := Run(ctx, scope, s, ForEach(f))
	if err != nil {
		return err
	}
	_, err = done.Wait(ctx)
	return err
}

// Outlet runs the source and hands out its elements.
func (s Source[T]) Outlet(ctx context.Context, scope *Scope) (*Outlet[T], error) {
	return Run(ctx, scope, s, ToOutlet[T](EdgeOptions{}))
}

// All runs the source and ranges over its elements; leaving the loop cancels the run. A failure is the
// last pair.
func (s Source[T]) All(ctx context.Context, scope *Scope) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		outlet, err := s.Outlet(ctx, scope)
		if err != nil {
			var zero T
			yield(zero, err)
			return
		}
		outlet.All(ctx)(yield)
	}
}
