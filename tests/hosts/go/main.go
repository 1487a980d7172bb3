// The reference host in Go: tests/hosts/README.md says what it does.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluicegate/sluicegate/go"
)

// order is the command line.
type order struct {
	cartridge, cap      string
	chunks, size, calls int
	cancelAfter         time.Duration
	cancels             bool
}

func readOrder(arguments []string) (order, bool) {
	if len(arguments) != 5 && len(arguments) != 6 {
		return order{}, false
	}
	numbers := make([]int, 0, 4)
	for _, text := range arguments[2:] {
		number, err := strconv.Atoi(text)
		if err != nil || number < 0 {
			return order{}, false
		}
		numbers = append(numbers, number)
	}
	o := order{
		cartridge: arguments[0], cap: arguments[1],
		chunks: numbers[0], size: numbers[1], calls: numbers[2],
	}
	if len(numbers) == 4 {
		o.cancels, o.cancelAfter = true, time.Duration(numbers[3])*time.Millisecond
	}
	return o, true
}

// command is a program, or a command line of plain words.
func command(line string) sluicegate.Command {
	words := strings.Fields(line)
	if _, err := os.Stat(line); err == nil || len(words) == 0 {
		return sluicegate.Command{Program: line}
	}
	return sluicegate.Command{Program: words[0], Args: words[1:]}
}

// argument is the media of the cap's argument, from its URN.
func argument(urn string) string {
	for _, part := range strings.Split(urn, ";") {
		if media, ok := strings.CutPrefix(part, "in="); ok {
			return media
		}
	}
	return "media:blob"
}

// send sends everything. Why it could not is seen at the end of the call.
func send(ctx context.Context, call *sluicegate.Call, o order) error {
	stream, err := call.Input(argument(o.cap))
	if err != nil {
		return err
	}
	period := make([]byte, 251)
	for i := range period {
		period[i] = byte((i*31 + 7) % 251)
	}
	pattern := bytes.Repeat(period, o.size/251+2)
	for chunk := range o.chunks {
		start := chunk * o.size % 251
		if _, err := stream.WriteContext(ctx, pattern[start:start+o.size]); err != nil {
			return err
		}
	}
	return call.FinishInput(ctx)
}

// length is how many bytes of content a value is: of a string its own, of anything else none.
func length(value sluicegate.Value) int {
	if content, ok := value.Bytes(); ok {
		return len(content)
	}
	text, _ := value.Text()
	return len(text)
}

// receive answers how many bytes came. With HOST_STATS, what both ends say of the connection goes there:
// the host once a value has come, the cartridge in what comes after that.
func receive(ctx context.Context, call *sluicegate.Call, peer *sluicegate.Peer) (int, error) {
	output, err := call.Output(ctx)
	if err != nil {
		return 0, err
	}
	total, told := 0, []byte(nil)
	for item, err := range output.Items(ctx) {
		if err != nil {
			return total, err
		}
		total += length(item.Value)
		if told == nil {
			told = append(peer.StatsJSON(), '\n')
		} else if content, ok := item.Value.Bytes(); ok {
			told = append(told, content...)
		}
	}
	if path := os.Getenv("HOST_STATS"); path != "" {
		return total, os.WriteFile(path, told, 0o600)
	}
	return total, nil
}

// once is one call; it answers how many bytes came.
func once(ctx context.Context, peer *sluicegate.Peer, o order) (int, error) {
	call, err := peer.Call(ctx, o.cap)
	if err != nil {
		return 0, err
	}
	if o.cancels {
		alarm := time.AfterFunc(o.cancelAfter, func() {
			call.Cancel(&sluicegate.Error{
				Kind: sluicegate.ErrCancelled, Code: "CANCELLED", Class: sluicegate.ClassUser,
				Message: "the host was told to cancel",
			})
		})
		defer alarm.Stop()
	}
	var sending sync.WaitGroup
	sending.Add(1)
	go func() {
		defer sending.Done()
		_ = send(ctx, call, o)
	}()
	defer sending.Wait()
	received, receiving := receive(ctx, call, peer)
	// How the call ended explains best.
	if _, err := call.Wait(ctx); err != nil {
		return 0, err
	}
	return received, receiving
}

// tell prints the line of one call.
func tell(received int, err error) {
	if err == nil {
		fmt.Printf("{\"ok\":true,\"bytes\":%d}\n", received)
		return
	}
	line := struct {
		OK      bool   `json:"ok"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}{Message: err.Error()}
	var known *sluicegate.Error
	if errors.As(err, &known) {
		line.Code, line.Message = known.Code, known.Message
	}
	text, _ := json.Marshal(line)
	fmt.Println(string(text))
}

func run() int {
	o, ok := readOrder(os.Args[1:])
	if !ok {
		fmt.Fprintln(os.Stderr, "usage: HOST CARTRIDGE CAP CHUNKS SIZE CALLS [CANCEL_MS]")
		return 2
	}
	ctx := context.Background()
	engine, err := sluicegate.NewEngine(sluicegate.EngineOptions{})
	if err != nil {
		tell(0, err)
		return 1
	}
	defer engine.Close()
	peer, err := engine.Spawn(ctx, command(o.cartridge))
	if err != nil {
		tell(0, err)
		return 1
	}
	defer peer.Close(ctx) // waits until it is gone
	for range o.calls {
		tell(once(ctx, peer, o))
	}
	return 0
}

func main() { os.Exit(run()) }
