//! An element that waits in front of an edge is seen from outside: offered = handed out + held + lost + late.

use sluicegate::flow::{EdgeOptions, Flow, Offer, Scope, Sink, Source, StageView};

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
