//! A run is ended from outside.

use std::time::Duration;

use sluicegate::flow::{
    EdgeOptions, Flow, HubOptions, HubPolicy, Offer, Scope, Sink, Source, Status, Switch,
};
use sluicegate::wait::block_on;
use sluicegate::{Deadline, Error, ErrorKind};

const SOON: Duration = Duration::from_secs(180);

fn both<A, B>(a: A, b: B) -> (A, B) {
    (a, b)
}

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
    assert_eq!(result.status(), Status::Cancelled, "a cancel is no failure");
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
    assert!(result.is_cancelled());
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

/// However a run ends: by itself, by its switch, by a failure, with its scope, or before it began.
#[test]
fn whoever_holds_a_switch_hears_that_there_is_nothing_to_end_any_more() -> Result<(), Error> {
    let scope = Scope::stepped("test", 1);
    let numbers = |source: Source<u64>, sink: Sink<u64, _>| {
        source.via_mat(Flow::switch(), |_, switch| switch).to_mat(sink, both)
    };
    let graph = numbers(Source::single(1), Sink::collect());
    let ((ends, _done), (again, _)) = (graph.run(&scope)?, graph.run(&scope)?);
    let (cut, _) = numbers(Source::repeat(1), Sink::collect()).run(&scope)?;
    let failing = Source::failed(Error::new(ErrorKind::Io, "gone"));
    let (fails, _) = numbers(failing, Sink::collect()).run(&scope)?;
    let waits = Source::<u64, _>::manual(EdgeOptions::default())
        .via_mat(Flow::switch(), both)
        .to_mat(Sink::ignore(), both);
    let ((_manual, stopped), _) = waits.run(&scope)?;
    let over = |switch: &Switch| block_on(switch.ended(), Deadline::after(Duration::ZERO)).is_ok();
    assert!([&ends, &again, &cut, &fails, &stopped].into_iter().all(|switch| !over(switch)));
    cut.cancel();
    assert!(!over(&cut), "it has not been told yet");
    scope.settle();
    assert!([&ends, &again, &cut, &fails].into_iter().all(over));
    assert!(!over(&stopped));
    scope.shutdown(SOON)?;
    assert!(over(&stopped));
    Ok(())
}

/// Pending, success, failure, cancelled: which it is depends on how the run ended, not on where the
/// end came from.
#[test]
fn a_cancel_that_goes_through_a_run_cancels_its_result_and_a_failure_fails_it() -> Result<(), Error>
{
    let edge = EdgeOptions::capacity(2)?;
    let scope = Scope::stepped("test", 1);

    // Beyond an edge, with the reason that was given.
    let graph = Source::repeat(1_u64)
        .via_mat(Flow::switch(), |_, switch| switch)
        .via(Flow::buffer(edge))
        .to_mat(Sink::fold(0, |sum: u64, n| sum + n), both);
    let (switch, result) = graph.run(&scope)?;
    switch.cancel_with(Error::new(ErrorKind::TimedOut, "too late"));
    scope.settle();
    assert_eq!(result.status(), Status::Cancelled);
    assert_eq!(result.blocking_wait_timeout(SOON).expect_err("cancelled").message(), "too late");

    // A producer that went away, and a scope of another that was shut down.
    let (manual, result) =
        Source::<u64, _>::manual(edge).to_mat(Sink::collect(), both).run(&scope)?;
    drop(manual);
    scope.settle();
    assert_eq!(result.status(), Status::Cancelled);
    let far = Scope::stepped("far", 1);
    let hub = Source::<u64, _>::manual(edge)
        .to_mat(Sink::broadcast_hub(HubOptions::default()), both)
        .run(&far)?;
    let result = hub.1.subscribe(HubPolicy::Wait).to(Sink::collect()).run(&scope)?;
    scope.settle();
    far.shutdown(SOON)?;
    scope.settle();
    assert_eq!(result.status(), Status::Cancelled);
    let error = result.blocking_wait_timeout(SOON).expect_err("its scope is gone");
    assert_eq!(error.kind(), ErrorKind::ScopeShutDown);

    // A failure, and a function that throws.
    let broken = Source::<u64>::failed(Error::new(ErrorKind::Io, "gone")).to(Sink::collect());
    let throws = Source::iter(0..3_u64).to(Sink::foreach(|_| panic!("thrown")));
    let (broken, throws) = (broken.run(&scope)?, throws.run(&scope)?);
    scope.settle();
    assert_eq!((broken.status(), throws.status()), (Status::Failure, Status::Failure));
    Ok(())
}
