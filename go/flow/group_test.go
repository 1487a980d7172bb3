package flow_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sluicegate/sluicegate/go"
	"github.com/sluicegate/sluicegate/go/flow"
)

func TestEachKeyHasARunOfItsOwn(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	sum := flow.Fold(0, func(state, n int) (int, error) { return state + n, nil })
	odd := func(n int) int { return n % 2 }
	got, err := flow.Via(flow.Range(0, 10), flow.GroupBy(2, 2, odd, sum)).Collect(ctx, scope)
	slices.Sort(got)
	equal(t, got, err, 20, 25)
	if err := flow.GroupBy(3, 2, odd, sum).Err(); !errors.Is(err, sluicegate.ErrPlanRefused) {
		t.Error(err)
	}
	same := func(n int) int { return n }
	if _, err := flow.Via(flow.Range(0, 10), flow.GroupBy(2, 2, same, sum)).Collect(ctx, scope); !errors.Is(err, sluicegate.ErrLimitReached) {
		t.Error(err)
	}
}

// letters joins those that are the same: "aa" and "b" of a, b, a.
func letters() flow.Flow[string, string] {
	joined := flow.Fold("", func(state, in string) (string, error) { return state + in, nil })
	return flow.GroupBy(3, 3, func(in string) string { return in }, joined)
}

func TestAStringIsAKey(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	got, err := flow.Via(flow.Of("a", "b", "a", "", "b", "a"), letters()).Collect(ctx, scope)
	slices.Sort(got)
	equal(t, got, err, "", "aaa", "bb")
}

func TestEachRunHasKeysOfItsOwn(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	// Each run has three keys; those of all runs would not fit into the groups of one.
	graph := flow.To(flow.Via(flow.ManualSource[string](flow.EdgeOptions{}), letters()), flow.Collect[string]())
	const runs = 8
	var (
		all  sync.WaitGroup
		got  [runs][]string
		errs [runs]error
	)
	keys := func(run int) []string { return []string{"a" + strconv.Itoa(run), "b" + strconv.Itoa(run), "c"} }
	for run := range runs {
		all.Add(1)
		go func() {
			defer all.Done()
			got[run], errs[run] = fed(ctx, graph, scope, slices.Concat(keys(run), keys(run))...)
		}()
	}
	all.Wait()
	for run := range runs {
		slices.Sort(got[run])
		own := keys(run)
		equal(t, got[run], errs[run], own[0]+own[0], own[1]+own[1], "cc")
	}
}

// fed runs a graph and offers elements to its manual source.
func fed(ctx context.Context, graph flow.Graph[*flow.Completion[[]string]], scope *flow.Scope, in ...string) ([]string, error) {
	running, err := graph.Run(ctx, scope)
	if err != nil {
		return nil, err
	}
	manual, err := flow.ManualOf[string](running)
	if err != nil {
		return nil, err
	}
	for _, element := range in {
		if _, err := manual.Offer(ctx, element); err != nil {
			return nil, err
		}
	}
	manual.Complete()
	return running.Result.Wait(ctx)
}

func TestAStructIsAKeyAndAKeyOfAnEndedGroupBeginsNone(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	type point struct {
		x    int
		name string
	}
	key := func(n int) point { return point{n % 2, "of" + strconv.Itoa(n%2)} }
	// Each group takes two and has ended; the keys come a hundred times more, and are not new.
	got, err := flow.Via(flow.Range(0, 200), flow.GroupBy(2, 2, key, flow.Take[int](2))).Collect(ctx, scope)
	slices.Sort(got)
	equal(t, got, err, 0, 1, 2, 3)
}

func TestAKeyBeyondTheGroupsFailsTheStream(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	for name, key := range map[string]func(int) float64{
		"other":                func(n int) float64 { return float64(n) },
		"not equal to itself":  func(int) float64 { return math.NaN() },
		"one and then another": func(n int) float64 { return math.Floor(float64(n) / 3) },
	} {
		_, err := flow.Via(flow.Range(0, 10), flow.GroupBy(2, 2, key, flow.Take[int](9))).Collect(ctx, scope)
		if !errors.Is(err, sluicegate.ErrLimitReached) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnyKeyThatCannotBeComparedFailsTheStream(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	key := func(int) any { return []int{1} }
	_, err := flow.Via(flow.Of(1), flow.GroupBy(2, 2, key, flow.Take[int](1))).Collect(ctx, scope)
	if err == nil || !strings.Contains(err.Error(), `stage "group_by"`) {
		t.Error(err)
	}
	same := func(n int) any { return n % 2 }
	if got, err := flow.Via(flow.Range(0, 4), flow.GroupBy(2, 2, same, flow.Take[int](9))).Collect(ctx, scope); len(got) != 4 || err != nil {
		t.Error(got, err)
	}
}
