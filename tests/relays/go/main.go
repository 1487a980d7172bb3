// The reference relay in Go: tests/relays/README.md says what it does.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/sluicegate/sluicegate/go"
)

// command is a program, or a command line of plain words.
func command(line string) sluicegate.Command {
	words := strings.Fields(line)
	if _, err := os.Stat(line); err == nil || len(words) == 0 {
		return sluicegate.Command{Program: line}
	}
	return sluicegate.Command{Program: words[0], Args: words[1:]}
}

// join connects the host to the switch. Both have shaken hands once it returns without an error.
func join(ctx context.Context, host *sluicegate.Host, relay *sluicegate.Switch) error {
	hostIn, relayOut, err := os.Pipe()
	if err != nil {
		return err
	}
	relayIn, hostOut, err := os.Pipe()
	if err != nil {
		return err
	}
	attached := make(chan error, 1)
	go func() { attached <- relay.Attach(ctx, "host", relayIn, relayOut) }()
	return errors.Join(host.JoinConn(ctx, hostIn, hostOut), <-attached)
}

// A watched reader says when there is no more to read.
type watched struct {
	io.Reader
	ended func()
}

func (w watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if err != nil {
		w.ended()
	}
	return n, err
}

func run(ctx context.Context, place string, cartridges []string) error {
	relay, err := sluicegate.NewSwitch(sluicegate.SwitchOptions{})
	if err != nil {
		return err
	}
	defer relay.Close()
	host, err := sluicegate.NewHost(sluicegate.HostOptions{})
	if err != nil {
		return err
	}
	defer host.Close()
	for _, line := range cartridges {
		if err := host.Add(ctx, command(line)); err != nil {
			return err
		}
	}
	if err := join(ctx, host, relay); err != nil {
		return err
	}
	control, err := relay.ServeControl(place)
	if err != nil {
		return err
	}
	defer control.Close()
	gone := make(chan struct{})
	input := watched{os.Stdin, sync.OnceFunc(func() { close(gone) })}
	if err := relay.Attach(ctx, "caller", input, os.Stdout); err != nil {
		return err
	}
	<-gone
	return nil
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: RELAY CONTROL CARTRIDGE [CARTRIDGE …]")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "relay: %v\n", err)
		os.Exit(1)
	}
}
