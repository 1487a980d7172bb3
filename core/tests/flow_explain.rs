//! A scope tells who waits for whom.

use sluicegate::flow::{EdgeOptions, Flow, Scope, Sink, Source, WaitsFor};

#[test]
fn a_scope_names_who_is_waited_for() {
    let scope = Scope::stepped("night run", 1);
    assert_eq!(scope.explain().to_string(), "scope \"night run\": nothing runs");
    let edge = EdgeOptions::capacity(4).expect("positive");
    let graph = Source::<u64, _>::manual(edge)
        .named("rows")
        .via(Flow::map(|n| n))
        .to_mat(Sink::probe().named("screen"), |rows, screen| (rows, screen));
    let (rows, screen) = graph.run(&scope).expect("runs");
    let stands = |scope: &Scope| {
        let stages = scope.explain();
        let stages = stages.stages().iter();
        stages.map(|one| (one.stage.clone(), one.waits_for)).collect::<Vec<_>>()
    };
    rows.try_offer(1).expect("room");
    scope.settle();
    let all = ["rows", "map", "screen"];
    let same = |waits_for| all.map(|name| (name.to_owned(), waits_for)).to_vec();
    assert_eq!(stands(&scope), same(WaitsFor::Consumer));
    assert!(
        scope.explain().to_string().contains(
            "stage \"map\" waits for its consumer, who asks for nothing; it holds nothing"
        )
    );

    screen.request(3);
    scope.settle();
    assert_eq!(stands(&scope), same(WaitsFor::Source));
    let told = scope.explain();
    let text = told.to_string();
    assert!(
        text.contains(
            "stage \"map\" has demand for 2 and waits for its source, which it asked for 2"
        ),
        "{text}"
    );
    let json = told.to_json();
    assert_eq!(json["scope"], "night run");
    assert_eq!(json["stages"][1]["downstream"], 2);
    assert_eq!(json["stages"][1]["passed"], 1);
    assert_eq!(json["stages"][0]["waits_for"], "source");

    // One side of a pair waits for the other: that side is named.
    let scope = Scope::stepped("pair", 1);
    let graph = Source::<u64, _>::manual(edge)
        .named("slow")
        .zip(Source::iter([1, 2]))
        .to_mat(Sink::probe(), |slow, end| (slow, end));
    let (_slow, end) = graph.run(&scope).expect("runs");
    end.request(1);
    scope.settle();
    let told = scope.explain();
    let held: Vec<_> = told.stages().iter().filter(|s| s.waits_for == WaitsFor::Itself).collect();
    assert_eq!((held.len(), held[0].stage.as_str(), held[0].demand.held), (1, "zip", 1));
    assert!(stands(&scope).contains(&("slow".to_owned(), WaitsFor::Source)));
}
