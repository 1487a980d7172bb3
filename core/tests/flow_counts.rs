//! What waits in front of an edge or in one is seen from outside: offered = handed out + held + lost + late.

use sluicegate::flow::{EdgeOptions, Flow, Offer, Overflow, Scope, Sink, Source, StageView};

fn edge(n: u64) -> EdgeOptions {
    EdgeOptions::capacity(n).expect("positive")
}

#[test]
fn an_element_that_waits_for_room_in_bytes_is_held() {
    let bytes = edge(8).bytes(10).expect("positive");
    let scope = Scope::stepped("counts", 1);
    let graph = Source::manual(edge(4))
        .via(Flow::buffer_sized(bytes, |_| 7))
        .to_mat(Sink::probe(), |source, end| (source, end));
    let (source, end) = graph.run(&scope).expect("runs");
    // What lies in the edge of the source, its control tells.
    let counted = || {
        let mut stages = scope.stages();
        stages.retain(|stage| stage.name() != "manual");
        let sum =
            |figure: fn(&StageView) -> u64| stages.iter().map(|stage| figure(stage)).sum::<u64>();
        (source.held(), sum(|s| s.demand().held), sum(StageView::lost), sum(StageView::late))
    };
    scope.settle();
    for n in 0..4 {
        assert_eq!(source.try_offer(n), Ok(Offer::Enqueued));
        scope.settle();
    }
    // One in the edge of the buffer, and one in front of it.
    assert_eq!(counted(), (2, 2, 0, 0), "{}", scope.explain());
    end.request(2);
    scope.settle();
    end.expect_next(0).expect_next(1);
    assert_eq!(counted(), (0, 2, 0, 0), "{}", scope.explain());
    end.request(9);
    scope.settle();
    end.expect_next(2).expect_next(3);
    assert_eq!(counted(), (0, 0, 0, 0), "{}", scope.explain());
}

/// An edge is filled by its producer while its consumer does not look: the second source of a concat whose
/// turn has not come, and a consumer that has not run since.
#[test]
fn an_edge_tells_what_it_holds_though_nobody_reads_it() {
    let scope = Scope::stepped("counts", 2);
    let manual = |overflow| {
        let edge = edge(2).overflow(overflow);
        Source::<u64, _>::manual(edge)
    };
    let both = vec![
        manual(Overflow::Backpressure).named("first"),
        manual(Overflow::DropHead).named("second"),
    ];
    let graph = Source::concat_all(both).to_mat(Sink::probe(), |sources, end| (sources, end));
    let (sources, end) = graph.run(&scope).expect("runs");
    let [first, second] = &sources[..] else { panic!("there are two") };
    scope.settle();
    let stands = |name: &str| {
        let told = scope.explain();
        let stage = told.stages().iter().find(|one| one.stage == name).expect("it runs");
        (stage.demand.upstream, stage.demand.held, stage.lost)
    };
    let view = scope.stages().into_iter().find(|view| view.name() == "second").expect("it runs");
    assert_eq!((stands("first"), stands("second")), ((2, 0, 0), (2, 0, 0)));
    for n in 0..2 {
        first.try_offer(n).expect("room"); // and nobody runs
    }
    for n in 10..15 {
        assert_eq!(second.try_offer(n), Ok(Offer::Enqueued));
    }
    // An edge that never has anybody wait always has room.
    assert_eq!((stands("first"), stands("second")), ((0, 2, 0), (2, 2, 3)));
    scope.settle();
    assert_eq!((stands("first"), stands("second")), ((0, 2, 0), (2, 2, 3)));
    first.complete();
    second.complete();
    end.request(9);
    scope.settle();
    end.expect_next(0).expect_next(1).expect_next(13).expect_next(14).expect_complete();
    assert_eq!((view.demand().upstream, view.demand().held, view.lost()), (0, 0, 3));
}
