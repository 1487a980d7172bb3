package flow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluicegate/go"
	"github.com/sluicegate/sluicegate/go/flow"
)

type pipelineScript struct {
	scriptOf[pipelineState]
	Stages []map[string]any
}

// pipelineState is what can be seen after a step, spelled as scripts spell it.
type pipelineState struct {
	publisherState
	subscriberState
	Stages []stageCounters `json:"stages"`
}

// pipelineStage is a stage of a script under a name of its own.
func pipelineStage(told map[string]any, name string) (flow.Flow[any, any], error) {
	var wrong error
	of := func(key string) uint64 {
		n, err := count(told[key])
		wrong = errors.Join(wrong, err)
		return n
	}
	kind, keys := fmt.Sprint(told["stage"]), 2
	var built flow.Flow[any, any]
	switch kind {
	case "map_add":
		k := of("k")
		built = flow.Map(func(x any) any { return x.(uint64) + k })
	case "filter_mod":
		m, r := of("m"), of("r")
		keys = 3
		built = flow.Filter(func(x any) bool { return x.(uint64)%m == r })
	case "take":
		built = flow.Take[any](of("n"))
	case "drop":
		built = flow.Drop[any](of("n"))
	case "page":
		built = flow.Page[any](of("size"), of("mark"))
		keys = 3
	case "expand":
		k := of("k")
		built = flow.Expand(func(x any) ([]any, error) {
			all := make([]any, k)
			for i := range all {
				all[i] = x.(uint64)*k + uint64(i)
			}
			return all, nil
		})
	case "batch":
		// What makes an element of a group is no stage of the script: its name tells it apart.
		group := flow.Map(func(group []any) any { return group }).Named("plain")
		built = flow.Then(flow.Batch[any](of("k")).Named(name), group)
	default:
		return built, fmt.Errorf("unknown stage %q", kind)
	}
	if wrong == nil && len(told) != keys {
		wrong = fmt.Errorf("a stage with other keys: %v", told)
	}
	if kind == "batch" {
		return built, wrong
	}
	return built.Named(name), wrong
}

// A pipelinePlayer has a line of stages between two probes.
type pipelinePlayer struct {
	*probes
	names []string
}

func (p *pipelinePlayer) play(op *scriptOp) (answer any, err error) { return p.probes.play(0, op) }

func (p *pipelinePlayer) state() pipelineState {
	counters, seen := make([]stageCounters, len(p.names)), p.seen()
	for i, name := range p.names {
		counters[i] = firstOf(seen[name])
	}
	return pipelineState{p.above[0].state(), p.below[0].state(), counters}
}

// replayPipeline plays one script on real stages, in an order of their turns that the seed decides.
func replayPipeline(script *pipelineScript, seed uint64) error {
	line, names := flow.ProbeSource[any](), make([]string, len(script.Stages))
	for i, told := range script.Stages {
		names[i] = fmt.Sprint("stage ", i)
		stage, err := pipelineStage(told, names[i])
		if err != nil {
			return err
		}
		line = line.Via(stage)
	}
	if len(script.Steps) == 0 {
		if !errors.Is(line.Err(), sluicegate.ErrInvalidArgument) {
			return fmt.Errorf("awaited: it is refused; came: %v", line.Err())
		}
		return nil
	}
	scope, err := flow.NewSteppedScope("script", seed)
	if err != nil {
		return err
	}
	defer scope.Close()
	running, err := flow.To(line, flow.ProbeSink[any]()).Run(context.Background(), scope)
	if err != nil {
		return err
	}
	all, err := newProbes(scope, running, 1, ends{running.Result})
	if err != nil {
		return err
	}
	return replaySteps(&pipelinePlayer{all, names}, script.Steps)
}

// The scripts of the proved model, on real stages: what is delivered, what ends, what the publisher may
// send and both counters of every stage are as the model says after each step.
func TestPipelineScripts(t *testing.T) {
	replaySet(t, "pipeline", 2000, replayPipeline)
}

// Whatever is wrong in a script is found: each of these is one that plays well, with one thing changed.
func TestABrokenPipelineScriptIsRefused(t *testing.T) {
	const good = `{"name":"take","stages":[{"stage":"take","n":"2"}],"steps":[` +
		`{"op":"start","answer":null,"state":{"demand":"0","ended":null,"delivered":[],"terminal":null,"stages":[{"owed":"0","asked":"0","held":"0"}]}},` +
		`{"op":"request","n":"3","answer":null,"state":{"demand":"2","ended":null,"delivered":[],"terminal":null,"stages":[{"owed":"2","asked":"2","held":"0"}]}},` +
		`{"op":"next","k":"2","answer":{"sent":"2","refused":null},"state":{"demand":"0","ended":"cancelled","delivered":["0","1"],"terminal":"completed","stages":[{"owed":"0","asked":"0","held":"0"}]}}]}`
	cases := []change{
		{`"owed":"2"`, `"owed":"3"`, "step 1 request: state:"},
		{`"asked":"2"`, `"asked":"3"`, "step 1 request: state:"},
		{`"asked":"2","held":"0"`, `"asked":"2","held":"1"`, "step 1 request: state:"},
		{`[{"owed":"2","asked":"2","held":"0"}]`, `[]`, "step 1 request: state:"},
		{`"demand":"2"`, `"demand":"1"`, "step 1 request: state:"},
		{`"sent":"2"`, `"sent":"1"`, "step 2 next: answer:"},
		{`["0","1"]`, `["0"]`, "step 2 next: state:"},
		{`"cancelled"`, `"completed"`, "step 2 next: state:"},
		{`"terminal":"completed"`, `"terminal":null`, "step 2 next: state:"},
		{`"op":"request"`, `"op":"vanish"`, `unknown op "vanish"`},
		{`"n":"3"`, `"n":3`, "a count is a text"},
		{`"n":"3"`, `"n":"3","who":"0"`, "unknown keys: map[who:0]"},
		{`"stage":"take"`, `"stage":"sort"`, `unknown stage "sort"`},
		{`"stage":"take"`, `"stage":"take","colour":"red"`, "other keys"},
	}
	changesAreFound(t, good, replayPipeline, cases)
	refused := &pipelineScript{Stages: []map[string]any{{"stage": "page", "size": "4", "mark": "1"}}}
	if err := replayPipeline(refused, 1); err == nil || !strings.Contains(err.Error(), "it is refused") {
		t.Error("a line that can be built is taken for one that cannot:", err)
	}
}
