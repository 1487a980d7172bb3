package flow

import (
	"time"

	"github.com/sluicegate/sluicegate/go/internal/capi"
)

// micros is a time in whole microseconds, at least one if it is positive.
func micros(d time.Duration) uint64 {
	if d <= 0 {
		return 0
	}
	return uint64(max(1, d.Microseconds()))
}

// lists puts the groups of a flow together as slices.
func lists[T any](core *capi.Flow, err *capi.Error) Flow[T, []T] {
	if err != nil {
		return Flow[T, []T]{err: fromCore(err)}
	}
	slices, err := capi.MapList(func(a, _ any) (any, error) { return slice[T](a.([]any)), nil })
	if err != nil {
		return Flow[T, []T]{err: fromCore(err)}
	}
	if slices, err = slices.Named("slices"); err != nil {
		return Flow[T, []T]{err: fromCore(err)}
	}
	return stage[T, []T](core.Via(slices))
}

// Batch makes groups of n elements, the last one of what is left.
func Batch[T any](n uint64) Flow[T, []T] { return lists[T](capi.Batch(n, 0)) }

// BatchWithin is Batch whose group goes so long after its first element came, even if it is smaller.
func BatchWithin[T any](n uint64, within time.Duration) Flow[T, []T] {
	return lists[T](capi.Batch(n, max(1, micros(within))))
}

// Sliding makes windows of size elements, each beginning step elements after the one before.
func Sliding[T any](size, step uint64) Flow[T, []T] { return lists[T](capi.Sliding(size, step)) }

// Page asks for elements a page at a time: it holds size of them, or has asked for them, and asks
// again once mark of them have left.
func Page[T any](size, mark uint64) Flow[T, T] { return stage[T, T](capi.Page(size, mark)) }

// Fetch gives rows by position: fetch is called with what is asked for and answers at most n rows,
// beginning with number from; fewer are the last. Behind [Page] this is a paged source.
func Fetch[T any](fetch func(from, n uint64) ([]T, error)) Source[T] {
	return source[T](capi.FetchSource(func(a, b any) (any, error) {
		rows, err := fetch(a.(uint64), b.(uint64))
		return anys(rows), notEOF(err)
	}))
}

func anys[T any](all []T) []any {
	values := make([]any, len(all))
	for i, element := range all {
		values[i] = element
	}
	return values
}

// Expand makes any number of elements of each one.
func Expand[I, O any](f func(I) ([]O, error)) Flow[I, O] {
	return stage[I, O](capi.Expand(func(a, _ any) (any, error) {
		all, err := f(as[I](a))
		return anys(all), notEOF(err)
	}))
}

// Flatten takes groups apart.
func Flatten[T any]() Flow[[]T, T] {
	return Expand(func(all []T) ([]T, error) { return all, nil }).Named("flatten")
}

// Conflate never holds the source back: what comes before the next output is wanted is folded into it.
func Conflate[T any](fold func(state, next T) (T, error)) Flow[T, T] {
	return stage[T, T](capi.Conflate(two(fold)))
}

// Throttle lets at most so many elements pass in each time on average, and burst of them at once after
// a pause.
func Throttle[T any](elements uint64, per time.Duration, burst uint64) Flow[T, T] {
	return stage[T, T](capi.Throttle(elements, micros(per), burst))
}

// Delay hands each element down later, in order, and holds at most room of them.
func Delay[T any](by time.Duration, room uint64) Flow[T, T] {
	return stage[T, T](capi.Delay(micros(by), room))
}

// Debounce hands the latest element down once none has come for a time, or at the end.
func Debounce[T any](quiet time.Duration) Flow[T, T] {
	return stage[T, T](capi.Debounce(micros(quiet)))
}

// IdleTimeout fails with [sluicegate.ErrTimedOut] if an element was asked for and none has come in time.
func IdleTimeout[T any](limit time.Duration) Flow[T, T] {
	return stage[T, T](capi.IdleTimeout(micros(limit)))
}

// InitialTimeout fails if no first element has come in time.
func InitialTimeout[T any](limit time.Duration) Flow[T, T] {
	return stage[T, T](capi.InitialTimeout(micros(limit)))
}

// CompletionTimeout fails if the source has not ended in time.
func CompletionTimeout[T any](limit time.Duration) Flow[T, T] {
	return stage[T, T](capi.CompletionTimeout(micros(limit)))
}

// TakeWithin keeps what comes within a time of the start; then the source is cancelled.
func TakeWithin[T any](time time.Duration) Flow[T, T] {
	return stage[T, T](capi.TakeWithin(micros(time)))
}

// DropWithin keeps what comes later than a time after the start.
func DropWithin[T any](time time.Duration) Flow[T, T] {
	return stage[T, T](capi.DropWithin(micros(time)))
}

// MapParallel puts each element through f on n threads of the scope, in order.
func MapParallel[I, O any](n uint64, f func(I) (O, error)) Flow[I, O] {
	return stage[I, O](capi.MapParallel(n, true, one(f)))
}

// MapParallelUnordered is MapParallel that hands each output down as soon as it is there.
func MapParallelUnordered[I, O any](n uint64, f func(I) (O, error)) Flow[I, O] {
	return stage[I, O](capi.MapParallel(n, false, one(f)))
}

// RecoverWith goes on with another source if the first fails.
func (s Source[T]) RecoverWith(other Source[T]) Source[T] {
	if err := first(s.err, other.err); err != nil {
		return Source[T]{err: err}
	}
	return Via(s, stage[T, T](capi.RecoverWith(other.core)))
}

// Retry runs the source again, from its start, each time it fails: at most attempts runs in all. The
// wait before the second is initial, and twice as long each time, up to most.
func (s Source[T]) Retry(attempts uint64, initial, most time.Duration) Source[T] {
	if s.err != nil {
		return s
	}
	return source[T](s.core.Retry(attempts, micros(initial), micros(most)))
}
