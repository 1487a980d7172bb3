package flow

import (
	"encoding/json"

	"github.com/sluicegate/sluicegate/go"
	"github.com/sluicegate/sluicegate/go/internal/bridge"
)

// A WaitsFor says whom a stage waits for.
type WaitsFor string

const (
	// WaitsForConsumer: nothing is asked of the stage.
	WaitsForConsumer WaitsFor = "consumer"
	// WaitsForSource: it has asked above, and nothing has come.
	WaitsForSource WaitsFor = "source"
	// WaitsForItself: it works on what it holds, or waits for a time or another input.
	WaitsForItself WaitsFor = "itself"
)

// An Explanation says who waits for whom on a scope. Its String is in words, a stage a line.
type Explanation struct {
	// Scope is its name.
	Scope string
	// Chains is how many chains of stages run, each on one thread.
	Chains int
	// Stages stand in the order they were made: sources before what reads from them.
	Stages []Standing

	json, words string
}

// A Standing is how one stage stands.
type Standing struct {
	Stage
	// WaitsFor is whom it waits for.
	WaitsFor WaitsFor
}

// String says it in words.
func (e Explanation) String() string { return e.words }

// JSON answers it as every language writes it.
func (e Explanation) JSON() json.RawMessage {
	if e.json == "" {
		return json.RawMessage(`{"scope":"","islands":0,"stages":[]}`)
	}
	return json.RawMessage(e.json)
}

// Explain says which stage waits for whom, now. It disturbs nothing. While stages work, its figures and
// its words are readings of moments that follow each other closely.
func (s *Scope) Explain() Explanation {
	text, words := s.core.Explain()
	var told struct {
		Scope   string
		Islands int
		Stages  []struct {
			Stage                                          string
			Downstream, Upstream, Held, Passed, Late, Lost uint64
			WaitsFor                                       WaitsFor `json:"waits_for"`
		}
	}
	_ = json.Unmarshal([]byte(text), &told) // the library's own JSON
	e := Explanation{Scope: told.Scope, Chains: told.Islands, json: text, words: words}
	for _, stage := range told.Stages {
		e.Stages = append(e.Stages, Standing{
			Stage: Stage{
				Name: stage.Stage, Downstream: stage.Downstream, Upstream: stage.Upstream, Held: stage.Held,
				Passed: stage.Passed, Late: stage.Late, Lost: stage.Lost,
			},
			WaitsFor: stage.WaitsFor,
		})
	}
	return e
}

// Tell has [sluicegate.Engine.Explain] tell of the stages of this scope too, for as long as the scope
// lives: see [sluicegate.Explanation.Stages]. Again for the same engine, it changes nothing.
func (s *Scope) Tell(engine *sluicegate.Engine) { s.core.Tell(bridge.Engine(engine)) }
