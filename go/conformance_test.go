package sluicegate_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicegate/sluicegate/go"
)

// conformance is where the scripts lie.
var conformance = filepath.Join("..", "tests", "conformance")

// enough failures tell enough; more would each wait for the watchdog.
const enough = 10

// TestConformance replays the scripts that every language replays. See tests/conformance/README.md.
func TestConformance(t *testing.T) {
	if _, err := repeats(os.LookupEnv("SLUICEGATE_REPEAT")); err != nil {
		t.Fatal(err)
	}
	pure := replayFiles(t, "pure", replayPure)
	waiting := replayFiles(t, "waiting", replayWaiting)
	fmt.Printf("conformance go | select on a channel: pure %d scripts %d steps, waiting %d scripts %d steps, %d failures\n",
		pure.scripts, pure.steps, waiting.scripts, waiting.steps, pure.failures+waiting.failures)
}

func TestConformanceRefusesACountThatWouldReplayNothing(t *testing.T) {
	for _, said := range []struct {
		text  string
		there bool
		times int
	}{{"", false, 1}, {"1000", true, 1000}} {
		if times, err := repeats(said.text, said.there); times != said.times || err != nil {
			t.Errorf("%+v: %d, %v", said, times, err)
		}
	}
	for _, text := range []string{"0", "-1", "many", ""} {
		_, err := repeats(text, true)
		wanted := fmt.Sprintf("SLUICEGATE_REPEAT is %q, not a whole number from 1", text)
		if err == nil || err.Error() != wanted {
			t.Errorf("expected %q, got %v", wanted, err)
		}
	}
}

type count struct{ scripts, steps, failures int }

// A scriptFile is one file of scripts for one machine.
type scriptFile struct {
	Name      string            `json:"-"`
	Generated string            `json:"generated"`
	Machine   string            `json:"machine"`
	Scripts   []json.RawMessage `json:"scripts"`
}

// A replayer replays one script; it answers the script's name and how many steps it has.
type replayer func(machine string, script []byte) (string, int, error)

// replayFiles replays all files of one folder. Whatever lies there is a file of scripts.
func replayFiles(t *testing.T, folder string, replay replayer) (total count) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(conformance, folder))
	if err != nil || len(entries) == 0 {
		t.Fatalf("no %s scripts: %v", folder, err)
	}
	for _, entry := range entries {
		file, err := readScripts(filepath.Join(conformance, folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, script := range file.Scripts {
			if total.failures >= enough {
				return total
			}
			steps, err := file.replay(script, replay)
			if err != nil {
				t.Error(err)
				total.failures++
			}
			total.scripts++
			total.steps += steps
		}
	}
	return total
}

func (file scriptFile) replay(script []byte, replay replayer) (int, error) {
	name, steps, err := replay(file.Machine, script)
	if err != nil {
		err = fmt.Errorf("%s: script %q: %w", file.Name, name, err)
	}
	return steps, err
}

// readScripts reads a file of scripts, .json.gz or .json.
func readScripts(path string) (file scriptFile, err error) {
	name := filepath.Base(path)
	defer func() {
		file.Name = name
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
	}()
	data, err := os.ReadFile(path)
	if err != nil {
		return file, err
	}
	switch {
	case strings.HasSuffix(name, ".json.gz"):
		unpacked, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return file, err
		}
		if data, err = io.ReadAll(unpacked); err != nil {
			return file, err
		}
	case !strings.HasSuffix(name, ".json"):
		return file, errors.New("neither .json.gz nor .json")
	}
	return file, strict(data, &file)
}

// TestBrokenScripts feeds scripts that are broken on purpose: each is refused, and the message says where.
func TestBrokenScripts(t *testing.T) {
	folder := filepath.Join(conformance, "broken")
	data, err := os.ReadFile(filepath.Join(folder, "said.json"))
	if err != nil {
		t.Fatal(err)
	}
	var table map[string][]string
	if err := strict(data, &table); err != nil {
		t.Fatal(err)
	}
	for name, texts := range table {
		err := replayBroken(filepath.Join(folder, name))
		if err == nil {
			t.Errorf("%s was replayed as if it were good", name)
			continue
		}
		for _, text := range texts {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %q is not said in: %v", name, text, err)
			}
		}
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != len(table)+1 {
		t.Errorf("not every file of the folder stands in its table: %v", err)
	}
}

func replayBroken(path string) error {
	file, err := readScripts(path)
	if err != nil {
		return err
	}
	replay := replayPure
	if file.Machine == "waiting" {
		replay = replayWaiting
	}
	for _, script := range file.Scripts {
		if _, err := file.replay(script, replay); err != nil {
			return err
		}
	}
	return nil
}

// strict decodes JSON and refuses what it does not know. Every field of a struct must be there, unless
// its tag says omitempty.
func strict(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if decoder.More() {
		return errors.New("something stands behind the value")
	}
	fields := reflect.TypeOf(into).Elem()
	if fields.Kind() != reflect.Struct {
		return nil
	}
	var there map[string]json.RawMessage
	if err := json.Unmarshal(data, &there); err != nil {
		return err
	}
	for i := range fields.NumField() {
		key, option, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		if _, ok := there[key]; !ok && key != "-" && option != "omitempty" {
			return fmt.Errorf("the key %q is missing in %s", key, data)
		}
	}
	return nil
}

// strictOp decodes an operation, whose keys depend on what it is: keys lists them by operation, beside
// those that all have.
func strictOp(data []byte, keys map[string]string, into any) error {
	var named struct {
		Op *string `json:"op"`
	}
	if err := json.Unmarshal(data, &named); err != nil {
		return err
	}
	if named.Op == nil {
		return fmt.Errorf("the key \"op\" is missing in %s", data)
	}
	wanted, known := keys[*named.Op]
	if !known {
		return fmt.Errorf("unknown op %q", *named.Op)
	}
	if err := strict(data, into); err != nil {
		return fmt.Errorf("%s: %w", *named.Op, err)
	}
	var there map[string]json.RawMessage
	if err := json.Unmarshal(data, &there); err != nil {
		return err
	}
	delete(there, "op")
	for _, key := range strings.Fields(wanted) {
		if _, ok := there[key]; !ok {
			return fmt.Errorf("%s: the key %q is missing", *named.Op, key)
		}
		delete(there, key)
	}
	for key := range there {
		return fmt.Errorf("%s: the key %q does not belong here", *named.Op, key)
	}
	return nil
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

func arriveAnswer(window window) string {
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
func windowAnswer(window window, op string) (string, bool) {
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
