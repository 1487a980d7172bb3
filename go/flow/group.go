package flow

import "github.com/sluicegate/sluicegate/go/internal/capi"

// GroupBy puts each element through a run of each of its own for every key, behind a queue of 16
// elements; groups that have an output take turns. The element of a group whose queue is full holds the
// others up. A group whose flow has ended takes no more: later elements of its key are dropped. The first
// key beyond groups fails the stream with [sluicegate.ErrLimitReached]; fewer slots, which is how many
// groups can be merged at once, than groups could lock up, and are refused with
// [sluicegate.ErrPlanRefused].
//
// Keys are the same if they are equal with ==. One that is not equal to itself, such as a NaN, begins a
// group each time; an interface that holds what cannot be compared fails the stream. A run keeps its keys
// until it ends, which are no more than groups and one.
func GroupBy[I, O any, K comparable](groups, slots uint64, key func(I) K, each Flow[I, O]) Flow[I, O] {
	if each.Err() != nil {
		return each
	}
	if number, ok := any(key).(func(I) int); ok { // it is its own number
		chosen := one(func(in I) (int, error) { return number(in), nil })
		return stage[I, O](capi.GroupBy(groups, slots, chosen, each.core))
	}
	chosen := one(func(in *keyed[I, K]) (int, error) { return in.numbers.of(key(in.element)), nil })
	bare := Map((*keyed[I, K]).take).Named("group_by.element")
	grouped := stage[*keyed[I, K], O](capi.GroupBy(groups, slots, chosen, Then(bare, each).core))
	return Then(withNumbers[I, K](), grouped)
}

// numbers are what the library knows the keys of one run by. Only the stage that chooses uses them.
type numbers[K comparable] map[K]int

// of is the number of a key, the next one if it is new.
func (n numbers[K]) of(key K) int {
	number, known := n[key]
	if !known {
		number = len(n)
		n[key] = number
	}
	return number
}

// A keyed element has the numbers of its run at hand.
type keyed[I any, K comparable] struct {
	numbers numbers[K]
	element I
}

// take takes the element out: the stage above keeps the rest until the next one comes.
func (k *keyed[I, K]) take() I {
	var none I
	element := k.element
	k.element = none
	return element
}

// withNumbers gives each element the numbers of its run. The first state of a run is nil, so each run
// begins numbers of its own; they go with its last state.
func withNumbers[I any, K comparable]() Flow[I, *keyed[I, K]] {
	return Scan(nil, func(last *keyed[I, K], in I) (*keyed[I, K], error) {
		if last == nil {
			return &keyed[I, K]{numbers[K]{}, in}, nil
		}
		return &keyed[I, K]{last.numbers, in}, nil
	}).Named("group_by.key")
}
