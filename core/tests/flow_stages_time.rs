//! The stages that wait for time, on a clock moved by hand.

use std::time::Duration;

use sluicegate::flow::{
    Clock, Completion, Flow, Offer, Ops, Publisher, Scope, Sink, Source, Subscriber,
};
use sluicegate::{Error, ErrorKind};

const SOON: Duration = Duration::from_secs(180);

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

struct Bench<I, O> {
    scope: Scope,
    source: Publisher<I>,
    end: Subscriber<O>,
}

/// A flow between two probes, on a scope without threads, which is asked for `demand` at once.
fn bench<I, O>(flow: Flow<I, O>, demand: u64) -> Bench<I, O>
where
    I: Send + std::fmt::Debug + 'static,
    O: Send + 'static,
{
    let scope = Scope::stepped("test", 11);
    let graph = Source::strict_probe().via(flow).to_mat(Sink::probe(), |source, end| (source, end));
    let (source, end) = graph.run(&scope).expect("runs");
    end.request(demand);
    scope.settle();
    Bench { scope, source, end }
}

impl<I: Send + std::fmt::Debug + PartialEq + 'static, O: Send + 'static> Bench<I, O> {
    #[track_caller]
    fn send(&self, item: I) {
        assert_eq!(self.source.control().try_offer(item), Ok(Offer::Enqueued));
        self.scope.settle();
    }

    #[track_caller]
    fn silent(&self) {
        self.end.expect_no_message(Duration::ZERO);
    }

    fn pass(&self, n: u64) {
        self.scope.advance(ms(n));
    }
}

#[test]
fn a_throttle_lets_a_burst_pass_and_then_keeps_the_pace() {
    let scope = Scope::stepped("test", 11);
    let source = Source::iter(0_u64..).throttle(3, ms(100), 2).expect("positive");
    let end = source.to(Sink::probe()).run(&scope).expect("runs");
    end.request(8);
    scope.settle();
    end.expect_next(0).expect_next(1).expect_no_message(Duration::ZERO);
    // Three in 100 ms, and no rounding adds up.
    let mut now = 0;
    for (n, due) in [(2, 33_334), (3, 66_667), (4, 100_000)] {
        scope.advance(Duration::from_micros(due - 1 - now));
        end.expect_no_message(Duration::ZERO);
        scope.advance(Duration::from_micros(1));
        end.expect_next(n);
        now = due;
    }
    scope.advance(ms(1000)); // the burst is two: the rest keeps the pace
    end.expect_next(5).expect_next(6).expect_no_message(Duration::ZERO);
    scope.advance(ms(34));
    end.expect_next(7);
    end.request(9);
    scope.settle();
    end.expect_no_message(Duration::ZERO);
}

#[test]
fn what_a_throttle_or_a_delay_holds_is_told_before_the_end() {
    let flow = Flow::throttle(1, ms(10), 1).expect("positive");
    let test = bench(flow, 9);
    test.send(1_u64);
    test.end.expect_next(1);
    test.send(2);
    test.source.send_error(Error::new(ErrorKind::Io, "gone"));
    test.scope.settle();
    test.silent();
    test.pass(10);
    test.end.expect_next(2);
    assert_eq!(test.end.expect_error().message(), "gone");

    let test = bench(Flow::delay(ms(10), 2).expect("positive"), 9);
    assert_eq!(test.source.control().demand(), 2, "its room");
    test.send(1_u64);
    test.pass(4);
    test.send(2);
    assert_eq!(test.source.control().demand(), 0);
    test.source.send_complete();
    test.pass(5);
    test.silent();
    test.pass(1);
    test.end.expect_next(1);
    test.silent();
    test.pass(4);
    test.end.expect_next(2);
    test.end.expect_complete();
}

#[test]
fn a_debounce_tells_the_latest_once_it_is_quiet() {
    let test = bench(Flow::debounce(ms(10)), 5);
    test.send(1_u64);
    test.pass(9);
    test.send(2);
    test.pass(9);
    test.silent();
    test.pass(1);
    test.end.expect_next(2);
    test.pass(100);
    test.silent();
    test.send(3);
    test.source.send_complete();
    test.scope.settle();
    test.end.expect_next(3);
    test.end.expect_complete();
}

#[test]
fn conflate_folds_what_nobody_has_asked_for_yet() {
    let test = bench(
        Flow::conflate(
            |n: u64| vec![n],
            |mut all, n| {
                all.push(n);
                all
            },
        ),
        1,
    );
    test.send(1);
    test.end.expect_next(vec![1]);
    for n in 2..1000 {
        test.send(n); // never held back
    }
    test.silent();
    test.end.request(1);
    test.scope.settle();
    test.end.expect_next((2..1000).collect::<Vec<_>>());
    test.send(1000);
    test.source.send_complete();
    test.scope.settle();
    test.silent();
    test.end.request(1);
    test.scope.settle();
    test.end.expect_next(vec![1000]);
    test.end.expect_complete();
}

#[test]
fn a_conflate_above_a_source_that_never_pauses_hears_of_demand() {
    let scope = Scope::new("test").expect("a scope");
    let source = Source::repeat(1_u64).conflate(|n| n, |sum, n| sum.saturating_add(n));
    let end = source.to(Sink::probe()).run(&scope).expect("runs");
    let end = end.with_limit(SOON);
    end.request(1).expect_any();
    end.request(1);
    assert!(end.expect_any() >= 1);
    end.cancel();
    scope.shutdown(SOON).expect("stops");
}

#[test]
fn an_idle_timeout_counts_only_while_something_is_wanted() {
    let test = bench(Flow::<u64, _>::idle_timeout(ms(10)), 1);
    test.pass(9);
    test.send(1);
    test.end.expect_next(1);
    test.pass(1000);
    test.silent();
    test.end.request(2);
    test.scope.settle();
    test.pass(9);
    test.send(2);
    test.end.expect_next(2);
    test.pass(9);
    test.silent();
    test.pass(1);
    let error = test.end.expect_error();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.message().contains("idle_timeout") && error.message().contains("10ms"));
    assert!(test.source.control().is_over(), "the upstream was cancelled");
}

#[test]
fn limits_on_the_first_element_and_on_the_whole() {
    let test = bench(Flow::<u64, _>::initial_timeout(ms(10)), 5);
    test.pass(9);
    test.send(1);
    test.end.expect_next(1);
    test.pass(1000);
    test.silent();
    let test = bench(Flow::<u64, _>::initial_timeout(ms(10)), 5);
    test.pass(10);
    assert_eq!(test.end.expect_error().kind(), ErrorKind::TimedOut);

    let test = bench(Flow::<u64, _>::completion_timeout(ms(10)), 5);
    test.pass(9);
    test.send(1);
    test.end.expect_next(1);
    test.pass(1);
    assert_eq!(test.end.expect_error().kind(), ErrorKind::TimedOut);
    assert!(test.source.control().is_over());
}

#[test]
fn what_lies_within_a_time_is_taken_or_dropped() {
    let test = bench(Flow::<u64, _>::take_within(ms(10)), 5);
    test.send(1);
    test.pass(9);
    test.send(2);
    test.pass(1);
    test.end.expect_next(1).expect_next(2);
    test.end.expect_complete();
    assert!(test.source.control().is_over());

    let test = bench(Flow::<u64, _>::drop_within(ms(10)), 1);
    test.send(1);
    test.pass(9);
    test.send(2);
    test.silent();
    assert_eq!(test.source.control().demand(), 1, "asked again for each that was dropped");
    test.pass(1);
    test.send(3);
    test.end.expect_next(3);
}

#[test]
fn ticks_keep_to_their_grid_and_never_pile_up() {
    let scope = Scope::stepped("test", 11);
    let source = Source::tick(ms(10), "tick").expect("positive");
    let end = source.to(Sink::probe()).run(&scope).expect("runs");
    end.request(2);
    scope.advance(Duration::ZERO);
    scope.advance(ms(9));
    end.expect_no_message(Duration::ZERO);
    scope.advance(ms(1));
    end.expect_next("tick");
    scope.advance(ms(10));
    end.expect_next("tick");
    scope.advance(ms(105)); // nobody has asked: 125
    end.request(3);
    scope.settle();
    end.expect_no_message(Duration::ZERO);
    scope.advance(ms(5));
    end.expect_next("tick");
    scope.advance(ms(100)); // late: one, and not ten
    end.expect_next("tick").expect_no_message(Duration::ZERO);
}

#[test]
fn a_stage_with_a_thread_is_woken_by_its_clock() {
    // The machine's: five at one in 10 ms take 40 ms at least.
    let scope = Scope::new("test").expect("a scope");
    let source = Source::range(0..5).throttle(1, ms(10), 1).expect("positive");
    let graph = source.to(Sink::collect());
    let start = std::time::Instant::now();
    let all = graph.run(&scope).expect("runs").blocking_wait_timeout(SOON);
    assert_eq!(all.expect("all of them"), [0, 1, 2, 3, 4]);
    assert!(start.elapsed() >= ms(40), "{:?}", start.elapsed());
    // One that is moved by hand, while the islands have threads.
    let scope = Scope::with_clock("test", Clock::hand()).expect("a scope");
    let all = graph.run(&scope).expect("runs");
    let deadline = std::time::Instant::now() + SOON;
    while all.is_pending() {
        assert!(std::time::Instant::now() < deadline, "it sleeps on");
        scope.advance(ms(1));
        std::thread::yield_now();
    }
    assert_eq!(all.blocking_wait().expect("all of them"), [0, 1, 2, 3, 4]);
    assert!(scope.clock().now() >= ms(40));
}

#[test]
fn scopes_that_share_a_clock_do_not_take_each_others_alarms() {
    let clock = Clock::hand();
    let scopes = ["one", "two", "three"]
        .map(|name| Scope::with_clock(name, clock.clone()).expect("a scope"));
    let graph = Source::range(0..20).throttle(1, ms(10), 1).expect("positive").to(Sink::collect());
    let all = scopes.each_ref().map(|scope| graph.run(scope).expect("runs"));
    let deadline = std::time::Instant::now() + SOON;
    while all.iter().any(Completion::is_pending) {
        assert!(std::time::Instant::now() < deadline, "one sleeps on: {all:?}");
        clock.advance(ms(1));
        std::thread::yield_now();
    }
    for all in all {
        assert_eq!(all.blocking_wait().expect("all of them"), (0..20).collect::<Vec<_>>());
    }
}

// HZ-S13
#[test]
fn no_time_and_no_elements_are_refused() {
    let refused: Vec<Result<(), Error>> = vec![
        Flow::<u64, _>::throttle(0, ms(1), 1).map(drop),
        Flow::<u64, _>::throttle(1, ms(0), 1).map(drop),
        Flow::<u64, _>::throttle(1, ms(1), 0).map(drop),
        Flow::<u64, _>::delay(ms(1), 0).map(drop),
        Source::tick(ms(0), ()).map(drop),
        Source::range(0..1).retry(0, ms(1), ms(1)).map(drop),
        Flow::map_parallel(0, |n: u64| Ok(n)).map(drop),
        Flow::map_parallel(u64::MAX, |n: u64| Ok(n)).map(drop), // HZ-S04
        Flow::map_async(0, async |n: u64| Ok(n)).map(drop),
    ];
    for (n, refused) in refused.into_iter().enumerate() {
        assert_eq!(refused.expect_err("refused").kind(), ErrorKind::InvalidArgument, "{n}");
    }
}
