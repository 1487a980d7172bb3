package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/sluicegate/sluicegate/go"
)

// The test binary is the cartridge too.
func TestMain(m *testing.M) {
	if os.Getenv("FC_SERVE") != "" {
		main()
	}
	os.Exit(m.Run())
}

type host struct {
	*testing.T
	ctx  context.Context
	peer *sluicegate.Peer
}

func start(t *testing.T) host {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	t.Cleanup(cancel)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	engine, err := sluicegate.NewEngine(sluicegate.EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	peer, err := engine.Spawn(ctx, sluicegate.Command{Program: self, Env: []string{"FC_SERVE=1", "SLOW_MS=1"}})
	if err != nil {
		t.Fatal(err)
	}
	return host{t, ctx, peer}
}

// begin calls a cap with values.
func (h host) begin(cap, media string, values ...any) *sluicegate.Call {
	h.Helper()
	call, err := h.peer.Call(h.ctx, cap)
	if err != nil {
		h.Fatal(err)
	}
	in, err := call.Input(media)
	if err != nil {
		h.Fatal(err)
	}
	go func() {
		for _, v := range values {
			if err := errors.Join(in.Emit(h.ctx, v), in.Flush(h.ctx)); err != nil {
				return // the call says why
			}
		}
		_ = call.FinishInput(h.ctx)
	}()
	return call
}

func (h host) output(call *sluicegate.Call) *sluicegate.InputStream {
	h.Helper()
	out, err := call.Output(h.ctx)
	if err != nil {
		h.Fatal(err)
	}
	return out
}

func (h host) text(call *sluicegate.Call) string {
	h.Helper()
	text, err := h.output(call).ReadAll(h.ctx)
	if err != nil {
		h.Fatal(err)
	}
	return string(text)
}

func TestCapsThatAnswerBytes(t *testing.T) {
	h := start(t)
	pattern := make([]byte, 3000)
	for i := range pattern {
		pattern[i] = byte((i*31 + 7) % 251)
	}
	sum := sha256.Sum256([]byte("one two"))
	for _, test := range []struct {
		cap, media string
		values     []any
		want       string
	}{
		{"cap:fc-produce;in=media:json;out=media:blob", "media:json", []any{[]byte(`{"chunks":3,"size":1000}`)}, string(pattern)},
		{"cap:fc-sink;in=media:blob;out=media:json", "media:blob", []any{1, "a", []byte("b")}, "3"},
		{"cap:fc-slow;in=media:blob;out=media:json", "media:blob", []any{1, 2}, "2"},
		{"cap:fc-digest;in=media:blob;out=media:json", "media:blob", []any{[]byte("one "), "two"}, `{"bytes":7,"chunks":2,"sha256":"` + hex.EncodeToString(sum[:]) + `"}`},
		{"cap:rot13;in=media:blob;out=media:blob", "media:blob", []any{[]byte("Hello, "), []byte("World: az{@[")}, "Uryyb, Jbeyq: nm{@["},
	} {
		if got := h.text(h.begin(test.cap, test.media, test.values...)); got != test.want {
			t.Errorf("%s: got %q, want %q", test.cap, got, test.want)
		}
	}
}

func TestEchoAndItems(t *testing.T) {
	h := start(t)
	values := []any{1, -1, "text", []byte("bytes"), nil, []any{true, 1.5}, map[string]any{"a": 1}}
	items, err := h.output(h.begin("cap:fc-echo;in=media:blob;out=media:blob", "media:blob", values...)).ReadItems(h.ctx)
	if err != nil || len(items) != len(values) {
		t.Fatalf("got %v, %v", items, err)
	}
	for i, v := range values {
		if want, _ := sluicegate.Encode(v); !bytes.Equal(items[i].Value, want) {
			t.Errorf("sent %s, got %s", want, items[i].Value)
		}
	}
	call, err := h.peer.Call(h.ctx, "cap:fc-items;in=media:items;out=media:items")
	if err != nil {
		t.Fatal(err)
	}
	in, err := call.Input("media:items")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(in.EmitItem(h.ctx, "x", map[string]any{"n": 1}), in.EmitItem(h.ctx, "y", nil), call.FinishInput(h.ctx)); err != nil {
		t.Fatal(err)
	}
	items, err = h.output(call).ReadItems(h.ctx)
	if got := fmt.Sprint(items); err != nil || got != `[{"x" {"n": 1}} {"y" (no value)}]` {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestTwoCountsTwice(t *testing.T) {
	h := start(t)
	call := h.begin("cap:fc-two;in=media:json;out=media:blob", "media:json", []byte(`{"chunks":100}`))
	counts := make(chan error, 2)
	for range 2 {
		out, err := call.NextOutput(h.ctx)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			next := uint64(0)
			for item, err := range out.Items(h.ctx) {
				var got uint64
				if err = errors.Join(err, item.Value.Unmarshal(&got)); err != nil || got != next {
					counts <- fmt.Errorf("%s: got %d, %v; want %d", out.Info().Output, got, err, next)
					return
				}
				next++
			}
			if next != 100 {
				counts <- fmt.Errorf("%s: %d values", out.Info().Output, next)
				return
			}
			counts <- nil
		}()
	}
	for range 2 {
		if err := <-counts; err != nil {
			t.Error(err)
		}
	}
}

func TestForeverEndsWithItsReader(t *testing.T) {
	h := start(t)
	call := h.begin("cap:fc-forever;in=media:blob;out=media:blob", "media:blob")
	out := h.output(call)
	for next := range uint64(1000) {
		item, err := out.Recv(h.ctx)
		if err != nil || item.Value.String() != fmt.Sprint(next) {
			t.Fatalf("got %v, %v; want %d", item, err, next)
		}
	}
	out.Cancel()
	if _, err := call.Wait(h.ctx); !errors.Is(err, sluicegate.ErrCancelled) {
		t.Errorf("got %v", err)
	}
}

func TestWhatMultiAndStderrTell(t *testing.T) {
	h := start(t)
	call := h.begin("cap:fc-multi;in=media:blob;out=media:text", "media:blob")
	texts := map[string]string{}
	for out, err := range call.Outputs(h.ctx) {
		if err != nil {
			t.Fatal(err)
		}
		text, err := out.ReadText(h.ctx)
		if err != nil {
			t.Fatal(err)
		}
		texts[out.Info().Output.String()] = text
	}
	if got := fmt.Sprint(texts); got != `map["media:second":second unnamed:main]` {
		t.Errorf("got %s", got)
	}
	end, err := call.Wait(h.ctx)
	if err != nil || end != (sluicegate.Terminal{Progress: 0.9, Message: "done"}) {
		t.Errorf("got %+v, %v", end, err)
	}
	text, err := h.output(h.begin("cap:fc-stderr;in=media:blob;out=media:text", "media:blob")).ReadText(h.ctx)
	if err != nil || text != "done" || len(h.peer.StderrTail()) == 0 {
		t.Errorf("got %q, %v, and %d bytes of standard error", text, err, len(h.peer.StderrTail()))
	}
}

func TestAWrongPlanIsTheCallersFault(t *testing.T) {
	h := start(t)
	for _, plan := range []any{1, []byte("x"), []byte("{}"), []byte(`{"chunks":-1}`)} {
		_, err := h.begin("cap:fc-produce;in=media:json;out=media:blob", "media:json", plan).Wait(h.ctx)
		var why *sluicegate.Error
		if !errors.As(err, &why) || why.Class != sluicegate.ClassInput {
			t.Errorf("%v: got %v", plan, err)
		}
	}
}
