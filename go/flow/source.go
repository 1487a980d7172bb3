package flow

import (
	"errors"
	"io"
	"iter"
	"time"

	"github.com/sluicegate/sluicegate/go/internal/capi"
)

// An Overflow says what becomes of an element that finds its queue full.
type Overflow int32

const (
	// Backpressure: it waits for room.
	Backpressure Overflow = iota
	// DropHead: the oldest element of the queue makes room.
	DropHead
	// DropTail: the newest element of the queue makes room.
	DropTail
	// DropNew: it is discarded itself.
	DropNew
	// DropBuffer: all elements of the queue make room.
	DropBuffer
	// Fail: the queue fails with [sluicegate.ErrBufferOverflow], once what it holds was taken.
	Fail
)

// EdgeOptions say how large the queue between two threads is. The zero value is the default: 16
// elements, no limit in bytes, backpressure.
type EdgeOptions struct {
	// Capacity is how many elements it can hold; 0 is 16. No memory is reserved for them.
	Capacity uint64
	// Bytes is how many bytes it can hold, by what [Manual.OfferSized] said; 0 is no limit.
	Bytes uint64
	// Overflow is what happens when it is full.
	Overflow Overflow
}

func (o EdgeOptions) core() capi.Edge {
	return capi.Edge{Capacity: o.Capacity, Bytes: o.Bytes, Overflow: int32(o.Overflow)}
}

// A Source is a blueprint with one output of elements T.
type Source[T any] struct {
	core *capi.Source
	err  error
}

func source[T any](core *capi.Source, err *capi.Error) Source[T] {
	return Source[T]{core, fromCore(err)}
}

// Err answers why the blueprint cannot run, or nil.
func (s Source[T]) Err() error { return made(s.core != nil, s.err) }

// ManualSource is a source that is fed by hand: [ManualOf] has the control of a run.
func ManualSource[T any](options EdgeOptions) Source[T] {
	return source[T](capi.ManualSource(options.core()))
}

// Of gives these elements.
func Of[T any](elements ...T) Source[T] {
	all := make([]any, len(elements))
	for i, element := range elements {
		all[i] = element
	}
	return source[T](capi.ElementsSource(all))
}

// Range gives the numbers from first up to end, without end.
func Range(first, end int) Source[int] {
	return Pull(func() (func() (int, error), error) {
		next := first
		return func() (int, error) {
			if next >= end {
				return 0, io.EOF
			}
			next++
			return next - 1, nil
		}, nil
	})
}

// Pull asks a function for each element that is wanted, made anew by open for each run. [io.EOF] is
// the end; any other error fails the stream. The function may wait.
func Pull[T any](open func() (func() (T, error), error)) Source[T] {
	return source[T](capi.PullSource(func(any, any) (any, error) {
		next, err := open()
		if err != nil {
			return nil, notEOF(err)
		}
		return capi.Function(func(any, any) (any, error) { return next() }), nil
	}))
}

// Unfold gives the element that next makes of each state, beginning with initial, and goes on with the
// state that it answers. [io.EOF] is the end; any other error fails the stream.
func Unfold[S, T any](initial S, next func(state S) (element T, after S, err error)) Source[T] {
	return Pull(func() (func() (T, error), error) {
		state := initial
		return func() (T, error) {
			element, after, err := next(state)
			state = after
			return element, err
		}, nil
	}).Named("unfold")
}

// Repeat gives the element without end.
func Repeat[T any](element T) Source[T] {
	return Pull(func() (func() (T, error), error) {
		return func() (T, error) { return element, nil }, nil
	}).Named("repeat")
}

// Tick gives the element each time so long has passed since the start, by the clock of the scope, in
// whole microseconds. A tick that nobody has asked for is left out, so ticks never pile up.
func Tick[T any](every time.Duration, element T) Source[T] {
	return source[T](capi.TickSource(micros(every), element))
}

// FromSeq gives the elements of a sequence, ranged over anew for each run, by a goroutine that stops at
// each element until the next one is wanted. A sequence that can be ranged over once only, such as that
// of [strings.SplitSeq], gives its elements to one run.
func FromSeq[T any](seq iter.Seq[T]) Source[T] {
	return FromSeq2(func(yield func(T, error) bool) {
		for element := range seq {
			if !yield(element, nil) {
				return
			}
		}
	})
}

// FromSeq2 is FromSeq for a sequence that may fail: its first error fails the stream.
func FromSeq2[T any](seq iter.Seq2[T, error]) Source[T] {
	return source[T](capi.PullSource(func(any, any) (any, error) { return pulling(seq), nil }))
}

// A puller ranges over a sequence on a goroutine of its own: what is pulled on one thread may be
// stopped on another, which [iter.Pull] does not allow.
type puller[T any] struct {
	wanted chan struct{}
	came   chan pulled[T]
	over   chan struct{}
}

type pulled[T any] struct {
	element T
	err     error
	thrown  any
}

// errGoexit is what a sequence fails with that ends its goroutine, as [testing.T.FailNow] does.
var errGoexit = errors.New("the sequence called runtime.Goexit")

func pulling[T any](seq iter.Seq2[T, error]) *puller[T] {
	p := &puller[T]{make(chan struct{}), make(chan pulled[T]), make(chan struct{})}
	go p.range_(seq)
	return p
}

func (p *puller[T]) range_(seq iter.Seq2[T, error]) {
	defer close(p.over)
	if _, ok := <-p.wanted; !ok {
		return
	}
	ended, stopped := pulled[T]{err: io.EOF}, false
	func() {
		defer func() {
			if thrown := recover(); thrown != nil {
				ended.thrown = thrown
			}
		}()
		for element, err := range seq {
			p.came <- pulled[T]{element: element, err: notEOF(err)}
			if _, ok := <-p.wanted; !ok {
				stopped = true
				return
			}
		}
	}()
	if !stopped {
		p.came <- ended
	}
}

// Call implements [capi.Caller].
func (p *puller[T]) Call(any, any) (any, error) {
	p.wanted <- struct{}{}
	select {
	case next := <-p.came:
		if next.thrown != nil {
			panic(next.thrown) // contained by whoever called, on behalf of the sequence
		}
		return next.element, next.err
	case <-p.over:
		return nil, errGoexit
	}
}

// Drop implements [capi.Dropper]. It returns once the sequence has: what that had open is closed.
func (p *puller[T]) Drop() {
	close(p.wanted)
	<-p.over
}

// Empty gives nothing and completes.
func Empty[T any]() Source[T] { return source[T](capi.EmptySource()) }

// Failed gives nothing and fails.
func Failed[T any](err error) Source[T] { return source[T](capi.FailedSource(toCore(err))) }

// Via is a source, then a flow.
func Via[I, O any](s Source[I], f Flow[I, O]) Source[O] {
	if err := first(s.Err(), f.Err()); err != nil {
		return Source[O]{err: err}
	}
	return source[O](s.core.Via(f.core))
}

// Via is the source, then a flow that keeps the type; the function [Via] takes any flow.
func (s Source[T]) Via(f Flow[T, T]) Source[T] { return Via(s, f) }

// Named is the same source under another name in [Scope.Stages] and in errors.
func (s Source[T]) Named(name string) Source[T] {
	if s.Err() != nil {
		return s
	}
	return source[T](s.core.Named(name))
}

// Filter keeps the elements that pass says true of.
func (s Source[T]) Filter(pass func(T) bool) Source[T] { return Via(s, Filter(pass)) }

// Tap shows each element to look.
func (s Source[T]) Tap(look func(T)) Source[T] { return Via(s, Tap(look)) }

// Take keeps the first n elements and then cancels the source.
func (s Source[T]) Take(n uint64) Source[T] { return Via(s, Take[T](n)) }

// Drop keeps all but the first n elements.
func (s Source[T]) Drop(n uint64) Source[T] { return Via(s, Drop[T](n)) }

// TakeWhile keeps the elements before the first that pass says false of.
func (s Source[T]) TakeWhile(pass func(T) bool) Source[T] { return Via(s, TakeWhile(pass)) }

// DropWhile keeps the elements from the first on that skip says false of.
func (s Source[T]) DropWhile(skip func(T) bool) Source[T] { return Via(s, DropWhile(skip)) }

// Buffer is a boundary: the source runs on a thread of its own, ahead by what the queue holds.
func (s Source[T]) Buffer(options EdgeOptions) Source[T] { return Via(s, Buffer[T](options)) }

// made answers why a blueprint cannot run; the zero value of one was never made.
func made(is bool, err error) error {
	if err == nil && !is {
		return invalid("the zero value is no blueprint: make one by a function of this package")
	}
	return err
}

// first answers the first error that there is.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// notEOF keeps a user's io.EOF from being taken for the end of the stream.
func notEOF(err error) error {
	if err == io.EOF {
		return capi.NoEnd{Err: err}
	}
	return err
}
