package sluicegate

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/sluicegate/sluicegate/go/internal/capi"
)

// Reader reads what is left of the stream as bytes: the contents of byte strings, joined. Any other
// value is an error of kind [ErrWrongMode]. ctx bounds every Read.
//
// The reader is an [io.WriterTo] too, so [io.Copy] hands each chunk over without a copy of its own.
// It is for one goroutine at a time. Bytes that it holds when it is dropped are lost.
func (s *InputStream) Reader(ctx context.Context) io.Reader {
	return &streamReader{ctx: ctx, stream: s}
}

type streamReader struct {
	ctx    context.Context
	stream *InputStream
	item   *capi.Item // what rest points into
	rest   []byte
	err    error
}

func (r *streamReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := r.fill(); err != nil {
		return 0, err
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	r.drained()
	return n, nil
}

// WriteTo implements [io.WriterTo].
func (r *streamReader) WriteTo(w io.Writer) (int64, error) {
	var total int64
	for {
		if err := r.fill(); err == io.EOF {
			return total, nil
		} else if err != nil {
			return total, err
		}
		n, err := w.Write(r.rest)
		runtime.KeepAlive(r.item)
		total += int64(n)
		if err == nil && n < len(r.rest) {
			err = io.ErrShortWrite
		}
		r.rest = r.rest[n:]
		r.drained()
		if err != nil {
			return total, err
		}
	}
}

// fill sees to it that rest holds something.
func (r *streamReader) fill() error {
	for len(r.rest) == 0 && r.err == nil {
		item, err := r.stream.recv(r.ctx)
		if err != nil {
			if r.ctx.Err() == nil {
				r.err = err
			}
			return err
		}
		content, isBytes := item.Bytes()
		if !isBytes {
			r.err = &Error{Kind: ErrWrongMode, Code: ErrWrongMode.Code(), Class: ClassInput,
				Message: fmt.Sprintf("bytes are read, and %s came", Value(item.Value()).kind())}
			item.Release()
			break
		}
		r.item, r.rest = item, content
		r.drained()
	}
	return r.err
}

// drained lets go of an item whose bytes have all been read.
func (r *streamReader) drained() {
	if len(r.rest) == 0 && r.item != nil {
		r.item.Release()
		r.item, r.rest = nil, nil
	}
}
