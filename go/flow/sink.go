package flow

import "github.com/sluicegate/sluicegate/go/internal/capi"

// A Sink is a blueprint with one input of elements T; running it yields a result or control R.
type Sink[T, R any] struct {
	core *capi.Sink
	take func(*capi.Run) R
	err  error
}

// Err answers why the blueprint cannot run, or nil.
func (s Sink[T, R]) Err() error { return made(s.core != nil, s.err) }

// Named is the same sink under another name in [Scope.Stages] and in errors.
func (s Sink[T, R]) Named(name string) Sink[T, R] {
	if s.Err() != nil {
		return s
	}
	core, err := s.core.Named(name)
	return Sink[T, R]{core, s.take, fromCore(err)}
}

// Into is a flow, closed downwards by a sink.
func Into[I, O, R any](f Flow[I, O], sink Sink[O, R]) Sink[I, R] {
	if err := first(f.Err(), sink.Err()); err != nil {
		return Sink[I, R]{err: err}
	}
	core, err := f.core.To(sink.core)
	return Sink[I, R]{core, sink.take, fromCore(err)}
}

// completing is a sink with a completion whose values decode makes a result of.
func completing[T, R any](core *capi.Sink, err *capi.Error, decode func([]any) R) Sink[T, *Completion[R]] {
	take := func(run *capi.Run) *Completion[R] {
		core, err := run.Completion()
		if err != nil {
			panic("sluicegate: the run of a sink has its completion: " + err.Message)
		}
		return &Completion[R]{core: core, decode: decode}
	}
	return Sink[T, *Completion[R]]{core, take, fromCore(err)}
}

func nothing([]any) struct{} { return struct{}{} }

func slice[T any](values []any) []T {
	all := make([]T, len(values))
	for i, value := range values {
		all[i] = as[T](value)
	}
	return all
}

// An Option is an element, or none of an empty stream.
type Option[T any] struct {
	Value   T
	Present bool
}

func option[T any](values []any) Option[T] {
	if len(values) == 0 {
		return Option[T]{}
	}
	return Option[T]{as[T](values[0]), true}
}

// Collect keeps all elements, in order. The memory is the caller's affair.
func Collect[T any]() Sink[T, *Completion[[]T]] {
	core, err := capi.CollectSink()
	return completing[T](core, err, slice[T])
}

// ForEach calls f with each element; its error fails the stream.
func ForEach[T any](f func(T) error) Sink[T, *Completion[struct{}]] {
	core, err := capi.ForeachSink(one(func(in T) (bool, error) { return true, f(in) }))
	return completing[T](core, err, nothing)
}

// Reduce keeps the last state of f over all elements. The state must not be changed in place: the
// initial one begins each run.
func Reduce[T, S any](initial S, f func(S, T) (S, error)) Sink[T, *Completion[S]] {
	core, err := capi.FoldSink(initial, two(f))
	return completing[T](core, err, func(values []any) S { return option[S](values).Value })
}

// First keeps the first element and then cancels the source.
func First[T any]() Sink[T, *Completion[Option[T]]] {
	core, err := capi.FirstSink()
	return completing[T](core, err, option[T])
}

// Last keeps the last element.
func Last[T any]() Sink[T, *Completion[Option[T]]] {
	core, err := capi.LastSink()
	return completing[T](core, err, option[T])
}

// Ignore asks for everything and keeps nothing.
func Ignore[T any]() Sink[T, *Completion[struct{}]] {
	core, err := capi.IgnoreSink()
	return completing[T](core, err, nothing)
}

// ToOutlet hands elements out through a queue, to be taken by hand.
func ToOutlet[T any](options EdgeOptions) Sink[T, *Outlet[T]] {
	core, err := capi.OutletSink(options.core())
	take := func(run *capi.Run) *Outlet[T] {
		core, err := run.Outlet()
		if err != nil {
			panic("sluicegate: the run of a sink has its outlet: " + err.Message)
		}
		return &Outlet[T]{core}
	}
	return Sink[T, *Outlet[T]]{core, take, fromCore(err)}
}
