package flow_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluicegate/go/flow"
)

type junctionScript struct {
	scriptOf[junctionState]
	Junction string
	Inputs   [][]map[string]any
	Outputs  [][]map[string]any
}

// junctionState is what can be seen after a step, spelled as scripts spell it.
type junctionState struct {
	Publishers  []publisherState  `json:"publishers"`
	Inputs      [][]stageCounters `json:"inputs"`
	Junction    []stageCounters   `json:"junction"`
	Outputs     [][]stageCounters `json:"outputs"`
	Subscribers []subscriberState `json:"subscribers"`
}

// A join makes one source of several.
type join func(sources []flow.Source[any]) flow.Source[any]

// joins are what a script can name.
var joins = map[string]join{
	"zip": func(sources []flow.Source[any]) flow.Source[any] {
		pair := flow.Map(func(pair flow.Pair[any, any]) any { return []any{pair.Left, pair.Right} })
		return flow.Via(flow.Zip(sources[0], sources[1]), pair.Named("plain"))
	},
	"combine": func(sources []flow.Source[any]) flow.Source[any] {
		group := flow.Map(func(group []any) any { return group }).Named("plain")
		return flow.Via(flow.Combine(sources...), group)
	},
	"merge": func(sources []flow.Source[any]) flow.Source[any] { return flow.Merge(sources...) },
	"merge_prefer": func(sources []flow.Source[any]) flow.Source[any] {
		return flow.MergePrefer(sources[0], sources[1:]...)
	},
	"concat": func(sources []flow.Source[any]) flow.Source[any] { return flow.Concat(sources...) },
}

// fork makes one sink of several.
func fork(kind string, sinks []flow.Sink[any, *flow.Subscriber[any]]) (flow.Sink[any, ends], error) {
	switch kind {
	case "broadcast":
		return flow.Broadcast(flow.FanOptions{}, sinks...), nil
	case "balance":
		return flow.Balance(flow.FanOptions{}, sinks...), nil
	case "partition":
		choose := func(x any) int { return int(x.(uint64) % uint64(len(sinks))) }
		return flow.Partition(flow.FanOptions{}, choose, sinks...), nil
	default:
		return flow.Sink[any, ends]{}, fmt.Errorf("unknown junction %q", kind)
	}
}

// shownAs are the names under which the core shows a junction: nothing else here has one of them.
var shownAs = map[string]string{"combine": "zip"}

func stageName(side string, line, place int) string { return fmt.Sprint(side, " ", line, " ", place) }

// junctionSource is a publisher and the line behind it.
func junctionSource(at int, told []map[string]any) (flow.Source[any], error) {
	line := flow.ProbeSource[any]().Named("publisher")
	for place, one := range told {
		stage, err := pipelineStage(one, stageName("in", at, place))
		if err != nil {
			return line, err
		}
		line = line.Via(stage)
	}
	return line, nil
}

// junctionSink is a line and the subscriber behind it.
func junctionSink(at int, told []map[string]any) (flow.Sink[any, *flow.Subscriber[any]], error) {
	sink := flow.ProbeSink[any]().Named("subscriber")
	for place := len(told) - 1; place >= 0; place-- {
		stage, err := pipelineStage(told[place], stageName("out", at, place))
		if err != nil {
			return sink, err
		}
		sink = flow.Into(stage, sink)
	}
	return sink, nil
}

// A junctionPlayer has the probes round a junction.
type junctionPlayer struct {
	*probes
	script *junctionScript
}

func newJunctionPlayer(script *junctionScript, scope *flow.Scope, known map[string]join) (*junctionPlayer, error) {
	var sources []flow.Source[any]
	for at, told := range script.Inputs {
		source, err := junctionSource(at, told)
		if err != nil {
			return nil, err
		}
		sources = append(sources, source)
	}
	var sinks []flow.Sink[any, *flow.Subscriber[any]]
	for at, told := range script.Outputs {
		sink, err := junctionSink(at, told)
		if err != nil {
			return nil, err
		}
		sinks = append(sinks, sink)
	}
	var running flow.Controlled
	var below ends
	if join, isJoin := known[script.Junction]; isJoin {
		run, err := flow.To(join(sources), sinks[0]).Run(context.Background(), scope)
		if err != nil {
			return nil, err
		}
		running, below = run, ends{run.Result}
	} else {
		sink, err := fork(script.Junction, sinks)
		if err != nil {
			return nil, err
		}
		run, err := flow.To(sources[0], sink).Run(context.Background(), scope)
		if err != nil {
			return nil, err
		}
		running, below = run, run.Result
	}
	all, err := newProbes(scope, running, len(sources), below)
	return &junctionPlayer{all, script}, err
}

func (p *junctionPlayer) play(op *scriptOp) (answer any, err error) {
	who := uint64(0)
	if op.name != "start" {
		if who, err = op.count("who"); err != nil {
			return nil, err
		}
	}
	return p.probes.play(who, op)
}

func (p *junctionPlayer) state() junctionState {
	name, other := shownAs[p.script.Junction]
	if !other {
		name = p.script.Junction
	}
	seen := p.seen()
	lines := func(side string, told [][]map[string]any) [][]stageCounters {
		all := make([][]stageCounters, len(told))
		for at, line := range told {
			all[at] = make([]stageCounters, len(line))
			for place := range line {
				all[at][place] = firstOf(seen[stageName(side, at, place)])
			}
		}
		return all
	}
	now := junctionState{
		Inputs:   lines("in", p.script.Inputs),
		Junction: append([]stageCounters{}, seen[name]...),
		Outputs:  lines("out", p.script.Outputs),
	}
	for _, end := range p.above {
		now.Publishers = append(now.Publishers, end.state())
	}
	for _, end := range p.below {
		now.Subscribers = append(now.Subscribers, end.state())
	}
	return now
}

// replayJunction plays one script on a real junction, in an order of its turns that the seed decides.
func replayJunction(script *junctionScript, seed uint64, known map[string]join) error {
	scope, err := flow.NewSteppedScope("script", seed)
	if err != nil {
		return err
	}
	defer scope.Close()
	player, err := newJunctionPlayer(script, scope, known)
	if err != nil {
		return err
	}
	return replaySteps(player, script.Steps)
}

// replayJoins is replayJunction with the joins as they are.
func replayJoins(script *junctionScript, seed uint64) error {
	return replayJunction(script, seed, joins)
}

// The scripts of the proved model, on real joins and forks: what each publisher may send, what each
// subscriber is given, what ends, and both counters of every stage are as the model says after each step.
func TestJunctionScripts(t *testing.T) {
	replaySet(t, "junction", 4000, replayJoins)
}

// A merge that prefers its first source is no merge: the scripts of a merge tell.
func TestABrokenJoinIsCaught(t *testing.T) {
	const file = "../../tests/conformance/junction/merge_walks.json.gz"
	wrong := map[string]join{"merge": joins["merge_prefer"]}
	for _, script := range scriptsOf[junctionScript](t, "junction", file) {
		if err := replayJunction(&script, 0, wrong); err != nil {
			if !strings.Contains(err.Error(), "state:") {
				t.Error("awaited: another state; came:", err)
			}
			return
		}
	}
	t.Error("no script tells a merge from one that prefers")
}

// Whatever is wrong in a script is found: each of these is one that plays well, with one thing changed.
func TestABrokenJunctionScriptIsRefused(t *testing.T) {
	const good = `{"name":"merge","junction":"merge","inputs":[[],[]],"outputs":[[]],"steps":[` +
		`{"op":"request","who":"0","n":"2","answer":null,"state":{"publishers":[{"demand":"1","ended":null},{"demand":"1","ended":null}],` +
		`"inputs":[[],[]],"junction":[{"owed":"2","asked":"1","held":"0"},{"owed":"2","asked":"1","held":"0"}],"outputs":[[]],` +
		`"subscribers":[{"delivered":[],"terminal":null}]}}]}`
	cases := []change{
		{`"owed":"2"`, `"owed":"3"`, "step 0 request: state:"},
		{`"demand":"1"`, `"demand":"2"`, "step 0 request: state:"},
		{`"delivered":[]`, `"delivered":["0"]`, "step 0 request: state:"},
		{`"op":"request"`, `"op":"vanish"`, `unknown op "vanish"`},
		{`"junction":"merge"`, `"junction":"knot"`, `unknown junction "knot"`},
		{`"who":"0"`, `"who":"7"`, "there is no subscriber 7"},
		{`"n":"2"`, `"n":2`, "a count is a text"},
	}
	changesAreFound(t, good, replayJoins, cases)
}
