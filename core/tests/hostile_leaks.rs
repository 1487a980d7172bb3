//! Nothing is left behind: no thread, no descriptor, no state of a request that is over, and no
//! credit, byte or place in line of a wait that was given up. One test at a time in this program.

#[path = "support/raw.rs"]
mod raw;
mod support;

use std::future::Future;
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use bytes::Bytes;
use raw::Raw;
use sluicegate::frame::{Frame, FrameType};
use sluicegate::wait::{Op, block_on};
use sluicegate::{
    Address, Cap, Deadline, Error, ErrorKind, StartOptions, Switch, SwitchOptions, TryRecv, Value,
    forward,
};
use support::{ECHO, attach, attach_echo, echo, engine, limits, until, within};

const LIMIT: Duration = Duration::from_secs(180);
const FOREVER: &str = "cap:forever;in=media:blob;out=media:blob";

static ALONE: Mutex<()> = Mutex::new(());

fn alone(what: &str, body: impl FnOnce() + Send + 'static) {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    within(LIMIT, what, body);
}

/// The threads of the library, but for the monitor, which stays: those of the test harness come and go
/// by themselves.
fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux").flatten();
    let names = tasks.flat_map(|task| std::fs::read_to_string(task.path().join("comm")));
    names.filter(|name| name.starts_with("sluice-") && name.trim() != "sluice-check").count()
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("Linux").count()
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("told");
    line.split_whitespace().nth(1).expect("a number").parse::<u64>().expect("a number") * 1024
}

#[test]
fn a_thousand_calls_leave_no_thread_and_no_memory_behind() {
    alone("calls", || {
        let engine = engine(limits(4, 64));
        let peer = attach_echo(&engine);
        let round = |n: u64| {
            let call = peer.call(ECHO).expect("live");
            let input = call.input("media:blob").expect("open");
            input.blocking_emit(Value::Uint(n)).expect("sent");
            match n % 4 {
                0 => call.cancel(&ErrorKind::Cancelled.into()),
                1 => {} // dropped as it is
                _ => {
                    call.blocking_finish_input().expect("sent");
                    let output = call.blocking_output().expect("a result");
                    assert_eq!(output.blocking_collect_items().expect("whole").len(), 1);
                    call.blocking_wait().expect("success");
                }
            }
        };
        (0..500).for_each(round);
        until("handlers end", || peer.live_calls() == 0);
        let (before, memory) = (threads(), resident());
        (0..2000).for_each(round);
        until("handlers end", || threads() <= before);
        let more = resident().saturating_sub(memory);
        assert!(more < 4 * 1024 * 1024, "{} KiB more", more / 1024);
        assert_eq!(peer.live_calls(), 0);
    });
}

#[test]
fn a_closed_link_leaves_no_thread_and_no_descriptor_behind() {
    alone("links", || {
        let round = |n: u64| {
            let engine = engine(limits(4, 64));
            let (mut raw, running) = Raw::host(Cap::new(ECHO), ECHO, limits(4, 64), echo);
            raw.request(1, ECHO, &[Value::Uint(n)]);
            raw.until(FrameType::End);
            raw.hang_up();
            running.join().expect("no panic").expect("a host that goes is no error");
            let (raw, peer) = Raw::cartridge(&engine, ECHO);
            let call = peer.call(ECHO).expect("live");
            match n % 3 {
                0 => block_on(peer.close(), Deadline::NEVER).expect("no limit"),
                1 => block_on(engine.close(), Deadline::NEVER).expect("no limit"),
                _ => drop((peer, call)),
            }
            raw.hang_up();
        };
        (0..5).for_each(round);
        until("threads end", || threads() == 0);
        let (before, open) = (threads(), descriptors());
        (0..60).for_each(round);
        until("threads end", || threads() <= before);
        until("descriptors are closed", || descriptors() <= open);
    });
}

/// HZ-C08: who is cut off because it reads nothing keeps no thread of a switch, although it stays
/// connected.
#[test]
fn hz_c08_who_is_cut_off_keeps_no_thread_in_a_write() {
    alone("cut off", || {
        let switch = Switch::new(SwitchOptions { limits: limits(4, 64), ..Default::default() });
        let path = std::env::temp_dir().join(format!("sluice-cut-{}", std::process::id()));
        switch.listen(&Address::Unix(path.clone())).expect("listens");
        until("its only thread has begun, which listens", || threads() == 1);
        let open = descriptors();
        let socket = UnixStream::connect(&path).expect("it listens");
        let mut raw = Raw::over(socket.try_clone().expect("a second handle"));
        raw.greet(limits(4, 64));
        socket.set_write_timeout(Some(LIMIT)).expect("set"); // a write ends with the socket
        let probes = (1..1_000_000_u64).map(|n| Frame::heartbeat(n.into()));
        let sent = probes.take_while(|probe| raw.writer.write(probe).is_ok()).count();
        assert!(sent < 999_999, "cut off before");
        until("the other threads end", || threads() == 1);
        drop((raw, socket));
        until("descriptors are closed", || descriptors() <= open);
    });
}

/// A waker that counts, and that uses the stream it wakes for: no lock is held when it is fired,
/// cloned or dropped.
struct Nosy {
    looks: Box<dyn Fn() + Send + Sync>,
    count: AtomicU64,
}

impl Wake for Nosy {
    fn wake(self: Arc<Self>) {
        (self.looks)();
        self.count.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for Nosy {
    fn drop(&mut self) {
        (self.looks)();
    }
}

type Waiting<T> = Pin<Box<dyn Future<Output = T> + Send>>;

fn poll<T>(future: &mut Waiting<T>, waker: &Waker) -> Poll<T> {
    future.as_mut().poll(&mut Context::from_waker(waker))
}

/// HZ-G09 for streams: wakers may call anything, also when they are dropped.
#[test]
fn foreign_wakers_run_with_no_lock_held() {
    alone("wakers", || {
        let (mut raw, peer) = Raw::cartridge(&engine(limits(1, 64)), ECHO);
        let call = peer.call(ECHO).expect("live");
        let id = raw.until(FrameType::Req).id;
        let input = call.input("media:blob").expect("open");
        input.blocking_emit(Value::Null).expect("the window holds one");
        raw.start(id, "out");
        let output = call.blocking_output().expect("a result");
        let nosy = || {
            let (input, output, call) = (input.clone(), output.clone(), call.clone());
            let looks = Box::new(move || {
                let _ = (input.stats(), output.stats(), call.outcome());
                let _ = input.start(StartOptions::default()); // refused: it has started
                let _ = Op::new(output.recv()).try_now();
                let _ = Op::new(call.wait()).try_now();
                let _ = Op::new(call.next_event()).try_now();
            });
            Arc::new(Nosy { looks, count: AtomicU64::new(0) })
        };
        let mut waits: Vec<Waiting<()>> = vec![
            Box::pin(drop_output(output.recv())),
            Box::pin(drop_output(input.emit(Value::Uint(1)))),
            Box::pin(drop_output(input.emit(Value::Uint(2)))),
            Box::pin(drop_output(call.wait())),
            Box::pin(drop_output(call.next_output())),
            Box::pin(drop_output(call.next_event())),
            Box::pin(drop_output(peer.died())),
        ];
        let first: Vec<_> = waits.iter().map(|_| nosy()).collect();
        let second: Vec<_> = waits.iter().map(|_| nosy()).collect();
        for wakers in [first, second.clone()] {
            for (wait, waker) in waits.iter_mut().zip(wakers) {
                assert!(poll(wait, &Waker::from(waker)).is_pending()); // replaces the one before
            }
        }
        raw.send(&Frame::err(id, None, "NO", sluicegate::AttributionClass::Input, "no"));
        until("all were told", || {
            second[..6].iter().all(|waker| waker.count.load(Ordering::SeqCst) > 0)
        });
        drop(waits);
        raw.hang_up();
    });
}

async fn drop_output<T>(future: impl Future<Output = T>) {
    drop(future.await);
}

/// Every future may be dropped at every point where it waits: it takes nothing with it.
#[test]
fn a_wait_that_is_given_up_takes_nothing_with_it() {
    alone("given up", || {
        let (mut raw, peer) = Raw::cartridge(&engine(limits(2, 64)), ECHO);
        let call = peer.call(ECHO).expect("live");
        let id = raw.until(FrameType::Req).id;
        let input = call.input("media:blob").expect("open");
        raw.start(id, "out");
        let output = call.blocking_output().expect("a result");
        let noop = Waker::noop();
        let mut sent = 0;
        for round in 0..200_u64 {
            // Two go through, the third waits for credit, the fourth for the third.
            input.blocking_emit(Value::Uint(sent)).expect("sent");
            input.blocking_emit(Value::Uint(sent + 1)).expect("sent");
            let mut third: Waiting<Result<(), Error>> =
                Box::pin(input.emit(Value::Text("lost".into())));
            let mut fourth: Waiting<Result<(), Error>> =
                Box::pin(input.emit(Value::Text("lost".into())));
            assert!(poll(&mut third, noop).is_pending());
            assert!(poll(&mut fourth, noop).is_pending());
            match round % 3 {
                0 => drop((third, fourth)),
                1 => drop((fourth, third)),
                _ => {
                    drop(third);
                    assert!(poll(&mut fourth, noop).is_pending(), "it has the turn and no credit");
                    drop(fourth);
                }
            }
            for n in [sent, sent + 1] {
                let chunk = raw.until(FrameType::Chunk);
                assert_eq!(chunk.chunk_index, Some(n));
                assert_eq!(chunk.payload_bytes(), Value::Uint(n).encode());
            }
            sent += 2;
            raw.grant(id, None, 2);
            until("the credit came whole", || input.stats().window == 2);
            // A receive that is given up leaves the value where it is.
            let mut receive = Box::pin(output.recv());
            assert!(receive.as_mut().poll(&mut Context::from_waker(noop)).is_pending());
            raw.chunk(id, "out", round, &Value::Uint(round));
            until("it came", || output.stats().chunks == round + 1);
            drop(receive);
            assert!(
                matches!(output.try_recv(), Ok(TryRecv::Item(item)) if item.value == Value::Uint(round))
            );
            assert_eq!(output.try_recv().expect("live"), TryRecv::Wait);
        }
        // Bytes that were held are held again when the write that was to send them is given up.
        input.blocking_emit(Value::Null).expect("sent");
        input.blocking_emit(Value::Null).expect("sent");
        input.blocking_write(&[1; 100]).expect("held");
        let mut flush = Box::pin(input.flush());
        assert!(flush.as_mut().poll(&mut Context::from_waker(noop)).is_pending());
        drop(flush);
        raw.grant(id, None, 9);
        input.blocking_flush().expect("sent");
        let bytes: usize = (0..4).map(|_| raw.until(FrameType::Chunk).payload_bytes().len()).sum();
        assert_eq!(bytes, 2 + (2 + 64) + (2 + 36));
        // So is an end.
        let mut finish = Box::pin(call.finish_input());
        let _ = finish.as_mut().poll(&mut Context::from_waker(noop));
        drop(finish);
        call.blocking_finish_input().expect("sent");
        raw.until(FrameType::End);
    });
}

/// A sequence item that is given up in its middle breaks its stream and says so; nothing is sent
/// that would look like its rest.
#[test]
fn an_item_given_up_in_its_middle_breaks_its_stream() {
    alone("middle of an item", || {
        let (mut raw, peer) = Raw::cartridge(&engine(limits(2, 16)), ECHO);
        let call = peer.call(ECHO).expect("live");
        raw.until(FrameType::Req);
        let input = call.input("media:blob").expect("open");
        let item = Value::Bytes(Bytes::from(vec![7; 100]));
        let limit = Deadline::after(Duration::from_millis(20));
        assert!(block_on(input.emit_list_item(item.clone(), None), limit).is_err());
        let error = input.blocking_emit_list_item(item, None).expect_err("broken");
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert!(call.blocking_finish_input().is_err());
        drop((call, input));
        assert_eq!(raw.until(FrameType::Cancel).error_code(), Some("CANCELLED"));
    });
}

/// A chain that is given up in its middle cancels what stands before and behind it.
#[test]
fn a_forward_that_is_given_up_cancels_both_sides() {
    alone("forward", || {
        let engine = engine(limits(2, 64));
        let source = attach(&engine, Cap::new(FOREVER), FOREVER, |request| {
            (0..).try_for_each(|n| request.output().blocking_emit(Value::Uint(n)))
        });
        let sink = attach(&engine, Cap::new(ECHO), ECHO, |request| {
            let input = request.blocking_input()?;
            input.blocking_recv()?;
            Err(block_on(request.cancelled(), Deadline::NEVER)?) // reads one and no more
        });
        for _ in 0..50 {
            let (from, to) = (source.call(FOREVER).expect("live"), sink.call(ECHO).expect("live"));
            let hop = forward(
                from.blocking_output().expect("a result"),
                to.input("media:blob").expect("open"),
            );
            drop((from, to));
            assert!(block_on(hop, Deadline::after(Duration::from_millis(5))).is_err());
            assert_eq!((source.live_calls(), sink.live_calls()), (0, 0));
        }
    });
}

/// The streams of a call keep it and its cartridge, and nothing else has to.
#[test]
fn a_stream_alone_keeps_its_call_and_its_cartridge() {
    alone("kept", || {
        let output = {
            let engine = engine(limits(2, 64));
            let peer = attach(&engine, Cap::new(FOREVER), FOREVER, |request| {
                (0..100).try_for_each(|n| request.output().blocking_emit(Value::Uint(n)))
            });
            peer.call(FOREVER).expect("live").blocking_output().expect("a result")
        };
        assert_eq!(output.blocking_collect_items().expect("whole").len(), 100);
    });
}
