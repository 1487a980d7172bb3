package sluicegate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"time"

	"github.com/sluicegate/sluicegate/go"
)

// A sender takes credit before each chunk; the receiver grants it back as it consumes.
// A source that is never held up, and a consumer that is told what it missed.
func ExampleFeed() {
	ctx := context.Background()
	feed, err := sluicegate.NewFeed(sluicegate.FeedOptions{Capacity: 2})
	if err != nil {
		log.Fatal(err)
	}
	defer feed.Close()
	for n := range 5 { // nobody reads meanwhile
		if err := feed.PushValue(n, time.Duration(n)*time.Millisecond); err != nil {
			log.Fatal(err)
		}
	}
	feed.Stop()
	for item, err := range feed.Items(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		meta, _ := item.FeedMeta()
		if meta.Gap != nil {
			fmt.Println(meta.Gap.Dropped, "lost")
		}
		fmt.Println("item", meta.Seq)
	}
	// Output:
	// 3 lost
	// item 3
	// item 4
}

func Example() {
	ctx := context.Background()
	gate := sluicegate.NewGate(4)     // the sender's side
	window := sluicegate.NewWindow(4) // the receiver's side
	wire := make(chan string, 4)      // room for what was granted, so it never blocks

	go func() {
		defer close(wire)
		for i := range 6 {
			if err := gate.Acquire(ctx, 1); err != nil {
				return
			}
			wire <- fmt.Sprint("chunk ", i)
		}
	}()
	for chunk := range wire {
		if err := window.Arrive(); err != nil {
			log.Fatal(err)
		}
		fmt.Println(chunk)
		if grant := window.Consumed(); grant > 0 {
			gate.Grant(grant)
		}
	}
	// Output:
	// chunk 0
	// chunk 1
	// chunk 2
	// chunk 3
	// chunk 4
	// chunk 5
}

func ExampleGate_Acquire() {
	gate := sluicegate.NewGate(0)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	err := gate.Acquire(ctx, 1)
	fmt.Println(errors.Is(err, sluicegate.ErrTimedOut), errors.Is(err, context.DeadlineExceeded))

	gate.Close("the other end hung up")
	err = gate.Acquire(context.Background(), 1)
	var why *sluicegate.Error
	fmt.Println(errors.Is(err, sluicegate.ErrClosed), errors.As(err, &why), why.Code)
	// Output:
	// true true
	// true true the other end hung up
}

func ExampleRouter() {
	router := sluicegate.NewRouter()
	gate := sluicegate.NewGate(0)
	if err := router.Register("request 7", sluicegate.Named("body"), gate); err != nil {
		log.Fatal(err)
	}
	fmt.Println(router.Grant("request 7", sluicegate.Unnamed, 3), gate.Available())
	fmt.Println(router.Grant("request 7", sluicegate.Named("other"), 3), gate.Available())
	router.CloseRequest("request 7", "END")
	fmt.Println(gate.Reason())
	// Output:
	// Granted 3
	// NoStream 3
	// END
}

// A cartridge that turns ASCII letters into capitals.
func ExampleCartridge() {
	upper := func(ctx context.Context, r *sluicegate.Request) error {
		in, err := r.Input(ctx)
		if err != nil {
			return err
		}
		for chunk, err := range in.Chunks(ctx) {
			if err != nil {
				return err
			}
			if _, err := r.Output().Write(bytes.ToUpper(chunk)); err != nil {
				return err
			}
		}
		return nil
	}
	cartridge := sluicegate.NewCartridge(sluicegate.Manifest{Name: "upper", Version: "1.0.0"})
	cartridge.HandleFunc("cap:upper;in=media:blob;out=media:blob", upper)

	// A program calls cartridge.Main(). Here a host in this process is at the other end.
	ctx := context.Background()
	toCartridge, hostWrites := io.Pipe()
	hostReads, fromCartridge := io.Pipe()
	go func() {
		if err := cartridge.ServeConn(ctx, toCartridge, fromCartridge); err != nil {
			log.Print(err)
		}
	}()

	engine, err := sluicegate.NewEngine(sluicegate.EngineOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	peer, err := engine.Attach(ctx, hostReads, hostWrites)
	if err != nil {
		log.Fatal(err)
	}
	call, err := peer.Call(ctx, "cap:upper;in=media:blob;out=media:blob")
	if err != nil {
		log.Fatal(err)
	}
	in, err := call.Input("media:blob")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprint(in, "hello, ")
	fmt.Fprint(in, "world")
	if err := call.FinishInput(ctx); err != nil {
		log.Fatal(err)
	}
	out, err := call.Output(ctx)
	if err != nil {
		log.Fatal(err)
	}
	text, err := out.ReadAll(ctx)
	fmt.Printf("%s %v\n", text, err)
	// Output:
	// HELLO, WORLD <nil>
}
