package sluicegate_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluicegate/go"
	"github.com/sluicegate/sluicegate/go/internal/leaktest"
)

// The test binary is a cartridge too, for tests that need a process: see spawn.
func TestMain(m *testing.M) {
	switch os.Getenv("SLUICEGATE_TEST_CARTRIDGE") {
	case "":
		os.Exit(leaktest.Main(m))
	case "serve":
		testCartridge().Main()
	case "exit":
		fmt.Fprintln(os.Stderr, "no licence found")
		os.Exit(3)
	case "garbage":
		fmt.Println("hello, I print on standard output")
	}
}

const (
	echoCap    = "cap:echo;in=media:blob;out=media:blob"
	itemsCap   = "cap:items;in=media:items;out=media:items"
	countCap   = "cap:count;in=media:blob;out=media:blob"
	failCap    = "cap:fail;in=media:blob;out=media:blob"
	panicCap   = "cap:panic;in=media:blob;out=media:blob"
	holdCap    = "cap:hold;in=media:blob;out=media:blob"
	noCap      = "cap:none;in=media:blob;out=media:blob"
	tellCap    = "cap:tell;in=media:blob;out=media:text"
	askCap     = "cap:ask;in=media:void;out=media:blob"
	toldCap    = "cap:told;in=media:void;out=media:text"
	limitedCap = "cap:limited;in=media:blob;out=media:blob"
	foreverCap = "cap:forever;in=media:blob;out=media:blob"
	chatterCap = "cap:chatter;in=media:blob;out=media:blob"
)

// told is the code that holdCap was cancelled with, for toldCap to answer.
var told = make(chan string, 1)

// testCartridge serves what the tests call.
func testCartridge() *sluicegate.Cartridge {
	c := sluicegate.NewCartridge(sluicegate.Manifest{Name: "test", Version: "1.2.3", Description: "for tests"})
	c.HandleFunc(echoCap, func(ctx context.Context, r *sluicegate.Request) error {
		in, err := r.Input(ctx)
		if err != nil {
			return err
		}
		for item, err := range in.Items(ctx) {
			if err != nil {
				return err
			}
			if err := r.Output().Emit(ctx, item.Value); err != nil {
				return err
			}
		}
		return nil
	})
	c.Handle(sluicegate.Cap{URN: itemsCap, InputSequence: true, OutputSequence: true}, func(ctx context.Context, r *sluicegate.Request) error {
		in, err := r.Input(ctx)
		if err != nil {
			return err
		}
		for item, err := range in.Items(ctx) {
			if err != nil {
				return err
			}
			if err := r.Output().EmitItem(ctx, item.Value, item.Meta); err != nil {
				return err
			}
		}
		return nil
	})
	c.HandleFunc(countCap, func(ctx context.Context, r *sluicegate.Request) error {
		in, err := r.Input(ctx)
		if err != nil {
			return err
		}
		item, err := in.Recv(ctx)
		if err != nil {
			return err
		}
		var n uint64
		if err := item.Value.Unmarshal(&n); err != nil {
			return err
		}
		for i := range n {
			if err := r.Output().Emit(ctx, i); err != nil {
				return err
			}
		}
		return nil
	})
	c.HandleFunc(failCap, func(context.Context, *sluicegate.Request) error {
		return fmt.Errorf("reading the label: %w", &sluicegate.Error{
			Kind: sluicegate.ErrRemote, Code: "BAD_LABEL", Class: sluicegate.ClassInput, Message: "no such shelf",
		})
	})
	c.HandleFunc(panicCap, func(context.Context, *sluicegate.Request) error {
		var nobody *sluicegate.Item
		_ = nobody.Value
		return nil
	})
	c.HandleFunc(holdCap, func(ctx context.Context, r *sluicegate.Request) error {
		if err := r.Output().Emit(ctx, "ready"); err != nil {
			return err
		}
		<-ctx.Done()
		if reason := (*sluicegate.Error)(nil); errors.As(context.Cause(ctx), &reason) {
			select {
			case told <- reason.Code:
			default: // nobody asks
			}
		}
		if !errors.Is(context.Cause(ctx), sluicegate.ErrCancelled) {
			return fmt.Errorf("cancelled with %w", context.Cause(ctx))
		}
		return context.Cause(ctx)
	})
	c.Handle(sluicegate.Cap{URN: tellCap, Outputs: []sluicegate.CapOutput{{Media: "media:second"}}}, func(ctx context.Context, r *sluicegate.Request) error {
		second, err := r.OutputFor("media:second")
		if err != nil {
			return err
		}
		if _, err := r.OutputFor("media:third"); !errors.Is(err, sluicegate.ErrInvalidArgument) {
			return fmt.Errorf("an output that is not declared answers %v", err)
		}
		if err := errors.Join(
			r.Log("info", sluicegate.ClassResource, "half full"),
			r.Progress(0.5, "half done"),
			readAll(ctx, r),
			r.Output().Emit(ctx, "one"),
			second.Emit(ctx, "two"),
		); err != nil {
			return err
		}
		return r.Finish(ctx, 0.9, "enough")
	})
	c.HandleFunc(askCap, func(ctx context.Context, r *sluicegate.Request) error {
		call, err := r.Peer(ctx, "cap:nobody;in=media:blob;out=media:blob")
		if err != nil {
			return err
		}
		_, err = call.Wait(ctx)
		return errors.Join(readAll(ctx, r), r.Output().Emit(ctx, errors.Is(err, sluicegate.ErrNoHandler)))
	})
	c.HandleFunc(toldCap, func(ctx context.Context, r *sluicegate.Request) error {
		select {
		case code := <-told:
			return r.Output().Emit(ctx, code)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	c.HandleFunc(limitedCap, func(ctx context.Context, r *sluicegate.Request) error {
		in, err := r.Input(context.Background())
		if err != nil {
			return err
		}
		item, err := in.Recv(context.Background())
		if err != nil {
			return err
		}
		var limit time.Duration
		if err := errors.Join(item.Value.Unmarshal(&limit), r.Limit(limit)); err != nil {
			return err
		}
		for err == nil {
			_, err = in.Recv(context.Background())
		}
		return err
	})
	c.HandleFunc(chatterCap, func(ctx context.Context, r *sluicegate.Request) error {
		for range 3 { // of one megabyte that the caller keeps
			if err := r.Log("info", sluicegate.ClassUser, strings.Repeat("x", 700_000)); err != nil {
				return err
			}
		}
		return nil
	})
	c.Handle(sluicegate.Cap{URN: foreverCap, Streaming: true}, func(ctx context.Context, r *sluicegate.Request) error {
		if err := r.Output().Start(sluicegate.StartOptions{Unbounded: true, Meta: map[string]any{"from": "go"}}); err != nil {
			return err
		}
		out := r.Sender()
		for i := 0; ; i++ {
			if err := out.Emit(ctx, i); err != nil {
				return err
			}
		}
	})
	return c
}

// readAll reads all input of a request to its end: only then may it be over before its caller has said
// that the input is.
func readAll(ctx context.Context, r *sluicegate.Request) error {
	for in, err := range r.Inputs(ctx) {
		if err != nil {
			return err
		}
		for _, err := range in.Items(ctx) {
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// The transports that attach knows.
const (
	files   = "files"    // pipes of the system
	pipes   = "io.Pipe"  // readers and writers that are no files
	sockets = "socket"   // one connection for both directions, which can be half closed
	conns   = "net.Pipe" // one that cannot
)

// attach serves the test cartridge in this process and attaches it.
func attach(t *testing.T, limits sluicegate.Limits, transport string) *sluicegate.Peer {
	t.Helper()
	ctx := guarded(t)
	var toCartridge, hostReads io.Reader
	var hostWrites, fromCartridge io.Writer
	switch transport {
	case files:
		toCartridge, hostWrites = pipe(t)
		hostReads, fromCartridge = pipe(t)
	case pipes:
		toCartridge, hostWrites = io.Pipe()
		hostReads, fromCartridge = io.Pipe()
	case sockets:
		host, cartridge := socketPair(t)
		toCartridge, hostWrites, hostReads, fromCartridge = cartridge, host, host, cartridge
	case conns:
		host, cartridge := net.Pipe()
		toCartridge, hostWrites, hostReads, fromCartridge = cartridge, host, host, cartridge
	}
	served := make(chan error, 1)
	go func() { served <- testCartridge().ServeConn(ctx, toCartridge, fromCartridge) }()
	engine, err := sluicegate.NewEngine(sluicegate.EngineOptions{Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	peer, err := engine.Attach(ctx, hostReads, hostWrites)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
		select {
		case err := <-served:
			if err != nil {
				t.Errorf("the cartridge ended with %v", err)
			}
		case <-time.After(watchdog):
			t.Error("the cartridge does not end with its host")
		}
	})
	return peer
}

func socketPair(t *testing.T) (net.Conn, net.Conn) {
	t.Helper()
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	one, err := net.Dial("unix", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	other, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return one, other
}

func pipe(t *testing.T) (*os.File, *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return read, write
}

// spawn starts the test binary as a cartridge.
func spawn(t *testing.T, how string) (*sluicegate.Peer, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	engine, err := sluicegate.NewEngine(sluicegate.EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	return engine.Spawn(guarded(t), sluicegate.Command{
		Program: self, Env: []string{"SLUICEGATE_TEST_CARTRIDGE=" + how},
	})
}

// feed begins a call and hands its input to write, in a goroutine of its own.
func feed(t *testing.T, ctx context.Context, peer *sluicegate.Peer, cap string, write func(*sluicegate.OutputStream) error) *sluicegate.Call {
	t.Helper()
	call, err := peer.Call(ctx, cap)
	if err != nil {
		t.Fatal(err)
	}
	in, err := call.Input("media:blob")
	if err != nil {
		t.Fatal(err)
	}
	fed := make(chan error, 1)
	go func() {
		if err := write(in); err != nil {
			fed <- err
			return
		}
		fed <- call.FinishInput(ctx)
	}()
	t.Cleanup(func() {
		select {
		case err := <-fed:
			if err != nil && call.Err() == nil {
				t.Errorf("feeding %s: %v", cap, err)
			}
		case <-time.After(watchdog):
			t.Errorf("feeding %s does not end", cap)
		}
	})
	return call
}

// output answers the main output of a call.
func output(t *testing.T, ctx context.Context, call *sluicegate.Call) *sluicegate.InputStream {
	t.Helper()
	out, err := call.Output(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
