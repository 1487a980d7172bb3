package flow

import (
	"context"
	"errors"
	"io"
	"iter"
	"sync"

	"github.com/sluicegate/sluicegate/go"
	"github.com/sluicegate/sluicegate/go/internal/bridge"
	"github.com/sluicegate/sluicegate/go/internal/capi"
)

// An Offer says what became of an element that was offered.
type Offer int32

const (
	// Enqueued: it is in the queue.
	Enqueued = Offer(capi.Enqueued)
	// Dropped: it was discarded by the overflow strategy, and counted.
	Dropped = Offer(capi.Dropped)
	// QueueClosed: the source is completed, or what is below went away.
	QueueClosed = Offer(capi.QueueClosed)
	// QueueFailed: the queue has failed; the error that comes with it is the same for everybody.
	QueueFailed = Offer(capi.OfferFailed)
)

// String answers the name.
func (o Offer) String() string {
	switch o {
	case Enqueued:
		return "enqueued"
	case Dropped:
		return "dropped"
	case QueueClosed:
		return "queue closed"
	}
	return "queue failed"
}

// A Manual feeds a source. Any number of goroutines may use one. One that nobody knows any more, and
// that was neither completed nor failed, fails its source with [sluicegate.ErrCancelled].
type Manual[T any] struct{ core *capi.Manual }

// Offer offers an element. Under backpressure it waits for room until ctx ends; then the element was
// not taken, and the error is ctx's. With QueueFailed the error is what the queue failed with.
func (m *Manual[T]) Offer(ctx context.Context, element T) (Offer, error) {
	return m.OfferSized(ctx, element, 0)
}

// OfferSized is Offer for an element of so many bytes, which count in a queue with a limit of bytes.
func (m *Manual[T]) OfferSized(ctx context.Context, element T, bytes uint64) (Offer, error) {
	op := m.core.OfferOp(element, bytes)
	defer op.Release()
	if err := bridge.Await(ctx, op); err != nil {
		return QueueFailed, err
	}
	offer, err := op.TakeOffer()
	return Offer(offer), fromCore(err)
}

// TryOffer offers an element if that needs no waiting; taken is false if it does.
func (m *Manual[T]) TryOffer(element T) (offer Offer, taken bool, err error) {
	offered, failure, taken := m.core.TryOffer(element, 0)
	return Offer(offered), taken, fromCore(failure)
}

// Ready waits until n elements at once could be offered; false once the source is over.
func (m *Manual[T]) Ready(ctx context.Context, n uint64) (bool, error) {
	err := finish(ctx, m.core.ReadyOp(n))
	if closed(err) {
		return false, nil
	}
	return err == nil, err
}

// Complete says that the source is done. What was accepted is delivered first. False if it had ended.
func (m *Manual[T]) Complete() bool { return m.core.Complete() }

// Fail fails the source. What was accepted is delivered first. False if it had ended.
func (m *Manual[T]) Fail(err error) bool { return m.core.Fail(toCore(err)) }

// Demand answers how many elements could be offered now without waiting.
func (m *Manual[T]) Demand() uint64 { return m.core.Demand() }

// Held answers how many elements were accepted and have not gone on yet.
func (m *Manual[T]) Held() uint64 { return m.core.Held() }

// Lost answers how many elements the overflow strategy discarded.
func (m *Manual[T]) Lost() uint64 { return m.core.Lost() }

// Over tells whether the source was completed, failed or cancelled from below.
func (m *Manual[T]) Over() bool { return m.core.Over() }

// A State says where a completion stands. Everything but Pending is final.
type State int32

// The states of a completion.
const (
	Pending State = iota
	Success
	Failure
	Cancelled
)

// A Completion is a result that comes once. Every waiter gets the same answer.
type Completion[R any] struct {
	core   *capi.Completion
	decode func([]any) R
	once   sync.Once
	done   chan struct{}
}

// State answers where it stands.
func (c *Completion[R]) State() State { return State(c.core.State()) }

// Wait waits for the result until ctx ends. The error is what the stream failed with, or why it was
// cancelled: the very value that a function of a stage answered, or that ended the run's context.
func (c *Completion[R]) Wait(ctx context.Context) (R, error) {
	return result(ctx, c.core.WaitOp(), c.decode)
}

// Done answers a channel that is closed once the completion is settled.
func (c *Completion[R]) Done() <-chan struct{} {
	c.once.Do(func() {
		c.done = make(chan struct{})
		go func() {
			_, _ = c.Wait(context.Background())
			close(c.done)
		}()
	})
	return c.done
}

// A Promise settles a completion. One transition wins; one that nobody knows any more and that is
// pending is cancelled.
type Promise[R any] struct{ core *capi.Promise }

// NewPromise makes a promise, pending.
func NewPromise[R any]() *Promise[R] { return &Promise[R]{capi.NewPromise()} }

// Completion answers the side that waits.
func (p *Promise[R]) Completion() *Completion[R] {
	return &Completion[R]{core: p.core.Completion(), decode: func(values []any) R { return option[R](values).Value }}
}

// TrySuccess keeps the promise. False if it was settled before.
func (p *Promise[R]) TrySuccess(value R) bool { return p.core.Success(value) }

// TryFailure fails the promise. False if it was settled before.
func (p *Promise[R]) TryFailure(err error) bool { return p.core.Failure(toCore(err)) }

// TryCancel cancels the promise. False if it was settled before.
func (p *Promise[R]) TryCancel() bool { return p.core.Cancel() }

// An Outlet is the end of a pipeline that is taken from by hand. Taking is what makes demand. Each
// element reaches one taker. One that nobody knows any more cancels its pipeline.
type Outlet[T any] struct{ core *capi.Outlet }

// Recv answers the next element, waiting for it until ctx ends, or [io.EOF] at the clean end. A call
// that ends with its context has taken nothing.
func (o *Outlet[T]) Recv(ctx context.Context) (T, error) {
	return result(ctx, o.core.RecvOp(), func(values []any) T { return option[T](values).Value })
}

// All ranges over the elements as they come. Leaving the loop cancels the pipeline. It ends without an
// error at a clean end, else with the error as the last pair.
func (o *Outlet[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		defer o.Cancel()
		for {
			element, err := o.Recv(ctx)
			if err == io.EOF {
				return
			}
			if !yield(element, err) || err != nil {
				return
			}
		}
	}
}

// Cancel ends the pipeline and lets go of what the outlet holds. Later calls answer the end.
func (o *Outlet[T]) Cancel() { o.core.Cancel() }

// Held answers how many elements wait to be taken.
func (o *Outlet[T]) Held() uint64 { return o.core.Held() }

func closed(err error) bool { return errors.Is(err, sluicegate.ErrClosed) }
