//! The stages whose output counts differ from their input counts: groups, pages, expansions, windows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sluicegate::flow::{
    Clock, Completion, EdgeOptions, Flow, NotUsed, Offer, Ops, Overflow, Page, Publisher, Scope,
    Sink, Source, Subscriber,
};
use sluicegate::{Error, ErrorKind};

const SOON: Duration = Duration::from_secs(180);

/// A flow between two probes, on a scope without threads.
fn between<I, O>(flow: Flow<I, O>) -> (Scope, Publisher<I>, Subscriber<O>)
where
    I: Send + 'static,
    O: Send + 'static,
{
    let scope = Scope::stepped("test", 7);
    let graph = Source::strict_probe().via(flow).to_mat(Sink::probe(), |source, end| (source, end));
    let (source, end) = graph.run(&scope).expect("runs");
    scope.settle();
    (scope, source, end)
}

fn collected<T: Clone + Send + Sync + 'static>(source: &Source<T>) -> Result<Vec<T>, Error> {
    let scope = Scope::stepped("test", 7);
    let result = source.to(Sink::collect()).run(&scope).expect("runs");
    scope.settle();
    result.result().expect("settled")
}

/// Sends what there is demand for, one settled step each; answers how many.
fn send(scope: &Scope, source: &Publisher<u64>, items: impl IntoIterator<Item = u64>) -> u64 {
    let mut sent = 0;
    for item in items {
        if source.control().try_offer(item) != Ok(Offer::Enqueued) {
            break;
        }
        scope.settle();
        sent += 1;
    }
    sent
}

// HZ-S05
#[test]
fn a_group_asks_for_what_it_needs_and_no_more() {
    let (scope, source, end) = between(Flow::<u64, _>::batch(3).expect("positive"));
    let mut asked = 0;
    let mut next = 0;
    for (request, most) in [(2, 6), (1, 9)] {
        end.request(request);
        scope.settle();
        loop {
            let demand = source.control().demand();
            assert!(demand <= 3, "a group at a time");
            if demand == 0 || next == 7 {
                break;
            }
            next += send(&scope, &source, next..(next + demand).min(7));
            asked = next + source.control().demand();
            assert!(asked <= most, "{asked} asked for {most}");
        }
    }
    assert_eq!((next, asked), (7, 9), "never less than the group still needs");
    source.send_complete();
    scope.settle();
    end.expect_next(vec![0, 1, 2]).expect_next(vec![3, 4, 5]).expect_next(vec![6]);
    end.expect_complete();
}

// HZ-S03
#[test]
fn a_timed_group_leaves_against_demand_only() {
    let group = Flow::<u64, _>::batch_within(10, Duration::from_millis(20)).expect("positive");
    let (scope, source, end) = between(group);
    end.request(1);
    scope.settle();
    assert_eq!(source.control().demand(), 10);
    send(&scope, &source, [0, 1]);
    scope.advance(Duration::from_millis(19));
    assert!(end.event_within(Duration::ZERO).is_none(), "its time has not come");
    send(&scope, &source, [2]);
    scope.advance(Duration::from_millis(1));
    end.expect_next(vec![0, 1, 2]);
    // The reader sleeps: the next group grows up to its size, and then the source is held back.
    assert_eq!(send(&scope, &source, 3..100), 7, "what was asked for for the first group");
    scope.advance(Duration::from_secs(1));
    assert!(end.event_within(Duration::ZERO).is_none());
    assert_eq!(source.control().demand(), 0);
    end.request(1);
    scope.settle();
    end.expect_next((3..10).collect::<Vec<_>>()); // its time came long ago
    source.send_complete();
    scope.settle();
    end.expect_complete();
}

// HZ-S04, HZ-S13
#[test]
fn sizes_of_nothing_are_refused_and_huge_ones_reserve_nothing() {
    let refused: Vec<Result<(), Error>> = vec![
        Flow::<u64, _>::batch(0).map(drop),
        Flow::<u64, _>::batch_within(0, Duration::ZERO).map(drop),
        Flow::<u64, _>::batch_bytes(0, |_| 1).map(drop),
        Flow::<u64, _>::page(0).map(drop),
        Flow::<u64, _>::page_with_mark(0, 1).map(drop),
        Flow::<u64, _>::sliding(0, 1).map(drop),
        Flow::<u64, _>::sliding(1, 0).map(drop),
        EdgeOptions::capacity(0).map(drop),
        EdgeOptions::default().bytes(0).map(drop),
    ];
    for (n, refused) in refused.into_iter().enumerate() {
        let error = refused.expect_err("nothing could ever pass");
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{n}");
    }
    let all: Vec<u64> = (0..5).collect();
    for size in [1, (1 << 31) - 1, 1 << 62, u64::MAX] {
        let source = Source::iter(all.clone());
        let edge = EdgeOptions::capacity(size).expect("positive");
        let fives =
            if size == 1 { all.iter().map(|n| vec![*n]).collect() } else { vec![all.clone()] };
        let within = Duration::from_secs(1);
        assert_eq!(collected(&source.batch(size).expect("positive")), Ok(fives.clone()));
        let timed = source.batch_within(size, within).expect("positive");
        assert_eq!(collected(&timed), Ok(fives.clone()));
        let bytes = source.batch_bytes(size, |_| 1).expect("positive");
        assert_eq!(collected(&bytes), Ok(fives.clone()));
        assert_eq!(collected(&source.sliding(size, size).expect("positive")), Ok(fives));
        assert_eq!(collected(&source.page(size).expect("positive")), Ok(all.clone()));
        assert_eq!(collected(&source.buffer(edge)), Ok(all.clone()));
        let first = all.iter().copied().take(usize::try_from(size).unwrap_or(5)).collect();
        assert_eq!(collected(&source.take(size)), Ok(first));
    }
}

#[test]
fn groups_by_bytes_take_what_fits_and_one_that_is_larger_alone() {
    let flow = Flow::batch_bytes(10, |n: &u64| *n).expect("positive");
    let source = Source::iter([4_u64, 6, 1, 9, 2, 25, 3, 10, 3]).via(flow.clone());
    let groups = [vec![4, 6], vec![1, 9], vec![2], vec![25], vec![3], vec![10], vec![3]];
    assert_eq!(collected(&source), Ok(groups.to_vec()));

    let (scope, source, end) = between(flow);
    end.request(1);
    scope.settle();
    assert_eq!(send(&scope, &source, [3, 3, 3, 3, 3]), 4, "one is read that does not fit");
    end.expect_next(vec![3, 3, 3]);
    end.request(1);
    scope.settle();
    assert_eq!(send(&scope, &source, [7, 1, 1]), 1, "full to the byte: nothing more is read");
    end.expect_next(vec![3, 7]);
}

#[test]
fn a_page_reads_ahead_of_demand_and_is_filled_up_at_its_mark() {
    let (scope, source, end) = between(Flow::page(64).expect("positive"));
    assert_eq!(source.control().demand(), 64, "asked for at once");
    assert_eq!(send(&scope, &source, 0..100), 64);
    for n in 0..48 {
        assert_eq!(source.control().demand(), 0, "no chatter: {n} left");
        end.request(1);
        scope.settle();
        end.expect_next(n);
    }
    assert_eq!(source.control().demand(), 48, "three quarters at once");
    source.send_error(Error::new(ErrorKind::Io, "gone"));
    end.request(100);
    scope.settle();
    for n in 48..64 {
        end.expect_next(n);
        scope.settle();
    }
    assert_eq!(end.expect_error().message(), "gone"); // behind what was held
}

// HZ-S02
#[test]
fn an_expansion_pulls_the_next_input_only_once_the_last_is_drained() {
    let pulled = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&pulled);
    let source = Source::iter(0_u64..)
        .tap(move |_| _ = count.fetch_add(1, Ordering::SeqCst))
        .expand(|n| (0..10).map(move |k| n * 10 + k))
        .take(5);
    assert_eq!(collected(&source), Ok(vec![0, 1, 2, 3, 4]));
    assert_eq!(pulled.load(Ordering::SeqCst), 1);
}

#[test]
fn an_expansion_of_nothing_asks_for_another() {
    let source = Source::iter(0_u64..9).expand(|n| vec![n; usize::try_from(n % 3).expect("small")]);
    assert_eq!(collected(&source), Ok(vec![1, 2, 2, 4, 5, 5, 7, 8, 8]));
    let lists = Source::iter([vec![1], vec![], vec![2, 3]]).flatten();
    assert_eq!(collected(&lists), Ok(vec![1, 2, 3]));
}

#[test]
fn windows_overlap_or_leave_gaps() {
    let source = Source::iter(1_u64..=5);
    let windows = |size, step| collected(&source.sliding(size, step).expect("positive"));
    assert_eq!(windows(3, 1), Ok(vec![vec![1, 2, 3], vec![2, 3, 4], vec![3, 4, 5]]));
    assert_eq!(windows(2, 3), Ok(vec![vec![1, 2], vec![4, 5]]));
    assert_eq!(windows(3, 2), Ok(vec![vec![1, 2, 3], vec![3, 4, 5]]));
    assert_eq!(windows(4, 3), Ok(vec![vec![1, 2, 3, 4], vec![4, 5]]));
    assert_eq!(windows(9, 1), Ok(vec![vec![1, 2, 3, 4, 5]]));
}

/// A source of `pages` pages of 100 rows, and how many were fetched.
fn paged(pages: u64, mark: u64) -> (Source<u64>, Arc<AtomicU64>) {
    let fetches = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&fetches);
    let source = Source::pages_ahead(0_u64, mark, move |page| {
        count.fetch_add(1, Ordering::SeqCst);
        let next = (page + 1 < pages).then_some(page + 1);
        Ok(Page { rows: (page * 100..page * 100 + 100).collect(), next })
    });
    (source, fetches)
}

// HZ-S19
#[test]
fn a_page_is_fetched_when_the_rows_left_fall_to_the_mark() {
    let (source, fetches) = paged(1000, 0);
    assert_eq!(collected(&source.take(5)), Ok(vec![0, 1, 2, 3, 4]));
    assert_eq!(fetches.load(Ordering::SeqCst), 1, "and the loop has ended");
    for (mark, second) in [(0, 101), (20, 80), (99, 1)] {
        let (source, fetches) = paged(1000, mark);
        let scope = Scope::stepped("test", 7);
        let end = source.to(Sink::probe()).run(&scope).expect("runs");
        scope.settle();
        assert_eq!(fetches.load(Ordering::SeqCst), 0, "nothing before the first demand");
        for row in 0..150_u64 {
            end.request(1);
            scope.settle();
            end.expect_next(row);
            let pages = 1 + u64::from(row + 1 >= second) + u64::from(row + 1 >= second + 100);
            assert_eq!(fetches.load(Ordering::SeqCst), pages, "mark {mark}, row {row}");
        }
        end.cancel();
        scope.settle();
        assert_eq!(scope.running(), 0);
    }
    let (source, fetches) = paged(3, 10);
    assert_eq!(collected(&source), Ok((0..300).collect()));
    assert_eq!(fetches.load(Ordering::SeqCst), 3);
}

#[test]
fn a_fetch_that_fails_ahead_tells_it_behind_the_rows_before() {
    let source = Source::pages_ahead(0, 9, |page| match page {
        0 => Ok(Page { rows: vec![1, 2, 3], next: Some(1) }),
        _ => Err(Error::new(ErrorKind::Io, "no second page")),
    });
    let scope = Scope::stepped("test", 7);
    let end = source.to(Sink::probe()).run(&scope).expect("runs");
    end.request(1);
    scope.settle();
    end.expect_next(1).request(9);
    scope.settle();
    end.expect_next(2).expect_next(3);
    let error = end.expect_error();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.message().contains("no second page"));
}

// HZ-S01
#[test]
fn a_filter_asks_again_for_each_it_drops() {
    let (scope, source, end) = between(Flow::filter(|n: &u64| n.is_multiple_of(100)));
    let mut next = 0;
    for round in 0..1000 {
        end.request(1);
        scope.settle();
        while source.control().demand() != 0 {
            assert_eq!(source.control().demand(), 1, "demand above is never more than is missing");
            next += send(&scope, &source, [next]);
        }
        end.expect_next(round * 100);
    }
    assert_eq!(next, 999 * 100 + 1, "asked for in all: as many as were pulled");
}

// HZ-S06
#[test]
fn an_edge_behind_stages_holds_three_and_no_more() {
    let kinds: &[(Overflow, &[u64], u64)] = &[
        (Overflow::DropHead, &[8, 9, 10], 7),
        (Overflow::DropNew, &[1, 2, 3], 7),
        (Overflow::DropTail, &[1, 2, 10], 7),
        (Overflow::DropBuffer, &[10], 9),
    ];
    for (overflow, left, lost) in kinds {
        let scope = Scope::stepped("test", 7);
        let edge = EdgeOptions::capacity(3).expect("positive").overflow(*overflow);
        let graph = Source::iter(1..=10_u64).map(|n| n).buffer(edge).to(Sink::probe());
        let end = graph.run(&scope).expect("runs");
        scope.settle();
        let views = scope.stages();
        let view = views.iter().find(|view| view.name() == "buffer").expect("runs");
        assert_eq!((view.demand().held, view.lost()), (left.len() as u64, *lost), "{overflow:?}");
        end.request(10);
        scope.settle();
        for n in *left {
            end.expect_next(*n);
        }
        end.expect_complete();
    }
    let scope = Scope::stepped("test", 7);
    let edge = EdgeOptions::capacity(3).expect("positive");
    let graph = Source::iter(1..=10_u64).via(Flow::buffer(edge).named("edge")).to(Sink::probe());
    let end = graph.run(&scope).expect("runs");
    scope.settle();
    let view = scope.stages().into_iter().find(|view| view.name() == "edge").expect("runs");
    assert_eq!((view.demand().held, view.lost()), (3, 0), "the fourth waits");
    let iter = scope.stages().into_iter().find(|view| view.name() == "iter").expect("runs");
    assert_eq!(iter.passed(), 3, "above");
    end.request(10);
    scope.settle();
    (1..=10_u64).for_each(|n| _ = end.expect_next(n));
    end.expect_complete();
}

// HZ-S07
#[test]
fn take_asks_for_five_and_cancels_straight_after_the_fifth() {
    let scope = Scope::stepped("test", 7);
    let graph = Source::strict_probe().take(5).to_mat(Sink::collect(), |source, all| (source, all));
    let (source, all): (Publisher<u64>, Completion<Vec<u64>>) = graph.run(&scope).expect("runs");
    scope.settle();
    assert_eq!(source.control().demand(), 5);
    assert_eq!(send(&scope, &source, 0..100), 5);
    assert_eq!(all.result().expect("it waits for no sixth"), Ok(vec![0, 1, 2, 3, 4]));
    assert!(source.control().is_over());
}

// HZ-S12
#[test]
fn asking_inside_each_delivery_grows_no_stack() {
    let n = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };
    let (seen, scope) = (Arc::new(AtomicU64::new(0)), Scope::new("test").expect("a scope"));
    let order = Arc::clone(&seen);
    // A window of one asks for one more each time one has been delivered.
    let graph = Source::iter(0..n)
        .via(Flow::page(1).expect("positive"))
        .to(Sink::foreach(move |item| assert_eq!(order.fetch_add(1, Ordering::SeqCst), item)));
    graph.run(&scope).expect("runs").blocking_wait_timeout(SOON * 6).expect("in order");
    assert_eq!(seen.load(Ordering::SeqCst), n);
}

/// Bytes of memory that this process has, where the system tells.
fn resident() -> Option<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(pages.split(' ').nth(1)?.parse::<u64>().ok()? * 4096)
}

#[test]
fn a_pipeline_of_twelve_stages_moves_ten_million_with_flat_memory() {
    let n: u64 = 10_000_000;
    let source = Source::iter(0..n)
        .map(|n| n + 1)
        .filter(|n| n % 2 == 0)
        .tap(|_| {})
        .page(64)
        .expect("positive")
        .scan(0_u64, |_, n| n)
        .batch(10)
        .expect("positive")
        .map(|group| group)
        .flatten()
        .filter_map(Some)
        .take(u64::MAX)
        .drop(0)
        .drop_while(|_| false);
    let scope = Scope::with_clock("test", Clock::machine()).expect("a scope");
    let most = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&most);
    let graph = source.to(Sink::fold((0_u64, 0_u64), move |(count, sum), n| {
        seen.fetch_max(n, Ordering::Relaxed);
        (count + 1, sum.wrapping_add(n))
    }));
    let result = graph.run(&scope).expect("runs");
    // Each stage's room is its bound: whenever one looks, no stage holds more. And what the process
    // holds does not grow with what went through: 8 bytes of each element would be 80 MB.
    let mut first = None;
    while result.is_pending() {
        if first.is_none() && most.load(Ordering::Relaxed) > n / 100 {
            first = resident();
        }
        for view in scope.stages() {
            let room = match view.name() {
                "page" => 64,
                "batch" => 10,
                _ => 1,
            };
            // A reading of a running stage is three counters one after the other: off by one step.
            assert!(view.demand().held <= room + 1, "{view:?}");
        }
        std::thread::yield_now();
    }
    let (count, sum) = result.blocking_wait_timeout(SOON).expect("all of them");
    if let (Some(first), Some(last)) = (first, resident()) {
        assert!(last < first + (40 << 20), "{first} bytes became {last}");
    }
    let half = n / 2;
    assert_eq!((count, sum), (half, half * (half + 1)));
}

#[test]
fn the_operators_are_the_stages_and_closures_need_no_types() {
    let flow: Flow<u64, String, NotUsed> =
        Flow::map(|n: u64| n + 1).filter(|n| n % 2 == 0).map(|n| n.to_string());
    let source = Source::iter(0..6_u64).via(flow).take_while(|text| text != "6");
    assert_eq!(collected(&source), Ok(vec!["2".to_owned(), "4".to_owned()]));
}
