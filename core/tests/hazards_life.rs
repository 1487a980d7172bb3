//! Hazards L and S: close, half-close, late frames, identities, and who is released by an end.

#[path = "support/raw.rs"]
mod raw;
mod support;

use std::fs;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use raw::Raw;
use sluicegate::frame::{Frame, FrameType};
use sluicegate::wait::block_on;
use sluicegate::{
    Cap, CreditGate, CreditRouter, Deadline, Error, ErrorKind, TimedOut, TryRecv, Value,
};
use support::{ECHO, PROMPT, attach, engine, limits, tells_waits, within};

const LIMIT: Duration = Duration::from_secs(180);

/// HZ-L01: close overtakes nothing, and dropping every handle behind it takes nothing back.
#[test]
fn hz_l01_close_overtakes_nothing() {
    const ROUNDS: u64 = 2000;
    within(LIMIT, "close", || {
        let engine = engine(limits(2, 64));
        let peer = attach(&engine, Cap::new(ECHO), ECHO, |request| {
            let output = request.output();
            (0..3).try_for_each(|n| output.blocking_emit(Value::Uint(n)))?;
            output.blocking_close()
        });
        for round in 0..ROUNDS {
            let call = peer.call(ECHO).expect("live");
            let output = call.blocking_output().expect("a result");
            if round % 2 == 0 {
                drop(call); // the stream keeps it
            }
            let values: Vec<_> = output.iter().map(|item| item.expect("a value").value).collect();
            assert_eq!(values, [Value::Uint(0), Value::Uint(1), Value::Uint(2)]);
            assert_eq!(output.blocking_recv().expect("a clean end"), None);
        }
    });
}

/// HZ-L01: the same for arguments, whose grants arrive while the stream is closed.
#[test]
fn hz_l01_a_finished_body_arrives_whole() {
    const ROUNDS: u64 = 2000;
    within(LIMIT, "finish", || {
        let engine = engine(limits(1, 64));
        let peer = attach(&engine, Cap::new(ECHO), ECHO, |request| {
            let count =
                request.blocking_input()?.iter().try_fold(0, |n, item| item.map(|_| n + 1))?;
            request.output().blocking_emit(Value::Uint(count))
        });
        for _ in 0..ROUNDS {
            let call = peer.call(ECHO).expect("live");
            let input = call.input("media:blob").expect("open");
            for n in 0..3 {
                input.blocking_emit(Value::Uint(n)).expect("sent");
            }
            input.blocking_close().expect("sent");
            drop(input);
            call.blocking_finish_input().expect("sent");
            let items = call.blocking_output().expect("a result").blocking_collect_items();
            assert_eq!(items.expect("counted")[0].value, Value::Uint(3));
        }
    });
}

/// HZ-L02: a grant that crosses the end is a straggler, one for a stranger a drop; both harmless.
#[test]
fn hz_l02_a_late_grant_is_harmless() {
    within(LIMIT, "late grants", || {
        let (mut raw, peer) = Raw::cartridge(&engine(limits(2, 64)), ECHO);
        for _ in 0..2 {
            let call = peer.call(ECHO).expect("live");
            let id = raw.until(FrameType::Req).id;
            raw.answer(id, &[]);
            raw.grant(id, Some("arg-0"), 3);
            call.blocking_wait().expect("success");
        }
        raw.grant(77, None, 3);
        raw.settle();
        let seen = peer.counters();
        assert_eq!(seen.stragglers.get("credit"), Some(&2), "{seen:?}");
        assert_eq!(seen.drops["no_route"]["credit"], 1, "{seen:?}");
        assert_eq!(seen.drops_total(), 1, "{seen:?}");

        let (mut raw, _running) = Raw::host(Cap::new(ECHO), ECHO, limits(2, 64), |request| {
            while let Some(input) = request.blocking_next_input()? {
                input.iter().try_for_each(|item| item.map(drop))?; // nothing is left to cross the end
            }
            Ok(())
        });
        raw.request(1, ECHO, &[]);
        raw.until(FrameType::End);
        raw.grant(1, None, 3);
        raw.grant(77, None, 3);
        raw.send(&Frame::heartbeat(9_u64.into()));
        let beat = raw.until(FrameType::Heartbeat);
        assert_eq!(beat.meta_u64("stragglers_total"), Some(1), "{beat:?}");
        assert_eq!(beat.meta_u64("drops_total"), Some(1), "{beat:?}");
    });
}

/// A handler that has all streams may answer before the body has ended, and its link be gone: the call has
/// succeeded all the same. One that has not answered leaves a caller that is told so.
#[test]
fn the_body_of_a_call_that_was_answered_needs_no_link() {
    within(LIMIT, "an answer before the end of the body", || {
        let (mut raw, peer) = Raw::cartridge(&engine(limits(2, 64)), ECHO);
        let (answered, open) = (peer.call(ECHO).expect("live"), peer.call(ECHO).expect("live"));
        answered.input("media:blob").expect("open").blocking_close().expect("sent");
        raw.until(FrameType::StreamEnd);
        raw.answer(answered.id(), &[]);
        answered.blocking_wait().expect("success");
        raw.hang_up();
        block_on(peer.died(), Deadline::NEVER).expect("no limit");
        answered.blocking_finish_input().expect("nobody waits for it");
        answered.blocking_wait().expect("it stays a success");
        let told = open.blocking_wait().expect_err("it was never answered");
        assert_eq!(told.kind(), ErrorKind::PeerDied);
    });
}

/// HZ-L03: one direction ends, the other carries on to its own end.
#[test]
fn hz_l03_one_direction_ends_and_the_other_goes_on() {
    within(LIMIT, "half close", || {
        let engine = engine(limits(2, 64));
        let peer = attach(&engine, Cap::new(ECHO).output("media:json", false), ECHO, |request| {
            request.output().blocking_emit(Value::Uint(1))?;
            request.output().blocking_close()?;
            let count =
                request.blocking_input()?.iter().try_fold(0, |n, item| item.map(|_| n + 1))?;
            request.output_for("media:json")?.blocking_emit(Value::Uint(count))
        });
        let call = peer.call(ECHO).expect("live");
        let first = call.blocking_output().expect("a result").blocking_collect_items();
        assert_eq!(first.expect("whole").len(), 1);
        let input = call.input("media:blob").expect("open");
        for n in 0..100 {
            input.blocking_emit(Value::Uint(n)).expect("the request goes on");
        }
        call.blocking_finish_input().expect("sent");
        let second = call.blocking_output().expect("a result").blocking_collect_items();
        assert_eq!(second.expect("whole")[0].value, Value::Uint(100));
        call.blocking_wait().expect("success");

        // The reverse: the caller has nothing to say, the handler a lot.
        let peer = attach(&engine, Cap::new(ECHO), ECHO, |request| {
            assert!(request.blocking_next_input()?.is_none());
            (0..1000).try_for_each(|n| request.output().blocking_emit(Value::Uint(n)))
        });
        let call = peer.call(ECHO).expect("live");
        call.blocking_finish_input().expect("sent");
        let items = call.blocking_output().expect("a result").blocking_collect_items();
        assert_eq!(items.expect("all").len(), 1000);
    });
}

/// HZ-L03, HZ-C03: a handler that gives its input up can still answer, although more comes.
#[test]
fn hz_l03_an_input_given_up_leaves_the_answer_alone() {
    within(LIMIT, "given up", || {
        let (mut raw, _running) = Raw::host(Cap::new(ECHO), ECHO, limits(4, 64), |request| {
            let input = request.blocking_input()?;
            input.cancel();
            assert_eq!(input.blocking_recv().expect_err("given up").kind(), ErrorKind::Cancelled);
            request.output().blocking_emit(Value::Uint(1))
        });
        raw.req(1, ECHO);
        raw.start(1, "in");
        raw.until(FrameType::StreamStart); // it was given up
        for n in 0..4 {
            raw.chunk(1, "in", n, &Value::Null);
        }
        raw.stream_end(1, "in", 4);
        raw.end(1);
        assert_eq!(raw.until(FrameType::End).exit_code(), Some(0));
    });
}

/// HZ-L04: what was written before the end is delivered to a late consumer, and never looks clean.
#[test]
fn hz_l04_a_late_consumer_gets_what_was_written_and_then_the_truth() {
    within(LIMIT, "late consumer", || {
        let (mut raw, peer) = Raw::cartridge(&engine(limits(8, 64)), ECHO);
        let call = peer.call(ECHO).expect("live");
        let id = raw.until(FrameType::Req).id;
        raw.start(id, "out");
        for n in 0..8 {
            raw.chunk(id, "out", n, &Value::Uint(n));
        }
        raw.hang_up();
        assert_eq!(call.blocking_wait().expect_err("gone").kind(), ErrorKind::PeerDied);
        let output = call.blocking_output().expect("it was opened before");
        for n in 0..8 {
            assert_eq!(
                output.blocking_recv().expect("delivered").expect("no end").value,
                Value::Uint(n)
            );
        }
        assert_eq!(output.blocking_recv().expect_err("not clean").kind(), ErrorKind::PeerDied);
    });
}

/// HZ-L04: a cartridge that answers, and goes while a grant is on its way to it, has answered.
#[test]
fn hz_l04_who_answered_and_went_has_answered() {
    within(LIMIT, "answered and went", || {
        for _ in 0..200 {
            let (mut raw, peer) = Raw::cartridge(&engine(limits(64, 64)), ECHO);
            let call = peer.call(ECHO).expect("live");
            let id = raw.until(FrameType::Req).id;
            let consumer = thread::spawn(move || {
                let items = call.blocking_output()?.blocking_collect_items()?.len();
                call.blocking_wait().map(|_| items)
            });
            raw.start(id, "out");
            for n in 0..30 {
                raw.chunk(id, "out", n, &Value::Uint(n));
            }
            raw.stream_end(id, "out", 30);
            raw.done(id);
            raw.hang_up(); // with grants unread
            let items = consumer.join().expect("no panic").expect("the answer was whole");
            assert_eq!(items, 30);
        }
    });
}

/// HZ-L06: dropping a stream reaches a producer that is idle.
#[test]
fn hz_l06_an_idle_producer_sees_the_cancel() {
    within(LIMIT, "idle producer", || {
        let (told, tell) = mpsc::channel();
        let engine = engine(limits(2, 64));
        let peer = attach(&engine, Cap::new(ECHO), ECHO, move |request| {
            request.output().start(sluicegate::StartOptions::default())?;
            let reason = block_on(request.cancelled(), Deadline::NEVER)?;
            told.send(reason.kind()).expect("the test listens");
            Err(reason)
        });
        let call = peer.call(ECHO).expect("live");
        let output = call.blocking_output().expect("a result");
        drop(output);
        let kind = tell.recv_timeout(PROMPT).expect("told although it is idle");
        assert_eq!(kind, ErrorKind::Cancelled);
    });
}

/// HZ-L07: closing completes while senders wait for credit and nobody reads what came.
#[test]
fn hz_l07_a_closing_link_and_its_senders_do_not_wait_for_each_other() {
    within(LIMIT, "closing", || {
        let (mut raw, peer) = Raw::cartridge(&engine(limits(1, 64)), ECHO);
        let call = peer.call(ECHO).expect("live");
        let id = raw.until(FrameType::Req).id;
        raw.start(id, "out");
        raw.chunk(id, "out", 0, &Value::Null); // and nobody takes it
        let senders: Vec<_> = (0..10)
            .map(|_| {
                let input = call.input("media:blob").expect("open");
                input.blocking_emit(Value::Null).expect("the window holds one");
                thread::spawn(move || input.blocking_emit(Value::Null))
            })
            .collect();
        let begun = Instant::now();
        block_on(peer.close(), Deadline::NEVER).expect("no limit");
        assert!(begun.elapsed() < PROMPT);
        for sender in senders {
            let error = sender.join().expect("no panic").expect_err("released");
            assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
        }
        assert_eq!(call.blocking_wait().expect_err("over").kind(), ErrorKind::Closed);
        assert_eq!(peer.call(ECHO).expect_err("over").kind(), ErrorKind::Closed);
        raw.drain();
    });
}

/// HZ-L08: whoever waits on a gate that is registered again is told.
#[test]
fn hz_l08_a_gate_registered_twice_leaves_nobody_waiting() {
    within(LIMIT, "twice", || {
        let router = CreditRouter::<u64>::new();
        let (first, second) = (CreditGate::new(0), CreditGate::new(0));
        router.register(1, Some("a"), &first);
        let waiting = first.clone();
        let waiter = thread::spawn(move || waiting.blocking_acquire(1));
        while first.waiting() == 0 {
            thread::yield_now();
        }
        router.register(1, Some("a"), &second);
        let closed = waiter.join().expect("no panic").expect_err("closed");
        assert_eq!(closed.reason.code(), "REPLACED");
    });
}

/// HZ-C16: a link closed under a blocked reader gives a typed error, and its descriptor to nobody.
#[test]
fn hz_c16_no_byte_of_a_closed_link_lands_in_a_stranger() {
    const ROUNDS: u64 = 300;
    within(LIMIT, "descriptors", || {
        let done = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&done);
        let files = thread::spawn(move || {
            let path = std::env::temp_dir().join(format!("sluicegate-c16-{}", std::process::id()));
            while !stop.load(Ordering::Relaxed) {
                let mut file = fs::File::create(&path).expect("a file");
                file.write_all(b"mine").expect("written");
                drop(file);
                assert_eq!(fs::read(&path).expect("read back"), b"mine");
            }
            fs::remove_file(&path).expect("removed");
        });
        for _ in 0..ROUNDS {
            let (raw, peer) = Raw::cartridge(&engine(limits(1, 64)), ECHO);
            let call = peer.call(ECHO).expect("live");
            let input = call.input("media:blob").expect("open");
            let waiting = call.clone();
            let receiver = thread::spawn(move || waiting.blocking_output().map(drop));
            let sender = thread::spawn(move || {
                loop {
                    if let Err(error) = input.blocking_emit(Value::Uint(7)) {
                        return error;
                    }
                }
            });
            block_on(peer.close(), Deadline::NEVER).expect("no limit");
            assert_eq!(
                receiver.join().expect("no panic").expect_err("over").kind(),
                ErrorKind::Closed
            );
            assert_eq!(sender.join().expect("no panic").kind(), ErrorKind::Closed);
            raw.hang_up();
        }
        done.store(true, Ordering::Relaxed);
        files.join().expect("no stranger's byte");
    });
}

/// HZ-S14: a receive that gives up loses no item.
#[test]
fn hz_s14_a_receive_that_gives_up_loses_nothing() {
    const ITEMS: u64 = 5000;
    within(LIMIT, "timed receive", || {
        let engine = engine(limits(3, 64));
        let (gives_up, gave_up) = mpsc::sync_channel(1);
        let gave_up = Mutex::new(gave_up);
        let peer = attach(&engine, Cap::new(ECHO), ECHO, move |request| {
            let output = request.output();
            let gave_up = gave_up.lock().expect("one handler");
            for n in 0..ITEMS {
                output.blocking_emit(Value::Uint(n))?;
                if n % 100 == 0 {
                    // A device that takes its time: so long that a receive gives up.
                    let _before = gave_up.try_recv();
                    gave_up.recv().expect("the test receives");
                }
            }
            Ok(())
        });
        let call = peer.call(ECHO).expect("live");
        let output = call.blocking_output().expect("a result");
        let mut expected = 0;
        loop {
            match output.blocking_recv_timeout(Deadline::after(Duration::from_micros(200))) {
                Err(TimedOut) => drop(gives_up.try_send(())), // told already
                Ok(item) => match item.expect("live") {
                    Some(item) => {
                        assert_eq!(item.value, Value::Uint(expected));
                        expected += 1;
                    }
                    None => break,
                },
            }
        }
        assert_eq!(expected, ITEMS);
    });
}

/// HZ-S15: an end releases every consumer, and later calls at once.
#[test]
fn hz_s15_an_end_releases_every_consumer() {
    type End = (&'static str, fn(&mut Raw, sluicegate::MessageId));
    let ends: [End; 4] = [
        ("finish", |raw, id| {
            raw.stream_end(id, "out", 0);
            raw.done(id);
        }),
        ("fail", |raw, id| {
            raw.send(&Frame::err(id, None, "NO", sluicegate::AttributionClass::Input, "no"));
        }),
        ("break", |raw, id| raw.chunk(id, "out", 9, &Value::Null)),
        ("go", |raw, _| raw.socket.shutdown(std::net::Shutdown::Both).expect("open")),
    ];
    for (what, end) in ends {
        within(LIMIT, what, move || {
            let (mut raw, peer) = Raw::cartridge(&engine(limits(2, 64)), ECHO);
            let call = peer.call(ECHO).expect("live");
            let id = raw.until(FrameType::Req).id;
            raw.start(id, "out");
            let output = call.blocking_output().expect("a result");
            // Who waits drops its end of this channel.
            let (waits, all_wait) = mpsc::channel::<()>();
            let consumers: Vec<_> = (0..5)
                .map(|_| {
                    let (output, mut waits) = (output.clone(), Some(waits.clone()));
                    thread::spawn(move || tells_waits(output.recv(), || drop(waits.take())))
                })
                .collect();
            let (waiting, outputs, events) = (call.clone(), call.clone(), call.clone());
            let [mut first, mut second, mut third] = [(); 3].map(|()| Some(waits.clone()));
            let others = [
                thread::spawn(move || {
                    drop(tells_waits(waiting.wait(), || drop(first.take())));
                }),
                thread::spawn(move || {
                    drop(tells_waits(outputs.next_output(), || drop(second.take())));
                }),
                thread::spawn(move || {
                    assert_eq!(tells_waits(events.next_event(), || drop(third.take())), None);
                }),
            ];
            drop(waits);
            assert!(all_wait.recv().is_err(), "nothing is sent");
            end(&mut raw, id);
            for consumer in consumers {
                let end = consumer.join().expect("no panic");
                assert_eq!(end.is_ok(), what == "finish", "{what}: {end:?}");
                assert!(!matches!(end, Ok(Some(_))));
            }
            for other in others {
                other.join().expect("no panic");
            }
            let later = output.try_recv();
            assert!(matches!(later, Ok(TryRecv::End) | Err(_)), "{what}: {later:?}");
        });
    }
}

/// HZ-S15: cancelling at this end does too.
#[test]
fn hz_s15_a_cancel_releases_every_consumer_and_sender() {
    within(LIMIT, "cancel", || {
        let (mut raw, peer) = Raw::cartridge(&engine(limits(1, 64)), ECHO);
        let call = peer.call(ECHO).expect("live");
        let id = raw.until(FrameType::Req).id;
        raw.start(id, "out");
        let output = call.blocking_output().expect("a result");
        let input = call.input("media:blob").expect("open");
        input.blocking_emit(Value::Null).expect("the window holds one");
        let waiters: Vec<thread::JoinHandle<Result<(), Error>>> = (0..10)
            .map(|n| {
                let (output, input) = (output.clone(), input.clone());
                thread::spawn(move || match n % 2 {
                    0 => output.blocking_recv().map(drop),
                    _ => input.blocking_emit(Value::Null),
                })
            })
            .collect();
        call.cancel(&ErrorKind::Cancelled.into());
        for waiter in waiters {
            let error = waiter.join().expect("no panic").expect_err("released");
            assert_eq!(error.kind(), ErrorKind::Cancelled);
        }
        assert_eq!(raw.until(FrameType::Cancel).id, id);
    });
}
