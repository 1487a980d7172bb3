//! Several inputs, several outputs: zip, combine, merge, concat; broadcast, balance, partition.

use std::time::Duration;

use sluicegate::flow::{
    EdgeOptions, FanOptions, Flow, Offer, Overflow, Scope, Sink, Source, SubscriberEvent,
};
use sluicegate::{Error, ErrorKind};

const SOON: Duration = Duration::from_secs(180);

fn edge(n: u64) -> EdgeOptions {
    EdgeOptions::capacity(n).expect("positive")
}

fn scope() -> Scope {
    Scope::new("test").expect("a scope")
}

#[test]
fn a_zip_ends_with_its_shorter_side_and_cancels_the_other() {
    // HZ-S11
    let scope = scope();
    let zipped = Source::iter([1, 2]).zip(Source::iter(0_u64..));
    let result = zipped.to(Sink::collect()).run(&scope).expect("runs");
    assert_eq!(result.blocking_wait_timeout(SOON).expect("ends"), [(1, 0), (2, 1)]);

    let scope = Scope::stepped("test", 1);
    let graph = Source::<i32, _>::strict_probe()
        .via_mat(Flow::map(|n| n), |publisher, _| publisher)
        .zip(Source::iter([7, 8]))
        .to_mat(Sink::probe(), |publisher, end| (publisher, end));
    let (publisher, end) = graph.run(&scope).expect("runs");
    let source = publisher.control();
    end.request(5);
    scope.settle();
    assert_eq!(source.demand(), 1, "one at a time");
    for n in [1, 2] {
        assert_eq!(source.try_offer(n), Ok(Offer::Enqueued));
        scope.settle();
        end.expect_next((n, n + 6));
    }
    end.expect_complete();
    assert_eq!(source.try_offer(3), Ok(Offer::QueueClosed), "the longer side was cancelled");
}

#[test]
fn a_zip_asks_for_nothing_that_is_not_asked_of_it_and_pairs_what_is_held() {
    let scope = Scope::stepped("test", 2);
    let left = Source::<i32, _>::strict_probe();
    let graph = left
        .zip_with(Source::iter([10, 20, 30]), |a, b| a + b)
        .to_mat(Sink::probe(), |left, end| (left, end));
    let (left, end) = graph.run(&scope).expect("runs");
    scope.settle();
    assert_eq!(left.control().demand(), 0);
    end.request(1);
    scope.settle();
    assert_eq!(left.control().demand(), 1);
    left.control().try_offer(1).expect("asked for");
    scope.settle();
    end.expect_next(11);
    assert_eq!(left.control().demand(), 0);
    left.send_error(Error::new(ErrorKind::Io, "gone"));
    scope.settle();
    assert_eq!(end.expect_error().message(), "gone", "a failure needs no demand");
}

#[test]
fn combine_takes_one_of_each_in_order() {
    let scope = scope();
    let sources = vec![Source::iter(0..5), Source::iter(10..13), Source::iter(20..100)];
    let result = Source::combine(sources).to(Sink::collect()).run(&scope).expect("runs");
    let lists = result.blocking_wait_timeout(SOON).expect("ends");
    assert_eq!(lists, [[0, 10, 20], [1, 11, 21], [2, 12, 22]]);
    let none = Source::<u8>::combine(vec![]).to(Sink::collect()).run(&scope).expect("runs");
    assert!(none.blocking_wait_timeout(SOON).expect("ends").is_empty());
}

#[test]
fn a_function_of_a_zip_that_panics_fails_the_stream() {
    // HZ-S16
    let scope = scope();
    let graph = Source::iter(0_u64..)
        .zip_with(Source::iter(0_u64..), |a, _| if a == 3 { panic!("at three") } else { a })
        .to(Sink::collect());
    let error = graph.run(&scope).expect("runs").blocking_wait_timeout(SOON).expect_err("failed");
    assert_eq!(error.kind(), ErrorKind::StageFailed);
    assert!(error.message().contains("zip_with") && error.message().contains("at three"));
    scope.shutdown(SOON).expect("nothing is left");
}

#[test]
fn merged_sources_take_turns_and_the_preferred_one_goes_first() {
    // HZ-S18
    let scope = scope();
    let sources: Vec<_> = (0..4_u64).map(|n| Source::iter(std::iter::repeat_n(n, 500))).collect();
    let merged = Source::merge_all(sources).via(Flow::take(1000)).to(Sink::collect());
    let all = merged.run(&scope).expect("runs").blocking_wait_timeout(SOON).expect("ends");
    for n in 0..4 {
        let share = all.iter().filter(|m| **m == n).count();
        assert_eq!(share, 250, "source {n}");
    }
    let first = Source::iter(std::iter::repeat_n(7, 20));
    let others = vec![Source::iter([1, 1, 1]), Source::iter([2, 2])];
    let preferred = first.merge_prefer(others).to(Sink::collect());
    let all = preferred.run(&scope).expect("runs").blocking_wait_timeout(SOON).expect("ends");
    assert_eq!(all[..20], [7; 20]);
    assert_eq!(all[20..], [1, 2, 1, 2, 1]);
}

#[test]
fn a_merge_is_ahead_by_one_of_each_source_and_no_more() {
    let scope = Scope::stepped("test", 5);
    let sources = vec![Source::<u64, _>::strict_probe(), Source::strict_probe()];
    let graph = Source::merge_all(sources).to_mat(Sink::probe(), |sources, end| (sources, end));
    let (sources, end) = graph.run(&scope).expect("runs");
    end.request(1);
    scope.settle();
    for source in &sources {
        assert_eq!(source.control().demand(), 1);
        source.control().try_offer(9).expect("asked for");
    }
    scope.settle();
    end.expect_next(9);
    let asked: u64 = sources.iter().map(|source| source.control().demand()).sum();
    assert_eq!(asked, 0, "one was handed down, one is held");
    end.request(1);
    scope.settle();
    end.expect_next(9);
    sources[0].send_complete();
    end.request(10);
    scope.settle();
    assert_eq!(sources[1].control().demand(), 1, "the other goes on");
    sources[1].send_error(Error::new(ErrorKind::Io, "gone"));
    scope.settle();
    assert_eq!(end.expect_error().message(), "gone");
}

#[test]
fn concat_carries_what_is_owed_from_one_source_to_the_next() {
    let scope = Scope::stepped("test", 6);
    let graph = Source::<u64, _>::strict_probe()
        .via_mat(Flow::map(|n| n), |publisher, _| publisher)
        .concat(Source::iter([4, 5, 6]))
        .to_mat(Sink::probe(), |publisher, end| (publisher, end));
    let (publisher, end) = graph.run(&scope).expect("runs");
    end.request(3);
    scope.settle();
    assert_eq!(publisher.control().demand(), 3);
    publisher.control().try_offer(1).expect("asked for");
    publisher.send_complete();
    scope.settle();
    end.expect_next(1).expect_next(4).expect_next(5);
    scope.settle();
    assert!(end.event_within(Duration::ZERO).is_none(), "three were asked for");
    end.request(9);
    scope.settle();
    end.expect_next(6).expect_complete();
}

#[test]
fn every_branch_of_a_broadcast_gets_everything_at_the_pace_of_the_slowest() {
    let scope = Scope::stepped("test", 7);
    let sink = Sink::broadcast_with(
        vec![Sink::probe(), Sink::probe()],
        FanOptions::default().edge(edge(4)),
    );
    let graph = Source::<u64, _>::strict_probe().to_mat(sink, |source, ends| (source, ends));
    let (source, ends) = graph.run(&scope).expect("runs");
    let source = source.control();
    scope.settle();
    assert_eq!(source.demand(), 4, "what every branch can hold");
    ends[0].request(100);
    for n in 0..4 {
        source.try_offer(n).expect("asked for");
        scope.settle();
        ends[0].expect_next(n);
    }
    assert_eq!(source.demand(), 0, "the other branch takes nothing");
    ends[1].request(2);
    scope.settle();
    ends[1].expect_next(0).expect_next(1);
    assert!(source.demand() <= 2);
    // A branch that cancels leaves the others running.
    ends[1].cancel();
    scope.settle();
    assert_eq!(source.demand(), 4);
    source.try_offer(9).expect("asked for");
    scope.settle();
    ends[0].expect_next(9);
    ends[0].cancel();
    scope.settle();
    assert_eq!(source.try_offer(10), Ok(Offer::QueueClosed), "nobody is left");
    assert_eq!(scope.running(), 0);
}

#[test]
fn a_fan_out_may_end_with_its_first_branch_and_fails_all_of_them() {
    let scope = Scope::stepped("test", 8);
    let options = FanOptions::default().end_with_first();
    let sink = Sink::broadcast_with(vec![Sink::<u64, _>::probe(), Sink::probe()], options);
    let graph = Source::strict_probe().to_mat(sink, |source, ends| (source, ends));
    let (source, ends) = graph.run(&scope).expect("runs");
    scope.settle();
    ends[1].cancel();
    scope.settle();
    ends[0].expect_complete();
    assert!(source.control().is_over());

    let (source, ends) = graph.run(&scope).expect("runs");
    source.send_error(Error::new(ErrorKind::Io, "gone"));
    scope.settle();
    for end in ends {
        assert_eq!(end.expect_error().message(), "gone");
    }
}

#[test]
fn a_balance_gives_each_element_to_one_that_has_room() {
    let scope = Scope::stepped("test", 9);
    let sink = Sink::balance_with(
        vec![Sink::probe(), Sink::probe(), Sink::probe()],
        FanOptions::default().edge(edge(1)),
    );
    let graph = Source::<u64, _>::strict_probe().to_mat(sink, |source, ends| (source, ends));
    let (source, ends) = graph.run(&scope).expect("runs");
    scope.settle();
    assert_eq!(source.control().demand(), 3);
    for n in 0..3 {
        source.control().try_offer(n).expect("asked for");
    }
    scope.settle();
    assert_eq!(source.control().demand(), 0, "no branch takes any");
    ends[1].request(50);
    scope.settle();
    for n in 3..15 {
        source.control().try_offer(n).expect("the second branch takes more");
        scope.settle();
    }
    let mut got = vec![];
    while let Some(SubscriberEvent::Next(n)) = ends[1].event_within(Duration::ZERO) {
        got.push(n);
        scope.settle();
    }
    assert_eq!(got.len(), 13, "its own, and all that came later: {got:?}");
    // What was asked for in the name of a branch that goes is not lost.
    ends[1].cancel();
    ends[0].request(50);
    scope.settle();
    source.control().try_offer(30).expect("asked for");
    scope.settle();
    let first = [ends[0].expect_any(), ends[0].expect_any()];
    assert_eq!(first[1], 30);
}

#[test]
fn a_partition_sends_by_number_and_a_number_too_high_fails_it() {
    let scope = scope();
    let branches = vec![Sink::collect(), Sink::collect(), Sink::collect()];
    let sink = Sink::partition(branches, |n: &usize| n % 3);
    let results = Source::iter(0..300).to(sink).run(&scope).expect("runs");
    for (at, result) in results.iter().enumerate() {
        let all = result.blocking_wait_timeout(SOON).expect("ends");
        assert_eq!(all, (0..300).filter(|n| n % 3 == at).collect::<Vec<_>>());
    }
    let sink = Sink::partition(vec![Sink::collect()], |n: &usize| *n);
    let results = Source::iter(0..300).to(sink).run(&scope).expect("runs");
    let error = results[0].blocking_wait_timeout(SOON).expect_err("failed");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("branch 1 of 1"), "{error}");
}

#[test]
fn a_partition_whose_branch_cannot_be_said_fails_under_its_name() {
    let scope = scope();
    let unknown = |n: &usize| Err(Error::new(ErrorKind::StageFailed, format!("no branch for {n}")));
    let sinks = vec![Sink::collect(), Sink::collect()];
    let sink = Sink::try_partition_with(sinks, FanOptions::default(), unknown);
    let told = [sink.clone(), sink.named("fork")].map(|sink| {
        let results = Source::iter(7..9).to(sink).run(&scope).expect("runs");
        let both = results.iter().map(|end| end.blocking_wait_timeout(SOON).expect_err("failed"));
        both.map(|error| error.to_string()).collect::<Vec<_>>()
    });
    for (error, name) in told.iter().flatten().zip(["partition", "partition", "fork", "fork"]) {
        assert!(error.contains(&format!("stage {name:?}: no branch for 7")), "{error}");
    }
    let flows = vec![Flow::map(|n: usize| n), Flow::map(|n| n)];
    let through = Source::iter(7..9).via(Flow::try_partition(flows, unknown)).to(Sink::collect());
    let error = through.run(&scope).expect("runs").blocking_wait_timeout(SOON).expect_err("failed");
    assert!(error.to_string().contains("stage \"partition\": no branch for 7"), "{error}");
}

#[test]
fn a_full_branch_of_a_partition_holds_up_others_only_once_an_element_is_for_it() {
    let scope = Scope::stepped("test", 10);
    let options = FanOptions::default().edge(edge(2));
    let branches = vec![Sink::probe(), Sink::probe()];
    let sink = Sink::partition_with(branches, options, |n: &usize| n % 2);
    let graph = Source::<usize, _>::manual(edge(100)).to_mat(sink, |source, ends| (source, ends));
    let (source, ends) = graph.run(&scope).expect("runs");
    ends[1].request(100);
    for n in [0, 2, 1, 3, 5, 7] {
        source.try_offer(n).expect("room");
    }
    scope.settle();
    ends[1].expect_next(1).expect_next(3).expect_next(5).expect_next(7);
    source.try_offer(4).expect("room");
    source.try_offer(9).expect("room");
    scope.settle();
    assert!(ends[1].event_within(Duration::ZERO).is_none(), "4 waits for room before 9");
    ends[0].cancel();
    scope.settle();
    ends[1].expect_next(9);
}

/// All that was sent is found again in the counters, whether it waits in the fork or has gone on; and what
/// reads ahead above goes on while an element waits.
#[test]
fn what_waits_in_a_fork_is_counted_and_a_page_above_it_fills_itself() {
    let scope = Scope::stepped("test", 12);
    let options = FanOptions::default().edge(edge(2));
    let branches = vec![Sink::probe().named("end"), Sink::probe().named("end")];
    let fork = Sink::partition_with(branches, options, |n: &usize| n % 2).named("fork");
    let page = Flow::page_with_mark(4, 3).expect("some");
    let graph = Source::<usize, _>::strict_probe().via_mat(page, |publisher, _| publisher);
    let (publisher, ends) =
        graph.to_mat(fork, |source, ends| (source, ends)).run(&scope).expect("runs");
    let source = publisher.control();
    let send = |n| {
        scope.settle();
        source.try_offer(n) == Ok(Offer::Enqueued)
    };
    scope.settle();
    let page = scope.stages().into_iter().find(|stage| stage.name() == "page").expect("it runs");
    let of_fork = scope.stages().into_iter().filter(|stage| stage.name() == "fork");
    let of_fork: Vec<_> = of_fork.collect();
    let [fork, even, even_edge, odd, odd_edge] = &of_fork[..] else { panic!("{of_fork:?}") };
    let conserved = |sent: u64, released: u64| {
        scope.settle();
        assert_eq!(sent, page.demand().held + page.passed(), "{}", scope.explain());
        assert_eq!(page.passed(), fork.demand().held + fork.passed());
        assert_eq!(fork.passed(), even.passed() + odd.passed() + even.late() + odd.late());
        assert_eq!(even.passed(), even_edge.demand().held + even_edge.passed() + released);
        assert_eq!(odd.passed(), odd_edge.demand().held + odd_edge.passed());
    };
    conserved(0, 0);
    assert_eq!((fork.demand().downstream, fork.demand().upstream, fork.demand().held), (2, 2, 0));

    // Two in the edge, two in the fork, three in the page, which has asked for what three have left.
    let sent = (0..).step_by(2).take_while(|n| send(*n)).count();
    assert_eq!(sent, 7);
    conserved(7, 0);
    assert_eq!((fork.demand().downstream, fork.demand().upstream, fork.demand().held), (0, 0, 2));
    assert_eq!(page.demand().held, 3);
    assert!(scope.explain().to_string().contains("it holds 2"), "{}", scope.explain());

    ends[0].request(1);
    conserved(7, 0);
    ends[0].expect_next(0);
    assert_eq!((fork.demand().downstream, fork.demand().held), (0, 2), "one more has come");
    ends[0].cancel();
    conserved(7, 2);
    assert_eq!((even.late(), fork.demand().held), (4, 0), "for a branch that wants no more");
    assert!(send(21));
    conserved(8, 2);
    ends[1].request(1);
    conserved(8, 2);
    ends[1].expect_next(21);
}

#[test]
fn what_a_branch_that_left_had_asked_for_goes_to_the_others_and_is_not_asked_for_again() {
    let scope = Scope::stepped("test", 13);
    let options = FanOptions::default().edge(edge(2));
    let sink = Sink::balance_with(vec![Sink::probe(), Sink::probe()], options);
    let graph = Source::<u64, _>::strict_probe().to_mat(sink, |source, ends| (source, ends));
    let (publisher, ends) = graph.run(&scope).expect("runs");
    let source = publisher.control();
    scope.settle();
    assert_eq!(source.demand(), 4);
    ends[0].cancel();
    scope.settle();
    assert_eq!(source.demand(), 4, "what was asked for may be on its way");
    for n in 0..4 {
        assert_eq!(source.try_offer(n), Ok(Offer::Enqueued));
        scope.settle();
    }
    ends[1].request(2);
    scope.settle();
    assert_eq!(source.demand(), 0, "two of these had waited, and have filled the edge");
    ends[1].expect_next(0).expect_next(1);
    ends[1].request(3);
    scope.settle();
    assert_eq!(source.demand(), 2, "what the one that is left has room for");
    ends[1].expect_next(2).expect_next(3);
}

#[test]
fn elements_that_wait_stand_before_a_failing_choice_and_before_the_end() {
    for bad in [false, true] {
        let scope = Scope::stepped("test", 14);
        let options = FanOptions::default().edge(edge(1));
        let branches = vec![Sink::probe(), Sink::probe()];
        let sink = Sink::partition_with(branches, options, |n: &usize| *n);
        let graph = Source::<usize, _>::manual(edge(9)).to_mat(sink, |source, ends| (source, ends));
        let (source, ends) = graph.run(&scope).expect("runs");
        for n in [0, 0, if bad { 7 } else { 1 }] {
            source.try_offer(n).expect("room");
        }
        source.complete();
        scope.settle();
        ends[0].request(3);
        ends[1].request(3);
        scope.settle();
        ends[0].expect_next(0).expect_next(0);
        if bad {
            assert_eq!(ends[0].expect_error().kind(), ErrorKind::InvalidArgument);
            assert_eq!(ends[1].expect_error().kind(), ErrorKind::InvalidArgument);
        } else {
            ends[0].expect_complete();
            ends[1].expect_next(1).expect_complete();
        }
    }
}

#[test]
fn a_branch_behind_an_edge_that_drops_holds_nobody_up() {
    let scope = Scope::stepped("test", 11);
    let options = FanOptions::default().edge(edge(2).overflow(Overflow::DropHead));
    let sink = Sink::broadcast_with(vec![Sink::probe(), Sink::probe()], options);
    let (_, ends) =
        Source::iter(0..100).to_mat(sink, |source, ends| (source, ends)).run(&scope).expect("runs");
    scope.settle();
    for end in ends {
        end.request(100);
        scope.settle();
        end.expect_next(98).expect_next(99).expect_complete();
    }
}

#[test]
fn flows_between_a_fan_out_and_a_merge_lose_nothing() {
    let scope = scope();
    let twice = Flow::map(|n: u64| n * 2);
    let balanced = Flow::balance(vec![twice.clone(), twice.clone(), twice.clone()]);
    let graph = Source::iter(0..10_000_u64).via(balanced).to(Sink::fold(0, |sum, n| sum + n));
    let sum = graph.run(&scope).expect("runs").blocking_wait_timeout(SOON).expect("ends");
    assert_eq!(sum, 9_999 * 10_000);
    let both = Flow::broadcast(vec![twice, Flow::map(|n: u64| n + 1)]);
    let graph = Source::iter(0..1_000_u64).via(both).to(Sink::collect());
    let all = graph.run(&scope).expect("runs").blocking_wait_timeout(SOON).expect("ends");
    assert_eq!(all.len(), 2_000);
    let graph = Source::iter(0_u64..)
        .via(Flow::partition(vec![Flow::map(|n: u64| n), Flow::map(|n| n)], |n| (*n % 2) as usize))
        .via(Flow::take(50))
        .to(Sink::collect());
    let all = graph.run(&scope).expect("runs").blocking_wait_timeout(SOON).expect("ends");
    assert_eq!(all.len(), 50);
    scope.shutdown(SOON).expect("the endless source was cancelled");
}

#[test]
fn concat_all_takes_one_source_after_the_other_and_keeps_what_all_materialise() {
    let scope = Scope::stepped("test", 1);
    let parts =
        vec![Source::<i32, _>::strict_probe(), Source::strict_probe(), Source::strict_probe()];
    let graph = Source::concat_all(parts).to_mat(Sink::probe(), |parts, end| (parts, end));
    let (parts, end) = graph.run(&scope).expect("runs");
    end.request(3);
    scope.settle();
    let demand = || parts.iter().map(|part| part.control().demand()).collect::<Vec<_>>();
    assert_eq!(demand(), [3, 0, 0], "nothing of a source whose turn it is not");
    assert_eq!(parts[0].control().try_offer(1), Ok(Offer::Enqueued));
    parts[0].send_complete();
    parts[1].send_complete();
    scope.settle();
    end.expect_next(1);
    assert_eq!(demand()[2], 2, "what is still wanted, of the first that has not ended");
    parts[2].send_error(Error::new(ErrorKind::Io, "gone"));
    scope.settle();
    assert_eq!(end.expect_error().message(), "gone");

    let none = Source::<i32, ()>::concat_all(vec![]).to(Sink::collect()).run(&scope);
    scope.settle();
    assert!(none.expect("runs").blocking_wait_timeout(SOON).expect("ends").is_empty());
}

#[test]
fn merge_prefer_all_takes_the_first_source_before_the_others_which_take_turns() {
    let scope = Scope::stepped("test", 1);
    let parts =
        vec![Source::<i32, _>::manual(edge(4)), Source::manual(edge(4)), Source::manual(edge(4))];
    let graph = Source::merge_prefer_all(parts).to_mat(Sink::probe(), |parts, end| (parts, end));
    let (parts, end) = graph.run(&scope).expect("runs");
    scope.settle();
    for (part, first) in parts.iter().zip([10, 20, 30]) {
        (first..first + 2).for_each(|n| assert_eq!(part.try_offer(n), Ok(Offer::Enqueued)));
    }
    end.request(6);
    scope.settle();
    let came: Vec<_> = (0..6).map(|_| end.expect_any()).collect();
    assert_eq!(came[..2], [10, 11]);
    let turns: Vec<_> = came[2..].iter().map(|n| n / 10).collect();
    assert!(turns == [2, 3, 2, 3] || turns == [3, 2, 3, 2], "{came:?}");
    parts.iter().for_each(|part| assert!(part.complete()));
    scope.settle();
    end.expect_complete();

    let none = Source::<i32, ()>::merge_prefer_all(vec![]).to(Sink::collect()).run(&scope);
    scope.settle();
    assert!(none.expect("runs").blocking_wait_timeout(SOON).expect("ends").is_empty());
}

#[test]
fn an_error_of_try_zip_with_fails_the_stream_and_cancels_both_sides() {
    let scope = Scope::stepped("test", 1);
    let below = |a: i32, b: i32| match a + b {
        sum if sum < 10 => Ok(sum),
        _ => Err(Error::new(ErrorKind::Malformed, "too much")),
    };
    let graph = Source::<i32, _>::manual(edge(4))
        .try_zip_with(Source::iter([1, 2, 8, 4]), below)
        .to_mat(Sink::probe(), |left, end| (left, end));
    let (left, end) = graph.run(&scope).expect("runs");
    end.request(9);
    (1..5).for_each(|n| assert_eq!(left.try_offer(n), Ok(Offer::Enqueued)));
    scope.settle();
    end.expect_next(2).expect_next(4);
    let error = end.expect_error();
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert_eq!(error.message(), "stage \"zip_with\": too much");
    assert!(left.is_over(), "cancelled above");
    assert_eq!(scope.running(), 0);
}
