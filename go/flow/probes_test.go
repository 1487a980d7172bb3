package flow_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluicegate/sluicegate/go"
	"github.com/sluicegate/sluicegate/go/flow"
)

// publisherState is what can be seen of a publisher, spelled as scripts spell it.
type publisherState struct {
	Demand string  `json:"demand"`
	Ended  *string `json:"ended"`
}

// subscriberState is what a subscriber received in a step.
type subscriberState struct {
	Delivered []any   `json:"delivered"`
	Terminal  *string `json:"terminal"`
}

// stageCounters are a stage's: what it may still hand down, what it has asked for above and not
// received, and what it holds.
type stageCounters struct {
	Owed  string `json:"owed"`
	Asked string `json:"asked"`
	Held  string `json:"held"`
}

// spelled is an element as scripts spell it.
func spelled(element any) any {
	if group, ok := element.([]any); ok {
		all := make([]any, len(group))
		for i, one := range group {
			all[i] = spelled(one)
		}
		return all
	}
	return spelledCount(element.(uint64))
}

// An upperEnd is a publisher, and what the script has done with it.
type upperEnd struct {
	probe *flow.Manual[any]
	next  uint64
	ended *string
}

func (u *upperEnd) finish(first bool, how string) any {
	if !first {
		return "no"
	}
	if u.ended == nil {
		u.ended = &how
	}
	return "yes"
}

func (u *upperEnd) state() publisherState {
	demand := uint64(0)
	if u.ended == nil {
		demand = u.probe.Demand()
	}
	return publisherState{spelledCount(demand), u.ended}
}

// A lowerEnd is a subscriber, and what it received in this step.
type lowerEnd struct {
	probe     *flow.Subscriber[any]
	delivered []any
	terminal  *string
}

// noTime is a context that waits no time at all.
var noTime, _ = context.WithDeadline(context.Background(), time.Unix(0, 0))

// take takes what it was given, and answers whether there was anything.
func (l *lowerEnd) take() bool {
	for came := false; ; came = true {
		signal, err := l.probe.Signal(noTime)
		if err != nil {
			return came
		}
		said := "failed"
		switch signal.Kind {
		case flow.SignalNext:
			l.delivered = append(l.delivered, spelled(signal.Element))
			continue
		case flow.SignalComplete:
			said = "completed"
		default:
			if errors.Is(signal.Err, sluicegate.ErrBufferOverflow) {
				said = "overflowed"
			}
		}
		l.terminal = &said
	}
}

// state answers what was received since it was asked last.
func (l *lowerEnd) state() subscriberState {
	now := subscriberState{append([]any{}, l.delivered...), l.terminal}
	l.delivered, l.terminal = nil, nil
	return now
}

// ends are the subscribers of a script.
type ends = []*flow.Subscriber[any]

// probes are all probes of a script, which plays them by hand, on a scope without threads.
type probes struct {
	scope *flow.Scope
	above []*upperEnd
	below []*lowerEnd
}

// newProbes takes the probes of what runs; publisher number i begins with the element i·1000.
func newProbes(scope *flow.Scope, running flow.Controlled, publishers int, below ends) (*probes, error) {
	all := &probes{scope: scope}
	for at := range publishers {
		control, err := flow.ManualOf[any](running)
		if err != nil {
			return nil, err
		}
		all.above = append(all.above, &upperEnd{probe: control, next: uint64(at) * 1000})
	}
	for _, end := range below {
		all.below = append(all.below, &lowerEnd{probe: end})
	}
	return all, nil
}

// settle runs everything until it is quiet, taking what comes.
func (p *probes) settle() {
	for more := true; more; {
		more = false
		p.scope.Settle()
		for _, end := range p.below {
			more = end.take() || more
		}
	}
	for _, end := range p.above {
		if end.probe.Over() {
			end.finish(true, "cancelled")
		}
	}
}

// send sends until so many were taken or one is refused.
func (p *probes) send(end *upperEnd, most uint64) any {
	sent, refused := uint64(0), any(nil)
	for sent < most && refused == nil {
		offer, taken, _ := end.probe.TryOffer(end.next)
		switch {
		case !taken:
			refused = "no_demand"
		case offer != flow.Enqueued:
			refused = "closed"
		default:
			sent++
			end.next++
			p.settle()
		}
	}
	return map[string]any{"sent": spelledCount(sent), "refused": refused}
}

// play does what the probe of a number is told to do, and all that follows from it.
func (p *probes) play(who uint64, op *scriptOp) (answer any, err error) {
	var n uint64
	var above *upperEnd
	var below *lowerEnd
	switch op.name {
	case "start":
	case "next", "complete", "fail":
		if who >= uint64(len(p.above)) {
			return nil, fmt.Errorf("there is no publisher %d", who)
		}
		above = p.above[who]
	case "request", "cancel":
		if who >= uint64(len(p.below)) {
			return nil, fmt.Errorf("there is no subscriber %d", who)
		}
		below = p.below[who]
	default:
		return nil, fmt.Errorf("unknown op %q", op.name)
	}
	switch op.name {
	case "request":
		if n, err = op.count("n"); err == nil {
			below.probe.Request(n)
		}
	case "next":
		if n, err = op.count("k"); err == nil {
			answer = p.send(above, n)
		}
	case "complete":
		answer = above.finish(above.probe.Complete(), "completed")
	case "fail":
		answer = above.finish(above.probe.Fail(errors.New("the script says so")), "failed")
	case "cancel":
		below.probe.Cancel()
	}
	p.settle()
	return answer, err
}

// seen answers the counters of all that is there now, by name.
func (p *probes) seen() map[string][]stageCounters {
	seen := map[string][]stageCounters{}
	for _, stage := range p.scope.Stages() {
		one := stageCounters{spelledCount(stage.Downstream), spelledCount(stage.Upstream), spelledCount(stage.Held)}
		seen[stage.Name] = append(seen[stage.Name], one)
	}
	return seen
}

// firstOf are the counters of a stage, which counts nothing once it is gone.
func firstOf(there []stageCounters) stageCounters {
	if len(there) == 0 {
		return stageCounters{"0", "0", "0"}
	}
	return there[0]
}
