package sluicegate

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/sluicegate/sluicegate/go/internal/capi"
)

// await asks op until it answers or ctx ends. It waits in a select on a channel that op's waker
// closes, so a goroutine that waits holds no thread.
//
// A context that was cancelled before the call takes nothing. One whose deadline has passed before
// the call makes it a try: a limit of zero means "do not wait".
func await(ctx context.Context, op *capi.Op) error {
	if err := ctx.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return contextError(ctx)
	}
	if answered, err := op.Try(); answered {
		return fromCore(err)
	}
	for ctx.Err() == nil {
		rung, answered, err := op.Poll() // rings at once if the answer came in between
		if answered {
			return fromCore(err)
		}
		select {
		case <-rung:
		case <-ctx.Done():
		}
	}
	return contextError(ctx)
}

// millis is a limit as core takes it: whole milliseconds, rounded up, negative for none.
func millis(limit time.Duration) int64 {
	if limit < 0 {
		return -1
	}
	return int64((limit + min(time.Millisecond-1, math.MaxInt64-limit)) / time.Millisecond)
}

// finish is await for an operation with no result; it releases op, which gives up the place in line
// if there was no answer.
func finish(ctx context.Context, op *capi.Op) error {
	defer op.Release()
	return await(ctx, op)
}

// result is await for an operation with a result that take fetches.
func result[T any](ctx context.Context, op *capi.Op, take func(*capi.Op) (T, *capi.Error)) (T, error) {
	defer op.Release()
	if err := await(ctx, op); err != nil {
		var zero T
		return zero, err
	}
	value, err := take(op)
	return value, fromCore(err)
}
