package sluicegate

import (
	"context"
	"iter"
	"os"
	"time"

	"github.com/sluicegate/sluicegate/go/internal/capi"
)

// An OverrunPolicy says what a live feed does when its ring is full. A device cannot wait.
type OverrunPolicy uint8

const (
	// DropOldest: the oldest item makes room, and the next one delivered says so in its gap.
	DropOldest OverrunPolicy = iota
	// FailOnOverrun: the feed ends with [ErrFeedOverrun] once what it holds was delivered.
	FailOnOverrun
)

// FeedOptions say how a feed is opened. The zero value is a ring of 64 that drops the oldest.
type FeedOptions struct {
	// Capacity is how many items the ring can hold; 0 is 64.
	Capacity uint64
	// Policy is what happens when it is full.
	Policy OverrunPolicy
	// Format says what is captured, anything that encodes as a map, or nil: the metadata of the
	// stream that the feed is served to.
	Format any
}

// FeedStats counts items at one moment. Captured = Delivered + Dropped + Held, always.
type FeedStats struct {
	// Captured is what the source produced while the feed was capturing.
	Captured uint64
	// Delivered left the ring for the consumer.
	Delivered uint64
	// Dropped were lost: overruns, and what was held when the feed was given up.
	Dropped uint64
	// Overruns were lost because the consumer was slower than reality.
	Overruns uint64
	// Held is what the ring holds now, of Capacity.
	Held, Capacity uint64
	// Ended is true once nothing is captured any more.
	Ended bool
}

// A Gap is a loss, told with the first item that was delivered after it.
type Gap struct {
	// Dropped items were lost between the item delivered before and this one.
	Dropped uint64 `cbor:"dropped"`
	// DurationUS is the presentation time between those two, in microseconds; 0 for the first item.
	DurationUS uint64 `cbor:"duration_us"`
}

// FeedMeta is what travels with an item of a feed as its metadata.
type FeedMeta struct {
	// Seq is the item's number in the order of capture, from 0. Lost items have one too.
	Seq uint64 `cbor:"seq"`
	// PTS is the presentation time in microseconds, from wherever the source counts.
	PTS uint64 `cbor:"pts_us"`
	// CapturedAt is when it was captured, in microseconds since the Unix epoch.
	CapturedAt uint64 `cbor:"capture_ts_us"`
	// Gap is what was lost in front of it, or nil.
	Gap *Gap `cbor:"gap"`
}

// FeedMeta answers what a feed says about the item, at either end of a stream; false if it is not a
// feed's.
func (i Item) FeedMeta() (FeedMeta, bool) {
	var known struct {
		Seq        *uint64 `cbor:"seq"`
		PTS        *uint64 `cbor:"pts_us"`
		CapturedAt *uint64 `cbor:"capture_ts_us"`
		Gap        *Gap    `cbor:"gap"`
	}
	if i.Meta == nil || i.Meta.Unmarshal(&known) != nil || known.Seq == nil || known.PTS == nil || known.CapturedAt == nil {
		return FeedMeta{}, false
	}
	return FeedMeta{*known.Seq, *known.PTS, *known.CapturedAt, known.Gap}, true
}

// A Feed is a live source that cannot be held up, in front of a consumer that may be slow: a ring
// stands between the two, and what it loses is counted and told in its place. Any number of
// goroutines may use one. It has one consumer at a time: while it is served, Recv is refused.
//
// Close gives it up; a feed that nobody knows any more is given up by the garbage collector.
type Feed struct{ core *capi.Feed }

// NewFeed opens a feed that your own source pushes into.
func NewFeed(options FeedOptions) (*Feed, error) {
	core, err := options.core()
	if err != nil {
		return nil, err
	}
	return feed(capi.NewFeed(core))
}

// CommandFeed starts a command whose standard output is the source: ffmpeg, arecord, whatever writes
// what it captures. Items have itemBytes bytes, such as raw frames; 0 makes one of each line. Exit
// status 0 ends the feed as it should, any other fails it with the end of the command's stderr. When
// the feed ends first, the command and what it started are killed and reaped at once.
func CommandFeed(options FeedOptions, command Command, itemBytes uint) (*Feed, error) {
	core, err := options.core()
	if err != nil {
		return nil, err
	}
	return feed(capi.CommandFeed(core, capi.Command(command), itemBytes))
}

// FileFeed opens a feed of what a file or pipe gives, from where it stands. Items are cut as
// [CommandFeed] does it. A positive interval from one item to the next plays a file as if it were
// live. The descriptor is duplicated: file stays the caller's.
func FileFeed(options FeedOptions, file *os.File, itemBytes uint, interval time.Duration) (*Feed, error) {
	core, err := options.core()
	if err != nil {
		return nil, err
	}
	fd, err := copyOf(file)
	if err != nil {
		return nil, fromCore(toCore(err, ErrIO))
	}
	return feed(capi.FdFeed(core, fd, itemBytes, uint64(max(0, interval.Microseconds()))))
}

func (o FeedOptions) core() (capi.FeedOptions, error) {
	format, err := optional(o.Format)
	return capi.FeedOptions{Capacity: o.Capacity, Fail: o.Policy == FailOnOverrun, Format: format}, err
}

func feed(core *capi.Feed, err *capi.Error) (*Feed, error) {
	if err != nil {
		return nil, fromCore(err)
	}
	return &Feed{core}, nil
}

// Push hands in bytes that were captured now. It never waits for the consumer, for credit or for the
// wire, and copies the bytes. pts counts from wherever the source does. The error says that there is
// no point in capturing on: [ErrClosed] once the feed was stopped or given up, [ErrFeedOverrun].
func (f *Feed) Push(item []byte, pts time.Duration) error {
	return fromCore(f.core.Push(item, micros(pts), 0))
}

// PushAt is Push for an item that was captured at a time of the device's own clock.
func (f *Feed) PushAt(item []byte, pts time.Duration, captured time.Time) error {
	return fromCore(f.core.Push(item, micros(pts), uint64(max(1, captured.UnixMicro()))))
}

// PushValue is Push for any value that [Encode] takes.
func (f *Feed) PushValue(item any, pts time.Duration) error {
	value, err := Encode(item)
	if err != nil {
		return err
	}
	return fromCore(f.core.PushValue(value, micros(pts), 0))
}

func micros(pts time.Duration) uint64 { return uint64(max(0, pts.Microseconds())) }

// Stop ends the capture: what is held is still delivered, then the feed ends as it should. It is told
// at once, whatever the consumer does. The first end stays.
func (f *Feed) Stop() { f.core.Stop() }

// Fail says that the device failed: what is held is still delivered, then the consumer gets reason.
func (f *Feed) Fail(reason error) error { return fromCore(f.core.Fail(toCore(reason, ErrIO))) }

// Close implements [io.Closer]: it gives the feed up. The source is stopped and what is held is
// dropped. It never waits, never fails, and may be called again.
func (f *Feed) Close() error {
	f.core.Abandon()
	return nil
}

// Recv answers the next item, waiting for it until ctx ends, or [io.EOF] at the clean end. A call that
// ends with its context has taken nothing.
func (f *Feed) Recv(ctx context.Context) (Item, error) {
	item, err := result(ctx, f.core.RecvOp(), (*capi.Op).TakeItem)
	if err != nil {
		return Item{}, err
	}
	defer item.Release()
	return copyItem(item), nil
}

// Items ranges over the items as they come. It ends without an error at a clean end, else with the
// error as the last pair.
func (f *Feed) Items(ctx context.Context) iter.Seq2[Item, error] { return each(ctx, f.Recv) }

// Serve delivers the feed to out until it ends: each item waits here for its credit (L9), never at the
// source. The stream is started, unless it was, as an unbounded sequence (L16), and is left open. The
// error is what the feed failed with, or why the request ended (L13), also while the source is silent.
func (f *Feed) Serve(ctx context.Context, out *OutputStream) error {
	return finish(ctx, f.core.ServeOp(out.core))
}

// Stats answers the figures now.
func (f *Feed) Stats() FeedStats { return FeedStats(f.core.Stats()) }
