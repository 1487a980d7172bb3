package flow

import (
	"time"

	"github.com/sluicegate/sluicegate/go/internal/capi"
)

// several joins sources.
func several[T any](join func([]*capi.Source) (*capi.Source, *capi.Error), sources []Source[T]) Source[T] {
	cores := make([]*capi.Source, len(sources))
	for i, one := range sources {
		if one.Err() != nil {
			return one
		}
		cores[i] = one.core
	}
	return source[T](join(cores))
}

// Merge takes the elements of several sources as they come: those that have one take turns.
func Merge[T any](sources ...Source[T]) Source[T] { return several(capi.Merge, sources) }

// MergePrefer is Merge that takes the elements of preferred before those of others whenever both have
// one. While preferred always has one, the others wait.
func MergePrefer[T any](preferred Source[T], others ...Source[T]) Source[T] {
	return several(capi.MergePrefer, append([]Source[T]{preferred}, others...))
}

// Concat takes the elements of several sources, one source after the other.
func Concat[T any](sources ...Source[T]) Source[T] { return several(capi.Concat, sources) }

// A Pair is an element of each of two sources.
type Pair[A, B any] struct {
	Left  A
	Right B
}

// Zip pairs the elements of two sources, until one of them ends.
func Zip[A, B any](left Source[A], right Source[B]) Source[Pair[A, B]] {
	if err := first(left.Err(), right.Err()); err != nil {
		return Source[Pair[A, B]]{err: err}
	}
	zipped, err := capi.Zip([]*capi.Source{left.core, right.core})
	if err != nil {
		return Source[Pair[A, B]]{err: fromCore(err)}
	}
	pairs, err := capi.MapList(func(a, _ any) (any, error) {
		both := a.([]any)
		return Pair[A, B]{as[A](both[0]), as[B](both[1])}, nil
	})
	if err != nil {
		return Source[Pair[A, B]]{err: fromCore(err)}
	}
	return source[Pair[A, B]](zipped.Via(pairs))
}

// Combine groups an element of each source, in the order of the sources, until one of them ends.
func Combine[T any](sources ...Source[T]) Source[[]T] {
	groups := several(capi.Zip, sources)
	if err := groups.Err(); err != nil {
		return Source[[]T]{err: err}
	}
	lists, err := capi.MapList(func(a, _ any) (any, error) {
		each := a.([]any)
		group := make([]T, len(each))
		for i, one := range each {
			group[i] = as[T](one)
		}
		return group, nil
	})
	if err != nil {
		return Source[[]T]{err: fromCore(err)}
	}
	return source[[]T](groups.core.Via(lists))
}

// fan joins sinks; the result is that of each, in their order.
func fan[T, R any](sinks []Sink[T, R], join func([]*capi.Sink) (*capi.Sink, *capi.Error)) Sink[T, []R] {
	cores := make([]*capi.Sink, len(sinks))
	for i, one := range sinks {
		if err := one.Err(); err != nil {
			return Sink[T, []R]{err: err}
		}
		cores[i] = one.core
	}
	core, err := join(cores)
	take := func(run *capi.Run) []R {
		all := make([]R, len(sinks))
		for i, one := range sinks {
			all[i] = one.take(run)
		}
		return all
	}
	return Sink[T, []R]{core, take, fromCore(err)}
}

// FanOptions say how [Broadcast], [Balance] and [Partition] are joined to their sinks. The zero value is
// the default.
type FanOptions struct {
	// Edge is the queue in front of each sink. A limit in bytes has no effect there.
	Edge EdgeOptions
	// EndWithFirst has a sink that cancels end all of them: the others complete. Otherwise they go on, and
	// the source is cancelled with the last.
	EndWithFirst bool
}

// Broadcast gives every element to every sink. It waits for the slowest, by the edge in front of each.
func Broadcast[T, R any](options FanOptions, sinks ...Sink[T, R]) Sink[T, []R] {
	return fan(sinks, func(all []*capi.Sink) (*capi.Sink, *capi.Error) {
		return capi.Broadcast(all, options.Edge.core(), options.EndWithFirst)
	})
}

// Balance gives each element to one sink that has room, in turn.
func Balance[T, R any](options FanOptions, sinks ...Sink[T, R]) Sink[T, []R] {
	return fan(sinks, func(all []*capi.Sink) (*capi.Sink, *capi.Error) {
		return capi.Balance(all, options.Edge.core(), options.EndWithFirst)
	})
}

// Partition gives each element to the sink of the number that choose answers.
func Partition[T, R any](options FanOptions, choose func(T) int, sinks ...Sink[T, R]) Sink[T, []R] {
	f := one(func(in T) (int, error) { return choose(in), nil })
	return fan(sinks, func(all []*capi.Sink) (*capi.Sink, *capi.Error) {
		return capi.Partition(all, options.Edge.core(), options.EndWithFirst, f)
	})
}

// HubOptions say what a hub holds. The zero value is 16 elements and no replay.
type HubOptions struct {
	// Capacity is how many elements it holds that are not shared yet; 0 is 16.
	Capacity uint64
	// Replay is how many of the last elements a newcomer gets.
	Replay uint64
}

// A HubPolicy says what a hub does about a subscriber that has not asked and whose buffer is full.
type HubPolicy int32

const (
	// HubWait: it waits; everybody goes at this subscriber's pace.
	HubWait HubPolicy = iota
	// HubDropHead: this subscriber loses its oldest elements.
	HubDropHead
	// HubDropNew: this subscriber loses what comes.
	HubDropNew
	// HubDisconnect: the subscription fails with [sluicegate.ErrBufferOverflow].
	HubDisconnect
	// HubDropTail: this subscriber loses its newest elements.
	HubDropTail
	// HubDropBuffer: this subscriber loses all that its buffer holds.
	HubDropBuffer
)

// A Hub shares one source with whoever subscribes. While nobody listens it holds the source. Once the
// hub is unknown and the last subscriber gone, the source is cancelled.
type Hub[T any] struct{ core *capi.Hub }

// BroadcastHub shares what comes with everybody who subscribes.
func BroadcastHub[T any](options HubOptions) Sink[T, *Hub[T]] {
	if options.Capacity == 0 {
		options.Capacity = 16
	}
	core, err := capi.BroadcastHub(options.Capacity, options.Replay)
	take := func(run *capi.Run) *Hub[T] {
		core, err := run.Hub()
		if err != nil {
			panic("sluicegate: the run of a hub has its control: " + err.Message)
		}
		return &Hub[T]{core}
	}
	return Sink[T, *Hub[T]]{core, take, fromCore(err)}
}

// SubscribeOptions say how one listens at a hub. The zero value is [HubWait] without a limit, and a
// buffer of 16.
type SubscribeOptions struct {
	// Policy is what happens when the subscriber has not asked and its buffer is full.
	Policy HubPolicy
	// Patience is how long HubWait waits before the subscription fails with
	// [sluicegate.ErrBufferOverflow]; 0 is no limit.
	Patience time.Duration
	// Capacity is how many elements its buffer holds; 0 is 16.
	Capacity uint64
}

// Subscribe is a source of what is shared once it runs. It runs once; another run fails with
// [sluicegate.ErrAlreadySubscribed]. Its buffer holds 16 elements.
func (h *Hub[T]) Subscribe(policy HubPolicy) Source[T] {
	return h.SubscribeWith(SubscribeOptions{Policy: policy})
}

// SubscribeWith is Subscribe with options.
func (h *Hub[T]) SubscribeWith(options SubscribeOptions) Source[T] {
	if options.Capacity == 0 {
		options.Capacity = 16
	}
	return source[T](h.core.Subscribe(int32(options.Policy), micros(options.Patience), options.Capacity))
}

// Subscribers answers how many listen now.
func (h *Hub[T]) Subscribers() int { return h.core.Subscribers() }

// Over tells whether the source has ended and everything was shared.
func (h *Hub[T]) Over() bool { return h.core.Over() }

// A Listener has the figures of one subscriber of a hub, in elements.
type Listener struct {
	// Name is that of the subscription's first stage: see [Source.Named].
	Name string
	// Demand was asked for and not shared with it yet.
	Demand uint64
	// Held was shared with it and not taken yet.
	Held uint64
	// Lost was lost by its policy.
	Lost uint64
}

// Listeners answers everybody who listens now, in the order they came.
func (h *Hub[T]) Listeners() []Listener {
	listeners := h.core.Listeners()
	all := make([]Listener, len(listeners))
	for i, one := range listeners {
		all[i] = Listener(one)
	}
	return all
}

// MergeHubSource gives what many sinks are given: [MergeHubOf] has the control of a run.
func MergeHubSource[T any](options EdgeOptions) Source[T] {
	return source[T](capi.MergeHubSource(options.core()))
}

// A MergeHub is one source that many may feed.
type MergeHub[T any] struct{ core *capi.MergeHub }

// MergeHubOf takes the control of a run's merge hub, as [ManualOf] does.
func MergeHubOf[T any](running Controlled) (*MergeHub[T], error) {
	core, err := running.controls().MergeHub()
	if err != nil {
		return nil, fromCore(err)
	}
	return &MergeHub[T]{core}, nil
}

// Sink is a sink into the hub. Each run of it attaches one producer more.
func (h *MergeHub[T]) Sink() Sink[T, struct{}] {
	core, err := h.core.Sink()
	return Sink[T, struct{}]{core, func(*capi.Run) struct{} { return struct{}{} }, fromCore(err)}
}

// Complete takes no more producers: the source completes with the last that is attached.
func (h *MergeHub[T]) Complete() { h.core.Complete() }

// Failures answers how many producers have failed so far, and what the last of them failed with, or
// nil. A producer that fails harms neither the hub nor other producers.
func (h *MergeHub[T]) Failures() (uint64, error) {
	count, last := h.core.Failures()
	return count, fromCore(last)
}
