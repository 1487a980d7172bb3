package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/sluicegate/sluicegate/go"
)

// A plan is what produce and two read.
type plan struct {
	Chunks *uint64 `json:"chunks"`
	Size   *int    `json:"size"`
}

// readPlan reads the first value: the work starts before the input ends.
func readPlan(ctx context.Context, r *sluicegate.Request) (plan, error) {
	var p plan
	in, err := r.Input(ctx)
	if err != nil {
		return p, err
	}
	item, err := in.Recv(ctx)
	if err != nil {
		return p, wrong("there is no plan: %v", err)
	}
	text, ok := item.Value.Bytes()
	if !ok {
		return p, wrong("the plan is %s, not a byte string of JSON", item.Value)
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return p, wrong("the plan %q: %v", text, err)
	}
	if p.Chunks == nil || p.Size != nil && *p.Size < 0 {
		return p, wrong(`the plan %q is not {"chunks":N} or {"chunks":N,"size":S}`, text)
	}
	return p, nil
}

func wrong(format string, args ...any) error {
	return &sluicegate.Error{
		Kind: sluicegate.ErrInvalidArgument, Class: sluicegate.ClassInput, Message: fmt.Sprintf(format, args...),
	}
}

// produce emits the integers from 0, or byte strings of a known pattern.
func produce(ctx context.Context, r *sluicegate.Request) error {
	p, err := readPlan(ctx, r)
	if err != nil {
		return err
	}
	if p.Size == nil {
		return integers(ctx, r.Output(), *p.Chunks)
	}
	chunk, at := make([]byte, *p.Size), uint64(0)
	for range *p.Chunks {
		for i := range chunk {
			chunk[i] = byte((at*31 + 7) % 251)
			at++
		}
		if _, err := r.Output().WriteContext(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

func integers(ctx context.Context, out *sluicegate.OutputStream, n uint64) error {
	for i := range n {
		if err := out.Emit(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// forever emits integers without end from a goroutine of its own, until the request is cancelled.
func forever(ctx context.Context, r *sluicegate.Request) error {
	if err := r.Output().Start(sluicegate.StartOptions{Unbounded: true}); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func(out *sluicegate.StreamSender) {
		for i := uint64(0); ; i++ {
			if err := out.Emit(ctx, i); err != nil {
				ended <- err
				return
			}
		}
	}(r.Sender())
	return <-ended
}

// two counts on two outputs at once.
func two(ctx context.Context, r *sluicegate.Request) error {
	p, err := readPlan(ctx, r)
	if err != nil {
		return err
	}
	other, err := r.OutputFor(second)
	if err != nil {
		return err
	}
	var both sync.WaitGroup
	var failures [2]error
	for i, out := range []*sluicegate.OutputStream{r.Output(), other} {
		both.Add(1)
		go func() {
			defer both.Done()
			failures[i] = integers(ctx, out, *p.Chunks)
		}()
	}
	both.Wait()
	return errors.Join(failures[:]...)
}
