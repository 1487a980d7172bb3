//! Pipelines across a link: one law of demand from the last consumer to the first producer.

mod support;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use sluicegate::feed::{Feed, FeedOptions};
use sluicegate::flow::{Flow, Scope, Sink, Source, Status, Subscriber};
use sluicegate::{Cap, Error, ErrorKind, Item, Peer, Request, Value};
use support::{attach, attach_echo, engine, limits, until, within};

const SOON: Duration = Duration::from_secs(180);
const CAP: &str = "cap:numbers;in=media:numbers;out=media:numbers";

fn scope() -> Scope {
    Scope::new("test").expect("a scope")
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

/// A cartridge that sends numbers through a pipeline of its own until it is stopped; counts what its
/// source gave, and tells how its sink ended.
fn numbers(
    engine: &sluicegate::Engine,
    from: impl Fn(&Request, &Scope) -> Result<(), Error> + Send + Sync + 'static,
) -> (Peer, mpsc::Receiver<Result<(), Error>>) {
    let (tell, told) = mpsc::channel();
    let tell = std::sync::Mutex::new(tell);
    let peer = attach(engine, Cap::new(CAP), CAP, move |request: &Request| {
        let scope = Scope::new("cartridge")?;
        let ended = from(request, &scope);
        let _the_test_may_be_over = tell.lock().expect("sound").send(ended.clone());
        ended
    });
    (peer, told)
}

fn probe(scope: &Scope, source: Source<Value>) -> Subscriber<u64> {
    let graph = source.via(Flow::map(|value| number(&value))).to(Sink::probe());
    graph.run(scope).expect("runs").with_limit(SOON)
}

#[test]
fn a_remote_producer_stands_still_while_our_consumer_asks_for_nothing() {
    within(SOON * 3, "a held pipeline", || {
        let engine = engine(limits(4, 64));
        let given = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&given);
        let (peer, ended) = numbers(&engine, move |request, scope| {
            let count = Arc::clone(&count);
            Source::unfold(0, |n| Ok(Some((n + 1, Value::Uint(n)))))
                .via(Flow::tap(move |_| {
                    count.fetch_add(1, Ordering::SeqCst);
                }))
                .to(Sink::wire(request.output()))
                .run(scope)?
                .blocking_wait()
        });
        let call = peer.call(CAP).expect("live");
        call.blocking_finish_input().expect("no input");
        let input = call.blocking_output().expect("a stream");
        let stats = input.clone();
        let scope = scope();
        let end = probe(&scope, Source::wire_values(input));
        // Its window, and the one that waits for credit.
        until("the window is used up", || given.load(Ordering::SeqCst) == 5);
        end.expect_no_message(Duration::from_millis(50));
        assert_eq!(given.load(Ordering::SeqCst), 5);
        for n in 0..100 {
            end.request(1).expect_next(n);
            assert!(
                given.load(Ordering::SeqCst) <= n + 1 + 5,
                "never further ahead than the window"
            );
        }
        assert!(stats.stats().chunks <= 100 + 4);
        end.cancel();
        let reason = ended.recv_timeout(SOON).expect("the producer ends").expect_err("cancelled");
        assert_eq!(reason.kind(), ErrorKind::Cancelled, "{reason}");
        scope.shutdown(SOON).expect("stops");
    });
}

#[test]
fn elements_cross_a_link_and_come_back() {
    within(SOON * 3, "there and back", || {
        let engine = engine(limits(4, 64));
        let (peer, ended) = numbers(&engine, |request, scope| {
            let input = request.blocking_input()?;
            Source::wire_values(input)
                .via(Flow::map(|value: Value| Value::Uint(number(&value) * 2)))
                .to(Sink::wire(request.output()))
                .run(scope)?
                .blocking_wait()
        });
        let call = peer.call(CAP).expect("live");
        let scope = scope();
        let sent = Source::iter(0..2_000_u64)
            .via(Flow::map(Value::Uint))
            .to(Sink::wire(call.input("media:numbers").expect("a stream")))
            .run(&scope)
            .expect("runs");
        let output = call.blocking_output().expect("a stream");
        let all = Source::wire_values(output)
            .via(Flow::map(|value| number(&value)))
            .to(Sink::collect())
            .run(&scope)
            .expect("runs");
        sent.blocking_wait_timeout(SOON).expect("written and closed");
        call.blocking_finish_input().expect("all of it");
        let all = all.blocking_wait_timeout(SOON).expect("ends");
        assert_eq!(all, (0..2_000).map(|n| n * 2).collect::<Vec<_>>());
        ended.recv_timeout(SOON).expect("ends").expect("well");
        call.blocking_wait().expect("the request ends well");
    });
}

/// A sequence stream at both ends: items of any size, each with its metadata, in order, once.
#[test]
fn wire_items_cross_a_link_with_their_metadata() {
    within(SOON * 3, "items there and back", || {
        let engine = engine(limits(4, 64));
        let (peer, ended) = numbers(&engine, |request, scope| {
            let input = request.blocking_input()?;
            Source::wire(input).to(Sink::wire_items(request.output())).run(scope)?.blocking_wait()
        });
        let items: Vec<Item> = (0..500_u64)
            .map(|n| Item {
                value: Value::from("x".repeat(usize::try_from(n).expect("small"))), // from none to many chunks
                meta: (n % 3 != 0).then(|| Value::text_map([("n", n.into())])),
            })
            .collect();
        let call = peer.call(CAP).expect("live");
        let scope = scope();
        let sent = Source::iter(items.clone())
            .to(Sink::wire_items(call.input("media:numbers").expect("a stream")))
            .run(&scope)
            .expect("runs");
        let output = call.blocking_output().expect("a stream");
        let all = Source::wire(output).to(Sink::collect()).run(&scope).expect("runs");
        sent.blocking_wait_timeout(SOON).expect("written and closed");
        call.blocking_finish_input().expect("all of it");
        assert_eq!(all.blocking_wait_timeout(SOON).expect("ends"), items);
        ended.recv_timeout(SOON).expect("ends").expect("well");
        call.blocking_wait().expect("the request ends well");
    });
}

#[test]
fn a_remote_failure_needs_no_demand_and_comes_once() {
    within(SOON * 3, "a failure", || {
        let engine = engine(limits(4, 64));
        let (peer, _ended) = numbers(&engine, |request, _| {
            request.output().blocking_emit(Value::Uint(1))?;
            request.output().blocking_flush()?;
            request.blocking_input()?.blocking_recv()?;
            Err(Error::new(ErrorKind::Io, "the disk is gone"))
        });
        let call = peer.call(CAP).expect("live");
        let scope = scope();
        let end = probe(&scope, Source::wire_values(call.blocking_output().expect("a stream")));
        end.request(1).expect_next(1);
        call.input("media:numbers").expect("a stream").blocking_close().expect("sent");
        call.blocking_finish_input().expect("sent");
        assert!(end.expect_error().message().contains("the disk is gone"));
        until("everything was released", || scope.running() == 0);
    });
}

#[test]
fn a_sink_ends_with_its_request_and_cancels_what_feeds_it() {
    within(SOON * 3, "a request's end", || {
        let engine = engine(limits(4, 64));
        let (peer, _ended) = numbers(&engine, |request, _| {
            request.blocking_input()?.blocking_recv()?;
            Err(Error::new(ErrorKind::Io, "enough"))
        });
        let call = peer.call(CAP).expect("live");
        let scope = scope();
        let graph = Source::strict_probe()
            .to_mat(Sink::wire(call.input("media:numbers").expect("a stream")), |a, b| (a, b));
        let (publisher, written) = graph.run(&scope).expect("runs");
        let publisher = publisher.with_limit(SOON);
        publisher.send_next(Value::Uint(1));
        // It is waiting for more from above, and hears of the end without trying to write.
        let error = written.blocking_wait_timeout(SOON).expect_err("over");
        assert!(error.message().contains("enough"), "{error}");
        publisher.expect_cancel();
        let error = graph.run(&scope).map(drop).expect_err("once");
        assert_eq!(error.kind(), ErrorKind::AlreadySubscribed);
    });
}

/// A value that throws when it goes.
struct Throws;

impl Drop for Throws {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "thrown when it went");
    }
}

/// What throws outside of a function that a stage guards fails the stream all the same.
#[test]
fn a_stage_that_throws_above_a_wire_sink_fails_the_request_at_both_ends() {
    within(SOON * 3, "a stage that throws", || {
        let engine = engine(limits(4, 64));
        let (peer, ended) = numbers(&engine, |request, scope| {
            let done = Source::unfold((), |()| Ok(Some(((), Throws))))
                .via(Flow::drop_within(SOON))
                .via(Flow::map(|_: Throws| Value::Uint(1)))
                .to(Sink::wire(request.output()))
                .run(scope)?;
            let ended = done.blocking_wait();
            assert_eq!(done.status(), Status::Failure);
            ended
        });
        let call = peer.call(CAP).expect("live");
        let scope = scope();
        let here = match call.blocking_output() {
            Err(before_it_began) => before_it_began,
            Ok(output) => {
                let end = probe(&scope, Source::wire_values(output));
                end.request(1);
                end.expect_error()
            }
        };
        let there = ended.recv_timeout(SOON).expect("the handler ends").expect_err("failed");
        assert_eq!(there.kind(), ErrorKind::StageFailed, "{there}");
        assert!(there.message().contains("thrown when it went"), "{there}");
        assert_eq!(here.code(), ErrorKind::StageFailed.code(), "{here}");
        assert!(here.message().contains("thrown when it went"), "{here}");
        scope.shutdown(SOON).expect("stops");
    });
}

#[test]
fn an_input_is_read_by_one_pipeline_and_take_ends_the_request() {
    // HZ-S07
    within(SOON * 3, "take", || {
        let engine = engine(limits(4, 64));
        let peer = attach_echo(&engine);
        let call = peer.call(support::ECHO).expect("live");
        let input = call.input("media:blob").expect("a stream");
        let scope = scope();
        let sent = Source::unfold((), |()| Ok(Some(((), Value::from("x")))))
            .to(Sink::wire(input))
            .run(&scope)
            .expect("runs");
        let graph = Source::wire(call.blocking_output().expect("a stream"))
            .via(Flow::take(5))
            .to(Sink::collect());
        let five = graph.run(&scope).expect("runs");
        assert_eq!(five.blocking_wait_timeout(SOON).expect("ends without a sixth").len(), 5);
        let error = graph.run(&scope).map(drop).expect_err("once");
        assert_eq!(error.kind(), ErrorKind::AlreadySubscribed);
        sent.blocking_wait_timeout(SOON).expect_err("the request was cancelled");
        scope.shutdown(SOON).expect("stops");
    });
}

#[test]
fn a_feed_is_taken_at_the_pace_of_demand_and_loses_what_its_policy_says() {
    let options = FeedOptions { capacity: 3, ..FeedOptions::default() };
    let (feed, capture) = Feed::open(options).expect("a ring");
    let stats = feed.stats();
    assert_eq!(stats.captured, 0);
    let scope = Scope::stepped("test", 1);
    let end = Source::feed(feed).to(Sink::probe()).run(&scope).expect("runs");
    for n in 0..10_u64 {
        assert!(capture.push(n, n).goes_on());
        scope.settle();
    }
    end.request(2);
    scope.settle();
    let first = end.expect_any();
    assert_eq!((first.meta.seq, first.meta.gap.expect("a gap").dropped), (7, 7));
    assert_eq!(end.expect_any().meta.seq, 8);
    capture.finish();
    scope.settle();
    assert!(end.event_within(Duration::ZERO).is_none(), "9 is before the end, and not asked for");
    end.request(1);
    scope.settle();
    assert_eq!(end.expect_any().meta.seq, 9);
    scope.settle();
    end.expect_complete();

    let (feed, capture) = Feed::open(FeedOptions::default()).expect("a ring");
    let end = Source::feed(feed).to(Sink::probe()).run(&scope).expect("runs");
    scope.settle();
    end.cancel();
    scope.settle();
    assert!(capture.is_over(), "nobody listens: the capture stops");
}
