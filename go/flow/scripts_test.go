package flow_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A scriptOf is what every script has; S is what can be seen after a step.
type scriptOf[S any] struct {
	Name  string
	Steps []scriptStep[S]
}

func (s *scriptOf[S]) about() (name string, steps int) { return s.Name, len(s.Steps) }

type scriptStep[S any] struct {
	scriptOp
	Answer any
	State  S
}

// A scriptOp is what a step tells a probe to do.
type scriptOp struct {
	Op        string
	Who, N, K json.RawMessage
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

// A player is what a script is played on.
type player[S any] interface {
	play(step scriptOp) (answer any, err error)
	// state answers what can be seen now.
	state() S
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

// replaySteps plays the steps of a script, and compares what is answered and seen.
func replaySteps[S any](on player[S], steps []scriptStep[S]) error {
	for at, step := range steps {
		answer, err := on.play(step.scriptOp)
		err = errors.Join(err, same("answer", step.Answer, answer))
		if err = errors.Join(err, same("state", step.State, on.state())); err != nil {
			return fmt.Errorf("step %d %s: %w", at, step.Op, err)
		}
	}
	return nil
}

// readScript reads a script, or a file of them; a key that is not known is an error.
func readScript(from *json.Decoder, into any) error {
	from.DisallowUnknownFields()
	return from.Decode(into)
}

// scriptsOf reads a file of the scripts of a set.
func scriptsOf[S any](t *testing.T, set, file string) []S {
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
		Scripts   []S
	}
	if err := readScript(json.NewDecoder(unpacked), &read); err != nil || read.Machine != set {
		t.Fatal(file, read.Machine, err)
	}
	return read.Scripts
}

// replaySet replays all scripts of a set, each in an order of its turns that its number decides, and logs
// how many there were.
func replaySet[S any, P interface {
	*S
	about() (name string, steps int)
}](t *testing.T, set string, least int, replay func(script *S, seed uint64) error) {
	t.Helper()
	files, err := filepath.Glob("../../tests/conformance/" + set + "/*.json.gz")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	scripts, steps, failures := 0, 0, 0
	for _, file := range files {
		all := scriptsOf[S](t, set, file)
		for i := range all {
			if testing.Short() && i%17 != 0 {
				continue
			}
			name, long := P(&all[i]).about()
			scripts++
			steps += long
			if err := replay(&all[i], uint64(i)); err != nil {
				if failures++; failures <= 3 {
					t.Errorf("%s, script %d %q: %v", filepath.Base(file), i, name, err)
				}
			}
		}
	}
	if !testing.Short() && scripts < least {
		t.Errorf("%d scripts are too few", scripts)
	}
	t.Logf("%s go | select: %d scripts %d steps, %d failures", set, scripts, steps, failures)
}

// A change is what is put into a good script, in the place of what, and what is said of it then.
type change struct{ old, new, said string }

// changesAreFound replays a script that is good, and then with one thing changed at a time.
func changesAreFound[S any](t *testing.T, good string, replay func(script *S, seed uint64) error, changes []change) {
	t.Helper()
	for _, one := range append(changes, change{}) {
		text := good
		if one.old != "" {
			if text = strings.Replace(good, one.old, one.new, 1); text == good {
				t.Fatal("nothing was changed:", one.old)
			}
		}
		script := new(S)
		err := readScript(json.NewDecoder(strings.NewReader(text)), script)
		if err == nil {
			err = replay(script, 1)
		}
		if one.said == "" {
			if err != nil {
				t.Error(err)
			}
		} else if err == nil || !strings.Contains(err.Error(), one.said) {
			t.Errorf("%s: awaited: %q; came: %v", one.new, one.said, err)
		}
	}
}
