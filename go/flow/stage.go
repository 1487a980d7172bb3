package flow

import (
	"github.com/sluicegate/sluicegate/go/internal/capi"
)

// A Flow is a blueprint from elements I to elements O.
type Flow[I, O any] struct {
	core *capi.Flow
	err  error
}

func stage[I, O any](core *capi.Flow, err *capi.Error) Flow[I, O] {
	return Flow[I, O]{core, fromCore(err)}
}

// Err answers why the blueprint cannot run, or nil.
func (f Flow[I, O]) Err() error { return made(f.core != nil, f.err) }

// Then is a flow, then another.
func Then[A, B, C any](f Flow[A, B], next Flow[B, C]) Flow[A, C] {
	if err := first(f.Err(), next.Err()); err != nil {
		return Flow[A, C]{err: err}
	}
	return stage[A, C](f.core.Via(next.core))
}

// Named is the same flow under another name in [Scope.Stages] and in errors.
func (f Flow[I, O]) Named(name string) Flow[I, O] {
	if f.Err() != nil {
		return f
	}
	return stage[I, O](f.core.Named(name))
}

// as is a value of the table as what it is: nil is the zero value of an interface type.
func as[T any](value any) T {
	typed, _ := value.(T)
	return typed
}

// one is a function of one element as the library calls it. Its io.EOF is an error like any other.
func one[I any, O any](f func(I) (O, error)) capi.Function {
	return func(a, _ any) (any, error) {
		answer, err := f(as[I](a))
		if err != nil {
			return nil, notEOF(err)
		}
		return answer, nil
	}
}

// Map puts each element through f.
func Map[I, O any](f func(I) O) Flow[I, O] {
	return TryMap(func(in I) (O, error) { return f(in), nil })
}

// TryMap puts each element through f, whose error fails the stream.
func TryMap[I, O any](f func(I) (O, error)) Flow[I, O] { return stage[I, O](capi.Map(one(f))) }

// Filter keeps the elements that pass says true of. For each that is dropped another is asked for.
func Filter[T any](pass func(T) bool) Flow[T, T] {
	return TryFilter(func(in T) (bool, error) { return pass(in), nil })
}

// TryFilter is Filter with a function whose error fails the stream.
func TryFilter[T any](pass func(T) (bool, error)) Flow[T, T] {
	return stage[T, T](capi.Filter(one(pass)))
}

// FilterMap puts each element through f and keeps the answers that come with true. For each element
// that is dropped another is asked for.
func FilterMap[I, O any](f func(I) (O, bool)) Flow[I, O] {
	return TryFilterMap(func(in I) (O, bool, error) {
		out, keep := f(in)
		return out, keep, nil
	})
}

// TryFilterMap is FilterMap with a function whose error fails the stream.
func TryFilterMap[I, O any](f func(I) (O, bool, error)) Flow[I, O] {
	return stage[I, O](capi.FilterMap(one(func(in I) (capi.Some, error) {
		out, keep, err := f(in)
		return capi.Some{Value: out, Present: keep}, err
	})))
}

// Tap shows each element to look.
func Tap[T any](look func(T)) Flow[T, T] {
	return TryTap(func(in T) error {
		look(in)
		return nil
	})
}

// TryTap is Tap with a function whose error fails the stream.
func TryTap[T any](look func(T) error) Flow[T, T] {
	return stage[T, T](capi.Tap(one(func(in T) (bool, error) { return true, look(in) })))
}

// Take keeps the first n elements. It never asks for more, and cancels the source straight after the
// last.
func Take[T any](n uint64) Flow[T, T] { return stage[T, T](capi.Take(n)) }

// Drop keeps all but the first n elements.
func Drop[T any](n uint64) Flow[T, T] { return stage[T, T](capi.Drop(n)) }

// TakeWhile keeps the elements before the first that pass says false of; then the source is cancelled.
func TakeWhile[T any](pass func(T) bool) Flow[T, T] {
	return stage[T, T](capi.TakeWhile(one(func(in T) (bool, error) { return pass(in), nil })))
}

// DropWhile keeps the elements from the first on that skip says false of.
func DropWhile[T any](skip func(T) bool) Flow[T, T] {
	return stage[T, T](capi.DropWhile(one(func(in T) (bool, error) { return skip(in), nil })))
}

// two is a function of a state and an element as the library calls it.
func two[S, I any](f func(S, I) (S, error)) capi.Function {
	return func(a, b any) (any, error) {
		state, err := f(as[S](a), as[I](b))
		if err != nil {
			return nil, notEOF(err)
		}
		return state, nil
	}
}

// Scan gives each state of f over the elements, beginning with what it makes of initial and the first
// element. The state must not be changed in place: it is an element too, and begins each run.
func Scan[I, S any](initial S, f func(S, I) (S, error)) Flow[I, S] {
	return stage[I, S](capi.Scan(initial, two(f)))
}

// Fold gives the last state of f over all elements, once the source has completed.
func Fold[I, S any](initial S, f func(S, I) (S, error)) Flow[I, S] {
	return stage[I, S](capi.Fold(initial, two(f)))
}

// Buffer is a boundary: what is above runs on a thread of its own, ahead by what the queue holds.
func Buffer[T any](options EdgeOptions) Flow[T, T] { return stage[T, T](capi.Buffer(options.core())) }
