package flow

import "github.com/sluicegate/sluicegate/go/internal/capi"

// A Round is what the body of [Feedback] makes of an element of type I: one that goes round once more,
// made by [Again], or one of type O that leaves, made by [Out].
type Round[I, O any] struct {
	again bool
	next  I
	out   O
}

// Again sends an element through the body of [Feedback] once more. The type of what leaves is to be
// named: Again[string](7).
func Again[O, I any](element I) Round[I, O] { return Round[I, O]{again: true, next: element} }

// Out lets an element leave [Feedback]. The type of what goes round is to be named: Out[int]("seven").
func Out[I, O any](element O) Round[I, O] { return Round[I, O]{out: element} }

// Feedback puts each element through body, again and again until body answers [Out]. What it answers as
// [Again] goes through it once more, behind what waits there. At most capacity elements are in the loop,
// and another is asked for above only while there is a free place, so the loop never waits for itself.
// It ends once the source has ended and nothing is left in the loop, or when body ends.
//
// The body makes exactly one element of each, as [Map], [Scan], [Tap], [MapParallel], [Throttle],
// [Delay] and [Buffer] do. One that may make more or fewer, and a capacity of 0, which is a cycle
// without a buffer, are refused with [sluicegate.ErrPlanRefused].
func Feedback[I, O any](capacity uint64, body Flow[I, Round[I, O]]) Flow[I, O] {
	if err := body.Err(); err != nil {
		return Flow[I, O]{err: err}
	}
	return stage[I, O](capi.Feedback(capacity, body.core, one(func(round Round[I, O]) (capi.Turn, error) {
		if round.again {
			return capi.Turn{Value: round.next, Again: true}, nil
		}
		return capi.Turn{Value: round.out}, nil
	})))
}
