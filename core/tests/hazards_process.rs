//! Hazards of a cartridge that is a process: its start, its stderr, its death, its silence.

#[path = "support/child.rs"]
mod child;
mod support;

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Once, OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sluicegate::frame::{self, FrameType};
use sluicegate::wait::block_on;
use sluicegate::{
    Call, Cap, Cartridge, Command, Deadline, Error, ErrorKind, Manifest, MessageId, Peer, Request,
    Value,
};
use support::{ECHO, PROMPT, echo, engine, limits, tells_waits, until, within};

const LIMIT: Duration = Duration::from_secs(180);
const STDERR: &str = "cap:stderr;in=media:void;out=media:text";
const FOREVER: &str = "cap:forever;in=media:void;out=media:blob";
const BURST: &str = "cap:burst;in=media:void;out=media:blob";
const HOLD: &str = "cap:hold;in=media:blob;out=media:blob";

/// Not a test by itself: the cartridge that the tests below start, in a process of its own.
#[test]
fn cartridge() {
    let Some((stdin, frames)) = child::transport() else { return };
    let manifest = [ECHO, STDERR, FOREVER, BURST, HOLD]
        .iter()
        .fold(Manifest::new("child", "1"), |manifest, cap| manifest.cap(Cap::new(cap)));
    let ended = Cartridge::new(manifest)
        .handler(ECHO, echo)
        .handler(STDERR, |request| {
            shout(5 * 1024 * 1024);
            request.output().blocking_emit(Value::Text("said".into()))?;
            shout(5 * 1024 * 1024);
            Ok(())
        })
        .handler(FOREVER, |request| {
            (0..).try_for_each(|n| request.output().blocking_emit(Value::Uint(n)))
        })
        .handler(BURST, |request| {
            LAST.set(request.id()).expect("one burst");
            (0..8).try_for_each(|n| request.output().blocking_emit(Value::Uint(n)))
        })
        .handler(HOLD, |request: &Request| {
            let _held = request.blocking_input()?;
            request.output().start(sluicegate::StartOptions::default())?;
            Err(block_on(request.cancelled(), Deadline::NEVER)?)
        })
        .run(stdin, Leaving { frames, written: Vec::new() });
    std::process::exit(i32::from(ended.is_err()));
}

/// The request after whose answer the process exits.
static LAST: OnceLock<MessageId> = OnceLock::new();

/// Exits once the end of [`LAST`] is written: whatever is on its way to this process is never read.
struct Leaving {
    frames: File,
    /// Behind the last whole frame.
    written: Vec<u8>,
}

impl Write for Leaving {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let n = self.frames.write(bytes)?;
        self.written.extend_from_slice(&bytes[..n]);
        while let Some((length, rest)) = self.written.split_first_chunk() {
            let length = u32::from_be_bytes(*length) as usize;
            let Some(body) = rest.get(..length) else { break };
            let frame = frame::decode(Bytes::copy_from_slice(body)).expect("our own");
            if frame.frame_type == FrameType::End && LAST.get() == Some(&frame.id) {
                std::process::exit(0);
            }
            self.written.drain(..4 + length);
        }
        Ok(n)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.frames.flush()
    }
}

fn shout(bytes: usize) {
    let line = [&[b'x'; 1023][..], b"\n"].concat();
    for _ in 0..bytes / line.len() {
        std::io::stderr().write_all(&line).expect("stderr is open");
    }
    std::io::stderr().write_all(b"the last words\n").expect("stderr is open");
}

fn signal(peer: &Peer, signal: Signal) {
    let pid = i32::try_from(peer.pid().expect("a process")).expect("fits");
    kill(Pid::from_raw(pid), signal).expect("it lives");
}

fn sh(script: &str) -> Command {
    Command::new("sh").arg("-c").arg(script)
}

fn refused(what: &str, command: Command) -> Error {
    let label = command.label();
    let error = within(LIMIT, what, move || {
        engine(limits(4, 64)).spawn(&command).expect_err("not a cartridge")
    });
    assert!(error.message().contains(&label), "names the cartridge: {error}");
    error
}

#[test]
fn what_cannot_be_started_says_why() {
    let error = refused("missing", Command::new("/nonexistent/cartridge"));
    assert_eq!(error.kind(), ErrorKind::Spawn);
    assert!(error.message().contains("No such file"), "{error}");
    let path = std::env::temp_dir().join(format!("sluicegate-plain-{}", std::process::id()));
    fs::write(&path, "not a program").expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("set");
    let error = refused("not executable", Command::new(&path));
    fs::remove_file(&path).expect("removed");
    assert_eq!(error.kind(), ErrorKind::Spawn);
    assert!(error.message().contains("denied"), "{error}");
    let error = refused("no such directory", sh("true").cwd("/nonexistent"));
    assert_eq!(error.kind(), ErrorKind::Spawn);
}

#[test]
fn what_ends_early_tells_its_status_and_its_last_words() {
    let error = refused("exits", sh("echo the lens is missing >&2; exit 3"));
    assert_eq!(error.kind(), ErrorKind::PeerDied);
    assert!(error.message().contains("exit status: 3"), "{error}");
    assert!(error.message().contains("the lens is missing"), "{error}");
    let error = refused("is killed", sh("kill -9 $$"));
    assert_eq!(error.kind(), ErrorKind::PeerDied);
    assert!(error.message().contains("signal: 9"), "{error}");
    let error = refused("prints", sh("echo Hello, I am a program; cat >/dev/null"));
    assert_eq!(error.kind(), ErrorKind::FrameTooLarge);
    assert!(error.message().contains("Hell") && error.message().contains("3670016"), "{error}");
    let error = refused("closes its pipe", sh("exec >&-; exec sleep 60"));
    assert_eq!(error.kind(), ErrorKind::PeerDied);
    let error = refused("cuts a frame", sh("printf '\\0\\0\\0\\011abc'"));
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert!(error.message().contains("3 of 9"), "{error}");
}

/// HZ-C13: 10 MiB on stderr hold up nothing, and their end is kept.
#[test]
fn hz_c13_stderr_is_drained_and_its_end_is_kept() {
    within(LIMIT, "stderr", || {
        let engine = engine(limits(4, 64));
        let peer = child::spawn(&engine);
        let call = peer.call(STDERR).expect("live");
        let said = call.blocking_output().expect("a result").blocking_collect_text();
        assert_eq!(said.expect("answered"), "said");
        call.blocking_wait().expect("success");
        block_on(peer.close(), Deadline::NEVER).expect("no limit");
        let tail = peer.stderr_tail();
        assert!(tail.len() <= 64 * 1024 && tail.len() > 32 * 1024, "{}", tail.len());
        assert!(tail.contains("the last words"));
    });
}

/// HZ-C14: a hard kill while the host sends is an error of the send, within a second, and tells how
/// the cartridge ended. Another cartridge never notices.
#[test]
fn hz_c14_a_hard_kill_is_an_error_and_no_more() {
    within(LIMIT, "hard kill", || {
        let engine = engine(limits(4, 1024));
        let beside = child::spawn(&engine);
        for round in 0..6 {
            let peer = child::spawn(&engine);
            let call = peer.call(if round % 2 == 0 { ECHO } else { FOREVER }).expect("live");
            let input = call.input("media:blob").expect("open");
            let (begun, has_begun) = mpsc::channel();
            let sender = thread::spawn(move || {
                loop {
                    if let Err(error) = input.blocking_write(&[7; 4096]) {
                        return error;
                    }
                    let _ = begun.send(()); // the test listens once
                }
            });
            let reading = call.clone();
            let receiver = thread::spawn(move || {
                let output = reading.blocking_output()?;
                loop {
                    assert!(output.blocking_recv()?.is_some(), "a clean end it is not");
                }
                #[allow(unreachable_code)]
                Ok::<(), Error>(())
            });
            has_begun.recv().expect("it sends");
            let killed = Instant::now();
            signal(&peer, Signal::SIGKILL);
            let errors = [
                sender.join().expect("no panic"),
                receiver.join().expect("no panic").expect_err("over"),
                call.blocking_wait().expect_err("over"),
            ];
            assert!(killed.elapsed() < PROMPT, "{:?}", killed.elapsed());
            for error in errors {
                assert_eq!(error.kind(), ErrorKind::PeerDied, "{error}");
                assert!(error.message().contains("signal: 9"), "{error}");
                assert!(error.message().contains("exec"), "names the cartridge: {error}");
            }
        }
        let call = beside.call(ECHO).expect("live");
        call.input("media:blob").expect("open").blocking_emit(Value::Uint(7)).expect("sent");
        call.blocking_finish_input().expect("sent");
        let items = call.blocking_output().expect("a result").blocking_collect_items();
        assert_eq!(items.expect("unharmed").len(), 1);
    });
}

/// HZ-C15: closing a frozen cartridge returns within 2 s, and everybody who waited is told.
#[test]
fn hz_c15_close_does_not_wait_for_a_frozen_peer() {
    within(LIMIT, "frozen peer", || {
        let engine = engine(limits(2, 64 * 1024));
        let peer = child::spawn(&engine);
        let mut threads: Vec<thread::JoinHandle<Error>> = Vec::new();
        let mut calls = Vec::new();
        for _ in 0..5 {
            let call = peer.call(HOLD).expect("live");
            let input = call.input("media:blob").expect("open");
            input.start(sluicegate::StartOptions::default()).expect("open");
            let output = call.blocking_output().expect("a result");
            threads.push(thread::spawn(move || {
                loop {
                    if let Err(error) = input.blocking_write(&[7; 64 * 1024]) {
                        return error;
                    }
                }
            }));
            threads.push(thread::spawn(move || output.blocking_recv().expect_err("over")));
            calls.push(call);
        }
        signal(&peer, Signal::SIGSTOP);
        // Fill the pipe too, so that the writing thread stands still.
        for _ in 0..5 {
            let call = peer.call(HOLD).expect("live");
            let input = call.input("media:blob").expect("open");
            threads.push(thread::spawn(move || {
                loop {
                    if let Err(error) = input.blocking_write(&[7; 64 * 1024]) {
                        return error;
                    }
                }
            }));
            calls.push(call);
        }
        let begun = Instant::now();
        block_on(peer.close(), Deadline::NEVER).expect("no limit");
        assert!(begun.elapsed() < PROMPT, "{:?}", begun.elapsed());
        for thread in threads {
            let error = thread.join().expect("no panic");
            assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
        }
        assert!(begun.elapsed() < PROMPT, "{:?}", begun.elapsed());
        for call in calls {
            assert_eq!(call.blocking_wait().expect_err("over").kind(), ErrorKind::Closed);
        }
    });
}

/// HZ-C15: closing an engine waits, as long as for any other, for a cartridge that nobody holds any more.
#[test]
fn hz_c15_an_engine_closes_what_nobody_holds_any_more() {
    within(LIMIT, "released", || {
        let engine = engine(limits(2, 64));
        let peer = child::spawn(&engine);
        let pid = Pid::from_raw(i32::try_from(peer.pid().expect("a process")).expect("fits"));
        signal(&peer, Signal::SIGSTOP); // it exits by the hand of its reaper only
        drop(peer);
        child::spawn(&engine); // a newcomer does not have it forgotten
        block_on(engine.close(), Deadline::NEVER).expect("no limit");
        assert_eq!(kill(pid, None), Err(nix::errno::Errno::ESRCH), "it is reaped");
    });
}

/// HZ-L04: a cartridge that answers and exits at once has answered, however late the consumer.
#[test]
fn hz_l04_a_process_that_answers_and_exits_has_answered() {
    within(LIMIT, "exits at once", || {
        for round in 0..8 {
            let engine = engine(limits(8, 64));
            let peer = child::spawn(&engine);
            let call = peer.call(BURST).expect("live");
            if round % 2 == 0 {
                block_on(peer.died(), Deadline::NEVER).expect("no limit"); // consumed when it is gone
            }
            let items = call.blocking_output().expect("a result").blocking_collect_items();
            assert_eq!(items.expect("whole").len(), 8);
            call.blocking_wait().expect("success");
        }
    });
}

/// What a cartridge leaves behind may hold its pipes; closing does not wait for that.
#[test]
fn a_pipe_held_by_a_grandchild_holds_nobody_up() {
    within(LIMIT, "grandchild", || {
        let engine = engine(limits(4, 64));
        let command = child::command_after("sleep 100 & ");
        let peer = engine.spawn(&command).expect("the handshake passes");
        let call = peer.call(HOLD).expect("live");
        let begun = Instant::now();
        block_on(peer.close(), Deadline::NEVER).expect("no limit");
        assert_eq!(call.blocking_wait().expect_err("over").kind(), ErrorKind::Closed);
        assert!(begun.elapsed() < PROMPT, "{:?}", begun.elapsed());
    });
}

/// HZ-L10, through a process: a limit ends a caller that waits for credit, for values, or that does not
/// read, and the cartridge serves on.
#[test]
fn hz_l10_a_limit_ends_a_call_of_a_process() {
    const GIVEN: Duration = Duration::from_millis(300);
    within(LIMIT, "limits", || {
        let peer = child::spawn(&engine(limits(4, 64)));
        // The limit is set once the call stands still, so that it finds it there on any machine.
        type Body = fn(&Call, &dyn Fn()) -> Error;
        let late = |cap: &str, what: &str, body: Body| {
            let call = peer.call(cap).expect("live");
            let (begun, set) = (Instant::now(), Once::new());
            let limit = || set.call_once(|| call.limit(GIVEN).expect("a thread"));
            let error = body(&call, &limit);
            assert!(begun.elapsed() >= GIVEN);
            assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
            assert!(error.message().contains(what), "not {what:?}: {error}");
            assert_eq!(call.blocking_wait().expect_err("late"), error);
        };
        late(HOLD, "has waited for credit", |call, limit| {
            let input = call.input("media:blob").expect("open");
            let sent = (0..9).try_for_each(|n| tells_waits(input.emit(Value::Uint(n)), limit));
            sent.expect_err("late")
        });
        late(HOLD, "has waited for a value", |call, limit| {
            call.input("media:blob").expect("open").start(Default::default()).expect("open");
            let output = call.blocking_output().expect("opened");
            tells_waits(output.recv(), limit).expect_err("late")
        });
        late(FOREVER, "have waited to be read", |call, limit| {
            let unread = call.blocking_output().expect("opened");
            until("a window has come", || unread.stats().window == 0);
            limit();
            call.blocking_wait().expect_err("late")
        });
        let call = peer.call(ECHO).expect("live");
        call.input("media:blob").expect("open").blocking_emit(Value::Uint(5)).expect("sent");
        call.blocking_finish_input().expect("sent");
        let items = call.blocking_output().expect("a result").blocking_collect_items();
        assert_eq!(items.expect("whole")[0].value, Value::Uint(5));
        call.blocking_wait().expect("success");
        assert_eq!(peer.live_calls(), 0);
    });
}
