//! How a cartridge in each language ends, and what its requests and its host make of it: after a crash, on
//! a link of its own and behind a switch; when it dies with nothing to do; and when it is retired.

use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sluicegate::{Call, Command, Engine, ErrorKind, InputStream, Peer, Value};
use sluicegate_matrix::relay::{Stack, command, stack, stack_with};
use sluicegate_matrix::{ask, close, each_language, engine, feed, program};

const LIMIT: Duration = Duration::from_secs(300);
const ECHO: &str = "cap:fc-echo;in=media:blob;out=media:blob";
const SINK: &str = "cap:fc-sink;in=media:blob;out=media:json";
const FOREVER: &str = "cap:fc-forever;in=media:blob;out=media:blob";
const CRASH: &str = "cap:fc-crash;in=media:blob;out=media:blob";
const LAST_WORDS: &str = "one\ntwo\nthe last words";

/// A request that has begun and does not end by itself.
fn endless(peer: &Peer) -> (Call, InputStream) {
    let (call, output) = ask(peer, FOREVER, "media:blob", "go");
    output.blocking_recv().expect("endless").expect("endless");
    (call, output)
}

/// What every request of a cartridge that is gone says: that its peer died, how, and its last lines.
fn told(language: &str, call: &Call, how: &str, last_words: &str) {
    let error = call.blocking_wait().expect_err("its cartridge is gone");
    assert_eq!(error.kind(), ErrorKind::PeerDied, "{language}: {error}");
    assert!(error.message().contains(how), "{language}: not {how:?} in {error}");
    assert!(error.message().ends_with(last_words), "{language}: not {last_words:?} in {error}");
}

/// Two requests that are live, and one that ends the process with a status and some lines on stderr.
fn crashes(language: &str, peer: &Peer) {
    let (one, other) = (endless(peer), endless(peer));
    let call = peer.call(CRASH).expect("a call");
    let fed = feed(&call, "media:blob", vec![Value::from(1_u64)]);
    for call in [&call, &one.0, &other.0] {
        told(language, call, "exit status: 3", LAST_WORDS);
    }
    let _moot = fed.join().expect("no panic"); // it may be told before its last frame is taken
}

#[test]
fn a_crash_fails_every_request_with_the_status_and_the_last_lines_of_stderr() {
    each_language(LIMIT, |language| {
        let engine = engine(4, 4096);
        let peer = sluicegate_matrix::start(&engine, language);
        crashes(language, &peer);
        let refused = peer.call(ECHO).expect_err("it is gone");
        assert_eq!(refused.kind(), ErrorKind::PeerDied, "{language}: {refused}");
        close(&engine);
    });
}

/// HZ-L09: the connection to the switch stays up, and still each request says how its cartridge died; the
/// next one is served by a new process.
#[test]
fn hz_l09_a_crash_behind_a_switch_fails_every_request_with_the_last_lines_of_stderr() {
    each_language(LIMIT, |language| {
        let stack = stack(language, 4, None);
        crashes(language, &stack.caller);
        assert_eq!(echo(&stack), Value::from(7_u64), "{language}: started again");
        crashes(language, &stack.caller);
        let ended = stack.switch.stats();
        assert_eq!(ended["requests"]["active"], serde_json::json!([]), "{language}: {ended}");
    });
}

/// The cartridge of one language, which has said something on stderr before anything else.
fn speaker(language: &str) -> Command {
    let start = "echo as it was told >&2; exec \"$0\"";
    let program = program(language).display().to_string();
    Command::new("sh").args(["-c", start, &program])
}

/// HZ-L09, HZ-C14: a kill is named by its signal, on a link of its own and behind a switch.
#[test]
fn hz_l09_a_kill_fails_every_request_with_the_signal_and_the_last_lines_of_stderr() {
    each_language(LIMIT, |language| {
        let engine: Engine = engine(4, 4096);
        let peer = engine.spawn(&speaker(language)).expect("it starts");
        let (call, _output) = endless(&peer);
        kill(pid(peer.pid().expect("spawned")), Signal::SIGKILL).expect("it lives");
        told(language, &call, "SIGKILL", "as it was told");
        close(&engine);
        let stack = stack_with(&speaker(language), 4, None);
        let (call, _output) = endless(&stack.caller);
        kill(only(&stack), Signal::SIGKILL).expect("it lives");
        told(language, &call, "SIGKILL", "as it was told");
    });
}

fn pid(number: u32) -> Pid {
    Pid::from_raw(i32::try_from(number).expect("a process id"))
}

/// The only process of the host.
fn only(stack: &Stack) -> Pid {
    let pids = stack.host.pids();
    assert_eq!(pids.len(), 1, "{pids:?}");
    pid(pids[0])
}

fn echo(stack: &Stack) -> Value {
    let call = stack.caller.call(ECHO).expect("a call");
    let fed = feed(&call, "media:blob", vec![Value::from(7_u64)]);
    let items = call.blocking_output().expect("a result").blocking_collect_items();
    fed.join().expect("no panic").expect("all was taken");
    call.blocking_wait().expect("done");
    items.expect("an echo").remove(0).value
}

#[test]
fn a_cartridge_that_dies_with_nothing_to_do_is_started_again_for_the_next_request() {
    each_language(LIMIT, |language| {
        let stack = stack(language, 4, None);
        assert_eq!(echo(&stack), Value::from(7_u64), "{language}");
        let first = only(&stack);
        kill(first, Signal::SIGKILL).expect("it lives");
        while !stack.host.pids().is_empty() {
            std::thread::yield_now(); // until the host has seen it
        }
        assert_eq!(echo(&stack), Value::from(7_u64), "{language}");
        assert_ne!(only(&stack), first, "{language}");
        let stats = stack.switch.stats();
        assert_eq!(stats["requests"]["terminated_by_kind"]["end"], 2, "{language}: {stats}");
        assert_eq!(stats["drops"]["total"], 0, "{language}: {stats}");
    });
}

/// A cartridge that is retired in the middle of a request takes no other, finishes the one that it has, and is
/// gone then.
#[test]
fn a_cartridge_is_retired_by_draining_while_a_request_runs() {
    each_language(LIMIT, |language| {
        let command = command(language);
        let stack = stack_with(&command, 4, None);
        let call = stack.caller.call(ECHO).expect("a call");
        let input = call.input("media:blob").expect("an argument");
        input.blocking_emit(Value::from(0_u64)).expect("room");
        let output = call.blocking_output().expect("a result");
        assert_eq!(
            output.blocking_recv().expect("a value").expect("one").value,
            Value::from(0_u64)
        );
        let process = only(&stack);
        assert!(stack.host.retire(&command.label()), "{language}: a cartridge has this label");
        let refused = stack.caller.call(SINK).expect("a call").blocking_wait();
        let refused = refused.expect_err("it takes no new request");
        assert_eq!(refused.kind(), ErrorKind::NoHandler, "{language}: {refused}");
        // More than a window goes there and back.
        for n in 1..50_u64 {
            input.blocking_emit(Value::from(n)).expect("the request lives");
            let back = output.blocking_recv().expect("a value").expect("no end yet");
            assert_eq!(back.value, Value::from(n), "{language}");
        }
        assert_eq!(only(&stack), process, "{language}: it drains");
        call.blocking_finish_input().expect("the end");
        assert!(output.blocking_recv().expect("the end").is_none(), "{language}");
        assert_eq!(call.blocking_wait().expect("done").exit_code, 0, "{language}");
        while kill(process, None) != Err(Errno::ESRCH) {
            std::thread::yield_now(); // until it is gone, and waited for
        }
        assert!(stack.host.pids().is_empty(), "{language}");
    });
}
