package flow_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
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
		Answer json.RawMessage
		State  struct {
			Demand    string
			Ended     *string
			Delivered []json.RawMessage
			Terminal  *string
		}
	}
}

// number reads a number of a script, which is a text or a number.
func number(raw any) uint64 {
	switch n := raw.(type) {
	case json.RawMessage:
		var value any
		_ = json.Unmarshal(n, &value)
		return number(value)
	case string:
		value, _ := strconv.ParseUint(n, 10, 64)
		return value
	case float64:
		return uint64(n)
	}
	return 0
}

func pipelineStage(stage map[string]any) flow.Flow[any, any] {
	of := func(key string) uint64 { return number(stage[key]) }
	switch stage["stage"] {
	case "map_add":
		return flow.Map(func(x any) any { return x.(uint64) + of("k") })
	case "filter_mod":
		return flow.Filter(func(x any) bool { return x.(uint64)%of("m") == of("r") })
	case "take":
		return flow.Take[any](of("n"))
	case "drop":
		return flow.Drop[any](of("n"))
	case "page":
		return flow.Page[any](of("size"), of("mark"))
	case "expand":
		return flow.Expand(func(x any) ([]any, error) {
			all := []any{}
			for i := range of("k") {
				all = append(all, x.(uint64)*of("k")+i)
			}
			return all, nil
		})
	}
	return flow.Then(flow.Batch[any](of("k")), flow.Map(func(group []any) any { return group }))
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
	return strconv.FormatUint(element.(uint64), 10)
}

// The scripts of the proved model, on real stages: what is delivered, what ends, and what the publisher
// may send are as the model says after each step.
func TestPipelineScripts(t *testing.T) {
	files, err := filepath.Glob("../../tests/conformance/pipeline/*.json.gz")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	steps := 0
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		unzipped, err := gzip.NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		var scripts struct{ Scripts []pipelineScript }
		if err := json.NewDecoder(unzipped).Decode(&scripts); err != nil {
			t.Fatal(name, err)
		}
		file.Close()
		for i, script := range scripts.Scripts {
			if testing.Short() && i%17 != 0 {
				continue
			}
			steps += len(script.Steps)
			playPipeline(t, filepath.Base(name)+" "+script.Name+" "+strconv.Itoa(i), script, uint64(i))
			if t.Failed() {
				return
			}
		}
	}
	if steps == 0 {
		t.Fatal("the scripts have no steps")
	}
	t.Logf("%d steps", steps)
}

func playPipeline(t *testing.T, name string, script pipelineScript, seed uint64) {
	line := flow.ProbeSource[any]()
	for _, stage := range script.Stages {
		line = line.Via(pipelineStage(stage))
	}
	if len(script.Steps) == 0 {
		if !errors.Is(line.Err(), sluicegate.ErrInvalidArgument) {
			t.Errorf("%s: awaited: it is refused; came: %v", name, line.Err())
		}
		return
	}
	scope, err := flow.NewSteppedScope("script", seed)
	if err != nil {
		t.Fatal(err)
	}
	defer scope.Close()
	var control *flow.Manual[any]
	var probe *flow.Subscriber[any]
	now, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0)) // a limit of zero: do not wait
	defer cancel()
	next := uint64(0)
	var delivered []any
	var terminal any
	settle := func() {
		for turns := uint64(1); turns != 0; {
			turns = scope.Settle()
			for {
				signal, err := probe.Signal(now)
				if err != nil {
					break
				}
				switch signal.Kind {
				case flow.SignalNext:
					delivered = append(delivered, spelled(signal.Element))
				case flow.SignalComplete:
					terminal = "completed"
				default:
					terminal = "failed"
				}
				turns = 1
			}
		}
	}
	for at, step := range script.Steps {
		delivered, terminal = []any{}, nil
		var answer any
		yes := map[bool]any{true: "yes", false: "no"}
		switch step.Op {
		case "start":
			running, err := flow.To(line, flow.ProbeSink[any]()).Run(t.Context(), scope)
			if err != nil {
				t.Fatal(name, err)
			}
			control, probe = manual[any](t, running), running.Result
		case "request":
			probe.Request(number(step.N))
		case "next":
			sent, refused := uint64(0), any(nil)
			for ; sent < number(step.K); sent++ {
				offer, taken, _ := control.TryOffer(next)
				if !taken {
					refused = "no_demand"
				} else if offer != flow.Enqueued {
					refused = "closed"
				}
				if refused != nil {
					break
				}
				next++
				settle()
			}
			answer = map[string]any{"sent": strconv.FormatUint(sent, 10), "refused": refused}
		case "complete":
			answer = yes[control.Complete()]
		case "fail":
			answer = yes[control.Fail(errors.New("the script fails"))]
		case "cancel":
			probe.Cancel()
		default:
			t.Fatal("unknown op", step.Op)
		}
		settle()
		said := func(v any) string { text, _ := json.Marshal(v); return string(text) }
		var wanted any
		_ = json.Unmarshal(step.Answer, &wanted)
		if m, ok := wanted.(map[string]any); ok {
			m["sent"] = strconv.FormatUint(number(m["sent"]), 10)
		}
		var end any
		if step.State.Terminal != nil {
			end = *step.State.Terminal
		}
		demand := strconv.FormatUint(control.Demand(), 10)
		if control.Over() {
			demand = "0"
		}
		got := said([]any{answer, delivered, terminal, demand, control.Over()})
		want := said([]any{wanted, step.State.Delivered, end, step.State.Demand, step.State.Ended != nil})
		if got != want {
			t.Errorf("%s, step %d %s:\nawaited: %s\ncame:    %s", name, at, step.Op, want, got)
			return
		}
	}
}
