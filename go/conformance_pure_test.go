package sluicegate_test

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/sluicegate/sluicegate/go"
)

type pureScript struct {
	Name string          `json:"name"`
	Open json.RawMessage `json:"open"`
	Step []pureStep      `json:"steps"`
}

type pureStep struct {
	Op      string          `json:"op"`
	N       number          `json:"n"`
	Reason  string          `json:"reason"`
	Ours    number          `json:"ours"`
	Theirs  number          `json:"theirs"`
	Request string          `json:"request"`
	Stream  *string         `json:"stream"`
	Gate    string          `json:"gate"`
	Answer  json.RawMessage `json:"answer"`
	State   json.RawMessage `json:"state"`
}

// A pureMachine does one step and answers what the script says it must.
type pureMachine interface {
	do(step pureStep) (answer string, err error)
	// check compares the state with what the script says it must be.
	check(state json.RawMessage) error
}

func replayPure(machine string, data []byte) (string, int, error) {
	var script pureScript
	if err := strict(data, &script); err != nil {
		return script.Name, 0, err
	}
	m, err := openMachine(machine, script.Open)
	if err != nil {
		return script.Name, 0, err
	}
	for i, step := range script.Step {
		answer, err := m.do(step)
		if err == nil && answer != compact(step.Answer) {
			err = fmt.Errorf("expected the answer %s, got %s", compact(step.Answer), answer)
		}
		if err == nil {
			err = m.check(step.State)
		}
		if err != nil {
			return script.Name, i, fmt.Errorf("step %d (%s): %w", i, step.Op, err)
		}
	}
	return script.Name, len(script.Step), nil
}

func openMachine(machine string, open json.RawMessage) (pureMachine, error) {
	switch machine {
	case "gate":
		var o struct {
			Window number `json:"window"`
		}
		err := strict(open, &o)
		return gateMachine{sluicegate.NewGate(uint64(o.Window))}, err
	case "window":
		var o struct {
			Window number  `json:"window"`
			Batch  *number `json:"batch"`
		}
		err := strict(open, &o)
		return windowMachine{windowOf(o.Window, o.Batch)}, err
	case "negotiate":
		if open != nil {
			return nil, fmt.Errorf("negotiate has no open, got %s", open)
		}
		return negotiateMachine{}, nil
	case "router", "grant_target":
		var o struct {
			Gates map[string]number `json:"gates"`
		}
		err := strict(open, &o)
		m := routerMachine{sluicegate.NewRouter(), map[string]*sluicegate.Gate{}}
		for name, window := range o.Gates {
			m.gates[name] = sluicegate.NewGate(uint64(window))
		}
		return m, err
	}
	return nil, fmt.Errorf("unknown machine %q", machine)
}

type gateState struct {
	Available number          `json:"available"`
	Closed    json.RawMessage `json:"closed"`
}

func (want gateState) check(gate *sluicegate.Gate) error {
	if got := gate.Available(); got != uint64(want.Available) {
		return fmt.Errorf("expected %s available, got %d", want.Available, got)
	}
	if got := closedState(gate); got != compact(want.Closed) {
		return fmt.Errorf("expected closed %s, got %s", want.Closed, got)
	}
	if got := gate.Closed(); got != (compact(want.Closed) != nothing) {
		return fmt.Errorf("Closed answers %v", got)
	}
	return nil
}

type gateMachine struct{ gate *sluicegate.Gate }

func (m gateMachine) do(step pureStep) (string, error) {
	switch step.Op {
	case "acquire":
		return tryAnswer(m.gate, step.N), nil
	case "grant":
		m.gate.Grant(uint64(step.N))
		return nothing, nil
	case "close":
		m.gate.Close(step.Reason)
		return nothing, nil
	}
	return "", fmt.Errorf("unknown op %q", step.Op)
}

func (m gateMachine) check(state json.RawMessage) error {
	var want gateState
	if err := strict(state, &want); err != nil {
		return err
	}
	return want.check(m.gate)
}

type windowMachine struct{ window *sluicegate.Window }

func (m windowMachine) do(step pureStep) (string, error) {
	answer, known := windowAnswer(m.window, step.Op)
	if !known {
		return "", fmt.Errorf("unknown op %q", step.Op)
	}
	return answer, nil
}

func (m windowMachine) check(state json.RawMessage) error {
	type windowState struct {
		Remaining number `json:"remaining"`
		Pending   number `json:"pending"`
		Batch     number `json:"batch"`
	}
	var want windowState
	if err := strict(state, &want); err != nil {
		return err
	}
	got := windowState{number(m.window.Remaining()), number(m.window.Pending()), number(m.window.Batch())}
	if got != want {
		return fmt.Errorf("expected %+v, got %+v", want, got)
	}
	return nil
}

type negotiateMachine struct{}

func (negotiateMachine) do(step pureStep) (string, error) {
	if step.Op != "negotiate" {
		return "", fmt.Errorf("unknown op %q", step.Op)
	}
	agreed, ok := sluicegate.Negotiate(uint64(step.Ours), uint64(step.Theirs))
	if !ok {
		return nothing, nil
	}
	return quoted(number(agreed).String()), nil
}

func (negotiateMachine) check(state json.RawMessage) error {
	if state != nil {
		return fmt.Errorf("negotiate has no state, got %s", state)
	}
	return nil
}

type routerMachine struct {
	router *sluicegate.Router
	gates  map[string]*sluicegate.Gate
}

func (m routerMachine) do(step pureStep) (string, error) {
	answer, known := routerAnswer(m.router, m.gates, step)
	if !known {
		return "", fmt.Errorf("unknown op %q", step.Op)
	}
	return answer, nil
}

// routerAnswer does one operation of a router; false if there is no such operation.
func routerAnswer(router *sluicegate.Router, gates map[string]*sluicegate.Gate, step pureStep) (string, bool) {
	stream := streamName(step.Stream)
	switch step.Op {
	case "register":
		if err := router.Register(step.Request, stream, gates[step.Gate]); err != nil {
			return "unexpected error: " + err.Error(), true
		}
	case "unregister":
		router.Unregister(step.Request, stream)
	case "grant", "route":
		return deliveryAnswer(router.Grant(step.Request, stream, uint64(step.N))), true
	case "close_request":
		router.CloseRequest(step.Request, step.Reason)
	case "close_all":
		router.CloseAll(step.Reason)
	default:
		return "", false
	}
	return nothing, true
}

func (m routerMachine) check(state json.RawMessage) error {
	var want struct {
		Gates map[string]gateState `json:"gates"`
	}
	if err := strict(state, &want); err != nil {
		return err
	}
	if len(want.Gates) != len(m.gates) {
		return fmt.Errorf("the script has the gates %v, this step %v", maps.Keys(m.gates), maps.Keys(want.Gates))
	}
	for name, gate := range m.gates {
		if err := want.Gates[name].check(gate); err != nil {
			return fmt.Errorf("gate %q: %w", name, err)
		}
	}
	return nil
}
