//! A run is ended from outside.

use std::time::Duration;

use sluicegate::ErrorKind;
use sluicegate::flow::{EdgeOptions, Flow, Offer, Scope, Sink, Source};

const SOON: Duration = Duration::from_secs(20);

#[test]
fn a_switch_ends_a_run_that_waits_and_one_that_never_waits() {
    let scope = Scope::new("test").expect("a scope");
    let idle = Source::<u64, _>::manual(EdgeOptions::default())
        .via_mat(Flow::switch(), |control, switch| (control, switch))
        .to_mat(Sink::collect(), |controls, result| (controls, result));
    let ((control, switch), result) = idle.run(&scope).expect("runs");
    assert!(result.is_pending());
    assert!(switch.cancel());
    assert!(!switch.cancel(), "once");
    let error = result.blocking_wait_timeout(SOON).expect_err("cancelled");
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    while control.blocking_offer(1) == Offer::Enqueued {}

    let busy = Source::iter(0_u64..)
        .via_mat(Flow::switch(), |_, switch| switch)
        .to_mat(Sink::ignore(), |switch, result| (switch, result));
    let (switch, result) = busy.run(&scope).expect("runs");
    switch.cancel();
    assert_eq!(
        result.blocking_wait_timeout(SOON).expect_err("cancelled").kind(),
        ErrorKind::Cancelled
    );
    scope.shutdown(SOON).expect("nothing is left");
}

#[test]
fn a_switch_that_nobody_throws_changes_nothing() {
    let scope = Scope::stepped("test", 1);
    let graph = Source::iter(0..5_u64).via(Flow::switch()).to(Sink::collect());
    let result = graph.run(&scope).expect("runs");
    scope.settle();
    assert_eq!(result.blocking_wait_timeout(SOON).expect("all"), [0, 1, 2, 3, 4]);
}
