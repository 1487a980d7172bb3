package main

import (
	"context"
	"os"

	"github.com/sluicegate/sluicegate/go"
)

// peer calls another cap with what came, and answers what that answers.
func peer(ctx context.Context, r *sluicegate.Request) error {
	in, err := r.Input(ctx)
	if err != nil {
		return err
	}
	var data []byte
	for chunk, err := range in.Chunks(ctx) {
		if err != nil {
			return err
		}
		data = append(data, chunk...)
	}
	urn := os.Getenv("FC_PEER_CAP")
	if urn == "" {
		urn = "cap:fc-echo;in=media:blob;out=media:blob"
	}
	call, err := r.Peer(ctx, urn)
	if err != nil {
		return err
	}
	asked := make(chan error, 1)
	go func() { asked <- ask(ctx, call, data) }()
	answer, err := call.Output(ctx)
	if err != nil {
		return err
	}
	out := r.Output()
	for item, err := range answer.Items(ctx) {
		if err != nil {
			return err
		}
		if err := out.Emit(ctx, item.Value); err != nil {
			return err
		}
	}
	if _, err := call.Wait(ctx); err != nil {
		return err
	}
	return <-asked
}

// ask sends the argument of a call.
func ask(ctx context.Context, call *sluicegate.Call, data []byte) error {
	argument, err := call.Input("media:blob")
	if err != nil {
		return err
	}
	if _, err := argument.WriteContext(ctx, data); err != nil {
		return err
	}
	return call.FinishInput(ctx)
}
