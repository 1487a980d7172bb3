package flow

import (
	"context"

	"github.com/sluicegate/sluicegate/go/internal/bridge"
	"github.com/sluicegate/sluicegate/go/internal/capi"
)

// ProbeSource is a source that a test plays: nothing can be offered without demand from below. Its
// control is a [Manual]. Package flowtest puts assertions round it.
func ProbeSource[T any]() Source[T] { return source[T](capi.ProbeSource()) }

// A Signal is what a subscriber's probe was told.
type Signal[T any] struct {
	// Kind says which.
	Kind SignalKind
	// Element came with Next.
	Element T
	// Err came with Failed.
	Err error
}

// A SignalKind tells the signals apart.
type SignalKind int32

const (
	// SignalNext: an element.
	SignalNext = SignalKind(capi.SignalNext)
	// SignalComplete: the end, as it should be.
	SignalComplete = SignalKind(capi.SignalComplete)
	// SignalError: the end, with its reason.
	SignalError = SignalKind(capi.SignalError)
)

// A Subscriber is a sink that a test plays: nothing is asked for but by Request.
type Subscriber[T any] struct{ core *capi.Subscriber }

// ProbeSink is a sink that a test plays.
func ProbeSink[T any]() Sink[T, *Subscriber[T]] {
	core, err := capi.ProbeSink()
	take := func(run *capi.Run) *Subscriber[T] {
		core, err := run.Subscriber()
		if err != nil {
			panic("sluicegate: the run of a probe has its control: " + err.Message)
		}
		return &Subscriber[T]{core}
	}
	return Sink[T, *Subscriber[T]]{core, take, fromCore(err)}
}

// Request asks for n elements more; 0 is ignored. False once a terminal was taken.
func (s *Subscriber[T]) Request(n uint64) bool { return s.core.Request(n) }

// Cancel wants no more: everything above is cancelled.
func (s *Subscriber[T]) Cancel() { s.core.Cancel() }

// Signal waits for the next signal and takes it.
func (s *Subscriber[T]) Signal(ctx context.Context) (Signal[T], error) {
	op := s.core.SignalOp()
	defer op.Release()
	if err := own(bridge.Await(ctx, op)); err != nil {
		return Signal[T]{}, err
	}
	kind, values, err := op.TakeSignal()
	return Signal[T]{SignalKind(kind), option[T](values).Value, fromCore(err)}, nil
}
