//! HZ-L10: a limit of time ends a call or a stream wherever it stands still, and the peer is told.

#[path = "support/raw.rs"]
mod raw;
mod support;

use std::sync::Once;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use raw::{Raw, Running};
use sluicegate::frame::{Frame, FrameType};
use sluicegate::wait::block_on;
use sluicegate::{
    AttributionClass, Call, Cap, Deadline, Error, ErrorKind, MessageId, Peer, Request, Value,
};
use support::{ECHO, attach_echo, engine, limits, tells_waits, within};

const LIMIT: Duration = Duration::from_secs(180);
/// What every call and stream here is given …
const GIVEN: Duration = Duration::from_millis(300);
/// … and how late it may end on a machine that is busy.
const LATE: Duration = Duration::from_secs(60);

/// A call that stands still, and one beside it on the same connection that has nothing to do with it.
struct Stuck {
    raw: Raw,
    peer: Peer,
    call: Call,
    id: MessageId,
    beside: Call,
    beside_id: MessageId,
}

impl Stuck {
    fn new(window: u64, max_chunk: u64) -> Self {
        let (mut raw, peer) = Raw::cartridge(&engine(limits(window, max_chunk)), ECHO);
        let beside = peer.call(ECHO).expect("live");
        let beside_id = raw.expect(FrameType::Req).id;
        let call = peer.call(ECHO).expect("live");
        let id = raw.expect(FrameType::Req).id;
        Stuck { raw, peer, call, id, beside, beside_id }
    }

    /// The handler is told, and told once, that the limit has passed; the call beside goes on to its
    /// end, and nothing is left of either.
    fn end_once(mut self, begun: Instant) {
        let told = self.raw.until(FrameType::Cancel);
        in_time(begun);
        assert_eq!(told.id, self.id);
        assert_eq!(told.error_code(), Some("DEADLINE_EXCEEDED"), "{told:?}");
        assert_eq!(told.attribution_class(), Some(AttributionClass::Resource), "{told:?}");
        let message = told.message().expect("says why");
        assert!(message.contains("300ms") && message.contains(ECHO), "{message}");
        // What crossed it in flight harms nobody, and no grant goes out for it any more.
        self.raw.grant(self.id, Some("arg-0"), 7);
        let after = self.raw.settle();
        let of_it = |frame: &&Frame| frame.id == self.id && frame.frame_type != FrameType::Chunk;
        assert_eq!(after.iter().find(of_it), None, "nothing follows the end");
        assert_eq!(self.peer.counters().drops_total(), 0, "{:?}", self.peer.counters());
        assert_eq!(self.call.blocking_wait().expect_err("late").message(), message);

        self.raw.answer(self.beside_id, &[Value::Uint(5).encode().into()]);
        let items = self.beside.blocking_output().expect("lives").blocking_collect_items();
        assert_eq!(items.expect("whole")[0].value, Value::Uint(5));
        self.beside.blocking_wait().expect("success");
        assert_eq!(self.peer.live_calls(), 0);
    }
}

fn in_time(begun: Instant) {
    let took = begun.elapsed();
    assert!(took >= GIVEN, "{took:?}: the limit had not passed");
    assert!(took < LATE, "{took:?}: the limit had long passed");
}

/// What everybody is told who waits, and when.
fn passed(error: &Error, begun: Instant, what: &str) {
    in_time(begun);
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    assert_eq!(error.code(), "DEADLINE_EXCEEDED");
    assert!(error.message().contains("300ms"), "names the limit: {error}");
    assert!(error.message().contains(what), "says what was waited for, {what:?}: {error}");
}

/// Which of the two limits is set. Where somebody waits, it is set once that stands in line, so that the
/// limit finds it there on any machine.
#[derive(Clone, Copy, Debug)]
enum Of {
    Call,
    Stream,
}

const BOTH: [Of; 2] = [Of::Call, Of::Stream];

#[test]
fn hz_l10_a_caller_that_waits_for_credit() {
    for of in BOTH {
        within(LIMIT, "no credit", move || {
            let stuck = Stuck::new(2, 64);
            let input = stuck.call.input("media:blob").expect("open");
            let begun = Instant::now();
            let mut behind = None;
            let mut waits = || {
                behind.get_or_insert_with(|| {
                    match of {
                        Of::Call => stuck.call.limit(GIVEN).expect("a thread"),
                        Of::Stream => input.limit(GIVEN).expect("a thread"),
                    }
                    let input = input.clone();
                    thread::spawn(move || input.blocking_emit(Value::Null))
                });
            };
            let error =
                (0..4).try_for_each(|n| tells_waits(input.emit(Value::Uint(n)), &mut waits));
            let what = "stream \"arg-0\" has waited for credit";
            passed(&error.expect_err("late"), begun, what);
            let behind = behind.expect("it waited").join().expect("no panic");
            passed(&behind.expect_err("late"), begun, what);
            passed(&input.blocking_close().expect_err("late"), begun, what);
            assert_eq!(input.stats().chunks, 2, "as many as there was credit for");
            stuck.end_once(begun);
        });
    }
}

/// Another call has filled the link: nothing that ends on this call frees its room.
#[test]
fn hz_l10_a_caller_that_waits_for_room_on_the_link() {
    const CHUNK: usize = 64 * 1024;
    /// More than the link takes, and no more than there is credit for.
    const CHUNKS: usize = 32;
    for of in BOTH {
        within(LIMIT, "no room", move || {
            let mut stuck = Stuck::new(CHUNKS as u64, CHUNK as u64);
            let filling = stuck.beside.input("media:blob").expect("open");
            let filler = filling.clone();
            let filled = thread::spawn(move || {
                (0..CHUNKS).try_for_each(|_| filler.blocking_write(&[7; CHUNK]))?;
                filler.blocking_close()
            });
            stalls(&stuck.peer, "room");
            let input = stuck.call.input("media:blob").expect("open");
            let begun = Instant::now();
            let set = Once::new();
            let limit = || match of {
                Of::Call => stuck.call.limit(GIVEN).expect("a thread"),
                Of::Stream => input.limit(GIVEN).expect("a thread"),
            };
            let error = (0..CHUNKS).try_for_each(|_| {
                tells_waits(input.write(vec![8; CHUNK].into()), || set.call_once(limit))
            });
            let what = "stream \"arg-0\" has waited for room on the link";
            passed(&error.expect_err("late"), begun, what);
            assert!(!filled.is_finished(), "the peer has read nothing yet");
            let reads = thread::spawn(move || {
                let mut seen = Vec::new();
                loop {
                    let frame = stuck.raw.next().expect("the link lives");
                    let ended =
                        frame.id == stuck.beside_id && frame.frame_type == FrameType::StreamEnd;
                    seen.push(frame);
                    if ended {
                        return (stuck, seen);
                    }
                }
            });
            filled.join().expect("no panic").expect("the other call goes on");
            let (mut stuck, seen) = reads.join().expect("no panic");
            let of_kind =
                |id, kind| seen.iter().filter(|f| f.id == id && f.frame_type == kind).count();
            assert_eq!(of_kind(stuck.beside_id, FrameType::Chunk), CHUNKS, "whole");
            assert_eq!(of_kind(stuck.id, FrameType::Cancel), 1, "told, as soon as it read");
            assert_eq!(of_kind(stuck.id, FrameType::Chunk), 0);
            stuck.raw.answer(stuck.beside_id, &[]);
            stuck.beside.blocking_wait().expect("success");
            assert_eq!(stuck.peer.live_calls(), 0);
        });
    }
}

/// Waits until a stream has waited for that for a while.
fn stalls(peer: &Peer, what: &str) {
    let end = Instant::now() + LATE;
    loop {
        let stats = peer.stats().to_string();
        let room = peer.stats()["requests"].as_array().is_some_and(|requests| {
            requests.iter().any(|request| {
                let streams = request["streams"].as_array().expect("a list");
                streams.iter().any(|stream| stream["blocked_ms"][what].as_u64() > Some(20))
            })
        });
        if room {
            return;
        }
        assert!(Instant::now() < end, "nothing waits for {what}: {stats}");
        thread::yield_now();
    }
}

#[test]
fn hz_l10_a_caller_that_waits_for_input() {
    for of in BOTH {
        within(LIMIT, "no input", move || {
            let mut stuck = Stuck::new(4, 64);
            stuck.raw.start(stuck.id, "out");
            stuck.raw.chunk(stuck.id, "out", 0, &Value::Uint(1));
            let output = stuck.call.blocking_output().expect("a result");
            let begun = Instant::now();
            assert!(output.blocking_recv().expect("it comes").is_some());
            let set = Once::new();
            let limit = || match of {
                Of::Call => stuck.call.limit(GIVEN).expect("a thread"),
                Of::Stream => output.limit(GIVEN).expect("a thread"),
            };
            let error = tells_waits(output.recv(), || set.call_once(limit)).expect_err("late");
            passed(&error, begun, "the reader of stream \"out\" has waited for a value");
            assert_eq!(output.blocking_recv().expect_err("the same again"), error);
            stuck.end_once(begun);
        });
    }
}

/// Whoever waits for a stream to open, for an event or for the end is released too.
#[test]
fn hz_l10_a_caller_whose_handler_says_nothing() {
    within(LIMIT, "nothing said", || {
        let stuck = Stuck::new(4, 64);
        let begun = Instant::now();
        stuck.call.limit(GIVEN).expect("a thread");
        let (opens, ends, hears) = (stuck.call.clone(), stuck.call.clone(), stuck.call.clone());
        let opens = thread::spawn(move || opens.blocking_next_output());
        let ends = thread::spawn(move || ends.blocking_wait());
        let hears = thread::spawn(move || hears.blocking_next_event());
        let what = "none of its streams was waited on";
        passed(&opens.join().expect("no panic").expect_err("late"), begun, what);
        passed(&ends.join().expect("no panic").expect_err("late"), begun, what);
        assert_eq!(hears.join().expect("no panic"), None);
        passed(&stuck.call.input("media:blob").expect_err("over"), begun, what);
        stuck.end_once(begun);
    });
}

/// Nobody of this end waits: the values lie there, and the peer may send no more.
#[test]
fn hz_l10_a_caller_that_does_not_read() {
    for of in BOTH {
        within(LIMIT, "not read", move || {
            let mut stuck = Stuck::new(2, 64);
            stuck.raw.start(stuck.id, "out");
            stuck.raw.chunk(stuck.id, "out", 0, &Value::Uint(1));
            stuck.raw.chunk(stuck.id, "out", 1, &Value::Uint(2));
            let output = stuck.call.blocking_output().expect("a result");
            stuck.raw.settle(); // both have come
            let begun = Instant::now();
            match of {
                Of::Call => stuck.call.limit(GIVEN).expect("a thread"),
                Of::Stream => output.limit(GIVEN).expect("a thread"),
            }
            let call = stuck.call.clone();
            let peer = stuck.peer.clone();
            stuck.end_once(begun);
            let what = "2 values of stream \"out\" have waited to be read";
            passed(&call.blocking_wait().expect_err("late"), begun, what);
            passed(&output.blocking_recv().expect_err("forgotten"), begun, what);
            assert_eq!(peer.counters().drops_total(), 0);
        });
    }
}

/// A clean end does not hide that what came before it was forgotten.
#[test]
fn what_a_limit_forgets_does_not_end_cleanly() {
    within(LIMIT, "not read", || {
        let mut stuck = Stuck::new(2, 64);
        stuck.raw.start(stuck.id, "out");
        stuck.raw.chunk(stuck.id, "out", 0, &Value::Uint(1));
        stuck.raw.stream_end(stuck.id, "out", 1);
        let output = stuck.call.blocking_output().expect("a result");
        stuck.raw.settle();
        let begun = Instant::now();
        output.limit(Duration::ZERO).expect("nothing to do: its end has come");
        stuck.call.limit(GIVEN).expect("a thread");
        passed(&stuck.call.blocking_wait().expect_err("late"), begun, "1 values of stream \"out\"");
        assert_eq!(output.blocking_recv().expect_err("cut").kind(), ErrorKind::TimedOut);
        stuck.end_once(begun);
    });
}

/// What ends in time is not touched, and the last limit that was set counts.
#[test]
fn a_limit_that_is_not_reached_changes_nothing() {
    within(LIMIT, "in time", || {
        let peer = attach_echo(&engine(limits(4, 64)));
        for round in 0..200_u64 {
            let call = peer.call(ECHO).expect("live");
            call.limit(Duration::from_millis(round % 2)).expect("a thread");
            call.limit(LIMIT * 10).expect("a thread");
            let input = match call.input("media:blob") {
                Ok(input) => input,
                Err(late) => {
                    assert_eq!(late.kind(), ErrorKind::TimedOut, "the first limit came first");
                    continue;
                }
            };
            input.limit(Duration::MAX).expect("none");
            let echoed = input
                .blocking_emit(Value::Uint(round))
                .and_then(|()| call.blocking_finish_input())
                .and_then(|()| call.blocking_output()?.blocking_collect_items());
            match echoed {
                Ok(items) => {
                    assert_eq!(items[0].value, Value::Uint(round));
                    call.blocking_wait().expect("success");
                    call.limit(Duration::ZERO).expect("over: nothing happens");
                    assert!(call.outcome().expect("ended").is_ok());
                }
                Err(late) => assert_eq!(late.kind(), ErrorKind::TimedOut, "{late}"),
            }
        }
        let call = peer.call(ECHO).expect("lives on");
        call.limit(LIMIT).expect("a thread");
        call.blocking_finish_input().expect("sent");
        drop(call.blocking_output());
    });
}

/// A caller that looks after its limit itself, with a clock of its own, gets the same end.
#[test]
fn a_limit_of_the_callers_own_ends_the_call_like_one_of_ours() {
    within(LIMIT, "own limit", || {
        let mut stuck = Stuck::new(2, 64);
        let input = stuck.call.input("media:blob").expect("open");
        let waits = input.clone();
        let blocked =
            thread::spawn(move || (0..4).try_for_each(|n| waits.blocking_emit(Value::Uint(n))));
        while stuck.raw.until(FrameType::Chunk).chunk_index != Some(1) {}
        stalls(&stuck.peer, "credit");
        stuck.call.cancel(&Error::new(ErrorKind::TimedOut, "300ms of mine are over"));
        let error = blocked.join().expect("no panic").expect_err("over");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(error.message().starts_with("300ms of mine"), "{error}");
        assert!(error.message().contains("\"arg-0\" has waited for credit"), "{error}");
        let told = stuck.raw.until(FrameType::Cancel);
        assert_eq!(told.error_code(), Some("DEADLINE_EXCEEDED"), "{told:?}");
    });
}

/// Hundreds of limits on one connection, all with one thread, and each ends its own call.
#[test]
fn as_many_limits_as_calls_need_one_thread() {
    const CALLS: u64 = 500;
    within(LIMIT, "many limits", || {
        let (_raw, peer) = Raw::cartridge(&engine(limits(4, 64)), ECHO);
        let calls: Vec<_> = (0..CALLS)
            .map(|n| {
                let call = peer.call(ECHO).expect("live");
                // The later they are set, the earlier they come.
                call.limit(Duration::from_millis(1000 - n)).expect("a thread");
                call
            })
            .collect();
        let alarms = || {
            let tasks = std::fs::read_dir("/proc/self/task").expect("Linux").flatten();
            let names = tasks.flat_map(|task| std::fs::read_to_string(task.path().join("comm")));
            names.filter(|name| name.trim() == "sluice-alarm").count()
        };
        // Other tests of this process may have one each, at the same time.
        assert!(alarms() < 32, "{} threads look after {CALLS} limits", alarms());
        for call in &calls {
            let error = call.blocking_wait().expect_err("late");
            assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        }
        assert_eq!(peer.live_calls(), 0);
    });
}

/// A handler of [`ECHO`] under a limit; the host speaks by hand.
struct Limited {
    raw: Raw,
    _running: Running,
    begun: Instant,
    told: Receiver<Error>,
}

/// Runs `handler` under the limit for request 1, and echoes request 2.
fn limited(
    window: u64,
    max_chunk: u64,
    handler: impl Fn(&Request) -> Result<(), Error> + Send + Sync + 'static,
) -> Limited {
    let (tell, told) = mpsc::channel();
    let begun = Instant::now();
    let handle = move |request: &Request| {
        if request.id() != MessageId::Uint(1) {
            return support::echo(request);
        }
        let ended = handler(request);
        if let Err(error) = &ended {
            let _ = tell.send(error.clone());
        }
        ended
    };
    let (mut raw, running) = Raw::host(Cap::new(ECHO), ECHO, limits(window, max_chunk), handle);
    raw.req(1, ECHO);
    Limited { raw, _running: running, begun, told }
}

impl Limited {
    /// The caller is told once, whoever waited in the handler too, and another request is served.
    fn end_once(mut self, what: &str) {
        let told = self.raw.until(FrameType::Err);
        in_time(self.begun);
        assert_eq!(told.id, MessageId::Uint(1));
        assert_eq!(told.error_code(), Some("DEADLINE_EXCEEDED"), "{told:?}");
        assert_eq!(told.attribution_class(), Some(AttributionClass::Resource), "{told:?}");
        assert!(told.message().is_some_and(|m| m.contains(what) && m.contains(ECHO)), "{told:?}");
        let error = self.told.recv_timeout(LATE).expect("the handler is released");
        passed(&error, self.begun, what);
        self.raw.grant(1_u64, None, 9);
        self.raw.request(2, ECHO, &[Value::Uint(5)]);
        loop {
            let frame = self.raw.next().expect("the link lives");
            let late = frame.id == MessageId::Uint(1) && frame.is_flow();
            assert!(!late, "nothing follows a terminal (L4): {frame:?}");
            if frame.frame_type == FrameType::End {
                assert_eq!(frame.id, MessageId::Uint(2));
                return;
            }
        }
    }
}

#[test]
fn hz_l10_a_handler_that_waits_for_credit() {
    for of in BOTH {
        within(LIMIT, "no credit", move || {
            let limited = limited(2, 64, move |request| {
                let (output, set) = (request.output(), Once::new());
                let limit = || match of {
                    Of::Call => request.limit(GIVEN).expect("a thread"),
                    Of::Stream => output.limit(GIVEN).expect("a thread"),
                };
                (0..3).try_for_each(|n| {
                    tells_waits(output.emit(Value::Uint(n)), || set.call_once(limit))
                })
            });
            limited.end_once("stream \"resp-0\" has waited for credit");
        });
    }
}

/// The host reads nothing; what is on the wire already comes before the end.
#[test]
fn hz_l10_a_handler_that_waits_for_room_on_the_link() {
    const CHUNK: usize = 64 * 1024;
    for of in BOTH {
        within(LIMIT, "no room", move || {
            let limited = limited(64, CHUNK as u64, move |request| {
                let (output, set) = (request.output(), Once::new());
                let limit = || match of {
                    Of::Call => request.limit(GIVEN).expect("a thread"),
                    Of::Stream => output.limit(GIVEN).expect("a thread"),
                };
                (0..64).try_for_each(|_| {
                    tells_waits(output.write(vec![7; CHUNK].into()), || set.call_once(limit))
                })
            });
            let error = limited.told.recv_timeout(LATE).expect("released, while nobody reads");
            let what = "stream \"resp-0\" has waited for room on the link";
            passed(&error, limited.begun, what);
            let (tell, told) = mpsc::channel();
            tell.send(error).expect("heard below");
            Limited { told, ..limited }.end_once(what);
        });
    }
}

#[test]
fn hz_l10_a_handler_that_waits_for_input() {
    for of in BOTH {
        within(LIMIT, "no input", move || {
            let mut limited = limited(2, 64, move |request| {
                let (input, set) = (request.blocking_input()?, Once::new());
                let limit = || match of {
                    Of::Call => request.limit(GIVEN).expect("a thread"),
                    Of::Stream => input.limit(GIVEN).expect("a thread"),
                };
                while tells_waits(input.recv(), || set.call_once(limit))?.is_some() {}
                Ok(())
            });
            limited.raw.start(1_u64, "in");
            limited.raw.chunk(1_u64, "in", 0, &Value::Uint(1));
            limited.end_once("the reader of stream \"in\" has waited for a value");
        });
    }
}

/// The handler waits for something else; it hears that it has to stop.
#[test]
fn hz_l10_a_handler_that_does_not_read() {
    for of in BOTH {
        within(LIMIT, "not read", move || {
            let (ready, is_ready) = mpsc::channel::<()>();
            let is_ready = std::sync::Mutex::new(is_ready);
            let mut limited = limited(2, 64, move |request| {
                let input = request.blocking_input()?;
                let come = is_ready.lock().expect("one handler").recv_timeout(LATE);
                come.expect("both have come");
                match of {
                    Of::Call => request.limit(GIVEN)?,
                    Of::Stream => input.limit(GIVEN)?,
                }
                Err(block_on(request.cancelled(), Deadline::NEVER)?)
            });
            limited.raw.start(1_u64, "in");
            limited.raw.chunk(1_u64, "in", 0, &Value::Uint(1));
            limited.raw.chunk(1_u64, "in", 1, &Value::Uint(2));
            limited.raw.settle();
            ready.send(()).expect("it listens");
            limited.end_once("2 values of stream \"in\" have waited to be read");
        });
    }
}

/// The other end of a handler's limit: its caller gets the same kind, and what came before is read.
#[test]
fn a_caller_learns_that_the_handler_took_too_long() {
    within(LIMIT, "handler's limit", || {
        let peer = support::attach(&engine(limits(2, 64)), Cap::new(ECHO), ECHO, |request| {
            request.output().blocking_emit(Value::Uint(1))?;
            let (input, set) = (request.blocking_input()?, Once::new());
            let limit = || request.limit(GIVEN).expect("a thread");
            while tells_waits(input.recv(), || set.call_once(limit))?.is_some() {}
            Ok(())
        });
        let begun = Instant::now();
        let call = peer.call(ECHO).expect("live");
        let input = call.input("media:blob").expect("open");
        input.blocking_emit(Value::Uint(1)).expect("sent");
        let error = call.blocking_wait().expect_err("late");
        passed(&error, begun, "the request for cap:echo");
        let output = call.blocking_output().expect("it was opened before");
        assert!(output.blocking_recv().expect("what came before").is_some());
        assert_eq!(output.blocking_recv().expect_err("and then the end"), error);
        passed(&input.blocking_close().expect_err("over"), begun, "waited for a value");
    });
}
