package flow

import (
	"runtime"

	"github.com/sluicegate/sluicegate/go"
	"github.com/sluicegate/sluicegate/go/internal/bridge"
	"github.com/sluicegate/sluicegate/go/internal/capi"
)

// itemsOf makes an element of each item of a stream, which lives on, its call's context included, for
// as long as its blueprint or a run of it does.
func itemsOf(stream any) capi.Function {
	return func(a, _ any) (any, error) {
		runtime.KeepAlive(stream)
		raw := a.(capi.RawItem)
		return sluicegate.Item{Value: raw.Value, Meta: raw.Meta}, nil
	}
}

// FromInput gives the items of a request's or call's stream. One is read when it is asked for, and
// reading grants the sender its next credit (L10): while nothing is asked for, the sender stands still.
// It ends as the stream ends; a request that fails fails it. Cancelled, it gives the stream up, as
// [sluicegate.InputStream.Cancel] does.
//
// It runs once: another run fails with [sluicegate.ErrAlreadySubscribed]. Whoever reads the stream
// beside it takes items away from it.
func FromInput(in *sluicegate.InputStream) Source[sluicegate.Item] {
	return source[sluicegate.Item](capi.InputSource(bridge.Input(in), itemsOf(in)))
}

// FromFeed gives the items of a live feed; [sluicegate.Item.FeedMeta] has the number, time and gap of
// each. The feed's ring and its policy stand between the device that cannot wait and the demand.
// Cancelled, it gives the feed up, as [sluicegate.Feed.Close] does. It runs once, as [FromInput] does.
func FromFeed(feed *sluicegate.Feed) Source[sluicegate.Item] {
	return source[sluicegate.Item](capi.FeedSource(bridge.Feed(feed), itemsOf(feed)))
}

// Decode decodes the value of each item. One that is no T fails the stream with
// [sluicegate.ErrMalformed].
func Decode[T any]() Flow[sluicegate.Item, T] {
	return TryMap(func(item sluicegate.Item) (T, error) {
		var value T
		err := item.Value.Unmarshal(&value)
		return value, err
	}).Named("decode")
}

// ToOutput emits each element on a scalar stream, whatever [sluicegate.Encode] takes, and closes the
// stream at the end. The next element is asked for once the stream has taken the last: without credit
// the whole pipeline waits (L9).
//
// A pipeline that fails leaves the stream open: whoever has the request fails it, with what the
// completion failed with; a handler that returns that error does. When the request ends, the pipeline
// is cancelled and the completion fails with the reason. It runs once, as [FromInput] does.
func ToOutput[T any](out *sluicegate.OutputStream) Sink[T, *Completion[struct{}]] {
	core, err := capi.OutputSink(bridge.Output(out), false, one(func(element T) (capi.RawItem, error) {
		runtime.KeepAlive(out)
		value, err := sluicegate.Encode(element)
		return capi.RawItem{Value: value}, err
	}))
	return completing[T](core, err, nothing)
}

// ToOutputItems is ToOutput for a sequence stream: each element is one item with its metadata.
func ToOutputItems(out *sluicegate.OutputStream) Sink[sluicegate.Item, *Completion[struct{}]] {
	core, err := capi.OutputSink(bridge.Output(out), true, one(func(item sluicegate.Item) (capi.RawItem, error) {
		runtime.KeepAlive(out)
		value, err := sluicegate.Encode(item.Value)
		return capi.RawItem{Value: value, Meta: item.Meta}, err
	}))
	return completing[sluicegate.Item](core, err, nothing)
}
