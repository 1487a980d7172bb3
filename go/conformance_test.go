package sluicegate_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/sluicegate/sluicegate/go"
)

// TestConformance replays the scripts that every language replays. See tests/conformance/README.md.
func TestConformance(t *testing.T) {
	pure := replayFiles(t, "pure", replayPure)
	waiting := replayFiles(t, "waiting", replayWaiting)
	fmt.Printf("conformance go: pure %d scripts %d steps, waiting %d scripts %d steps\n",
		pure.scripts, pure.steps, waiting.scripts, waiting.steps)
}

type count struct{ scripts, steps int }

// A scriptFile is one file of scripts for one machine.
type scriptFile struct {
	Generated string            `json:"generated"`
	Machine   string            `json:"machine"`
	Scripts   []json.RawMessage `json:"scripts"`
}

// replayFiles replays all files of one folder; replay answers how many steps a script has.
func replayFiles(t *testing.T, folder string, replay func(machine string, script []byte) (string, int, error)) count {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "tests", "conformance", folder, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s scripts: %v", folder, err)
	}
	var total count
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var file scriptFile
		if err := strict(data, &file); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, script := range file.Scripts {
			name, steps, err := replay(file.Machine, script)
			if err != nil {
				t.Fatalf("%s: script %q: %v", path, name, err)
			}
			total.scripts++
			total.steps += steps
		}
	}
	return total
}

// strict decodes JSON and refuses what it does not know.
func strict(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// A number is a decimal string.
type number uint64

func (n *number) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	value, err := strconv.ParseUint(text, 10, 64)
	*n = number(value)
	return err
}

func (n number) String() string { return strconv.FormatUint(uint64(n), 10) }

// A streamName is a text or null.
func streamName(name *string) sluicegate.StreamName {
	if name == nil {
		return sluicegate.Unnamed
	}
	return sluicegate.Named(*name)
}

// Answers are compared as JSON text.
const (
	acquired = `"acquired"`
	wait     = `"wait"`
	timedOut = `"timed_out"`
	canceled = `"cancelled"`
	nothing  = `null`
)

func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func closedWith(reason string) string { return `{"closed":` + quoted(reason) + `}` }

// compact brings an answer of a script into the form that ours have.
func compact(answer json.RawMessage) string {
	var out bytes.Buffer
	if err := json.Compact(&out, answer); err != nil {
		return string(answer)
	}
	return out.String()
}

func tryAnswer(gate *sluicegate.Gate, n number) string {
	taken, err := gate.TryAcquire(uint64(n))
	var why *sluicegate.Error
	switch {
	case errors.Is(err, sluicegate.ErrClosed) && errors.As(err, &why):
		return closedWith(why.Code)
	case err != nil:
		return "unexpected error: " + err.Error()
	case taken:
		return acquired
	}
	return wait
}

func deliveryAnswer(delivery sluicegate.Delivery) string {
	switch delivery {
	case sluicegate.Granted:
		return `"granted"`
	case sluicegate.NoStream:
		return `"no_stream"`
	case sluicegate.NoRequest:
		return `"no_request"`
	}
	return "unexpected delivery: " + delivery.String()
}

func arriveAnswer(window *sluicegate.Window) string {
	switch err := window.Arrive(); {
	case err == nil:
		return `"accepted"`
	case errors.Is(err, sluicegate.ErrCreditViolation):
		return `"violation"`
	default:
		return "unexpected error: " + err.Error()
	}
}

// closedState answers the reason a gate was closed with, as JSON, or null.
func closedState(gate *sluicegate.Gate) string {
	var why *sluicegate.Error
	if !errors.As(gate.Reason(), &why) {
		return nothing
	}
	return quoted(why.Code)
}

func windowOf(size number, batch *number) *sluicegate.Window {
	if batch == nil {
		return sluicegate.NewWindow(uint64(size))
	}
	return sluicegate.NewWindowBatch(uint64(size), uint64(*batch))
}

// windowAnswer does one operation of a window; false if there is no such operation.
func windowAnswer(window *sluicegate.Window, op string) (string, bool) {
	grant := func(n uint64) (string, bool) { return quoted(strconv.FormatUint(n, 10)), true }
	switch op {
	case "arrive":
		return arriveAnswer(window), true
	case "consumed":
		return grant(window.Consumed())
	case "flush":
		return grant(window.Flush())
	case "continued":
		return grant(window.Continued())
	}
	return "", false
}
