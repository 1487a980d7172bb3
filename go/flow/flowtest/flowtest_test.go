package flowtest_test

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluicegate/go/flow"
	"github.com/sluicegate/sluicegate/go/flow/flowtest"
)

const soon = 2 * time.Minute

func run[T any](t *testing.T, scope *flow.Scope, s flow.Source[T]) (*flow.Running[*flow.Subscriber[T]], *flowtest.Subscriber[T]) {
	t.Helper()
	running, err := flow.To(s, flow.ProbeSink[T]()).Run(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	return running, flowtest.SubscriberOf(t, running.Result).Within(soon)
}

func TestTheProbesOfAStream(t *testing.T) {
	scope, err := flow.NewScope("test")
	if err != nil {
		t.Fatal(err)
	}
	defer scope.Close()
	text := flow.Map(func(n int) string { return fmt.Sprint("value=", n) })
	running, subscriber := run(t, scope, flow.Via(flow.ManualSource[int](flow.EdgeOptions{Capacity: 1}), text))
	publisher := flowtest.PublisherOf[int](t, running).Within(soon)
	publisher.SendNext(7)
	subscriber.ExpectNoMessage(25 * time.Millisecond)
	subscriber.Request(1)
	subscriber.ExpectNext("value=7")
	if told, came := subscriber.SignalWithin(0); came {
		t.Error(told)
	}
	publisher.SendNext(8)
	subscriber.Request(1)
	if told, came := subscriber.SignalWithin(soon); !came || told.Kind != flow.SignalNext || told.Element != "value=8" {
		t.Error(told, came)
	}
	publisher.SendComplete()
	subscriber.ExpectComplete()
	if subscriber.TryRequest(1) {
		t.Error("a terminal that was taken rejects later demand")
	}
	own := errors.New("own")
	running, subscriber = run(t, scope, flow.Via(flow.ProbeSource[int](), text))
	publisher = flowtest.PublisherOf[int](t, running).Within(soon)
	publisher.SendError(own)
	if err := subscriber.ExpectError(); err != own {
		t.Error(err)
	}
	running, subscriber = run(t, scope, flow.Via(flow.ProbeSource[int](), text))
	publisher = flowtest.PublisherOf[int](t, running).Within(soon)
	subscriber.Cancel()
	publisher.ExpectCancel()
}

func TestDemandGoesAllTheWayUp(t *testing.T) {
	scope := flowtest.Stepped(t, 1)
	even := func(n int) bool { return n%2 == 0 }
	running, subscriber := run(t, scope, flow.ProbeSource[int]().Filter(even).Take(3))
	publisher := flowtest.PublisherOf[int](t, running)
	scope.Settle()
	if _, taken, _ := publisher.TryOffer(0); taken {
		t.Error("nothing without demand")
	}
	subscriber.Request(2)
	scope.Settle()
	publisher.ExpectDemand(2)
	for n, left := range []uint64{1, 1, 0} {
		if offer, taken, err := publisher.TryOffer(n); offer != flow.Enqueued || !taken || err != nil {
			t.Error(n, offer, taken, err)
		}
		scope.Settle()
		if publisher.Demand() != left {
			t.Errorf("after %d: demand for %d", n, publisher.Demand())
		}
	}
	subscriber.Request(1<<64 - 1)
	scope.Settle()
	if publisher.Demand() != 1 {
		t.Error("take(3) has passed on 2 and asks for no fourth:", publisher.Demand())
	}
	subscriber.ExpectNext(0, 2)
}

// What the package's comment shows.
func TestProbesPlayBothEndsOfStages(t *testing.T) {
	publisher, subscriber := flowtest.Probes(t, flowtest.Stepped(t, 1), flow.Map(strconv.Itoa))
	subscriber.ExpectNoMessage(0)
	subscriber.Request(2)
	publisher.ExpectDemand(2)
	publisher.SendNext(7)
	publisher.SendNext(8)
	subscriber.ExpectNext("7", "8").ExpectNoMessage(0)
	subscriber.Request(1).Cancel()
	publisher.ExpectCancel()
}

// A verdict is what a test said that did not go well.
type verdict struct {
	testing.TB
	said string
}

func (v *verdict) Helper()                   {}
func (v *verdict) Fatal(said ...any)         { v.Fatalf("%s", fmt.Sprint(said...)) }
func (v *verdict) Fatalf(f string, a ...any) { v.said = fmt.Sprintf(f, a...); runtime.Goexit() }

// judged answers what an assertion says that does not hold.
func judged(t *testing.T, test func(testing.TB)) string {
	v := &verdict{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(v)
	}()
	<-done
	return v.said
}

func TestAnAssertionSaysWhatItAwaitedAndWhatCame(t *testing.T) {
	const short = 5 * time.Millisecond
	own := errors.New("own")
	probes := func(t testing.TB) (*flowtest.Publisher[int], *flowtest.Subscriber[int]) {
		publisher, subscriber := flowtest.Probes(t, flowtest.Stepped(t, 1), flow.Tap(func(int) {}))
		return publisher.Within(short), subscriber.Within(short)
	}
	cases := []struct {
		said string
		test func(p *flowtest.Publisher[int], s *flowtest.Subscriber[int])
	}{
		{"awaited: the element 1 within 5ms; came: nothing", func(p *flowtest.Publisher[int], s *flowtest.Subscriber[int]) {
			s.Request(1).ExpectNext(1)
		}},
		{"awaited: the element 1; came: the element 2", func(p *flowtest.Publisher[int], s *flowtest.Subscriber[int]) {
			s.Request(1)
			p.SendNext(2)
			s.ExpectNext(1)
		}},
		{"awaited: an element; came: complete", func(p *flowtest.Publisher[int], s *flowtest.Subscriber[int]) {
			p.SendComplete()
			s.ExpectAny()
		}},
		{"awaited: complete; came: the failure own", func(p *flowtest.Publisher[int], s *flowtest.Subscriber[int]) {
			p.SendError(own)
			s.ExpectComplete()
		}},
		{"awaited: a failure; came: complete", func(p *flowtest.Publisher[int], s *flowtest.Subscriber[int]) {
			p.SendComplete()
			_ = s.ExpectError()
		}},
		{"awaited: nothing within 5ms; came: complete", func(p *flowtest.Publisher[int], s *flowtest.Subscriber[int]) {
			p.SendComplete()
			s.ExpectNoMessage(short)
		}},
		{"awaited: a stream that takes demand; came: its terminal, before", func(p *flowtest.Publisher[int], s *flowtest.Subscriber[int]) {
			p.SendComplete()
			s.ExpectComplete()
			s.Request(1)
		}},
		{"awaited: an element is taken within 5ms; came: ", func(p *flowtest.Publisher[int], s *flowtest.Subscriber[int]) {
			p.SendNext(1)
		}},
		{"awaited: demand for 3 within 5ms; came: demand for 2", func(p *flowtest.Publisher[int], s *flowtest.Subscriber[int]) {
			s.Request(2)
			p.ExpectDemand(3)
		}},
		{"awaited: demand for 1; came: cancel", func(p *flowtest.Publisher[int], s *flowtest.Subscriber[int]) {
			s.Cancel()
			p.ExpectDemand(1)
		}},
		{"awaited: cancel within 5ms; came: nothing", func(p *flowtest.Publisher[int], s *flowtest.Subscriber[int]) {
			p.ExpectCancel()
		}},
	}
	for _, test := range cases {
		said := judged(t, func(t testing.TB) {
			publisher, subscriber := probes(t)
			test.test(publisher, subscriber)
		})
		if said == "" || !strings.HasPrefix(said, test.said) {
			t.Errorf("awaited: %q; came: %q", test.said, said)
		}
	}
}
