package sluicegate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/sluicegate/sluicegate/go"
)

// watchdog bounds every wait of a test that could hang.
const watchdog = time.Minute

type waitingScript struct {
	Name    string            `json:"name"`
	Gates   map[string]number `json:"gates"`
	Windows map[string]struct {
		Window number  `json:"window"`
		Batch  *number `json:"batch"`
	} `json:"windows"`
	Steps []json.RawMessage `json:"steps"`
}

type waitingStep struct {
	Do   []json.RawMessage `json:"do"`
	Then []outcome         `json:"then"`
}

type waitingOp struct {
	Op      string          `json:"op"`
	Actor   string          `json:"actor,omitempty"`
	Gate    string          `json:"gate,omitempty"`
	N       number          `json:"n,omitempty"`
	Limit   *string         `json:"limit,omitempty"`
	Leaves  *string         `json:"leaves,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	Request string          `json:"request,omitempty"`
	Stream  *string         `json:"stream,omitempty"`
	Window  string          `json:"window,omitempty"`
	Answer  json.RawMessage `json:"answer,omitempty"`
}

var waitingKeys = map[string]string{
	"start": "actor gate n limit leaves", "cancel": "actor", "expire": "actor",
	"try": "gate n answer", "grant": "gate n", "close": "gate reason",
	"register": "request stream gate", "unregister": "request stream", "route": "request stream n answer",
	"close_request": "request reason", "close_all": "reason",
	"arrive": "window answer", "consumed": "window answer", "flush": "window answer", "continued": "window answer",
}

type outcome struct {
	Returned []struct {
		Actor  string          `json:"actor"`
		Answer json.RawMessage `json:"answer"`
	} `json:"returned"`
	Blocked []string `json:"blocked"`
	Gates   map[string]struct {
		gateState
		Waiting number `json:"waiting"`
	} `json:"gates"`
	Windows map[string]struct {
		Remaining number `json:"remaining"`
		Pending   number `json:"pending"`
	} `json:"windows"`
}

// errTooFast says that a short limit passed before its step: this replay shows nothing.
var errTooFast = errors.New("a short limit passed before its step")

func replayWaiting(machine string, data []byte) (string, int, error) {
	var script waitingScript
	if machine != "waiting" {
		return "", 0, fmt.Errorf("unknown machine %q", machine)
	}
	if err := strict(data, &script); err != nil {
		return script.Name, 0, err
	}
	times, err := repeats(os.LookupEnv("SLUICEGATE_REPEAT"))
	if err != nil {
		return script.Name, 0, err
	}
	for range times {
		for short := 2 * time.Millisecond; ; short *= 2 {
			err := newReplay(script, short).run()
			if errors.Is(err, errTooFast) && short < watchdog {
				continue
			}
			if err != nil {
				return script.Name, 0, err
			}
			break
		}
	}
	return script.Name, len(script.Steps), nil
}

// repeats is how often the waiting scripts are replayed, of what SLUICEGATE_REPEAT says.
func repeats(text string, there bool) (int, error) {
	if !there {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("SLUICEGATE_REPEAT is %q, not a whole number from 1", text)
	}
	return n, nil
}

// A replay is one run of a waiting script. Its actors are goroutines.
type replay struct {
	script  waitingScript
	short   time.Duration
	gates   map[string]*sluicegate.Gate
	windows map[string]*sluicegate.Window
	router  *sluicegate.Router
	actors  map[string]*actor // those that have not returned
	mailbox chan answered
}

type actor struct {
	cancel  context.CancelFunc
	started time.Time
	short   bool
	mayEnd  bool // its short limit is allowed to pass
}

type answered struct{ actor, answer string }

func newReplay(script waitingScript, short time.Duration) *replay {
	r := &replay{
		script: script, short: short,
		gates: map[string]*sluicegate.Gate{}, windows: map[string]*sluicegate.Window{},
		router: sluicegate.NewRouter(), actors: map[string]*actor{},
		mailbox: make(chan answered, 1024),
	}
	for name, window := range script.Gates {
		r.gates[name] = sluicegate.NewGate(uint64(window))
	}
	for name, w := range script.Windows {
		r.windows[name] = windowOf(w.Window, w.Batch)
	}
	return r
}

func (r *replay) run() error {
	defer r.release()
	for i, data := range r.script.Steps {
		var step waitingStep
		err := strict(data, &step)
		if err == nil {
			err = r.step(step)
		}
		if err != nil {
			if r.clockInterfered() {
				return errTooFast
			}
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	if len(r.actors) != 0 {
		return fmt.Errorf("still blocked at the end: %v", slices.Collect(maps.Keys(r.actors)))
	}
	return nil
}

// release lets every actor go, and waits for it.
func (r *replay) release() {
	for _, gate := range r.gates {
		gate.Close("the script is over")
	}
	for len(r.actors) > 0 {
		delete(r.actors, (<-r.mailbox).actor)
	}
}

func (r *replay) step(step waitingStep) error {
	for _, data := range step.Do {
		var op waitingOp
		if err := strictOp(data, waitingKeys, &op); err != nil {
			return err
		}
		answer, err := r.do(op)
		if err == nil && op.Answer != nil && answer != compact(op.Answer) {
			err = fmt.Errorf("expected the answer %s, got %s", compact(op.Answer), answer)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", op.Op, err)
		}
	}
	returned := map[string]string{}
	for limit := time.Now().Add(watchdog); ; runtime.Gosched() {
		if err := r.collect(returned); err != nil {
			return err
		}
		for _, outcome := range step.Then {
			if r.reached(outcome, returned) {
				if err := r.collect(returned); err != nil {
					return err
				}
				return r.check(outcome, returned)
			}
		}
		if !slices.ContainsFunc(step.Then, func(o outcome) bool { return o.allows(returned) }) {
			return fmt.Errorf("expected to return one of %+v, got %v", step.Then, returned)
		}
		if time.Now().After(limit) {
			return fmt.Errorf("no outcome within %s: returned %v, %s", watchdog, returned, r.describe())
		}
	}
}

// clockInterfered reports whether an actor may have given up before its step without our having seen
// it: then a comparison that failed shows nothing.
func (r *replay) clockInterfered() bool {
	for _, a := range r.actors {
		if a.short && !a.mayEnd && time.Since(a.started) >= r.short {
			return true
		}
	}
	return false
}

func (r *replay) describe() string {
	text := ""
	for name, gate := range r.gates {
		text += fmt.Sprintf("gate %s: %d available, %d waiting, closed %s; ", name, gate.Available(), gate.Waiting(), closedState(gate))
	}
	return text
}

// do carries out one op of the main line, or starts an actor.
func (r *replay) do(op waitingOp) (string, error) {
	if window, ok := r.windows[op.Window]; ok {
		if answer, known := windowAnswer(window, op.Op); known {
			return answer, nil
		}
	}
	if _, known := r.gates[op.Gate]; !known && slices.Contains([]string{"start", "try", "grant", "close"}, op.Op) {
		return "", fmt.Errorf("no gate is called %q", op.Gate)
	}
	switch op.Op {
	case "start":
		return nothing, r.start(op)
	case "cancel", "expire":
		a, ok := r.actors[op.Actor]
		if !ok {
			// It came back with its own answer already; an outcome says whether it may have.
			return nothing, nil
		}
		if op.Op == "cancel" {
			a.cancel()
		}
		a.mayEnd = true
		return nothing, nil
	case "try":
		return tryAnswer(r.gates[op.Gate], op.N), nil
	case "grant":
		r.gates[op.Gate].Grant(uint64(op.N))
		return nothing, nil
	case "close":
		r.gates[op.Gate].Close(op.Reason)
		return nothing, nil
	}
	answer, known := routerAnswer(r.router, r.gates, pureStep{
		Op: op.Op, N: op.N, Reason: op.Reason, Request: op.Request, Stream: op.Stream, Gate: op.Gate,
	})
	if !known {
		return "", errors.New("unknown op")
	}
	return answer, nil
}

func (r *replay) start(op waitingOp) error {
	if _, running := r.actors[op.Actor]; running {
		return fmt.Errorf("actor %q is started twice", op.Actor)
	}
	ctx, cancel := context.WithCancel(context.Background())
	a := &actor{cancel: cancel, started: time.Now()}
	if op.Limit != nil {
		limits := map[string]time.Duration{"zero": 0, "short": r.short, "long": math.MaxInt64}
		limit, known := limits[*op.Limit]
		if !known {
			cancel()
			return fmt.Errorf("unknown limit %q", *op.Limit)
		}
		a.short = *op.Limit == "short"
		ctx, cancel = context.WithTimeout(ctx, limit)
	}
	r.actors[op.Actor] = a
	gate := r.gates[op.Gate]
	go func() {
		defer a.cancel()
		defer cancel()
		r.mailbox <- answered{op.Actor, acquireAnswer(gate.Acquire(ctx, uint64(op.N)))}
	}()
	return nil
}

func acquireAnswer(err error) string {
	var why *sluicegate.Error
	switch {
	case err == nil:
		return acquired
	case errors.Is(err, sluicegate.ErrTimedOut) && errors.Is(err, context.DeadlineExceeded):
		return timedOut
	case errors.Is(err, context.Canceled):
		return canceled
	case errors.Is(err, sluicegate.ErrClosed) && errors.As(err, &why):
		return closedWith(why.Code)
	}
	return "unexpected error: " + err.Error()
}

// collect takes what has come back so far.
func (r *replay) collect(returned map[string]string) error {
	for {
		select {
		case m := <-r.mailbox:
			a := r.actors[m.actor]
			delete(r.actors, m.actor)
			if m.answer == timedOut && a.short && !a.mayEnd {
				if took := time.Since(a.started); took < r.short {
					return fmt.Errorf("actor %q timed out after %s of %s", m.actor, took, r.short)
				}
				return errTooFast
			}
			returned[m.actor] = m.answer
		default:
			return nil
		}
	}
}

// allows reports whether an outcome lists everybody who has come back so far.
func (o outcome) allows(returned map[string]string) bool {
	listed := map[string]string{}
	for _, want := range o.Returned {
		listed[want.Actor] = compact(want.Answer)
	}
	for actor, answer := range returned {
		if listed[actor] != answer {
			return false
		}
	}
	return true
}

// String says who returns in an outcome, for messages.
func (o outcome) String() string {
	text := ""
	for _, want := range o.Returned {
		text += want.Actor + " " + compact(want.Answer) + "; "
	}
	return "{" + text + "}"
}

// reached reports whether everybody of an outcome has come back and its lines are as long as said.
func (r *replay) reached(o outcome, returned map[string]string) bool {
	for _, want := range o.Returned {
		if got, ok := returned[want.Actor]; !ok || got != compact(want.Answer) {
			return false
		}
	}
	for name, want := range o.Gates {
		if r.gates[name].Waiting() != uint64(want.Waiting) {
			return false
		}
	}
	return true
}

// check compares all the rest of an outcome.
func (r *replay) check(o outcome, returned map[string]string) error {
	if len(returned) != len(o.Returned) {
		return fmt.Errorf("expected %d to return, got %v", len(o.Returned), returned)
	}
	for _, name := range o.Blocked {
		if _, running := r.actors[name]; !running {
			return fmt.Errorf("actor %q should be blocked and has returned", name)
		}
	}
	if len(o.Blocked) != len(r.actors) {
		return fmt.Errorf("expected %v to be blocked, %d actors are", o.Blocked, len(r.actors))
	}
	if len(o.Gates) != len(r.gates) || len(o.Windows) != len(r.windows) {
		return errors.New("an outcome does not list all gates and windows")
	}
	for name, want := range o.Gates {
		if err := want.check(r.gates[name]); err != nil {
			return fmt.Errorf("gate %q: %w", name, err)
		}
	}
	for name, want := range o.Windows {
		window := r.windows[name]
		if window.Remaining() != uint64(want.Remaining) || window.Pending() != uint64(want.Pending) {
			return fmt.Errorf("window %q: expected %s remaining and %s pending, got %d and %d",
				name, want.Remaining, want.Pending, window.Remaining(), window.Pending())
		}
	}
	return nil
}
