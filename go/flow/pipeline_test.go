package flow_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluicegate/go"
	"github.com/sluicegate/sluicegate/go/flow"
)

type pipelineScript struct {
	Name   string
	Stages []map[string]any
	Steps  []struct {
		Op     string
		N, K   json.RawMessage
		Answer any
		State  pipelineState
	}
}

// pipelineState is what can be seen after a step, spelled as scripts spell it.
type pipelineState struct {
	Demand    string          `json:"demand"`
	Ended     *string         `json:"ended"`
	Delivered []any           `json:"delivered"`
	Terminal  *string         `json:"terminal"`
	Stages    []stageCounters `json:"stages"`
}

// stageCounters are a stage's: what it may still hand down, what it has asked for above and not
// received, and what it holds.
type stageCounters struct {
	Owed  string `json:"owed"`
	Asked string `json:"asked"`
	Held  string `json:"held"`
}

// count reads a number of a script, which is a text.
func count(raw any) (uint64, error) {
	if data, ok := raw.(json.RawMessage); ok {
		if err := json.Unmarshal(data, &raw); err != nil {
			return 0, err
		}
	}
	text, ok := raw.(string)
	if !ok {
		return 0, fmt.Errorf("a count is a text, and this is %v", raw)
	}
	return strconv.ParseUint(text, 10, 64)
}

func spelledCount(n uint64) string { return strconv.FormatUint(n, 10) }

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

// A pipelinePlayer has a line of stages between two probes.
type pipelinePlayer struct {
	scope     *flow.Scope
	source    *flow.Manual[any]
	end       *flow.Subscriber[any]
	names     []string
	next      uint64
	ended     *string
	delivered []any
	terminal  *string
}

// noTime is a context that waits no time at all.
var noTime, _ = context.WithDeadline(context.Background(), time.Unix(0, 0))

func (p *pipelinePlayer) finish(how string) {
	if p.ended == nil {
		p.ended = &how
	}
}

// settle runs the line until it is quiet, taking what comes.
func (p *pipelinePlayer) settle() {
	for more := true; more; {
		more = false
		p.scope.Settle()
		for {
			signal, err := p.end.Signal(noTime)
			if err != nil {
				break
			}
			more = true
			switch signal.Kind {
			case flow.SignalNext:
				p.delivered = append(p.delivered, spelled(signal.Element))
			case flow.SignalComplete:
				said := "completed"
				p.terminal = &said
			default:
				said := "failed"
				p.terminal = &said
			}
		}
	}
	if p.source.Over() {
		p.finish("cancelled")
	}
}

// send sends until so many were taken or one is refused.
func (p *pipelinePlayer) send(most uint64) any {
	sent, refused := uint64(0), any(nil)
	for sent < most && refused == nil {
		offer, taken, _ := p.source.TryOffer(p.next)
		switch {
		case !taken:
			refused = "no_demand"
		case offer != flow.Enqueued:
			refused = "closed"
		default:
			sent++
			p.next++
			p.settle()
		}
	}
	return map[string]any{"sent": spelledCount(sent), "refused": refused}
}

func (p *pipelinePlayer) play(op string, n, k json.RawMessage) (answer any, err error) {
	terminal := func(first bool, how string) any {
		if first {
			p.finish(how)
			return "yes"
		}
		return "no"
	}
	switch op {
	case "start":
	case "request":
		var wanted uint64
		if wanted, err = count(n); err == nil {
			p.end.Request(wanted)
		}
	case "next":
		var most uint64
		if most, err = count(k); err == nil {
			answer = p.send(most)
		}
	case "complete":
		answer = terminal(p.source.Complete(), "completed")
	case "fail":
		answer = terminal(p.source.Fail(errors.New("the script says so")), "failed")
	case "cancel":
		p.end.Cancel()
	default:
		return nil, fmt.Errorf("unknown op %q", op)
	}
	p.settle()
	return answer, err
}

// state answers what can be seen now. A stage that is gone counts nothing.
func (p *pipelinePlayer) state() pipelineState {
	counters := make([]stageCounters, len(p.names))
	for i := range counters {
		counters[i] = stageCounters{"0", "0", "0"}
	}
	for _, stage := range p.scope.Stages() {
		if i := slices.Index(p.names, stage.Name); i >= 0 {
			counters[i] = stageCounters{spelledCount(stage.Downstream), spelledCount(stage.Upstream), spelledCount(stage.Held)}
		}
	}
	demand := uint64(0)
	if p.ended == nil {
		demand = p.source.Demand()
	}
	now := pipelineState{spelledCount(demand), p.ended, append([]any{}, p.delivered...), p.terminal, counters}
	p.delivered, p.terminal = nil, nil
	return now
}

// same answers what differs, or nil.
func same(what string, want, got any) error {
	wanted, _ := json.Marshal(want)
	came, _ := json.Marshal(got)
	if !bytes.Equal(wanted, came) {
		return fmt.Errorf("%s:\nawaited: %s\ncame:    %s", what, wanted, came)
	}
	return nil
}

// replayPipeline plays one script on real stages, in an order of their turns that the seed decides.
func replayPipeline(script pipelineScript, seed uint64) error {
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
	control, err := flow.ManualOf[any](running)
	if err != nil {
		return err
	}
	player := &pipelinePlayer{scope: scope, source: control, end: running.Result, names: names}
	for at, step := range script.Steps {
		answer, err := player.play(step.Op, step.N, step.K)
		err = errors.Join(err, same("answer", step.Answer, answer))
		if err = errors.Join(err, same("state", step.State, player.state())); err != nil {
			return fmt.Errorf("step %d %s: %w", at, step.Op, err)
		}
	}
	return nil
}

func pipelineScripts(t *testing.T, file string) []pipelineScript {
	t.Helper()
	packed, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(file, err)
	}
	var read struct {
		Machine string
		Scripts []pipelineScript
	}
	if err := json.NewDecoder(unpacked).Decode(&read); err != nil || read.Machine != "pipeline" {
		t.Fatal(file, read.Machine, err)
	}
	return read.Scripts
}

// The scripts of the proved model, on real stages: what is delivered, what ends, what the publisher may
// send and both counters of every stage are as the model says after each step.
func TestPipelineScripts(t *testing.T) {
	files, err := filepath.Glob("../../tests/conformance/pipeline/*.json.gz")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	scripts, steps, failures := 0, 0, 0
	for _, file := range files {
		for i, script := range pipelineScripts(t, file) {
			if testing.Short() && i%17 != 0 {
				continue
			}
			scripts++
			steps += len(script.Steps)
			if err := replayPipeline(script, uint64(i)); err != nil {
				if failures++; failures <= 3 {
					t.Errorf("%s, script %d %q: %v", filepath.Base(file), i, script.Name, err)
				}
			}
		}
	}
	if !testing.Short() && scripts < 2000 {
		t.Errorf("%d scripts are too few", scripts)
	}
	t.Logf("pipeline go | select: %d scripts %d steps, %d failures", scripts, steps, failures)
}

// Whatever is wrong in a script is found: each of these is one that plays well, with one thing changed.
func TestABrokenPipelineScriptIsRefused(t *testing.T) {
	const good = `{"name":"take","stages":[{"stage":"take","n":"2"}],"steps":[` +
		`{"op":"start","answer":null,"state":{"demand":"0","ended":null,"delivered":[],"terminal":null,"stages":[{"owed":"0","asked":"0","held":"0"}]}},` +
		`{"op":"request","n":"3","answer":null,"state":{"demand":"2","ended":null,"delivered":[],"terminal":null,"stages":[{"owed":"2","asked":"2","held":"0"}]}},` +
		`{"op":"next","k":"2","answer":{"sent":"2","refused":null},"state":{"demand":"0","ended":"cancelled","delivered":["0","1"],"terminal":"completed","stages":[{"owed":"0","asked":"0","held":"0"}]}}]}`
	cases := []struct{ old, new, said string }{
		{"", "", ""},
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
		{`"stage":"take"`, `"stage":"sort"`, `unknown stage "sort"`},
		{`"stage":"take"`, `"stage":"take","colour":"red"`, "other keys"},
	}
	for _, test := range cases {
		text := good
		if test.old != "" {
			if text = strings.Replace(good, test.old, test.new, 1); text == good {
				t.Fatal("nothing was changed:", test.old)
			}
		}
		var script pipelineScript
		if err := json.Unmarshal([]byte(text), &script); err != nil {
			t.Fatal(err)
		}
		err := replayPipeline(script, 1)
		if test.said == "" {
			if err != nil {
				t.Error(err)
			}
		} else if err == nil || !strings.Contains(err.Error(), test.said) {
			t.Errorf("%s: awaited: %q; came: %v", test.new, test.said, err)
		}
	}
	refused := pipelineScript{Stages: []map[string]any{{"stage": "page", "size": "4", "mark": "1"}}}
	if err := replayPipeline(refused, 1); err == nil || !strings.Contains(err.Error(), "it is refused") {
		t.Error("a line that can be built is taken for one that cannot:", err)
	}
}
