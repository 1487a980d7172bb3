package flow

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sluicegate/sluicegate/go"
)

// opened is a source that pulls from what open opens for each run, and closes it, if it can be closed,
// at the end or when the run is cancelled.
func opened[T any](name string, open func() (io.Reader, error), start func(io.Reader) func() (T, error)) Source[T] {
	return FromSeq2(func(yield func(T, error) bool) {
		reader, err := open()
		var next func() (T, error)
		if err == nil {
			if closer, ok := reader.(io.Closer); ok {
				defer closer.Close()
			}
			next = start(reader)
		}
		for {
			var element T
			if err == nil {
				element, err = next()
			}
			if err == io.EOF || !yield(element, err) || err != nil {
				return
			}
		}
	}).Named(name)
}

// Lines gives the lines of what open opens for each run, without their ends ("\n" or "\r\n"), and
// closes it if it is an [io.Closer]. A line of more than max bytes fails the stream with
// [sluicegate.ErrLimitReached]. It reads when a line is asked for; a Read that blocks is not
// interrupted.
func Lines(max int, open func() (io.Reader, error)) Source[string] {
	if max <= 0 {
		return Source[string]{err: invalid("lines of at most %d bytes", max)}
	}
	return opened("lines", open, func(reader io.Reader) func() (string, error) {
		scanner := bufio.NewScanner(reader)
		scanner.Buffer(nil, max+2) // with its end
		return func() (string, error) {
			if scanner.Scan() && len(scanner.Bytes()) <= max {
				return scanner.Text(), nil
			}
			switch err := scanner.Err(); {
			case errors.Is(err, bufio.ErrTooLong) || len(scanner.Bytes()) > max:
				return "", &sluicegate.Error{
					Kind: sluicegate.ErrLimitReached, Message: fmt.Sprintf("a line is longer than %d bytes", max),
				}
			case err != nil:
				return "", err
			}
			return "", io.EOF
		}
	})
}

// Chunks gives what open opens for each run in pieces of at most size bytes, as they are read, and
// closes it if it is an [io.Closer]. Each piece is the consumer's to keep.
func Chunks(size int, open func() (io.Reader, error)) Source[[]byte] {
	if size <= 0 {
		return Source[[]byte]{err: invalid("chunks of at most %d bytes", size)}
	}
	return opened("chunks", open, func(reader io.Reader) func() ([]byte, error) {
		buffer := make([]byte, size)
		return func() ([]byte, error) {
			for {
				n, err := reader.Read(buffer)
				if n > 0 {
					return bytes.Clone(buffer[:n]), nil // an error comes again
				}
				if err != nil {
					return nil, err
				}
			}
		}
	})
}

// ToWriter writes each element to w, and answers how many bytes were written. It neither flushes nor
// closes w. Runs that use one writer at the same time need one that is made for that.
func ToWriter[T ~[]byte | ~string](w io.Writer) Sink[T, *Completion[int64]] {
	return Reduce(int64(0), func(written int64, element T) (int64, error) {
		n, err := w.Write([]byte(element))
		return written + int64(n), err
	}).Named("writer")
}

func invalid(format string, arguments ...any) error {
	kind := sluicegate.ErrInvalidArgument
	return &sluicegate.Error{Kind: kind, Code: kind.Code(), Class: sluicegate.ClassInput, Message: fmt.Sprintf(format, arguments...)}
}

// SendFrom offers what comes through elements until it is closed, and then completes the source and
// answers nil. It answers nil too once nobody below wants more, which it sees when it has received an
// element, and that one is lost. When ctx ends the source goes on, and the error is ctx's.
func (m *Manual[T]) SendFrom(ctx context.Context, elements <-chan T) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case element, more := <-elements:
			if !more {
				m.Complete()
				return nil
			}
			switch offer, err := m.Offer(ctx, element); {
			case err != nil:
				return err
			case offer == QueueClosed:
				return nil
			}
		}
	}
}

// SendTo hands the elements to a channel as they come, which it does not close. It answers nil at the
// clean end, else what the stream failed with. When ctx ends, the pipeline is cancelled, and the error
// is ctx's.
func (o *Outlet[T]) SendTo(ctx context.Context, elements chan<- T) error {
	for element, err := range o.All(ctx) {
		if err != nil {
			return err
		}
		select {
		case elements <- element:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
