//! A pipeline that goes through another process and back: what it asks for here is all that moves.

#[path = "support/child.rs"]
mod child;
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sluicegate::flow::{Flow, Scope, Sink, Source};
use sluicegate::{Cap, Cartridge, Engine, Error, ErrorKind, Manifest, Peer, Request, Value};
use support::{engine, limits, until, within};

const SOON: Duration = Duration::from_secs(180);
const DOUBLE: &str = "cap:double;in=media:numbers;out=media:numbers";

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

/// Not a test by itself: the cartridge that the tests below start, in a process of its own.
#[test]
fn cartridge() {
    let Some((stdin, frames)) = child::transport() else { return };
    let ended = Cartridge::new(Manifest::new("child", "1").cap(Cap::new(DOUBLE)))
        .handler(DOUBLE, double)
        .run(stdin, frames);
    std::process::exit(i32::from(ended.is_err()));
}

fn double(request: &Request) -> Result<(), Error> {
    let scope = Scope::new("child")?;
    Source::wire_values(request.blocking_input()?)
        .via(Flow::map(|value: Value| Value::Uint(number(&value) * 2)))
        .to(Sink::wire(request.output()))
        .run(&scope)?
        .blocking_wait()
}

fn spawn(engine: &Engine) -> Peer {
    let peer = child::spawn(engine);
    let pid = peer.pid().expect("a process");
    assert_ne!(pid, std::process::id(), "another one");
    peer
}

/// L9, L10, from end to end: the source here gives what the other process has asked for and one that
/// waits for credit, and that asks for what was asked for here, and its windows.
#[test]
fn l10_a_pipeline_through_another_process_never_runs_ahead_of_what_it_asks_for() {
    for window in [1, 4, 16] {
        within(SOON * 3, "a held pipeline", move || {
            let engine = engine(limits(window, 64));
            let peer = spawn(&engine);
            let call = peer.call(DOUBLE).expect("live");
            let scope = Scope::new("test").expect("a scope");
            let given = Arc::new(AtomicU64::new(0));
            let count = Arc::clone(&given);
            let input = call.input("media:numbers").expect("a stream");
            let stats = input.clone();
            let sent = Source::unfold(0, |n| Ok(Some((n + 1, n))))
                .via(Flow::tap(move |_: &u64| {
                    count.fetch_add(1, Ordering::SeqCst);
                }))
                .via(Flow::map(Value::Uint))
                .to(Sink::wire(input))
                .run(&scope)
                .expect("runs");
            let output = call.blocking_output().expect("a stream");
            let graph = Source::wire_values(output).via(Flow::map(|value| number(&value)));
            let end = graph.to(Sink::probe()).run(&scope).expect("runs").with_limit(SOON);
            // At each end a window, and the one that waits for credit.
            let ahead = 2 * (window + 1);
            let given = || given.load(Ordering::SeqCst);
            until("the windows are used up", || given() == ahead);
            for n in 0..200 {
                assert!(given() <= n + ahead, "{n} were asked for, {} were given", given());
                end.request(1).expect_next(2 * n);
                if n % 20 == 0 {
                    until("it makes up for it", || given() == n + 1 + ahead);
                    // What was sent and what may be sent is all that the other process has asked for.
                    let told = stats.stats();
                    assert_eq!((told.window, told.chunks), (0, given() - 1), "window {window}");
                }
            }
            end.cancel();
            let error = sent.blocking_wait_timeout(SOON).expect_err("cancelled from there");
            assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
            assert!(given() <= 200 + ahead, "and nothing after the cancel");
            scope.shutdown(SOON).expect("stops");
        });
    }
}

#[test]
fn elements_cross_two_processes_and_come_back() {
    within(SOON * 3, "there and back", || {
        let engine = engine(limits(4, 64));
        let peer = spawn(&engine);
        let call = peer.call(DOUBLE).expect("live");
        let scope = Scope::new("test").expect("a scope");
        let sent = Source::iter(0..2_000_u64)
            .via(Flow::map(Value::Uint))
            .to(Sink::wire(call.input("media:numbers").expect("a stream")))
            .run(&scope)
            .expect("runs");
        let all = Source::wire_values(call.blocking_output().expect("a stream"))
            .via(Flow::map(|value| number(&value)))
            .to(Sink::collect())
            .run(&scope)
            .expect("runs");
        sent.blocking_wait_timeout(SOON).expect("written and closed");
        call.blocking_finish_input().expect("all of it");
        let all = all.blocking_wait_timeout(SOON).expect("ends");
        assert_eq!(all, (0..2_000).map(|n| n * 2).collect::<Vec<_>>());
        call.blocking_wait().expect("the request ends well");
    });
}
