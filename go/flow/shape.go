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

// BatchBytes makes groups of at most limit bytes, as size tells of each element; one that is larger is
// a group of its own.
func BatchBytes[T any](limit uint64, size func(T) uint64) Flow[T, []T] {
	return Then(Sized(size), lists[T](capi.BatchBytes(limit)))
}

// Sized makes each element count for as many bytes as size says in queues with a limit of bytes. Other
// elements than those of [Manual.OfferSized], [FromInput] and [FromFeed] count for none without it.
func Sized[T any](size func(T) uint64) Flow[T, T] {
	return stage[T, T](capi.Sized(one(func(in T) (uint64, error) { return size(in), nil })))
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

// Rows are a page, and where the next one begins.
type Rows[T, C any] struct {
	// Rows of the page; there may be none.
	Rows []T
	// Next is the cursor of the next page, if there is More.
	Next C
	// More is false on the last page.
	More bool
}

// Pages gives rows by the page: fetch is called with the first cursor, then with the one that each page
// gave for the next. A page is fetched when a row is wanted and none is left; with a mark other than 0,
// one page ahead, once no more than so many rows are left and none is wanted. fetch may wait.
func Pages[T, C any](first C, mark uint64, fetch func(cursor C) (Rows[T, C], error)) Source[T] {
	return source[T](capi.PagesSource(first, mark, one(func(cursor C) (capi.PageOf, error) {
		page, err := fetch(cursor)
		return capi.PageOf{Rows: anys(page.Rows), Next: capi.Some{Value: page.Next, Present: page.More}}, err
	})))
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

// Recover asks f what to make of a failure. An element without an error takes the failure's place, and
// the stream completes; an error fails the stream, the one that f was called with or another.
func Recover[T any](f func(failure error) (T, error)) Flow[T, T] {
	return stage[T, T](capi.Recover(func(a, _ any) (any, error) {
		failure := fromCore(a.(*capi.Error))
		last, err := f(failure)
		if err == failure {
			return capi.Some{}, nil // it passes as it is
		}
		return capi.Some{Value: last, Present: true}, notEOF(err)
	}))
}

// Recover asks f what to make of a failure, as the function [Recover] says.
func (s Source[T]) Recover(f func(failure error) (T, error)) Source[T] { return Via(s, Recover(f)) }

// RecoverWith goes on with another source if the first fails.
func (s Source[T]) RecoverWith(other Source[T]) Source[T] {
	if err := first(s.Err(), other.Err()); err != nil {
		return Source[T]{err: err}
	}
	return Via(s, stage[T, T](capi.RecoverWith(other.core)))
}

// Retry runs the source again, from its start, each time it fails: at most attempts runs in all. The
// wait before the second is initial, and twice as long each time, up to most.
func (s Source[T]) Retry(attempts uint64, initial, most time.Duration) Source[T] {
	if s.Err() != nil {
		return s
	}
	return source[T](s.core.Retry(attempts, micros(initial), micros(most)))
}
