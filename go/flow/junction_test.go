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
	"strings"
	"testing"

	"github.com/sluicegate/sluicegate/go/flow"
)

type junctionScript struct {
	Name     string
	Junction string
	Inputs   [][]map[string]any
	Outputs  [][]map[string]any
	Steps    []struct {
		Op     string
		Who    json.RawMessage
		N, K   json.RawMessage
		Answer any
		State  junctionState
	}
}

// junctionState is what can be seen after a step, spelled as scripts spell it.
type junctionState struct {
	Publishers  []publisherState  `json:"publishers"`
	Inputs      [][]stageCounters `json:"inputs"`
	Junction    []stageCounters   `json:"junction"`
	Outputs     [][]stageCounters `json:"outputs"`
	Subscribers []subscriberState `json:"subscribers"`
}

type publisherState struct {
	Demand string  `json:"demand"`
	Ended  *string `json:"ended"`
}

type subscriberState struct {
	Delivered []any   `json:"delivered"`
	Terminal  *string `json:"terminal"`
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

type ends = []*flow.Subscriber[any]

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

// A lowerEnd is a subscriber, and what it received in this step.
type lowerEnd struct {
	probe     *flow.Subscriber[any]
	delivered []any
	terminal  *string
}

// A junctionPlayer has the probes round a junction.
type junctionPlayer struct {
	scope       *flow.Scope
	script      *junctionScript
	publishers  []*upperEnd
	subscribers []*lowerEnd
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
	player := &junctionPlayer{scope: scope, script: script}
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
	for at := range sources {
		control, err := flow.ManualOf[any](running)
		if err != nil {
			return nil, err
		}
		player.publishers = append(player.publishers, &upperEnd{probe: control, next: uint64(at) * 1000})
	}
	for _, end := range below {
		player.subscribers = append(player.subscribers, &lowerEnd{probe: end, delivered: []any{}})
	}
	return player, nil
}

// settle runs everything until it is quiet, taking what comes.
func (p *junctionPlayer) settle() {
	for more := true; more; {
		more = false
		p.scope.Settle()
		for _, end := range p.subscribers {
			for {
				signal, err := end.probe.Signal(noTime)
				if err != nil {
					break
				}
				more = true
				said := "failed"
				switch signal.Kind {
				case flow.SignalNext:
					end.delivered = append(end.delivered, spelled(signal.Element))
					continue
				case flow.SignalComplete:
					said = "completed"
				}
				end.terminal = &said
			}
		}
	}
	for _, end := range p.publishers {
		if end.probe.Over() {
			end.finish(true, "cancelled")
		}
	}
}

// send sends until so many were taken or one is refused.
func (p *junctionPlayer) send(end *upperEnd, most uint64) any {
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

func (p *junctionPlayer) play(op string, rawWho, n, k json.RawMessage) (answer any, err error) {
	if op == "start" {
		p.settle()
		return nil, nil
	}
	who, err := count(rawWho)
	if err != nil {
		return nil, err
	}
	var above *upperEnd
	var below *lowerEnd
	switch op {
	case "next", "complete", "fail":
		if who >= uint64(len(p.publishers)) {
			return nil, fmt.Errorf("there is no publisher %d", who)
		}
		above = p.publishers[who]
	case "request", "cancel":
		if who >= uint64(len(p.subscribers)) {
			return nil, fmt.Errorf("there is no subscriber %d", who)
		}
		below = p.subscribers[who]
	default:
		return nil, fmt.Errorf("unknown op %q", op)
	}
	switch op {
	case "request":
		var wanted uint64
		if wanted, err = count(n); err == nil {
			below.probe.Request(wanted)
		}
	case "next":
		var most uint64
		if most, err = count(k); err == nil {
			answer = p.send(above, most)
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

func countersOf(stage flow.Stage) stageCounters {
	return stageCounters{spelledCount(stage.Downstream), spelledCount(stage.Upstream), spelledCount(stage.Held)}
}

// state answers what can be seen now. A stage that is gone counts nothing.
func (p *junctionPlayer) state() junctionState {
	now := junctionState{Junction: []stageCounters{}}
	name, other := shownAs[p.script.Junction]
	if !other {
		name = p.script.Junction
	}
	seen := map[string]stageCounters{}
	for _, stage := range p.scope.Stages() {
		if stage.Name == name {
			now.Junction = append(now.Junction, countersOf(stage))
		}
		seen[stage.Name] = countersOf(stage)
	}
	lines := func(side string, told [][]map[string]any) [][]stageCounters {
		all := make([][]stageCounters, len(told))
		for at, line := range told {
			all[at] = make([]stageCounters, len(line))
			for place := range line {
				one, there := seen[stageName(side, at, place)]
				if !there {
					one = stageCounters{"0", "0", "0"}
				}
				all[at][place] = one
			}
		}
		return all
	}
	now.Inputs, now.Outputs = lines("in", p.script.Inputs), lines("out", p.script.Outputs)
	for _, end := range p.publishers {
		demand := uint64(0)
		if end.ended == nil {
			demand = end.probe.Demand()
		}
		now.Publishers = append(now.Publishers, publisherState{spelledCount(demand), end.ended})
	}
	for _, end := range p.subscribers {
		now.Subscribers = append(now.Subscribers, subscriberState{end.delivered, end.terminal})
		end.delivered, end.terminal = []any{}, nil
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
	for at, step := range script.Steps {
		answer, err := player.play(step.Op, step.Who, step.N, step.K)
		err = errors.Join(err, same("answer", step.Answer, answer))
		if err = errors.Join(err, same("state", step.State, player.state())); err != nil {
			return fmt.Errorf("step %d %s: %w", at, step.Op, err)
		}
	}
	return nil
}

// junctionScripts reads a file; a key that is not known is an error.
func junctionScripts(t *testing.T, file string) []junctionScript {
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
		Generated string
		Machine   string
		Scripts   []junctionScript
	}
	reader := json.NewDecoder(unpacked)
	reader.DisallowUnknownFields()
	if err := reader.Decode(&read); err != nil || read.Machine != "junction" {
		t.Fatal(file, read.Machine, err)
	}
	return read.Scripts
}

// The scripts of the proved model, on real joins and forks: what each publisher may send, what each
// subscriber is given, what ends, and both counters of every stage are as the model says after each step.
func TestJunctionScripts(t *testing.T) {
	files, err := filepath.Glob("../../tests/conformance/junction/*.json.gz")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	scripts, steps, failures := 0, 0, 0
	for _, file := range files {
		all := junctionScripts(t, file)
		for i := range all {
			if testing.Short() && i%17 != 0 {
				continue
			}
			scripts++
			steps += len(all[i].Steps)
			if err := replayJunction(&all[i], uint64(i), joins); err != nil {
				if failures++; failures <= 3 {
					t.Errorf("%s, script %d %q: %v", filepath.Base(file), i, all[i].Name, err)
				}
			}
		}
	}
	t.Logf("junction go | select: %d scripts %d steps, %d failures", scripts, steps, failures)
}

// A merge that prefers its first source is no merge: the scripts of a merge tell.
func TestABrokenJoinIsCaught(t *testing.T) {
	wrong := map[string]join{"merge": joins["merge_prefer"]}
	for _, script := range junctionScripts(t, "../../tests/conformance/junction/merge_walks.json.gz") {
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
	cases := []struct{ old, new, said string }{
		{"", "", ""},
		{`"owed":"2"`, `"owed":"3"`, "step 0 request: state:"},
		{`"demand":"1"`, `"demand":"2"`, "step 0 request: state:"},
		{`"delivered":[]`, `"delivered":["0"]`, "step 0 request: state:"},
		{`"op":"request"`, `"op":"vanish"`, `unknown op "vanish"`},
		{`"junction":"merge"`, `"junction":"knot"`, `unknown junction "knot"`},
		{`"who":"0"`, `"who":"7"`, "there is no subscriber 7"},
		{`"n":"2"`, `"n":2`, "a count is a text"},
	}
	for _, test := range cases {
		text := good
		if test.old != "" {
			if text = strings.Replace(good, test.old, test.new, 1); text == good {
				t.Fatal("nothing was changed:", test.old)
			}
		}
		var script junctionScript
		reader := json.NewDecoder(bytes.NewReader([]byte(text)))
		if err := reader.Decode(&script); err != nil {
			t.Fatal(err)
		}
		err := replayJunction(&script, 1, joins)
		if test.said == "" {
			if err != nil {
				t.Error(err)
			}
		} else if err == nil || !strings.Contains(err.Error(), test.said) {
			t.Errorf("%s: awaited: %q; came: %v", test.new, test.said, err)
		}
	}
}
