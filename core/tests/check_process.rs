//! The run-time monitor in processes of their own: what a peer does wrong is reported and ends nothing,
//! without the setting nothing is said at all, and a wake that is lost on purpose is found.

#[path = "support/raw.rs"]
mod raw;
mod support;

use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use raw::Raw;
use sluicegate::feed::{Feed, FeedOptions};
use sluicegate::flow::{EdgeOptions, Flow, HubOptions, HubPolicy, Promise, Scope, Sink, Source};
use sluicegate::frame::{Frame, FrameType};
use sluicegate::{Cap, Value};
use support::{ECHO, attach, engine, limits, tells_waits, within};

const LIMIT: Duration = Duration::from_secs(180);

/// This test program again, for one of its tests, which leaves a wake unfetched for `patience` ms at most.
/// Answers whether it passed and what it said.
fn again(test: &str, check: &str, patience: &str) -> (bool, String) {
    let own = std::env::current_exe().expect("a test has a program");
    let ended = Command::new(own)
        .args(["--exact", test, "--nocapture"])
        .env("SLUICEGATE_CHECK", check)
        .env("SLUICEGATE_CHECK_MS", patience)
        .env("SLUICEGATE_TEST_CHILD", "yes")
        .output()
        .expect("it starts");
    (ended.status.success(), String::from_utf8_lossy(&ended.stderr).into_owned())
}

/// A host that sends three chunks into a window of two, to a handler that reads none of them.
fn overrun() {
    within(LIMIT, "overrun", || {
        let (hold, held) = mpsc::channel::<()>();
        let held = Mutex::new(held);
        let (mut raw, _running) = Raw::host(Cap::new(ECHO), ECHO, limits(2, 64), move |request| {
            let input = request.blocking_input()?;
            let _let_go = held.lock().expect("one request").recv(); // all three have come
            input.iter().try_for_each(|item| item.map(drop))
        });
        raw.req(1, ECHO);
        raw.start(1, "in");
        for n in 0..3 {
            raw.chunk(1, "in", n, &Value::Uint(n));
        }
        raw.settle();
        drop(hold);
        let err: Frame = raw.until(FrameType::Err);
        assert_eq!(err.error_code(), Some("CREDIT_VIOLATION"));
    });
}

/// L12: the receiver of an overrun says whose it is, and goes on.
#[test]
fn l12_a_peer_that_overruns_is_reported_and_ends_nothing() {
    if std::env::var_os("SLUICEGATE_TEST_CHILD").is_some() {
        return overrun();
    }
    let test = "l12_a_peer_that_overruns_is_reported_and_ends_nothing";
    let (passed, said) = again(test, "1", "60000");
    assert!(passed, "{said}");
    let line = "sluicegate check: peer, L12: overran input \"in\" of request 1, a window of 2";
    assert!(said.contains(line), "{said}");
    assert!(!said.contains("breach"), "{said}");

    let (passed, said) = again(test, "0", "60000");
    assert!(passed && !said.contains("sluicegate check"), "{said}");
}

/// An element lies at a consumer that wants none, and then it does.
fn unwanted() {
    let scope = Scope::stepped("test", 1);
    let edge = EdgeOptions::capacity(1).expect("positive");
    let graph = Source::manual(edge).to_mat(Sink::probe(), |source, end| (source, end));
    let (source, end) = graph.run(&scope).expect("runs");
    source.try_offer(7_u64).expect("room");
    scope.settle(); // it looks, and waits
    end.request(1);
    scope.settle();
    end.expect_next(7);
    let (_never, ended) = mpsc::channel::<()>();
    let _ = ended.recv_timeout(Duration::from_millis(500)); // the monitor looks on
}

/// L13: who wanted nothing is owed no wake for what lay there.
#[test]
fn l13_who_wanted_nothing_was_not_forgotten() {
    if std::env::var_os("SLUICEGATE_TEST_CHILD").is_some() {
        return unwanted();
    }
    let (passed, said) = again("l13_who_wanted_nothing_was_not_forgotten", "1", "20");
    assert!(passed && !said.contains("breach"), "{said}");
}

/// Waits for `future` on a thread of its own; comes back once that stands in line.
fn waiting<T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
) -> thread::JoinHandle<T> {
    let (waits, is_waiting) = mpsc::channel();
    let waiter = thread::spawn(move || {
        tells_waits(future, || {
            let _ = waits.send(());
        })
    });
    is_waiting.recv().expect("it waits");
    waiter
}

/// A handler that waits for its input, and a caller that waits for the end.
fn stream_and_call() {
    let (told, is_waiting) = mpsc::channel();
    let engine = engine(limits(2, 64));
    let peer = attach(&engine, Cap::new(ECHO), ECHO, move |request| {
        let input = request.blocking_input()?;
        let _first = input.blocking_recv()?;
        let second = waiting(input.recv());
        let _ = told.send(());
        second.join().expect("no panic")?;
        Ok(())
    });
    let call = peer.call(ECHO).expect("live");
    let input = call.input("media:blob").expect("open");
    input.blocking_emit(Value::Null).expect("sent");
    is_waiting.recv().expect("the handler waits");
    let end = waiting(call.wait());
    input.blocking_emit(Value::Null).expect("sent");
    let _late = call.blocking_finish_input(); // the handler may have ended by now
    end.join().expect("no panic").expect("success");
}

fn completion() {
    let promise = Promise::new();
    let waiter = waiting(promise.completion().wait());
    promise.success(7).expect("the first");
    assert_eq!(waiter.join().expect("no panic").expect("settled"), 7);
}

fn feed() {
    let (feed, sender) = Feed::open(FeedOptions::default()).expect("a feed");
    let waiter = waiting(feed.recv());
    sender.push(7_u64, 0);
    waiter.join().expect("no panic").expect("no failure").expect("an item");
}

fn edge() {
    let scope = Scope::new("test").expect("a scope");
    let one = EdgeOptions::capacity(1).expect("positive");
    let graph = Source::iter(0..10_000_u64).via(Flow::buffer(one)).to(Sink::collect());
    let all = graph.run(&scope).expect("runs").blocking_wait().expect("ends");
    assert_eq!(all.len(), 10_000);
}

fn hub() {
    let scope = Scope::new("test").expect("a scope");
    let room = HubOptions::capacity(1).expect("positive");
    let hub = Source::iter(0..10_000_u64).to(Sink::broadcast_hub(room)).run(&scope).expect("runs");
    let source = hub.subscribe_with(HubPolicy::Wait, 1).expect("positive");
    let all = source.to(Sink::collect()).run(&scope).expect("runs");
    assert_eq!(all.blocking_wait().expect("ends").len(), 10_000);
}

/// What waits, in whose name it is reported, and how its wake can be lost.
type Wait = (fn(), &'static str, &'static [&'static str]);

const WAITS: &[Wait] = &[
    (stream_and_call, "stream::input_core::State", &["dropped", "forgotten"]),
    (stream_and_call, "request::exchange::State", &["dropped", "forgotten"]),
    (completion, "flow::promise::State", &["dropped", "forgotten"]),
    (feed, "feed::ring::Ring", &["dropped", "forgotten"]),
    (edge, "flow::edge::State", &["dropped", "forgotten"]),
    (hub, "a hub", &["dropped"]),
];

/// L13: a wake that is lost on purpose is found in every kind of wait, in whichever way it is lost; and
/// none is found where none is lost.
#[test]
fn l13_a_lost_wake_is_found_in_every_kind_of_wait() {
    let test = "l13_a_lost_wake_is_found_in_every_kind_of_wait";
    if let Ok(at) = std::env::var("SLUICEGATE_TEST_CHILD") {
        WAITS[at.parse::<usize>().expect("a number")].0();
        if std::env::var_os("SLUICEGATE_CHECK_LOSE").is_some() {
            let (_never, ended) = mpsc::channel::<()>();
            let _ = ended.recv_timeout(LIMIT); // the monitor ends it
        }
        return;
    }
    let child = |at: usize, lose: Option<&str>| {
        let mut child = Command::new(std::env::current_exe().expect("a test has a program"));
        child.args(["--exact", test, "--nocapture"]).env("SLUICEGATE_TEST_CHILD", at.to_string());
        child.env("SLUICEGATE_CHECK", "1").env("SLUICEGATE_CHECK_MS", "60000");
        child.env_remove("SLUICEGATE_CHECK_LOSE");
        if let Some(lose) = lose {
            child.env("SLUICEGATE_CHECK_LOSE", lose);
        }
        if lose.is_some_and(|lose| lose.starts_with("forgotten")) {
            // Found only when time has passed: more than others need to come on a busy machine, and less than
            // a handshake may take.
            child.env("SLUICEGATE_CHECK_MS", "2000");
        }
        let ended = child.output().expect("it starts");
        (ended.status, String::from_utf8_lossy(&ended.stderr).into_owned())
    };
    // All at once: most of them only wait.
    thread::scope(|scope| {
        for (at, (_, whose, ways)) in WAITS.iter().enumerate() {
            scope.spawn(move || {
                let (status, said) = child(at, None);
                assert!(status.success() && !said.contains("breach"), "{whose}: {status}: {said}");
            });
            for way in *ways {
                scope.spawn(move || {
                    let (status, said) = child(at, Some(&format!("{way}:{whose}")));
                    assert_eq!(status.signal(), Some(6), "{way}: {whose}: {said}");
                    let breach = "breach of L13 (a wake was lost)";
                    let line = said.lines().find(|line| line.contains(breach));
                    assert!(
                        line.is_some_and(|line| line.contains(whose)),
                        "{way}: {whose}: {said}"
                    );
                });
            }
        }
    });
}
