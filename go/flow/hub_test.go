package flow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluicegate/go/flow"
)

type hubScript struct {
	scriptOf[hubState]
	Capacity, Replay string
}

// hubState is what can be seen after a step, spelled as scripts spell it.
type hubState struct {
	Publisher   publisherState    `json:"publisher"`
	Queued      string            `json:"queued"`
	Over        string            `json:"over"`
	Listeners   []listenerState   `json:"listeners"`
	Subscribers []subscriberState `json:"subscribers"`
}

type listenerState struct {
	Name   string `json:"name"`
	Demand string `json:"demand"`
	Held   string `json:"held"`
	Lost   string `json:"lost"`
}

// hubName is the name of the hub's own counters; a subscriber's is its number.
const hubName = "hub"

// hubPolicies are what a script can name.
var hubPolicies = map[string]flow.HubPolicy{
	"wait":        flow.HubWait,
	"drop_head":   flow.HubDropHead,
	"drop_tail":   flow.HubDropTail,
	"drop_new":    flow.HubDropNew,
	"drop_buffer": flow.HubDropBuffer,
	"disconnect":  flow.HubDisconnect,
}

// A reading changes what a script says of a subscription, so that a test can have another hub.
type reading func(*flow.SubscribeOptions)

func asWritten(*flow.SubscribeOptions) {}

// A hubPlayer has a hub between a publisher and subscribers that come and go.
type hubPlayer struct {
	*probes
	hub  *flow.Hub[any]
	read reading
}

func micros(n uint64) time.Duration { return time.Duration(n) * time.Microsecond }

// subscription reads how one listens.
func subscription(op *scriptOp) (flow.SubscribeOptions, error) {
	var options flow.SubscribeOptions
	name, err := op.take("policy")
	if err != nil {
		return options, err
	}
	limit, err := op.take("patience")
	if err != nil {
		return options, err
	}
	policy, known := hubPolicies[fmt.Sprint(name)]
	if !known || limit != nil && policy != flow.HubWait {
		return options, fmt.Errorf("unknown policy %q for %v", name, limit)
	}
	options.Policy = policy
	if limit != nil {
		n, err := count(limit)
		if err != nil {
			return options, err
		}
		options.Patience = micros(n)
	}
	options.Capacity, err = op.count("capacity")
	return options, err
}

func (p *hubPlayer) subscribe(op *scriptOp) error {
	options, err := subscription(op)
	if err != nil {
		return err
	}
	p.read(&options)
	source := p.hub.SubscribeWith(options).Named(fmt.Sprint(len(p.below)))
	running, err := flow.To(source, flow.ProbeSink[any]()).Run(context.Background(), p.scope)
	if err == nil {
		p.below = append(p.below, &lowerEnd{probe: running.Result})
	}
	return err
}

func (p *hubPlayer) play(op *scriptOp) (answer any, err error) {
	who := uint64(0)
	switch op.name {
	case "subscribe":
		err = p.subscribe(op)
		p.settle()
		return nil, err
	case "advance":
		n, err := op.count("micros")
		if err == nil {
			err = p.scope.Advance(micros(n))
		}
		p.settle()
		return nil, err
	case "request", "cancel":
		if who, err = op.count("who"); err != nil {
			return nil, err
		}
	}
	return p.probes.play(who, op)
}

func (p *hubPlayer) state() hubState {
	over := "no"
	if p.hub.Over() {
		over = "yes"
	}
	now := hubState{
		Publisher:   p.above[0].state(),
		Queued:      firstOf(p.seen()[hubName]).Held,
		Over:        over,
		Listeners:   []listenerState{},
		Subscribers: []subscriberState{},
	}
	for _, one := range p.hub.Listeners() {
		shown := listenerState{one.Name, spelledCount(one.Demand), spelledCount(one.Held), spelledCount(one.Lost)}
		now.Listeners = append(now.Listeners, shown)
	}
	for _, end := range p.below {
		now.Subscribers = append(now.Subscribers, end.state())
	}
	return now
}

// replayHub plays one script on a real hub, in an order of its turns that the seed decides.
func replayHub(script *hubScript, seed uint64, read reading) error {
	capacity, err := count(script.Capacity)
	again, wrong := count(script.Replay)
	if err = errors.Join(err, wrong); err != nil {
		return err
	}
	if capacity == 0 {
		// 0 is the default of these options: a hub without room cannot be said.
		return same("steps of what cannot be built", 0, len(script.Steps))
	}
	if len(script.Steps) == 0 {
		return errors.New("awaited: it is refused; came: a hub")
	}
	scope, err := flow.NewSteppedScope("script", seed)
	if err != nil {
		return err
	}
	defer scope.Close()
	sink := flow.BroadcastHub[any](flow.HubOptions{Capacity: capacity, Replay: again}).Named(hubName)
	running, err := flow.To(flow.ProbeSource[any](), sink).Run(context.Background(), scope)
	if err != nil {
		return err
	}
	all, err := newProbes(scope, running, 1, nil)
	if err != nil {
		return err
	}
	return replaySteps(&hubPlayer{all, running.Result, read}, script.Steps)
}

func replayWritten(script *hubScript, seed uint64) error { return replayHub(script, seed, asWritten) }

// The scripts of the proved model, on a real hub whose subscribers come and go: what each of them is given
// and loses, who is waited for and for how long, and what the publisher may send.
func TestHubScripts(t *testing.T) {
	replaySet(t, "hub", 2500, replayWritten)
}

// Each of these is another hub than the one whose scripts are replayed on it.
func TestABrokenHubIsCaught(t *testing.T) {
	const file = "../../tests/conformance/hub/walks.json.gz"
	instead := func(is, wrong flow.HubPolicy) reading {
		return func(options *flow.SubscribeOptions) {
			if options.Policy == is && options.Patience == 0 {
				options.Policy = wrong
			}
		}
	}
	for what, read := range map[string]reading{
		"nobody is waited for":           instead(flow.HubWait, flow.HubDisconnect),
		"the oldest goes for the newest": instead(flow.HubDropTail, flow.HubDropHead),
		"who is too slow is waited for":  instead(flow.HubDisconnect, flow.HubWait),
		"a limit is none":                func(options *flow.SubscribeOptions) { options.Patience = 0 },
	} {
		caught := false
		for _, script := range scriptsOf[hubScript](t, "hub", file) {
			if err := replayHub(&script, 0, read); err != nil {
				if !strings.Contains(err.Error(), "step ") {
					t.Errorf("%s: awaited: a step; came: %v", what, err)
				}
				caught = true
				break
			}
		}
		if !caught {
			t.Errorf("%s, and it passes", what)
		}
	}
}

// Whatever is wrong in a script is found: each of these is one that plays well, with one thing changed.
func TestABrokenHubScriptIsRefused(t *testing.T) {
	const good = `{"name":"hub","capacity":"2","replay":"0","steps":[` +
		`{"op":"subscribe","policy":"wait","patience":"400","capacity":"1","answer":null,"state":{"publisher":{"demand":"0","ended":null},` +
		`"queued":"0","over":"no","listeners":[{"name":"0","demand":"0","held":"0","lost":"0"}],"subscribers":[{"delivered":[],"terminal":null}]}}]}`
	changesAreFound(t, good, replayWritten, []change{
		{`"queued":"0"`, `"queued":"1"`, "step 0 subscribe: state:"},
		{`"over":"no"`, `"over":"yes"`, "step 0 subscribe: state:"},
		{`"lost":"0"`, `"lost":"1"`, "step 0 subscribe: state:"},
		{`"delivered":[]`, `"delivered":["0"]`, "step 0 subscribe: state:"},
		{`"op":"subscribe"`, `"op":"vanish"`, `unknown op "vanish"`},
		{`"policy":"wait"`, `"policy":"nod"`, `unknown policy "nod"`},
		{`"policy":"wait"`, `"policy":"disconnect"`, `unknown policy "disconnect" for 400`},
		{`"patience":"400",`, ``, `no key "patience"`},
		{`"patience":"400"`, `"patience":"400","who":"0"`, "unknown keys: map[who:0]"},
		{`"capacity":"2"`, `"capacity":"0"`, "steps of what cannot be built"},
	})
}
