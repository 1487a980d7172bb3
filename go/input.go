package sluicegate

import (
	"context"
	"iter"
	"time"

	"github.com/sluicegate/sluicegate/go/internal/capi"
)

// An InputStream is a stream that this program reads. Asking for an item is what grants the sender
// its next credit (L10), so a program that does not read holds the sender back.
//
// Any number of goroutines may read one stream; each item goes to one of them. At a clean end every
// call answers [io.EOF]; a request that failed, was cancelled or lost its peer answers that, an
// [*Error], behind everything that arrived before.
type InputStream struct {
	core *capi.Input
	call *capi.Call // kept alive for its context
}

// Info answers what the start of the stream said.
func (s *InputStream) Info() StreamInfo { return infoFromCore(s.core.Info()) }

// Stats answers what has passed so far.
func (s *InputStream) Stats() StreamStats { return statsFromCore(s.core.Stats()) }

// Recv answers the next item, waiting for it until ctx ends. A call that ends with its context has
// taken nothing.
func (s *InputStream) Recv(ctx context.Context) (Item, error) {
	item, err := s.recv(ctx)
	if err != nil {
		return Item{}, err
	}
	defer item.Release()
	return copyItem(item), nil
}

// TryRecv answers the next item if that needs no waiting, else false.
func (s *InputStream) TryRecv() (Item, bool, error) {
	item, err := s.core.TryRecv()
	if item == nil {
		return Item{}, false, fromCore(err)
	}
	defer item.Release()
	return copyItem(item), true, nil
}

// Items ranges over what is left of the stream. It ends without an error at a clean end, else with
// the error as the last pair. Leaving the loop leaves the rest of the stream to be read.
func (s *InputStream) Items(ctx context.Context) iter.Seq2[Item, error] { return each(ctx, s.Recv) }

// Chunks ranges over what is left of the stream as bytes: the content of each byte string, the
// caller's to keep and change. Any other value is an [ErrWrongMode]. It ends as Items does. How bytes
// are cut into chunks means nothing.
func (s *InputStream) Chunks(ctx context.Context) iter.Seq2[[]byte, error] {
	return each(ctx, func(ctx context.Context) ([]byte, error) {
		item, err := s.recv(ctx)
		if err != nil {
			return nil, err
		}
		defer item.Release()
		content, err := bytesOf(item)
		return append([]byte{}, content...), err
	})
}

// ReadAll answers the bytes of what is left of the stream: the contents of byte strings, joined. Any
// other value is an [ErrWrongMode]. It refuses an unbounded stream with [ErrUnbounded] (L16). Memory
// holds all of it: prefer Reader for what may be large.
func (s *InputStream) ReadAll(ctx context.Context) ([]byte, error) {
	return result(ctx, s.core.CollectBytesOp(), (*capi.Op).TakeBytes)
}

// ReadText is ReadAll for a stream of texts.
func (s *InputStream) ReadText(ctx context.Context) (string, error) {
	text, err := result(ctx, s.core.CollectTextOp(), (*capi.Op).TakeBytes)
	return string(text), err
}

// ReadItems answers what is left of the stream, item by item. It refuses an unbounded stream with
// [ErrUnbounded] (L16).
func (s *InputStream) ReadItems(ctx context.Context) ([]Item, error) {
	if s.Info().Unbounded {
		return nil, &Error{Kind: ErrUnbounded, Code: ErrUnbounded.Code(), Class: ClassInput, Message: "ReadItems of a stream without end"}
	}
	var items []Item
	for item, err := range s.Items(ctx) {
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// Limit allows the stream so much time from now until its end has come. Then its request ends with
// [ErrTimedOut], whether somebody waits for an item or items lie unread, which are forgotten; the other
// end is told. The last limit that was set counts; zero is at once, a negative one is none. It never
// waits. For a whole call, use the deadline of its context.
func (s *InputStream) Limit(limit time.Duration) error { return fromCore(s.core.Limit(millis(limit))) }

// Cancel stops reading: the request is cancelled, its sender is told.
func (s *InputStream) Cancel() { s.core.Cancel() }

func (s *InputStream) recv(ctx context.Context) (*capi.Item, error) {
	if ctx.Err() == nil {
		if item, err := s.core.TryRecv(); item != nil || err != nil {
			return item, fromCore(err)
		}
	}
	return result(ctx, s.core.RecvOp(), (*capi.Op).TakeItem)
}

func copyItem(item *capi.Item) Item {
	return Item{Value: clone(item.Value()), Meta: clone(item.Meta())}
}

func clone(view []byte) Value {
	if view == nil {
		return nil
	}
	return append(make(Value, 0, len(view)), view...)
}
