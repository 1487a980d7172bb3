package main

import (
	"context"

	"github.com/sluicegate/sluicegate/go"
)

// stats reads its argument, answers a window full of integers, and then what the cartridge says of itself.
func stats(c *sluicegate.Cartridge) sluicegate.HandlerFunc {
	return func(ctx context.Context, r *sluicegate.Request) error {
		in, err := r.Input(ctx)
		if err != nil {
			return err
		}
		for _, err := range in.Items(ctx) {
			if err != nil {
				return err
			}
		}
		out := r.Output()
		for n := range 32 { // a window full: what comes next waits for the host to have read
			if err := out.Emit(ctx, n); err != nil {
				return err
			}
		}
		_, err = out.WriteContext(ctx, c.StatsJSON())
		return err
	}
}
