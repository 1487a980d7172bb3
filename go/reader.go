package sluicegate

import (
	"context"
	"io"

	"github.com/sluicegate/sluicegate/go/internal/capi"
)

// Reader reads what is left of the stream as bytes: the contents of byte strings, joined. Any other
// value is an error of kind [ErrWrongMode]. ctx bounds every Read.
//
// The reader is an [io.WriterTo] too, so [io.Copy] hands each chunk over without a copy of its own.
// It is for one goroutine at a time.
func (s *InputStream) Reader(ctx context.Context) io.Reader {
	return &streamReader{ctx: ctx, stream: s}
}

type streamReader struct {
	ctx    context.Context
	stream *InputStream
	rest   []byte // of a chunk that was larger than what was read
	buffer []byte // what rest is a part of
}

// Read implements [io.Reader].
func (r *streamReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(r.rest) == 0 {
		n := 0
		err := r.next(func(content []byte) error {
			n = copy(p, content)
			r.buffer = append(r.buffer[:0], content[n:]...)
			r.rest = r.buffer
			return nil
		})
		if n > 0 || err != nil {
			return n, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// WriteTo implements [io.WriterTo].
func (r *streamReader) WriteTo(w io.Writer) (int64, error) {
	var total int64
	write := func(content []byte) error {
		n, err := w.Write(content)
		total += int64(n)
		if err == nil && n < len(content) {
			err = io.ErrShortWrite
		}
		return err
	}
	rest := r.rest
	r.rest = nil
	if len(rest) > 0 {
		if err := write(rest); err != nil {
			return total, err
		}
	}
	for {
		switch err := r.next(write); err {
		case nil:
		case io.EOF:
			return total, nil
		default:
			return total, err
		}
	}
}

// next lends the bytes of the next chunk to use.
func (r *streamReader) next(use func(content []byte) error) error {
	item, err := r.stream.recv(r.ctx)
	if err != nil {
		return err
	}
	defer item.Release()
	content, err := bytesOf(item)
	if err != nil {
		return err
	}
	return use(content)
}

// bytesOf views the content of a byte string.
func bytesOf(item *capi.Item) ([]byte, error) {
	content, ok := item.Bytes()
	if !ok {
		return nil, &Error{Kind: ErrWrongMode, Code: ErrWrongMode.Code(), Class: ClassInput,
			Message: "bytes are read, and " + Value(item.Value()).kind() + " came"}
	}
	return content, nil
}
