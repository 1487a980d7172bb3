//! What happens when a cartridge in any language is killed, frozen or left alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sluicegate::wait::block_on;
use sluicegate::{Deadline, ErrorKind, blocking_forward};
use sluicegate_matrix::{
    LANGUAGES, PROMPT, ask, close, each_language, engine, languages, start, within,
};

const LIMIT: Duration = Duration::from_secs(180);
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
/// everything; it moves nothing more once the consumer stops, everything held is bounded by its windows,
/// and it goes on when the consumer does.
#[test]
fn l11_a_chain_through_every_language() {
    const CHUNK: u64 = 8192;
    const ALL: u64 = 6_000_000;
    within(Duration::from_secs(120), "the chain".to_owned(), || {
        let windows = [3, 1, 32, 2, 5];
        let hops: Vec<_> = languages()
            .into_iter()
            .zip(windows)
            .map(|(language, window)| {
                let engine = engine(window, CHUNK);
                let peer = start(&engine, language);
                let call = peer.call(ECHO).expect("live");
                (engine, peer, call)
            })
            .collect();
        assert!(hops.len() >= LANGUAGES.len() - 1);
        // On each link a window there and a window back; at each end of it a chunk in hand.
        let held: u64 = windows.iter().map(|window| 2 * window + 4).sum::<u64>() * CHUNK;
        let data: Vec<u8> = (0..ALL).map(|n| (n % 253) as u8).collect();
        let first = hops[0].2.clone();
        let source = first.input("media:blob").expect("takes an argument");
        let (window, sent) = (source.clone(), data.clone());
        let fed = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&fed);
        let went_in = || fed.load(Ordering::SeqCst);
        let feeder = thread::spawn(move || {
            for piece in sent.chunks(CHUNK as usize) {
                source.blocking_write(piece)?;
                count.fetch_add(piece.len() as u64, Ordering::SeqCst);
            }
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
        let stops = [0, 100_000, 1_500_000];
        for stop in stops {
            while (received.len() as u64) < stop {
                let item = output.blocking_recv().expect("a value").expect("no end");
                received.extend_from_slice(item.value.as_bytes().expect("bytes were sent"));
                assert!(went_in() <= received.len() as u64 + held, "further ahead than it may be");
            }
            // The consumer stops. What moves is seen to stand still while every cartridge answers.
            let mut still = 0;
            while still < 20 {
                let before = (went_in(), output.stats().chunks);
                for (_, peer, _) in &hops {
                    assert_eq!(block_on(peer.answers(), Deadline::NEVER), Ok(true));
                }
                let stands = before == (went_in(), output.stats().chunks);
                still = if stands && window.stats().window == 0 { still + 1 } else { 0 };
            }
            let (ahead, taken) = (went_in(), received.len() as u64);
            assert!(ahead <= taken + held, "{ahead} went in, {taken} came out, {held} may be held");
            assert!(ahead < ALL, "the source is held up");
            assert!(!feeder.is_finished());
        }
        while let Some(item) = output.blocking_recv().expect("a value") {
            received.extend_from_slice(item.value.as_bytes().expect("bytes were sent"));
        }
        assert!(received == data);
        feeder.join().expect("no panic").expect("fed");
        assert_eq!(went_in(), ALL);
        for forwarder in forwarders {
            forwarder.join().expect("no panic").expect("forwarded");
        }
        for (engine, _, call) in &hops {
            call.blocking_wait().expect("success");
            close(engine);
        }
    });
}
