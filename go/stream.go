package sluicegate

import (
	"time"

	"github.com/sluicegate/sluicegate/go/internal/capi"
)

// A Mode says what the chunks of a stream hold.
type Mode uint8

const (
	// Scalar: each chunk is one CBOR value. Byte strings have no boundaries of their own: readers
	// join their contents, writers coalesce small ones.
	Scalar = Mode(capi.Scalar)
	// Sequence: one CBOR value is one item, of any size, with metadata of its own.
	Sequence = Mode(capi.Sequence)
)

// String answers "scalar" or "sequence".
func (m Mode) String() string {
	if m == Sequence {
		return "sequence"
	}
	return "scalar"
}

// StreamInfo is what the start of a stream said about it.
type StreamInfo struct {
	// ID is the name of the stream within its request.
	ID StreamName
	// Media is the media URN, for example "media:blob".
	Media string
	// Output names an output that is not the request's main one; absent on the main output and on
	// inputs.
	Output StreamName
	// Mode says what the chunks hold.
	Mode Mode
	// Unbounded streams promise no end (L16).
	Unbounded bool
	// Meta is the metadata of the stream, a map, or nil.
	Meta Value
}

// StreamStats counts what one end of a stream has done so far.
type StreamStats struct {
	// Chunks and Bytes passed this end; bytes are payload.
	Chunks, Bytes uint64
	// Window is what is left of the window, in chunks.
	Window uint64
	// InitialCredit is the window the stream was opened with, in chunks.
	InitialCredit uint64
	// Stalled is how long this end has waited for the other.
	Stalled time.Duration
	// Ended is true once the stream has ended.
	Ended bool
}

// An Item is what a stream hands over: one value, and its metadata.
type Item struct {
	// Value is one CBOR value.
	Value Value
	// Meta is the item's metadata, a map, or nil.
	Meta Value
}

// StartOptions says how an output stream begins.
type StartOptions struct {
	// Mode is Scalar unless said otherwise.
	Mode Mode
	// Unbounded promises no end (L16): readers refuse to collect the stream.
	Unbounded bool
	// Meta is metadata of the stream: anything that encodes as a map, or nil.
	Meta any
}

func infoFromCore(info capi.StreamInfo) StreamInfo {
	return StreamInfo{
		ID:        StreamName{info.ID.Text, info.ID.Present},
		Media:     info.Media,
		Output:    StreamName{info.Output.Text, info.Output.Present},
		Mode:      Mode(info.Mode),
		Unbounded: info.Unbounded,
		Meta:      Value(info.Meta),
	}
}

func statsFromCore(stats capi.StreamStats) StreamStats {
	return StreamStats{
		Chunks:        stats.Chunks,
		Bytes:         stats.Bytes,
		Window:        stats.Window,
		InitialCredit: stats.InitialCredit,
		Stalled:       time.Duration(min(stats.StalledNanos, 1<<63-1)),
		Ended:         stats.Ended,
	}
}

// optional encodes metadata; nil stays nil.
func optional(meta any) (Value, error) {
	if meta == nil {
		return nil, nil
	}
	if value, ok := meta.(Value); ok && value == nil {
		return nil, nil
	}
	return Encode(meta)
}
