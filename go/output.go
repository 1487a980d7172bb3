package sluicegate

import (
	"context"
	"io"
	"time"

	"github.com/sluicegate/sluicegate/go/internal/capi"
)

// pieceSize is how much of a write is handed to core at once, in bytes: it bounds what core copies.
const pieceSize = 256 << 10

// An OutputStream is a stream that this program writes. Every chunk takes one credit (L9), so a
// call waits while the reader at the other end has granted none; the end of the request releases it
// with the reason (L13).
//
// Any number of goroutines may write; each value, item and write of up to 256 KiB is whole and in
// order. The first emission starts the stream in the mode of that call: Write and Emit are for
// [Scalar] streams, EmitItem for [Sequence] streams, and a stream does not mix them
// ([ErrWrongMode]).
type OutputStream struct {
	core *capi.Output
	call *capi.Call // kept alive for its context
}

var (
	_ io.WriteCloser  = (*OutputStream)(nil)
	_ io.StringWriter = (*OutputStream)(nil)
)

// Info answers what is known of the stream: its name and media.
func (s *OutputStream) Info() StreamInfo { return infoFromCore(s.core.Info()) }

// Stats answers what has passed so far.
func (s *OutputStream) Stats() StreamStats { return statsFromCore(s.core.Stats()) }

// Start begins the stream with options: once, before the first emission. It never waits.
func (s *OutputStream) Start(options StartOptions) error {
	meta, err := optional(options.Meta)
	if err != nil {
		return err
	}
	return fromCore(s.core.Start(uint8(options.Mode), options.Unbounded, meta))
}

// Write implements [io.Writer]: WriteContext without a limit. It ends when the request does.
func (s *OutputStream) Write(b []byte) (int, error) { return s.WriteContext(context.Background(), b) }

// WriteString implements [io.StringWriter]: the bytes of text, as Write sends them.
func (s *OutputStream) WriteString(text string) (int, error) { return s.Write([]byte(text)) }

// WriteContext sends bytes on a scalar stream. Small writes are coalesced: Flush sends what is held
// back. It answers how many bytes were taken; where ctx ended in the middle, of the next 256 KiB a
// part may have been sent. b may be used again once it returns.
func (s *OutputStream) WriteContext(ctx context.Context, b []byte) (int, error) {
	return write(ctx, b, s.core.WriteOp)
}

// Emit sends one value on a scalar stream: whatever [Encode] takes, or a [Value] as it is. A []byte
// is a write; any other value is one chunk, of a text at least one.
func (s *OutputStream) Emit(ctx context.Context, v any) error {
	value, err := Encode(v)
	if err != nil {
		return err
	}
	return finish(ctx, s.core.EmitOp(value))
}

// EmitItem sends one item on a sequence stream, with its metadata: anything that encodes as a map,
// or nil. An item may be larger than a chunk and wider than the window. An item that is given up in
// its middle, because ctx ended, breaks the stream.
func (s *OutputStream) EmitItem(ctx context.Context, v, meta any) error {
	return emitItem(ctx, v, meta, s.core.EmitItemOp)
}

// Limit allows the stream so much time from now until it is closed. Then its request ends with
// [ErrTimedOut], whatever is waited for: credit, room on the link, or nothing just now; the error says
// which, and the other end is told. The last limit that was set counts; zero is at once, a negative one
// is none. It never waits. For a whole call, use the deadline of its context.
func (s *OutputStream) Limit(limit time.Duration) error { return fromCore(s.core.Limit(millis(limit))) }

// Flush sends what small writes have left behind, waiting for credit until ctx ends.
func (s *OutputStream) Flush(ctx context.Context) error { return finish(ctx, s.core.FlushOp()) }

// Close implements [io.Closer]: CloseContext without a limit. It ends when the request does.
func (s *OutputStream) Close() error { return s.CloseContext(context.Background()) }

// CloseContext flushes and ends the stream; the reader sees a clean end. A stream may be closed
// again, and by several goroutines at once. The end itself needs no credit. A cartridge's outputs
// are closed when its handler returns.
func (s *OutputStream) CloseContext(ctx context.Context) error { return finish(ctx, s.core.CloseOp()) }

// Sender answers a detached emitter of this stream.
func (s *OutputStream) Sender() *StreamSender { return &StreamSender{s.core.Sender()} }

// A StreamSender emits on a stream from wherever it is: it can be handed to goroutines that outlive
// the handler's call. It cannot close the stream. Once the request has ended, every call answers an
// [*Error] with the reason. Any number of goroutines may use one.
type StreamSender struct{ core *capi.Sender }

var _ io.Writer = (*StreamSender)(nil)

// Write implements [io.Writer]; see [OutputStream.Write].
func (s *StreamSender) Write(b []byte) (int, error) { return s.WriteContext(context.Background(), b) }

// WriteContext sends bytes; see [OutputStream.WriteContext].
func (s *StreamSender) WriteContext(ctx context.Context, b []byte) (int, error) {
	return write(ctx, b, s.core.WriteOp)
}

// Emit sends one value; see [OutputStream.Emit].
func (s *StreamSender) Emit(ctx context.Context, v any) error {
	value, err := Encode(v)
	if err != nil {
		return err
	}
	return finish(ctx, s.core.EmitOp(value))
}

// EmitItem sends one item; see [OutputStream.EmitItem].
func (s *StreamSender) EmitItem(ctx context.Context, v, meta any) error {
	return emitItem(ctx, v, meta, s.core.EmitItemOp)
}

// Flush sends what small writes have left behind; see [OutputStream.Flush].
func (s *StreamSender) Flush(ctx context.Context) error { return finish(ctx, s.core.FlushOp()) }

func write(ctx context.Context, b []byte, start func([]byte) *capi.Op) (int, error) {
	taken := 0
	for {
		piece := b[taken:min(len(b), taken+pieceSize)]
		if err := finish(ctx, start(piece)); err != nil {
			return taken, err
		}
		if taken += len(piece); taken == len(b) {
			return taken, nil
		}
	}
}

func emitItem(ctx context.Context, v, meta any, start func(value, meta []byte) *capi.Op) error {
	value, err := Encode(v)
	if err != nil {
		return err
	}
	encoded, err := optional(meta)
	if err != nil {
		return err
	}
	return finish(ctx, start(value, encoded))
}

// Forward moves every chunk of in to out without decoding it, closes out at the end, and answers
// how many chunks it moved. Credit is end to end (L10, L11): in's sender is granted what out's
// reader grants. It waits until in ends or ctx does.
func Forward(ctx context.Context, in *InputStream, out *OutputStream) (uint64, error) {
	return result(ctx, out.core.ForwardOp(in.core), (*capi.Op).TakeCount)
}
