//! A scope tells who waits for whom.

use serde_json::json;
use sluicegate::Engine;
use sluicegate::account::Explanation;
use sluicegate::flow::{
    EdgeOptions, Flow, HubOptions, HubPolicy, Page, Scope, Sink, Source, WaitsFor,
};

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

/// Rows that were fetched, and elements that a hub has not shared, are held by a stage: one sees whose
/// memory they are.
#[test]
fn what_a_source_or_a_hub_holds_is_seen() {
    let held = |scope: &Scope, stage: &str| {
        let told = scope.explain();
        let of = told.stages().iter().find(|one| one.stage == stage).expect("it runs");
        (of.demand.downstream, of.demand.upstream, of.demand.held)
    };
    let scope = Scope::stepped("rows", 1);
    let page = |from: u64| {
        let rows = (from..from + 64).collect();
        Ok(Page { rows, next: Some(from + 64) })
    };
    let end = Source::pages(0, page).to(Sink::probe()).run(&scope).expect("runs");
    end.request(1);
    scope.settle();
    assert_eq!(held(&scope, "pages"), (0, 0, 63));
    end.request(13);
    scope.settle();
    assert_eq!(held(&scope, "pages"), (0, 0, 50));
    assert!(scope.explain().to_string().contains("it holds 50"), "{}", scope.explain());

    // A probe takes 16 that nobody has looked at, and no more.
    let scope = Scope::stepped("fetch", 1);
    let fetch = |from: u64, n: u64| Ok((from..(from + n + 5).min(90)).collect());
    let end = Source::fetch(fetch).to(Sink::probe()).run(&scope).expect("runs");
    end.request(50);
    scope.settle();
    assert_eq!(held(&scope, "fetch"), (34, 0, 34), "what was asked for, and not five more");
    assert_eq!(scope.explain().stages()[0].late, 5);

    let scope = Scope::stepped("hub", 1);
    let hub = Source::range(0..100).to(Sink::broadcast_hub(HubOptions::capacity(8).expect("some")));
    let hub = hub.run(&scope).expect("runs");
    let source = hub.subscribe_with(HubPolicy::Wait, 1).expect("some");
    let fast = hub.subscribe_with(HubPolicy::Wait, 64).expect("some").to(Sink::probe());
    let (fast, slow) = (fast.run(&scope).expect("runs"), source.to(Sink::probe()).run(&scope));
    fast.request(64);
    scope.settle();
    assert!(slow.is_ok(), "it asks for nothing, and holds the hub up");
    assert_eq!(held(&scope, "broadcast_hub").2, 8, "{}", scope.explain());
}

#[test]
fn an_engine_names_the_stages_that_wait_in_the_scopes_that_tell_it() {
    let (engine, scope) = (Engine::default(), Scope::stepped("export", 1));
    assert!(engine.explain().stages().is_empty());
    let edge = EdgeOptions::capacity(4).expect("positive");
    let graph = Source::<u64, _>::manual(edge)
        .named("rows")
        .via(Flow::map(|n| n))
        .to_mat(Sink::probe().named("report"), |rows, report| (rows, report));
    let (_rows, report) = graph.run(&scope).expect("runs");
    scope.tell(&engine);
    scope.tell(&engine);
    report.request(2);
    scope.settle();
    let told = engine.explain();
    let stages: Vec<_> = told.stages().iter().map(|s| (&s["stage"], &s["waits_for"])).collect();
    assert!(stages.iter().all(|(_, waits_for)| *waits_for == "source"), "{stages:?}");
    assert!(stages.iter().map(|(stage, _)| *stage).eq(["rows", "map", "report"]), "{stages:?}");
    assert_eq!(
        (&told.stages()[1]["downstream"], &told.stages()[1]["scope"]),
        (&json!(2), &json!("export"))
    );
    let text = told.to_string();
    let line = "scope \"export\": stage \"rows\" has demand for 2 and waits for its source";
    assert!(text.contains(line), "{text}");
    assert!(told.is_quiet(), "no stream of a request is held up");
    assert_eq!(Explanation::from_json(&told.to_json()), told);
    drop((report, scope));
    assert!(engine.explain().stages().is_empty(), "the scope is gone");
}
