package sluicegate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicegate/sluicegate/go"
)

type pureScript struct {
	Name string            `json:"name"`
	Open json.RawMessage   `json:"open,omitempty"`
	Step []json.RawMessage `json:"steps"`
}

type pureStep struct {
	Op      string          `json:"op"`
	N       number          `json:"n,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	Ours    number          `json:"ours,omitempty"`
	Theirs  number          `json:"theirs,omitempty"`
	Request string          `json:"request,omitempty"`
	Stream  *string         `json:"stream,omitempty"`
	Gate    string          `json:"gate,omitempty"`
	Answer  json.RawMessage `json:"answer"`
	State   json.RawMessage `json:"state,omitempty"`
}

var (
	gateKeys = map[string]string{
		"acquire": "n answer state", "grant": "n answer state", "close": "reason answer state",
	}
	windowKeys = map[string]string{
		"arrive": "answer state", "consumed": "answer state", "flush": "answer state", "continued": "answer state",
	}
	negotiateKeys = map[string]string{"negotiate": "ours theirs answer"}
	routerKeys    = map[string]string{
		"register": "request stream gate answer state", "unregister": "request stream answer state",
		"grant": "request stream n answer state", "close_request": "request reason answer state",
		"close_all": "reason answer state",
	}
	pureKeys = map[string]map[string]string{
		"gate": gateKeys, "window": windowKeys, "negotiate": negotiateKeys,
		"router": routerKeys, "grant_target": routerKeys,
	}
)

// A pureMachine does one step and answers what the script says it must.
type pureMachine interface {
	do(step pureStep) (answer string, err error)
	// check compares the state with what the script says it must be.
	check(state json.RawMessage) error
}

func replayPure(machine string, data []byte) (string, int, error) {
	return replayPureOn(machine, data, openMachine)
}

func replayPureOn(machine string, data []byte, open func(string, json.RawMessage) (pureMachine, error)) (string, int, error) {
	var script pureScript
	if err := strict(data, &script); err != nil {
		return script.Name, 0, err
	}
	m, err := open(machine, script.Open)
	if err != nil {
		return script.Name, 0, err
	}
	for i, data := range script.Step {
		if err := doStep(m, pureKeys[machine], data); err != nil {
			return script.Name, len(script.Step), fmt.Errorf("step %d: %w", i, err)
		}
	}
	return script.Name, len(script.Step), nil
}

func doStep(m pureMachine, keys map[string]string, data []byte) error {
	var step pureStep
	if err := strictOp(data, keys, &step); err != nil {
		return err
	}
	answer, err := m.do(step)
	if err == nil && answer != compact(step.Answer) {
		err = fmt.Errorf("expected the answer %s, got %s", compact(step.Answer), answer)
	}
	if err == nil {
		err = m.check(step.State)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", step.Op, err)
	}
	return nil
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
	if want.Closed == nil {
		return errors.New("the key \"closed\" is missing")
	}
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

// A window as the scripts drive it. One that is broken on purpose shows that they would notice.
type window interface {
	Arrive() error
	Consumed() uint64
	Flush() uint64
	Continued() uint64
	Remaining() uint64
	Pending() uint64
	Batch() uint64
}

type windowMachine struct{ window window }

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
		gate, known := gates[step.Gate]
		if !known {
			return fmt.Sprintf("no gate is called %q", step.Gate), true
		}
		if err := router.Register(step.Request, stream, gate); err != nil {
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

// A forgetful window does not empty what is pending when a grant has become due.
type forgetful struct {
	*sluicegate.Window
	forgotten uint64
}

func (f *forgetful) Consumed() uint64 {
	due := f.Window.Consumed()
	f.forgotten += due
	return due
}

func (f *forgetful) Pending() uint64 { return f.Window.Pending() + f.forgotten }

func TestABrokenWindowIsCaught(t *testing.T) {
	file, err := readScripts(filepath.Join(conformance, "pure", "window.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	opened := func(machine string, open json.RawMessage) (pureMachine, error) {
		m, err := openMachine(machine, open)
		if good, ok := m.(windowMachine); ok {
			m = windowMachine{&forgetful{Window: good.window.(*sluicegate.Window)}}
		}
		return m, err
	}
	replay := func(machine string, script []byte) (string, int, error) {
		return replayPureOn(machine, script, opened)
	}
	for _, script := range file.Scripts {
		if !strings.Contains(string(script), `"window 4: a full cycle and a chunk too many"`) {
			continue
		}
		// Five arrivals, then the second one consumed makes a grant of 2 due.
		_, err := file.replay(script, replay)
		if err == nil || !strings.Contains(err.Error(), "window 4: a full cycle and a chunk too many\": step 6: consumed: expected") {
			t.Errorf("a window that forgets: %v", err)
		}
		if _, err := file.replay(script, replayPure); err != nil {
			t.Errorf("the library's window does not: %v", err)
		}
		return
	}
	t.Error("the script is not there")
}
