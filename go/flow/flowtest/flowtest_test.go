package flowtest_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluicegate/sluicegate/go/flow"
	"github.com/sluicegate/sluicegate/go/flow/flowtest"
)

const soon = 20 * time.Second

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
	flowtest.ExpectNext(subscriber, "value=7")
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
	flowtest.ExpectNext(subscriber, 0, 2)
}
