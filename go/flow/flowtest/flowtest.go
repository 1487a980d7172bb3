// Package flowtest has what tests of streams need: probes, schedules that replay, and transports that
// fail.
//
// A [Publisher] and a [Subscriber] are a source and a sink that a test plays by hand. Every assertion
// waits no longer than its limit, and fails the test with what it awaited and what came:
//
//	publisher, subscriber := flowtest.Probes(t, flowtest.Stepped(t, 1), flow.Map(strconv.Itoa))
//	subscriber.Request(1)
//	publisher.SendNext(7)
//	subscriber.ExpectNext("7")
//
// [Stepped] has a scope without threads, whose stages run in an order that a seed decides, on a clock
// that the test moves. [Faults] delay, split and cut the transport between an engine and a cartridge. A
// [Seed] decides all of it: a test that fails logs its own, and SLUICEGATE_SEED=… runs it again.
package flowtest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/sluicegate/sluicegate/go/flow"
)

// Limit is how long an assertion waits unless told otherwise.
const Limit = time.Second

// Stepped is a scope without threads for a test, closed at its end.
func Stepped(t testing.TB, seed uint64) *flow.Scope {
	t.Helper()
	scope, err := flow.NewSteppedScope(t.Name(), seed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := scope.Close(); err != nil {
			t.Error(err)
		}
	})
	return scope
}

// Probes runs stages between a source and a sink that the test plays. The source takes an element only
// where one was asked for. On a scope of [Stepped], each assertion of theirs first lets the stages run.
// Both give up, and so end the run, when the test is over.
func Probes[I, O any](t testing.TB, scope *flow.Scope, stages flow.Flow[I, O]) (*Publisher[I], *Subscriber[O]) {
	t.Helper()
	running, err := flow.To(flow.Via(flow.ProbeSource[I](), stages), flow.ProbeSink[O]()).Run(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	publisher, subscriber := PublisherOf[I](t, running), SubscriberOf(t, running.Result)
	publisher.settle, subscriber.settle = scope.Settle, scope.Settle
	return publisher, subscriber
}

// still is what probes do that know no scope.
func still() uint64 { return 0 }

// A Publisher plays a source. It has what a [flow.Manual] has, beside its assertions. They may be made
// from the test's own goroutine alone, as [testing.T.FailNow] says.
type Publisher[T any] struct {
	*flow.Manual[T]
	t      testing.TB
	limit  time.Duration
	settle func() uint64
}

// PublisherOf takes the publisher of a run of [flow.ProbeSource] or [flow.ManualSource].
func PublisherOf[T any](t testing.TB, running flow.Controlled) *Publisher[T] {
	t.Helper()
	control, err := flow.ManualOf[T](running)
	if err != nil {
		t.Fatal(err)
	}
	return &Publisher[T]{control, t, Limit, still}
}

// Within is the same probe whose assertions wait up to another limit than [Limit].
func (p *Publisher[T]) Within(limit time.Duration) *Publisher[T] {
	return &Publisher[T]{p.Manual, p.t, limit, p.settle}
}

// SendNext sends an element. One that is not taken in time fails the source first, so that nothing hangs.
func (p *Publisher[T]) SendNext(element T) {
	p.t.Helper()
	p.settle()
	ctx, cancel := context.WithTimeout(context.Background(), p.limit)
	defer cancel()
	offer, err := p.Offer(ctx, element)
	if offer != flow.Enqueued || err != nil {
		p.Fail(errors.New("an element was not taken in time"))
		p.t.Fatalf("awaited: an element is taken within %v; came: %v, %v", p.limit, offer, err)
	}
}

// SendComplete completes the source. False if it had ended.
func (p *Publisher[T]) SendComplete() bool { return p.Complete() }

// SendError fails the source. False if it had ended.
func (p *Publisher[T]) SendError(err error) bool { return p.Fail(err) }

// ExpectDemand waits until n elements at least can be sent.
func (p *Publisher[T]) ExpectDemand(n uint64) {
	p.t.Helper()
	p.settle()
	ctx, cancel := context.WithTimeout(context.Background(), p.limit)
	defer cancel()
	if ready, err := p.Ready(ctx, n); err != nil {
		p.t.Fatalf("awaited: demand for %d within %v; came: demand for %d", n, p.limit, p.Demand())
	} else if !ready {
		p.t.Fatalf("awaited: demand for %d; came: cancel", n)
	}
}

// ExpectCancel waits until the source was cancelled from below.
func (p *Publisher[T]) ExpectCancel() {
	p.t.Helper()
	p.settle()
	ctx, cancel := context.WithTimeout(context.Background(), p.limit)
	defer cancel()
	if ready, err := p.Ready(ctx, 1<<64-1); ready || err != nil { // more than any source can be asked for
		p.t.Fatalf("awaited: cancel within %v; came: nothing", p.limit)
	}
}

// A Subscriber plays a sink. Its assertions may be made from the test's own goroutine alone.
type Subscriber[T any] struct {
	probe  *flow.Subscriber[T]
	t      testing.TB
	limit  time.Duration
	settle func() uint64
}

// SubscriberOf puts assertions round the result of [flow.ProbeSink].
func SubscriberOf[T any](t testing.TB, probe *flow.Subscriber[T]) *Subscriber[T] {
	return &Subscriber[T]{probe, t, Limit, still}
}

// Within is the same probe whose assertions wait up to another limit than [Limit].
func (s *Subscriber[T]) Within(limit time.Duration) *Subscriber[T] {
	return &Subscriber[T]{s.probe, s.t, limit, s.settle}
}

// Request asks for n elements more; 0 is ignored. A stream whose terminal was taken fails the test. It
// answers the probe, so that an assertion can follow.
func (s *Subscriber[T]) Request(n uint64) *Subscriber[T] {
	s.t.Helper()
	if !s.probe.Request(n) {
		s.t.Fatal("awaited: a stream that takes demand; came: its terminal, before")
	}
	return s
}

// TryRequest is Request that answers false instead.
func (s *Subscriber[T]) TryRequest(n uint64) bool { return s.probe.Request(n) }

// Cancel wants no more: everything above is cancelled.
func (s *Subscriber[T]) Cancel() { s.probe.Cancel() }

// SignalWithin takes the next signal, whatever it is, if one comes within a time; came is false if none
// does.
func (s *Subscriber[T]) SignalWithin(limit time.Duration) (signal flow.Signal[T], came bool) {
	s.settle()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	signal, err := s.probe.Signal(ctx)
	return signal, err == nil
}

// next takes a signal of this kind.
func (s *Subscriber[T]) next(what string, kind flow.SignalKind) flow.Signal[T] {
	s.t.Helper()
	signal, came := s.SignalWithin(s.limit)
	if !came {
		s.t.Fatalf("awaited: %s within %v; came: nothing", what, s.limit)
	}
	if signal.Kind != kind {
		s.t.Fatalf("awaited: %s; came: %s", what, said(signal))
	}
	return signal
}

// ExpectAny takes an element, whatever it is.
func (s *Subscriber[T]) ExpectAny() T {
	s.t.Helper()
	return s.next("an element", flow.SignalNext).Element
}

// ExpectNext takes these elements, one after the other, as [reflect.DeepEqual] compares them. It answers
// the probe, so that another assertion can follow.
func (s *Subscriber[T]) ExpectNext(elements ...T) *Subscriber[T] {
	s.t.Helper()
	for _, element := range elements {
		signal := s.next(fmt.Sprint("the element ", element), flow.SignalNext)
		if !reflect.DeepEqual(signal.Element, element) {
			s.t.Fatalf("awaited: the element %v; came: %s", element, said(signal))
		}
	}
	return s
}

// ExpectComplete takes the end.
func (s *Subscriber[T]) ExpectComplete() {
	s.t.Helper()
	s.next("complete", flow.SignalComplete)
}

// ExpectError takes the failure and answers what the stream failed with.
func (s *Subscriber[T]) ExpectError() error {
	s.t.Helper()
	return s.next("a failure", flow.SignalError).Err
}

// ExpectNoMessage sees that nothing comes within a time: no element, no end. It answers the probe.
func (s *Subscriber[T]) ExpectNoMessage(within time.Duration) *Subscriber[T] {
	s.t.Helper()
	if signal, came := s.SignalWithin(within); came {
		s.t.Fatalf("awaited: nothing within %v; came: %s", within, said(signal))
	}
	return s
}

func said[T any](signal flow.Signal[T]) string {
	switch signal.Kind {
	case flow.SignalNext:
		return fmt.Sprint("the element ", signal.Element)
	case flow.SignalComplete:
		return "complete"
	}
	return fmt.Sprint("the failure ", signal.Err)
}
