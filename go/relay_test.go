package sluicegate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluicegate/go"
)

func ownCommand(t *testing.T) sluicegate.Command {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return sluicegate.Command{Program: self, Env: []string{"SLUICEGATE_TEST_CARTRIDGE=serve"}}
}

// relayed starts a switch and a host that offers a cartridge process to it.
func relayed(t *testing.T, ctx context.Context) (relay *sluicegate.Switch, host *sluicegate.Host, address string) {
	t.Helper()
	relay, err := sluicegate.NewSwitch(sluicegate.SwitchOptions{JoinTimeout: watchdog})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = relay.Close() })
	if address, err = relay.Listen("unix:" + filepath.Join(t.TempDir(), "s")); err != nil {
		t.Fatal(err)
	}
	if host, err = sluicegate.NewHost(sluicegate.HostOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Close() })
	if err := host.Add(ctx, ownCommand(t)); err != nil {
		t.Fatal(err)
	}
	if err := host.Join(ctx, address); err != nil {
		t.Fatal(err)
	}
	for !slices.Contains(relay.Caps(), echoCap) { // it is being asked who it is
		if ctx.Err() != nil {
			t.Fatal("the switch does not take the host's offer")
		}
		runtime.Gosched()
	}
	return relay, host, address
}

func TestACallThroughASwitchAndAHost(t *testing.T) {
	ctx := guarded(t)
	relay, host, address := relayed(t, ctx)
	engine, err := sluicegate.NewEngine(sluicegate.EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	for _, through := range []func() (*sluicegate.Peer, error){
		func() (*sluicegate.Peer, error) { return engine.Connect(ctx, address) },
		func() (*sluicegate.Peer, error) { return relay.Caller(ctx, engine) },
	} {
		peer, err := through()
		if err != nil {
			t.Fatal(err)
		}
		want := bytes.Repeat([]byte("through a relay "), 1000)
		call := feed(t, ctx, peer, echoCap, func(in *sluicegate.OutputStream) error {
			_, err := in.Write(want)
			return err
		})
		got, err := io.ReadAll(output(t, ctx, call).Reader(ctx))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes came back, %v", len(got), err)
		}
		if _, err := call.Wait(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if caps := relay.Caps(); !slices.Contains(caps, echoCap) {
		t.Errorf("the switch offers %v", caps)
	}
	for name, text := range map[string]json.RawMessage{"switch": relay.StatsJSON(), "host": host.StatsJSON()} {
		var stats struct{ Drops sluicegate.Drops }
		if err := json.Unmarshal(text, &stats); err != nil || stats.Drops.Total != 0 {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
	if err := relay.SetState([]byte("kept")); err != nil {
		t.Error(err)
	}
	if host.Dead() != nil {
		t.Error(host.Dead())
	}
	if host.Retire("nobody") {
		t.Error("a cartridge of a label that none has is retired")
	}
	relay.Close()
	if reason := host.Left(ctx); reason == nil {
		t.Error("a host that has left says why")
	}
}

func TestACallThatStandsStillIsExplained(t *testing.T) {
	ctx := guarded(t)
	engine, err := sluicegate.NewEngine(sluicegate.EngineOptions{Stall: 50 * time.Millisecond, Heartbeat: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	peer, err := engine.Spawn(ctx, ownCommand(t))
	if err != nil {
		t.Fatal(err)
	}
	call := feed(t, ctx, peer, foreverCap, func(*sluicegate.OutputStream) error { return nil })
	out := output(t, ctx, call)
	told, err := engine.NextStall(ctx)
	for err == nil && (len(told.Culprits) != 1 || told.Culprits[0].WaitsFor != "unread") {
		told, err = engine.NextStall(ctx) // it may stand in a queue before it begins
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(told.Culprits) != 1 || told.Culprits[0].Party != "this process" || told.Culprits[0].WaitsFor != "unread" {
		t.Fatalf("told %s", told.JSON())
	}
	if mine := told.Of(call.ID()); len(mine.Culprits) != 1 || mine.Culprits[0].Since() < 50*time.Millisecond {
		t.Errorf("of this request: %s", mine.JSON())
	}
	if other := told.Of("other"); len(other.Standing) != 0 {
		t.Errorf("of another request: %s", other.JSON())
	}
	control, err := engine.ServeControl(filepath.Join(t.TempDir(), "c"))
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	asked, err := sluicegate.AskExplain(ctx, control.Address())
	if err != nil || !strings.HasPrefix(asked.String(), "HOLDS THE OTHERS UP: this process has not read") {
		t.Errorf("asked: %v, %v", asked, err)
	}
	text, err := sluicegate.AskStats(ctx, control.Address())
	var stats sluicegate.EngineStats
	if err != nil || json.Unmarshal(text, &stats) != nil || len(stats.Cartridges) != 1 {
		t.Fatalf("asked: %s, %v", text, err)
	}
	if one := stats.Cartridges[0]; *one.PID != peer.PID() || len(one.Requests) != 1 || one.Requests[0].ID != call.ID() {
		t.Errorf("asked: %s", text)
	}
	if own := peer.Stats(); own.Name != peer.Name() || own.Drops.Total != 0 || len(own.Requests) != 1 || own.Held.Bytes > own.Held.Bound || own.Held.Bound == 0 {
		t.Errorf("the peer: %s", peer.StatsJSON())
	}
	if len(engine.Stats().Cartridges) != 1 {
		t.Errorf("the engine: %s", engine.StatsJSON())
	}
	control.Close()
	if _, err := sluicegate.AskStats(ctx, control.Address()); err == nil {
		t.Error("a closed control socket answers")
	}
	if explained, err := engine.Explain(ctx); err != nil || len(explained.Culprits) != 1 {
		t.Errorf("explained: %s, %v", explained.JSON(), err)
	}
	call.Cancel(nil)
	_, _ = io.Copy(io.Discard, out.Reader(ctx))
}

func TestACartridgeSaysWhatItDoes(t *testing.T) {
	ctx := guarded(t)
	cartridge := testCartridge()
	if _, served := cartridge.Stats(); served {
		t.Error("a cartridge that nobody serves has figures")
	}
	address := filepath.Join(t.TempDir(), "c")
	cartridge.ServeControl(address)
	host, own := socketPair(t)
	served := make(chan error, 1)
	go func() { served <- cartridge.ServeConn(ctx, own, own) }()
	engine, err := sluicegate.NewEngine(sluicegate.EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Attach(ctx, host, host); err != nil {
		t.Fatal(err)
	}
	text, err := sluicegate.AskStats(ctx, address)
	for err != nil && ctx.Err() == nil { // the socket opens behind the handshake
		text, err = sluicegate.AskStats(ctx, address)
	}
	var stats sluicegate.ConnectionStats
	if err != nil || json.Unmarshal(text, &stats) != nil || stats.Name == "" || stats.PID != nil {
		t.Errorf("asked: %s, %v", text, err)
	}
	if own, served := cartridge.Stats(); !served || own.Name != stats.Name {
		t.Errorf("it says %+v", own)
	}
	if quiet := cartridge.Explain(); fmt.Sprint(quiet) != "nothing is held up\n" {
		t.Errorf("it says %v", quiet)
	}
	if err := engine.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestATraceNamesItsFile(t *testing.T) {
	err := sluicegate.Trace("/no/such/folder/trace", sluicegate.TraceJSON)
	if !errors.Is(err, sluicegate.ErrIO) || !strings.Contains(err.Error(), "/no/such/folder/trace") {
		t.Errorf("a trace in a folder that is not there: %v", err)
	}
}
