package sluicegate_test

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicegate/sluicegate/go"
)

func TestAPeerSaysWhatItIs(t *testing.T) {
	peer := attach(t, sluicegate.Limits{InitialCredit: 5, MaxChunk: 4096}, files)
	if peer.Name() == "" || peer.String() != peer.Name() || !strings.Contains(peer.ManifestJSON(), `"1.2.3"`) || peer.PID() != 0 || peer.Dead() != nil {
		t.Errorf("got %s, %s, %d, %v", peer, peer.ManifestJSON(), peer.PID(), peer.Dead())
	}
	if got := peer.Limits(); got != (sluicegate.Limits{MaxFrame: 3_670_016, MaxChunk: 4096, MaxReorderBuffer: 64, InitialCredit: 5}) {
		t.Errorf("got %+v", got)
	}
	caps := map[string]sluicegate.CapInfo{}
	for _, c := range peer.Caps() {
		caps[c.URN] = c
	}
	if got := caps[itemsCap]; got.InMedia != "media:items" || got.OutMedia != "media:items" || !got.InSequence || !got.OutSequence {
		t.Errorf("got %+v of %+v", got, caps)
	}
}

func TestWhatAHandlerTells(t *testing.T) {
	ctx := guarded(t)
	call, err := attach(t, sluicegate.Limits{}, files).Call(ctx, tellCap)
	if err != nil {
		t.Fatal(err)
	}
	if err := call.FinishInput(ctx); err != nil {
		t.Fatal(err)
	}
	texts := map[sluicegate.StreamName]string{}
	for out, err := range call.Outputs(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if texts[out.Info().Output], err = out.ReadText(ctx); err != nil {
			t.Error(err)
		}
	}
	if len(texts) != 2 || texts[sluicegate.Unnamed] != "one" || texts[sluicegate.Named("media:second")] != "two" {
		t.Errorf("got %v", texts)
	}
	end, err := call.Wait(ctx)
	if err != nil || end != (sluicegate.Terminal{Progress: 0.9, Message: "enough"}) {
		t.Errorf("got %+v, %v", end, err)
	}
	var events []sluicegate.Event
	for event, err := range call.Events(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, event)
	}
	want := []sluicegate.Event{
		{Level: "info", Class: sluicegate.ClassResource, Message: "half full"},
		{IsProgress: true, Progress: 0.5, Message: "half done"},
	}
	if len(events) != 2 || events[0] != want[0] || events[1] != want[1] {
		t.Errorf("got %+v", events)
	}
	if call.Err() != nil || call.ID() == "" {
		t.Errorf("got %v, %q", call.Err(), call.ID())
	}
}

// HZ-F10: an error or a panic of a handler fails its request and nothing else.
func TestAHandlerThatFails(t *testing.T) {
	ctx := guarded(t)
	peer := attach(t, sluicegate.Limits{}, files)
	other, err := peer.Call(ctx, holdCap)
	if err != nil {
		t.Fatal(err)
	}
	for cap, want := range map[string]sluicegate.Error{
		failCap:  {Kind: sluicegate.ErrRemote, Code: "BAD_LABEL", Class: sluicegate.ClassInput, Message: "reading the label: BAD_LABEL: no such shelf"},
		panicCap: {Kind: sluicegate.ErrRemote, Code: "HANDLER_ERROR", Class: sluicegate.ClassInternal, Message: "the handler panicked: runtime error: invalid memory address or nil pointer dereference"},
	} {
		call, err := peer.Call(ctx, cap)
		if err != nil {
			t.Fatal(err)
		}
		_, err = call.Wait(ctx)
		var got *sluicegate.Error
		if !errors.As(err, &got) || got.Kind != want.Kind || got.Code != want.Code || got.Class != want.Class || !strings.Contains(got.Message, want.Message) {
			t.Errorf("%s: got %+v, want %+v", cap, got, want)
		}
		if _, err := call.Output(ctx); !errors.Is(err, want.Kind) {
			t.Errorf("%s: the output answers %v", cap, err)
		}
	}
	unknown, err := peer.Call(ctx, noCap)
	if err == nil {
		_, err = unknown.Wait(ctx)
	}
	if !errors.Is(err, sluicegate.ErrNoHandler) {
		t.Errorf("a cap that nobody serves answers %v", err)
	}
	if _, err := output(t, ctx, other).Recv(ctx); err != nil {
		t.Errorf("the other request was harmed: %v", err)
	}
	other.Cancel(nil)
}

// A call of a cartridge that the engine has nobody for comes back as that.
func TestACartridgeCallsItsHost(t *testing.T) {
	ctx := guarded(t)
	call, err := attach(t, sluicegate.Limits{}, files).Call(ctx, askCap)
	if err != nil {
		t.Fatal(err)
	}
	if err := call.FinishInput(ctx); err != nil {
		t.Fatal(err)
	}
	item, err := output(t, ctx, call).Recv(ctx)
	if err != nil || item.Value.String() != "true" {
		t.Errorf("got %s, %v", item.Value, err)
	}
}

// Cancelling reaches the handler's context, with the reason, and comes back as what it was.
func TestCancellingReachesTheHandler(t *testing.T) {
	peer := attach(t, sluicegate.Limits{}, files)
	for _, byContext := range []bool{false, true} {
		ctx := guarded(t)
		callCtx, cancel := context.WithCancel(ctx)
		call, err := peer.Call(callCtx, holdCap)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := output(t, ctx, call).Recv(ctx); err != nil {
			t.Fatal(err)
		}
		if byContext {
			cancel()
		} else {
			call.Cancel(&sluicegate.Error{Kind: sluicegate.ErrCancelled, Code: "CANCELLED", Class: sluicegate.ClassUser, Message: "enough of it"})
		}
		_, err = call.Wait(ctx)
		var got *sluicegate.Error
		if !errors.Is(err, sluicegate.ErrCancelled) || !errors.As(err, &got) || got.Class != sluicegate.ClassUser {
			t.Errorf("got %+v", err)
		}
		if !byContext && got.Message != "enough of it" {
			t.Errorf("got %+v", got)
		}
		cancel()
	}
}

// HZ-C02, HZ-F07: a call that nobody knows any more is cancelled; one whose stream somebody knows
// is not.
func TestCollectionCancelsWhatIsForgotten(t *testing.T) {
	ctx := guarded(t)
	peer := attach(t, sluicegate.Limits{}, files)
	cancelled := make(chan struct{})
	func() {
		kept := func() *sluicegate.InputStream {
			call, err := peer.Call(ctx, foreverCap)
			if err != nil {
				t.Fatal(err)
			}
			return output(t, ctx, call)
		}()
		for range 100 {
			runtime.GC()
			if _, err := kept.Recv(ctx); err != nil {
				t.Fatalf("a stream in use was collected: %v", err)
			}
		}
	}()
	call, err := peer.Call(ctx, foreverCap)
	if err != nil {
		t.Fatal(err)
	}
	out := output(t, ctx, call)
	go func() {
		defer close(cancelled)
		_, _ = call.Wait(ctx) // a call that is waited for is not forgotten
	}()
	_, _ = out.Recv(ctx)
	out = nil
	until(t, "the cancel of a stream that is forgotten", func() bool {
		runtime.GC()
		select {
		case <-cancelled:
			return true
		default:
			return false
		}
	})
}

func TestForwardChainsCalls(t *testing.T) {
	ctx := guarded(t)
	first := attach(t, sluicegate.Limits{InitialCredit: 2, MaxChunk: 5000}, files)
	second := attach(t, sluicegate.Limits{InitialCredit: 7}, pipes)
	data := strings.Repeat("end to end ", 100_000)
	one := feed(t, ctx, first, echoCap, func(in *sluicegate.OutputStream) error {
		_, err := in.WriteString(data)
		return err
	})
	two := feed(t, ctx, second, echoCap, func(in *sluicegate.OutputStream) error {
		chunks, err := sluicegate.Forward(ctx, output(t, ctx, one), in)
		if err == nil && chunks < uint64(len(data)/5000) {
			t.Errorf("forwarded %d chunks", chunks)
		}
		return err
	})
	got, err := output(t, ctx, two).ReadAll(ctx)
	if err != nil || string(got) != data {
		t.Errorf("sent %d bytes, got %d, %v", len(data), len(got), err)
	}
}

func TestASpawnedCartridge(t *testing.T) {
	ctx := guarded(t)
	peer, err := spawn(t, "serve")
	if err != nil {
		t.Fatal(err)
	}
	if peer.PID() == 0 || peer.PeakMemory() == 0 {
		t.Errorf("got process %d with %d bytes", peer.PID(), peer.PeakMemory())
	}
	call := feed(t, ctx, peer, echoCap, emitAll(ctx, []byte("hello")))
	if got, err := output(t, ctx, call).ReadAll(ctx); err != nil || string(got) != "hello" {
		t.Errorf("got %q, %v", got, err)
	}
	if err := peer.Close(ctx); err != nil {
		t.Error(err)
	}
	if err := peer.Close(ctx); err != nil {
		t.Errorf("the second Close answers %v", err)
	}
	if _, err := peer.Call(ctx, echoCap); err == nil {
		t.Error("a closed peer takes calls")
	}
}

// unwatched starts the test cartridge under an engine whose heartbeat would never miss it.
func unwatched(t *testing.T, ctx context.Context) (*sluicegate.Engine, *sluicegate.Peer) {
	t.Helper()
	engine, err := sluicegate.NewEngine(sluicegate.EngineOptions{Heartbeat: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	peer, err := engine.Spawn(ctx, ownCommand(t))
	if err != nil {
		t.Fatal(err)
	}
	return engine, peer
}

// HZ-C14: a cartridge that is killed ends its calls at once, with an error that says so, and the host
// lives. No heartbeat tells of it: nothing but its death ends these waits.
func TestAKilledCartridge(t *testing.T) {
	ctx := guarded(t)
	_, peer := unwatched(t, ctx)
	call, err := peer.Call(ctx, echoCap)
	if err != nil {
		t.Fatal(err)
	}
	in, err := call.Input("media:blob")
	if err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() {
		for {
			if _, err := in.Write(make([]byte, 100_000)); err != nil {
				written <- err
				return
			}
		}
	}()
	out := output(t, ctx, call)
	if _, err := io.CopyN(io.Discard, out.Reader(ctx), 1<<20); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(peer.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, out.Reader(ctx)); !saysKilled(err) {
		t.Errorf("reading answers %v", err)
	}
	if err := <-written; !saysKilled(err) {
		t.Errorf("writing answers %v", err)
	}
	if _, err := call.Wait(ctx); !saysKilled(err) {
		t.Errorf("waiting answers %v", err)
	}
	if !saysKilled(peer.Dead()) {
		t.Errorf("the peer says %v", peer.Dead())
	}
}

func TestCartridgesThatDoNotStart(t *testing.T) {
	for how, want := range map[string]string{"exit": "no licence found", "garbage": ""} {
		_, err := spawn(t, how)
		var why *sluicegate.Error
		if !errors.As(err, &why) || !strings.Contains(why.Message, want) {
			t.Errorf("%s: got %v", how, err)
		}
	}
	engine, err := sluicegate.NewEngine(sluicegate.EngineOptions{HandshakeTimeout: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	if _, err := engine.Spawn(guarded(t), sluicegate.Command{Program: "/nowhere/to/be/found"}); !errors.Is(err, sluicegate.ErrSpawn) || !strings.Contains(err.Error(), "/nowhere/to/be/found") {
		t.Errorf("got %v", err)
	}
	// attach attaches what hears the engine and never answers.
	attach := func(ctx context.Context, engine *sluicegate.Engine) error {
		silent, hostWrites := pipe(t)
		defer silent.Close()
		hostReads, never := pipe(t)
		defer never.Close()
		_, err := engine.Attach(ctx, hostReads, hostWrites)
		return err
	}
	if attach(guarded(t), engine) == nil {
		t.Error("a silent cartridge was attached")
	}
	patient, err := sluicegate.NewEngine(sluicegate.EngineOptions{HandshakeTimeout: watchdog})
	if err != nil {
		t.Fatal(err)
	}
	defer patient.Close()
	ctx, cancel := context.WithTimeout(guarded(t), 20*time.Millisecond)
	defer cancel()
	if err := attach(ctx, patient); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// saysKilled reports whether an error says that the cartridge is gone and how. Core calls an end in
// the middle of a frame malformed, whoever caused it.
func saysKilled(err error) bool {
	gone := errors.Is(err, sluicegate.ErrPeerDied) || errors.Is(err, sluicegate.ErrMalformed)
	return gone && strings.Contains(err.Error(), "SIGKILL")
}

// HZ-C15: closing does not wait for a cartridge that is frozen, and releases everybody.
func TestAFrozenCartridge(t *testing.T) {
	ctx := guarded(t)
	engine, peer := unwatched(t, ctx)
	call, err := peer.Call(ctx, holdCap)
	if err != nil {
		t.Fatal(err)
	}
	out := output(t, ctx, call)
	if _, err := out.Recv(ctx); err != nil {
		t.Fatal(err)
	}
	in, err := call.Input("media:blob")
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(peer.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 10)
	for range 5 {
		go func() {
			_, err := out.Recv(ctx)
			done <- err
		}()
		go func() {
			_, err := in.Write(make([]byte, 64<<20))
			done <- err
		}()
	}
	until(t, "the first chunk to go out", func() bool { return in.Stats().Chunks > 0 })
	if err := engine.Close(); err != nil { // it stays frozen: waiting for it would be for ever
		t.Error(err)
	}
	for range 10 {
		if err := <-done; !errors.Is(err, sluicegate.ErrClosed) && !errors.Is(err, sluicegate.ErrPeerDied) {
			t.Errorf("got %v", err)
		}
	}
}

// HZ-F14: no signal disposition changes, whatever the library does.
func TestSignalsAreLeftAlone(t *testing.T) {
	before := signals(t)
	peer, err := spawn(t, "serve")
	if err != nil {
		t.Fatal(err)
	}
	call := feed(t, guarded(t), peer, echoCap, emitAll(guarded(t), "x"))
	if _, err := call.Wait(guarded(t)); err != nil {
		t.Error(err)
	}
	peer.Kill()
	if after := signals(t); after != before {
		t.Errorf("before: %s, after: %s", before, after)
	}
}

// signals answers which signals this process ignores and catches.
func signals(t *testing.T) string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Logf("dispositions are not told here: %v", err)
	}
	var masks []string
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "SigIgn") || strings.HasPrefix(line, "SigCgt") {
			masks = append(masks, strings.TrimSpace(line))
		}
	}
	return strings.Join(masks, " ")
}
