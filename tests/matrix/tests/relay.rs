//! The reference cartridge of each language as a host's process behind a switch: the same answers as
//! on a link of its own, credit from end to end (L11), started when it is needed, started again when
//! it died.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use nix::sys::signal::Signal;
use sluicegate::{Error, ErrorKind, Value};
use sluicegate_matrix::relay::{Stack, host_of, quiet, stack};
use sluicegate_matrix::{ask, each_language, feed, integers};

const LIMIT: Duration = Duration::from_secs(180);
const ECHO: &str = "cap:fc-echo;in=media:blob;out=media:blob";
const PRODUCE: &str = "cap:fc-produce;in=media:json;out=media:blob";
const FOREVER: &str = "cap:fc-forever;in=media:blob;out=media:blob";
const SINK: &str = "cap:fc-sink;in=media:blob;out=media:json";
const SLOW: &str = "cap:fc-slow;in=media:blob;out=media:json";

/// The processes of the host's cartridges, as it tells the switch.
fn pids(stack: &Stack) -> BTreeSet<i32> {
    stack.host.pids().into_iter().filter_map(|pid| i32::try_from(pid).ok()).collect()
}

fn echo(stack: &Stack, values: &[Value]) -> Result<Vec<Value>, Error> {
    let call = stack.caller.call(ECHO)?;
    let fed = feed(&call, "media:blob", values.to_vec());
    let output = call.blocking_output()?;
    let mut back = Vec::new();
    while let Some(item) = output.blocking_recv()? {
        back.push(item.value);
    }
    fed.join().expect("no panic")?;
    call.blocking_wait()?;
    Ok(back)
}

#[test]
fn l11_every_cartridge_answers_through_a_relay_as_on_its_own_link() {
    each_language(LIMIT, |language| {
        let stack = stack(language, 4, None);
        assert!(pids(&stack).is_empty(), "{language}: it starts when it is needed");
        let values: Vec<_> = (0..50_u64).map(Value::from).collect();
        assert_eq!(echo(&stack, &values).expect("an echo"), values, "{language}");
        assert_eq!(pids(&stack).len(), 1, "{language}");
        let (call, output) = ask(&stack.caller, PRODUCE, "media:json", r#"{"chunks":100}"#);
        let items = output.blocking_collect_items().expect("integers");
        assert_eq!(integers(&items), (0..100).collect::<Vec<_>>(), "{language}");
        call.blocking_wait().expect("done");
        let stats = quiet(&stack.switch);
        assert_eq!(stats["drops"]["total"], 0, "{language}: {stats}");
        assert_eq!(stats["requests"]["terminated_by_kind"]["end"], 2, "{language}: {stats}");
    });
}

#[test]
fn l9_l10_a_slow_consumer_behind_a_relay_holds_its_sender_back_and_loses_nothing() {
    each_language(LIMIT, |language| {
        let stack = stack(language, 2, None);
        let call = stack.caller.call(SLOW).expect("a call");
        let fed = feed(&call, "media:blob", (0..40_u64).map(Value::from).collect());
        let output = call.blocking_output().expect("a result");
        let answer = output.blocking_collect_bytes().expect("a number");
        assert_eq!(&answer[..], b"40", "{language}");
        fed.join().expect("no panic").expect("all was taken");
        call.blocking_wait().expect("done");
    });
}

#[test]
fn l16_l17_an_endless_stream_behind_a_relay_ends_by_cancel_and_leaves_nothing() {
    each_language(LIMIT, |language| {
        let stack = stack(language, 4, None);
        let call = stack.caller.call(FOREVER).expect("a call");
        let fed = feed(&call, "media:blob", Vec::new());
        let output = call.blocking_output().expect("a result");
        for n in 0..20_u64 {
            let item = output.blocking_recv().expect("endless").expect("endless");
            assert_eq!(item.value.as_u64(), Some(n), "{language}");
        }
        call.cancel(&Error::new(ErrorKind::Cancelled, "enough"));
        let _moot = fed.join().expect("no panic");
        let _quiet = quiet(&stack.switch);
        assert_eq!(echo(&stack, &[Value::from(1_u64)]).expect("lives on").len(), 1, "{language}");
    });
}

/// HZ-L09: the connection to the switch stays up, and still the consumer hears that its peer died.
#[test]
fn hz_l09_a_cartridge_that_is_killed_fails_its_requests_and_is_started_again() {
    each_language(LIMIT, |language| {
        let stack = stack(language, 4, None);
        let call = stack.caller.call(FOREVER).expect("a call");
        let fed = feed(&call, "media:blob", Vec::new());
        let output = call.blocking_output().expect("a result");
        output.blocking_recv().expect("endless").expect("endless");
        let first = pids(&stack);
        let pid = *first.first().expect("it runs");
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), Signal::SIGKILL).expect("it lives");
        let error = call.blocking_wait().expect_err("killed");
        assert!(
            error.message().contains("killed") || error.message().contains("signal"),
            "{error}"
        );
        let _moot = fed.join().expect("no panic");
        assert_eq!(echo(&stack, &[Value::from(7_u64)]).expect("started again").len(), 1);
        assert_ne!(pids(&stack), first, "{language}");
    });
}

#[test]
fn a_cartridge_without_requests_is_stopped_and_started_again_when_needed() {
    each_language(LIMIT, |language| {
        let stack = stack(language, 4, Some(Duration::from_millis(50)));
        assert_eq!(echo(&stack, &[Value::from(1_u64)]).expect("an echo").len(), 1, "{language}");
        while !pids(&stack).is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(echo(&stack, &[Value::from(2_u64)]).expect("an echo").len(), 1, "{language}");
    });
}

fn signal(stack: &Stack, signal: Signal) {
    for pid in pids(stack) {
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), signal).expect("it lives");
    }
}

/// HZ-R01: a cartridge that is frozen with its pipe full holds up its own traffic and no other.
#[test]
fn hz_r01_a_frozen_cartridge_stops_nobody_else() {
    each_language(LIMIT, |language| {
        let frozen = stack(language, 32, None);
        let other = host_of("rust", 32, None, &frozen.switch);
        let call = frozen.caller.call(ECHO).expect("a call");
        let input = call.input("media:blob").expect("an argument");
        input.blocking_emit(Value::from(1_u64)).expect("room");
        let output = call.blocking_output().expect("a result");
        output.blocking_recv().expect("a value").expect("one");
        let stopped = if frozen.host.pids().is_empty() { &other } else { &frozen.host };
        let pid = i32::try_from(stopped.pids()[0]).expect("a process id");
        let pid = nix::unistd::Pid::from_raw(pid);
        nix::sys::signal::kill(pid, Signal::SIGSTOP).expect("it lives");
        let fills = std::thread::spawn(move || {
            (0..).find_map(|_| input.blocking_write(&[1; 200_000]).err())
        });
        while call_window(&frozen, &call).is_none_or(|window| window > 0) {
            assert!(
                !fills.is_finished(),
                "{language}: it fills what is frozen: {:?}",
                call.outcome()
            );
            std::thread::yield_now();
        }
        for n in 0..300_u64 {
            let back = echo(&frozen, &[Value::from(n)]).expect("the other host answers");
            assert_eq!(back, [Value::from(n)], "{language}");
            // The host with the fewest requests gets the next one: it has to be the one that moves.
            let active = || frozen.switch.stats()["requests"]["active"].as_array().map(Vec::len);
            while active() != Some(1) {
                std::thread::yield_now();
            }
        }
        call.cancel(&Error::new(ErrorKind::Cancelled, "enough"));
        fills.join().expect("no panic").expect("it is released");
        nix::sys::signal::kill(pid, Signal::SIGCONT).expect("it lives");
    });
}

/// What the switch sees left of the window of the argument of `call`; `None` if it does not see it.
fn call_window(stack: &Stack, call: &sluicegate::Call) -> Option<i64> {
    let stats = stack.switch.stats();
    let active = stats["requests"]["active"].as_array().cloned().unwrap_or_default();
    let request = active.iter().find(|r| r["rid"] == call.id().to_string());
    let streams = request.and_then(|r| r["streams"].as_array()).cloned().unwrap_or_default();
    let argument = streams.iter().find(|s| s["stream_id"] == "arg-0");
    argument.and_then(|s| s["credit_outstanding"].as_i64())
}

/// HZ-R02: a consumer that is stopped and goes on, again and again, gets on each time and loses nothing,
/// and never is more on its way to it than a window.
#[test]
fn hz_r02_a_consumer_that_stops_and_goes_on_resumes_each_time() {
    const WINDOW: u64 = 8;
    const TURNS: u64 = 40;
    each_language(LIMIT, |language| {
        let stack = stack(language, WINDOW, None);
        let call = stack.caller.call(SINK).expect("a call");
        let input = call.input("media:blob").expect("an argument");
        input.blocking_emit(Value::from(0_u64)).expect("room");
        while pids(&stack).is_empty() {
            std::thread::yield_now();
        }
        let (sent, enough) = (Arc::new(AtomicU64::new(1)), Arc::new(AtomicBool::new(false)));
        let (feeding, count, stop) = (call.clone(), Arc::clone(&sent), Arc::clone(&enough));
        let feeds = std::thread::spawn(move || {
            while !stop.load(Ordering::SeqCst) {
                input.blocking_emit(Value::from(count.load(Ordering::SeqCst)))?;
                count.fetch_add(1, Ordering::SeqCst);
            }
            feeding.blocking_finish_input()
        });
        let goes_on = |from: u64| {
            while sent.load(Ordering::SeqCst) <= from {
                assert!(!feeds.is_finished(), "{language}: {:?}", call.outcome());
                std::thread::yield_now();
            }
        };
        for turn in 0..TURNS {
            signal(&stack, Signal::SIGSTOP);
            signal(&stack, Signal::SIGCONT); // at once: it may not have stopped anywhere
            signal(&stack, Signal::SIGSTOP);
            // It grants nothing any more: the window runs out, and whoever feeds it waits.
            loop {
                let Some(window) = call_window(&stack, &call) else { continue };
                assert!(window >= 0, "{language}, turn {turn}: {window}, past the window");
                if window == 0 {
                    break;
                }
                std::thread::yield_now();
            }
            let stopped_at = sent.load(Ordering::SeqCst);
            signal(&stack, Signal::SIGCONT);
            goes_on(stopped_at + 2 * WINDOW); // more than could have been under way
        }
        enough.store(true, Ordering::SeqCst);
        feeds.join().expect("no panic").expect("all was written");
        let output = call.blocking_output().expect("a result");
        let answer = output.blocking_collect_bytes().expect("a number");
        let sent = sent.load(Ordering::SeqCst);
        assert_eq!(String::from_utf8_lossy(&answer), sent.to_string(), "{language}");
        call.blocking_wait().expect("done");
        let stats = quiet(&stack.switch);
        assert_eq!(stats["drops"]["total"], 0, "{language}: {stats}");
    });
}
