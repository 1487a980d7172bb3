package sluicegate

import "github.com/sluicegate/sluicegate/go/internal/capi"

// A Window is the receiver's side of one stream: the chunks it has promised room for, and what it
// owes the sender (L10).
//
// Any number of goroutines may use a Window at once; each step is atomic, so concurrent consumers
// never grant twice. Nothing waits. A grant of 0 means: send nothing. Any other must be sent, since
// the window counts it as sent.
type Window struct{ core *capi.Window }

// NewWindow opens a window of size chunks that makes a grant due for each half of it consumed.
func NewWindow(size uint64) *Window { return &Window{capi.NewWindow(size)} }

// NewWindowBatch opens a window whose grants are due after batch chunks. The batch is held between
// 1 and half the size, so that it can never stall the sender.
func NewWindowBatch(size, batch uint64) *Window { return &Window{capi.NewWindowBatch(size, batch)} }

// Arrive notes that a chunk has come. It answers an [*Error] of kind [ErrCreditViolation], and
// leaves the window as it was, if no credit was left for it (L12): do not deliver that chunk.
func (w *Window) Arrive() error { return fromCore(w.core.Arrive()) }

// Consumed notes that a chunk was consumed and answers the grant now due, in chunks. Call it once
// for each accepted chunk that was not Continued.
func (w *Window) Consumed() uint64 { return w.core.Consumed() }

// Flush answers everything that is pending, in chunks, to be sent before any wait (L10).
func (w *Window) Flush() uint64 { return w.core.Flush() }

// Continued gives a chunk that only continues an item back at once, alone: it answers 1.
func (w *Window) Continued() uint64 { return w.core.Continued() }

// Remaining answers how many chunks may still arrive.
func (w *Window) Remaining() uint64 { return w.core.Remaining() }

// Pending answers how many chunks were consumed and not granted back yet.
func (w *Window) Pending() uint64 { return w.core.Pending() }

// Batch answers how many consumed chunks make a grant due.
func (w *Window) Batch() uint64 { return w.core.Batch() }

// Size answers the window that this was opened with, in chunks.
func (w *Window) Size() uint64 { return w.core.Size() }

// Negotiate answers what two ends agree on for a window or limit: the smaller proposal, or false if
// either proposes zero.
func Negotiate(ours, theirs uint64) (uint64, bool) { return capi.Negotiate(ours, theirs) }
