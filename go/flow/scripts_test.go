package flow_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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

// A scriptStep is one step, what it answers, and what can be seen after it.
type scriptStep[S any] struct {
	op     scriptOp
	Answer any
	State  S
}

// UnmarshalJSON keeps for the player what is no part of every step.
func (s *scriptStep[S]) UnmarshalJSON(data []byte) error {
	var state struct{ State json.RawMessage }
	if err := json.Unmarshal(data, &state); err != nil {
		return err
	}
	if err := readScript(json.NewDecoder(bytes.NewReader(state.State)), &s.State); err != nil {
		return err
	}
	rest := map[string]any{}
	if err := json.Unmarshal(data, &rest); err != nil {
		return err
	}
	s.Answer = rest["answer"]
	s.op.name, _ = rest["op"].(string)
	for _, key := range []string{"op", "answer", "state"} {
		if _, there := rest[key]; !there {
			return fmt.Errorf("no key %q", key)
		}
		delete(rest, key)
	}
	s.op.rest = rest
	return nil
}

// A scriptOp is what a step tells a player to do: its operation, and what it says besides, key by key.
type scriptOp struct {
	name string
	rest map[string]any
}

// take takes the value of a key, each of which must be taken.
func (o *scriptOp) take(key string) (any, error) {
	value, there := o.rest[key]
	if !there {
		return nil, fmt.Errorf("no key %q", key)
	}
	delete(o.rest, key)
	return value, nil
}

// count takes a number.
func (o *scriptOp) count(key string) (uint64, error) {
	value, err := o.take(key)
	if err != nil {
		return 0, err
	}
	return count(value)
}

// count reads a number of a script, which is a text.
func count(raw any) (uint64, error) {
	text, ok := raw.(string)
	if !ok {
		return 0, fmt.Errorf("a count is a text, and this is %v", raw)
	}
	return strconv.ParseUint(text, 10, 64)
}

func spelledCount(n uint64) string { return strconv.FormatUint(n, 10) }

// A player is what a script is played on.
type player[S any] interface {
	play(op *scriptOp) (answer any, err error)
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
		op := scriptOp{step.op.name, maps.Clone(step.op.rest)}
		answer, err := on.play(&op)
		if err == nil && len(op.rest) != 0 {
			err = fmt.Errorf("unknown keys: %v", op.rest)
		}
		err = errors.Join(err, same("answer", step.Answer, answer))
		if err = errors.Join(err, same("state", step.State, on.state())); err != nil {
			return fmt.Errorf("step %d %s: %w", at, op.name, err)
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
