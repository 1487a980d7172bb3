//! What happens when a cartridge in any language is killed, frozen or left alone.

use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sluicegate::{ErrorKind, Value, blocking_forward};
use sluicegate_matrix::{
    LANGUAGES, PROMPT, ask, close, each_language, engine, languages, start, within,
};

const LIMIT: Duration = Duration::from_secs(60);
const ECHO: &str = "cap:fc-echo;in=media:blob;out=media:blob";
const FOREVER: &str = "cap:fc-forever;in=media:blob;out=media:blob";

fn signal(peer: &sluicegate::Peer, signal: Signal) {
    let pid = i32::try_from(peer.pid().expect("spawned")).expect("a process id");
    kill(Pid::from_raw(pid), signal).expect("it lives");
}

/// HZ-C14: a kill in the middle of a stream ends the call at once; the error names the
/// cartridge and how it ended.
#[test]
fn hz_c14_a_kill_ends_the_call_at_once() {
    each_language(LIMIT, |language| {
        let engine = engine(8, 4096);
        let peer = start(&engine, language);
        let call = peer.call(ECHO).expect("live");
        let input = call.input("media:blob").expect("takes an argument");
        let sender =
            thread::spawn(move || (0..).find_map(|_| input.blocking_write(&[1; 4096]).err()));
        let output = call.blocking_output().expect("a result");
        for _ in 0..50 {
            output.blocking_recv().expect("a value").expect("no end");
        }
        signal(&peer, Signal::SIGKILL);
        let killed = Instant::now();
        let sent = sender.join().expect("no panic").expect("the sender is released");
        let error = call.blocking_wait().expect_err("the call fails");
        assert!(killed.elapsed() < PROMPT, "{language}: {:?}", killed.elapsed());
        for error in [&sent, &error] {
            assert_eq!(error.kind(), ErrorKind::PeerDied, "{language}: {error}");
            assert!(error.message().contains(peer.name()), "{language}: {error}");
            assert!(error.message().contains("SIGKILL"), "{language}: {error}");
        }
        close(&engine);
    });
}

/// HZ-C15: a frozen cartridge cannot hold its host up.
#[test]
fn hz_c15_closing_does_not_wait_for_a_frozen_cartridge() {
    each_language(LIMIT, |language| {
        let engine = engine(8, 4096);
        let peer = start(&engine, language);
        let call = peer.call(ECHO).expect("live");
        let input = call.input("media:blob").expect("takes an argument");
        signal(&peer, Signal::SIGSTOP);
        let sender =
            thread::spawn(move || (0..).find_map(|_| input.blocking_write(&[1; 4096]).err()));
        let closing = Instant::now();
        close(&engine);
        assert!(closing.elapsed() < PROMPT, "{language}: {:?}", closing.elapsed());
        sender.join().expect("no panic").expect("the sender is released");
        call.blocking_wait().expect_err("the call is over");
    });
}

/// HZ-C01: a hundred calls that are cancelled with a full window leave nothing behind.
#[test]
fn hz_c01_cancelled_calls_leave_nothing_behind() {
    each_language(LIMIT, |language| {
        let engine = engine(4, 64);
        let peer = start(&engine, language);
        for _ in 0..100 {
            let (call, output) = ask(&peer, FOREVER, "media:blob", "go");
            output.blocking_recv().expect("a value").expect("no end");
            drop((call, output)); // dropping the last handle cancels
        }
        let (call, output) = ask(&peer, ECHO, "media:blob", "still here");
        assert_eq!(output.blocking_collect_bytes().expect("an echo"), b"still here", "{language}");
        call.blocking_wait().expect("success");
        assert_eq!(peer.live_calls(), 0, "{language}");
        close(&engine);
    });
}

/// L11: a chain through every language at once, with a different window on each link, moves
/// everything; then it moves nothing more once the consumer stops, and everything held is bounded.
#[test]
fn l11_a_chain_through_every_language() {
    within(Duration::from_secs(120), "the chain".to_owned(), || {
        let windows = [3, 1, 32, 2, 5];
        let hops: Vec<_> = languages()
            .into_iter()
            .zip(windows)
            .map(|(language, window)| {
                let engine = engine(window, 8192);
                let peer = start(&engine, language);
                let call = peer.call(ECHO).expect("live");
                (engine, peer, call)
            })
            .collect();
        assert!(hops.len() >= LANGUAGES.len() - 1);
        let data: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 253) as u8).collect();
        let first = hops[0].2.clone();
        let source = first.input("media:blob").expect("takes an argument");
        let sent = data.clone();
        let feeder = thread::spawn(move || {
            source.blocking_write(&sent)?;
            first.blocking_finish_input()
        });
        let forwarders: Vec<_> = hops
            .windows(2)
            .map(|pair| {
                let (from, to) = (pair[0].2.clone(), pair[1].2.clone());
                thread::spawn(move || {
                    let output = from.blocking_output()?;
                    blocking_forward(output, to.input("media:blob")?)?;
                    to.blocking_finish_input()
                })
            })
            .collect();
        let last = &hops[hops.len() - 1].2;
        let output = last.blocking_output().expect("a result");
        let mut received = Vec::new();
        while let Some(item) = output.blocking_recv().expect("a value") {
            match item.value {
                Value::Bytes(bytes) => received.extend_from_slice(&bytes),
                other => panic!("bytes were sent, {} came", other.kind()),
            }
        }
        assert!(received == data);
        feeder.join().expect("no panic").expect("fed");
        for forwarder in forwarders {
            forwarder.join().expect("no panic").expect("forwarded");
        }
        for (engine, _, call) in &hops {
            call.blocking_wait().expect("success");
            close(engine);
        }
    });
}
