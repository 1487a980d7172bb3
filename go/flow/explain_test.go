package flow_test

import (
	"strings"
	"testing"

	"github.com/sluicegate/sluicegate/go"
	"github.com/sluicegate/sluicegate/go/flow"
)

func TestAnEngineTellsOfTheStagesOfAScope(t *testing.T) {
	nothingIsLeft(t)
	ctx := guarded(t)
	engine, err := sluicegate.NewEngine(sluicegate.EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	scope, err := flow.NewSteppedScope("export", 1)
	if err != nil {
		t.Fatal(err)
	}
	running := run(t, flow.To(flow.ManualSource[int](flow.EdgeOptions{}).Named("rows").Via(flow.Map(func(n int) int { return n })), flow.ProbeSink[int]()), ctx, scope)
	running.Result.Request(2)
	scope.Settle()
	told, err := engine.Explain(ctx)
	if len(told.Stages) != 0 || err != nil {
		t.Error(told.Stages, err)
	}
	scope.Tell(engine)
	scope.Tell(engine)
	if told, err = engine.Explain(ctx); len(told.Stages) != 3 || err != nil {
		t.Fatal(told.Stages, err)
	}
	stage := told.Stages[1]
	if stage.Scope != "export" || stage.Stage != "map" || stage.Downstream != 2 || stage.Upstream != 2 || stage.WaitsFor != "source" {
		t.Errorf("%+v", stage)
	}
	line := `scope "export": stage "rows" has demand for 2 and waits for its source`
	if text := told.String(); !strings.Contains(text, line) {
		t.Errorf("awaited: %s; came: %s", line, text)
	}
	if err := scope.Close(); err != nil {
		t.Error(err)
	}
	if told, err = engine.Explain(ctx); len(told.Stages) != 0 || err != nil {
		t.Error("the scope is shut down:", told.Stages, err)
	}
}

func TestABranchThatCannotBeSaidNamesItsStage(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	none := func(int) int { panic("no branch") }
	forked := flow.Partition(flow.FanOptions{}, none, flow.Collect[int](), flow.Collect[int]())
	run, err := flow.To(flow.Of(1), forked).Run(ctx, scope)
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range run.Result {
		if _, err := result.Wait(ctx); err == nil || !strings.Contains(err.Error(), `stage "partition"`) {
			t.Error(err)
		}
	}
}

func TestAKeyThatCannotBeSaidNamesItsStage(t *testing.T) {
	nothingIsLeft(t)
	ctx, scope := guarded(t), scope(t)
	_, err := flow.Via(flow.Of(1), flow.GroupBy(2, 2, func(int) int { panic("no key") }, flow.Take[int](1))).Collect(ctx, scope)
	if err == nil || !strings.Contains(err.Error(), `stage "group_by"`) {
		t.Error(err)
	}
}
