package sluicegate_test

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io"
	"net"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/sluicegate/sluicegate/go"
)

// frame is a frame of version 6, as it goes over the wire.
func frame(t *testing.T, kind, request uint64, keys map[uint64]any) []byte {
	t.Helper()
	keys[0], keys[1], keys[2], keys[3] = uint64(6), kind, request, uint64(0)
	body, err := cbor.Marshal(keys)
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func hello(t *testing.T) []byte {
	return frame(t, 0, 0, map[uint64]any{5: map[string]any{
		"max_frame": 3670016, "max_chunk": 262144, "max_reorder_buffer": 64, "initial_credit": 32, "version": 6,
	}})
}

// stray is a chunk of a request that there never was.
func stray(t *testing.T) []byte {
	payload := []byte{0}
	sum := fnv.New64a()
	sum.Write(payload)
	return frame(t, 3, 99, map[uint64]any{6: payload, 11: "in", 14: 0, 16: sum.Sum64()})
}

func isOfAStray(t *testing.T, lost sluicegate.Loss, err error, party string) {
	t.Helper()
	want := sluicegate.Loss{Severity: "warning", Party: party, Reason: "no_route", FrameType: "chunk", Count: 1, Total: 1}
	if err != nil || lost != want {
		t.Errorf("lost %+v, %v", lost, err)
	}
}

// played is a connection whose far end says what a test has it say, and reads on.
func played(t *testing.T) (near, far net.Conn) {
	t.Helper()
	near, far = net.Pipe()
	t.Cleanup(func() { _ = far.Close() })
	go func() { _, _ = io.Copy(io.Discard, far) }()
	return near, far
}

func says(t *testing.T, far net.Conn, frames ...[]byte) {
	t.Helper()
	for _, frame := range frames {
		if _, err := far.Write(frame); err != nil {
			t.Error(err)
		}
	}
}

func TestAnEngineTellsWhatIsLost(t *testing.T) {
	ctx := guarded(t)
	engine, err := sluicegate.NewEngine(sluicegate.EngineOptions{QuietLosses: true, HandshakeTimeout: watchdog, Heartbeat: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	over, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := engine.NextLoss(over); !errors.Is(err, context.Canceled) {
		t.Errorf("nothing is lost yet: %v", err)
	}
	peer, err := engine.Spawn(ctx, ownCommand(t))
	if err != nil {
		t.Fatal(err)
	}
	call, err := peer.Call(ctx, chatterCap)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	lost := sluicegate.Loss{Severity: "debug"}
	for lost.Severity == "debug" && err == nil { // a grant may have crossed the end of the call
		lost, err = engine.NextLoss(ctx)
	}
	if err != nil || lost.Severity != "warning" || lost.Reason != "event_unread" || lost.FrameType != "log" || lost.Count == 0 {
		t.Errorf("lost %+v, %v", lost, err)
	}
}

func TestASwitchTellsWhatIsLost(t *testing.T) {
	ctx := guarded(t)
	relay, err := sluicegate.NewSwitch(sluicegate.SwitchOptions{QuietLosses: true, JoinTimeout: watchdog})
	if err != nil {
		t.Fatal(err)
	}
	near, far := played(t)
	go says(t, far, hello(t), stray(t))
	if err := relay.Attach(ctx, "caller", near, near); err != nil {
		t.Fatal(err)
	}
	lost, err := relay.NextLoss(ctx)
	isOfAStray(t, lost, err, "switch")
	for range 2 {
		if err := relay.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAHostTellsWhatIsLost(t *testing.T) {
	ctx := guarded(t)
	host, err := sluicegate.NewHost(sluicegate.HostOptions{Engine: sluicegate.EngineOptions{QuietLosses: true, HandshakeTimeout: watchdog}})
	if err != nil {
		t.Fatal(err)
	}
	near, far := played(t)
	policy := frame(t, 15, 0, map[uint64]any{5: map[string]any{"network": "full", "routable": true}})
	go says(t, far, policy, stray(t))
	if err := host.JoinConn(ctx, near, near); err != nil {
		t.Fatal(err)
	}
	lost, err := host.NextLoss(ctx)
	isOfAStray(t, lost, err, "host")
	for range 2 {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestACartridgeTellsWhatIsLost(t *testing.T) {
	ctx := guarded(t)
	c := sluicegate.NewCartridge(sluicegate.Manifest{Name: "loses", Version: "1"})
	c.QuietLosses()
	for range 2 {
		near, far := played(t)
		served := make(chan error, 1)
		go func() { served <- c.ServeConn(ctx, near, near) }()
		says(t, far, hello(t), stray(t))
		lost, err := c.NextLoss(ctx)
		isOfAStray(t, lost, err, "loses")
		_ = far.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// The end of a context is enough to leave a handshake that the other end never makes.
func TestAHandshakeThatIsGivenUpHoldsNobodyUp(t *testing.T) {
	engine, err := sluicegate.NewEngine(sluicegate.EngineOptions{HandshakeTimeout: watchdog})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	relay, err := sluicegate.NewSwitch(sluicegate.SwitchOptions{JoinTimeout: watchdog})
	if err != nil {
		t.Fatal(err)
	}
	defer relay.Close()
	c := sluicegate.NewCartridge(sluicegate.Manifest{Name: "waits", Version: "1"})
	for name, wait := range map[string]func(context.Context, net.Conn) error{
		"engine":    func(ctx context.Context, near net.Conn) error { _, err := engine.Attach(ctx, near, near); return err },
		"switch":    func(ctx context.Context, near net.Conn) error { return relay.Attach(ctx, "silent", near, near) },
		"cartridge": func(ctx context.Context, near net.Conn) error { return c.ServeConn(ctx, near, near) },
	} {
		near, far := net.Pipe()
		ctx, cancel := context.WithCancel(guarded(t))
		ends := make(chan error, 1)
		go func() { ends <- wait(ctx, near) }()
		cancel()
		if err := <-ends; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		_ = far.Close()
	}
}

func TestAMatcherDecidesWhoServes(t *testing.T) {
	ctx := guarded(t)
	of := make(chan *sluicegate.Switch, 1)
	matcher := sluicegate.MatcherFunc(func(offered, asked string) bool {
		relay := <-of
		of <- relay
		if caps := relay.Caps(); len(caps) == 0 {
			t.Error("it offers nothing")
		}
		if asked == "cap:panics" {
			panic("on purpose")
		}
		return asked == offered+";more=yes"
	})
	relay, err := sluicegate.NewSwitch(sluicegate.SwitchOptions{Matcher: matcher, JoinTimeout: watchdog})
	if err != nil {
		t.Fatal(err)
	}
	of <- relay
	defer func() { <-of }() // a matcher that refers to its own switch would have both stay
	defer relay.Close()
	options := sluicegate.EngineOptions{QuietLosses: true, HandshakeTimeout: watchdog, Heartbeat: -1}
	host, err := sluicegate.NewHost(sluicegate.HostOptions{Engine: options})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	near, far := net.Pipe()
	go func() { _ = testCartridge().ServeConn(ctx, far, far) }()
	if err := host.Attach(ctx, "test", near, near); err != nil {
		t.Fatal(err)
	}
	up, down := net.Pipe()
	joins := make(chan error, 1)
	go func() { joins <- relay.Attach(ctx, "host", down, down) }()
	if err := host.JoinConn(ctx, up, up); err != nil {
		t.Fatal(err)
	}
	if err := <-joins; err != nil {
		t.Fatal(err)
	}
	engine, err := sluicegate.NewEngine(options)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	peer, err := relay.Caller(ctx, engine)
	if err != nil {
		t.Fatal(err)
	}
	for cap, want := range map[string]error{chatterCap + ";more=yes": nil, chatterCap: sluicegate.ErrNoHandler, "cap:panics": sluicegate.ErrNoHandler} {
		call, err := peer.Call(ctx, cap)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := call.Wait(ctx); !errors.Is(err, want) {
			t.Errorf("%s: %v", cap, err)
		}
	}
}
