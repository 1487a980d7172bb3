package sluicegate

import (
	"context"
	"errors"

	"github.com/sluicegate/sluicegate/go/internal/capi"
)

// A Gate is a sender's credit for one stream, in chunks (L9). Take credit before each chunk that
// you send; the receiver grants it back as it consumes.
//
//   - Any number of goroutines may use a Gate at once.
//   - First come, first served: a large acquire is served before small ones that came later, and
//     TryAcquire does not overtake those who wait.
//   - A goroutine whose context ends takes nothing and lets the next one through.
//   - An acquire of more than the window can hold waits until grants have added up to it.
//   - Closing wakes everybody with the reason (L13).
//
// A goroutine that waits holds no thread. The credit itself is freed by the garbage collector;
// Close is about those who wait, not about memory.
type Gate struct{ core *capi.Gate }

// NewGate opens a gate with window chunks of credit. Zero is a legal gate.
func NewGate(window uint64) *Gate { return &Gate{capi.NewGate(window)} }

// TryAcquire takes n chunks if that needs no waiting. It reports false, and takes nothing, if there
// is not enough or if somebody stands in line. Of a closed gate it answers the reason, an [*Error].
func (g *Gate) TryAcquire(n uint64) (bool, error) {
	taken, err := g.core.TryAcquire(n)
	return taken, fromReason(err)
}

// Acquire takes n chunks, waiting for them until ctx ends (L9). Of a gate that is closed before it
// is this caller's turn it answers the reason, an [*Error]. When it answers an error, nothing was
// taken. A ctx whose deadline has passed already makes this a try.
func (g *Gate) Acquire(ctx context.Context, n uint64) error {
	if ctx.Err() == nil {
		if taken, err := g.core.TryAcquire(n); taken || err != nil {
			return fromReason(err)
		}
	}
	err := finish(ctx, g.core.AcquireOp(n))
	if errors.Is(err, ErrClosed) {
		return g.Reason()
	}
	return err
}

// Grant adds n chunks, up to 2^64-1, and serves those who wait. It does nothing to a closed gate.
func (g *Gate) Grant(n uint64) { g.core.Grant(n) }

// Close closes the gate: everyone who waits, and every later acquire, gets an [*Error] of kind
// [ErrClosed] with reason as its Code. The first reason stays; closing again does nothing. It
// reports whether this call closed the gate.
func (g *Gate) Close(reason string) bool { return g.core.Close(valid(reason)) }

// CloseWith is Close with any reason: an [*Error] as it is, another error as the message of one.
func (g *Gate) CloseWith(reason error) bool { return g.core.CloseWith(toCore(reason, ErrClosed)) }

// Available answers how many chunks could be taken now: a hint while others use the gate. It stays
// readable after Close.
func (g *Gate) Available() uint64 { return g.core.Available() }

// Waiting answers how many goroutines stand in line: a hint while others use the gate.
func (g *Gate) Waiting() uint64 { return g.core.Waiting() }

// Closed reports whether the gate is closed.
func (g *Gate) Closed() bool { return g.core.Reason() != nil }

// Reason answers why the gate was closed, an [*Error], or nil while it is open.
func (g *Gate) Reason() error { return fromReason(g.core.Reason()) }
