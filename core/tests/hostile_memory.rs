//! Floods: whatever a peer sends, and whatever it does not read, memory stays within the documented formula
//! (`account::Load`), by the library's own account and by that of the system, and the link ends with a
//! reason. One test at a time in this program, since they look at the memory of the process.

#[path = "support/raw.rs"]
mod raw;
mod support;

use std::cell::Cell;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use raw::{Flooding, Raw};
use serde_json::Value as Json;
use sluicegate::frame::{Frame, FrameType};
use sluicegate::link::{FrameReader, FrameWriter};
use sluicegate::wait::block_on;
use sluicegate::{
    AttributionClass, Cartridge, Deadline, Error, ErrorKind, Limits, Manifest, MessageId, Request,
    Session, Value,
};
use support::{ECHO, echo, engine, limits, until, within};

const LIMIT: Duration = Duration::from_secs(180);
const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
/// What the process may hold beside what the library does: the peer that the test plays, which makes and
/// reads frames in the same process, and what the allocator has not given back.
const BESIDE: u64 = 32 * MIB;

static ALONE: Mutex<()> = Mutex::new(());

/// What the process holds now, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("told");
    let kib: u64 = line.split_whitespace().nth(1).expect("a number").parse().expect("a number");
    kib * KIB
}

/// What a process held when a test began.
struct Watch {
    name: String,
    before: u64,
    /// The most that was allowed at any look: the system is given its memory back later, if at all.
    most: Cell<u64>,
}

impl Watch {
    fn more(&self) -> u64 {
        resident().saturating_sub(self.before)
    }

    /// The process holds at most `bound` more than at its beginning.
    fn within(&self, bound: u64) {
        let more = self.more();
        assert!(more < bound, "{}: {} KiB more, {} allowed", self.name, more / KIB, bound / KIB);
    }

    /// A connection that tells these `stats` keeps to the formula, by what it says and by what the process
    /// holds. Answers what it says that it holds.
    fn look(&self, stats: &Json) -> u64 {
        let told = |key: &str| stats["held"][key].as_u64().expect("a number");
        let (held, bound) = (told("bytes"), told("bound"));
        assert!(held <= bound, "{}: {held} bytes are held, {bound} may be", self.name);
        self.most.set(self.most.get().max(bound));
        // A quarter for how an allocator keeps what is of many sizes.
        self.within(self.most.get().saturating_add(self.most.get() / 4).saturating_add(BESIDE));
        held
    }

    /// As [`look`](Self::look) while nothing is under way: what the connection says that it holds is the
    /// truth, as far as the process can tell.
    fn look_at_rest(&self, stats: &Json) -> u64 {
        let held = self.look(stats);
        self.within(held.saturating_mul(2).saturating_add(BESIDE));
        held
    }
}

/// Runs `body` alone, with what the process held before.
fn watched(what: &str, body: impl FnOnce(&Watch) + Send + 'static) {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let name = what.to_owned();
    within(LIMIT, what, move || {
        body(&Watch { name, before: resident(), most: Cell::new(0) });
    });
}

/// Serves the requests of `session`, each on a thread of its own, until its host is gone, and answers what
/// the host did.
fn serve(
    session: &Session,
    handler: impl Fn(&Request) -> Result<(), Error> + Send + Sync + 'static,
) -> JoinHandle<Result<(), Error>> {
    let session = session.clone();
    thread::spawn(move || {
        thread::scope(|scope| {
            while let Some(request) = block_on(session.next_request(), Deadline::NEVER)?? {
                let handler = &handler;
                scope.spawn(move || match handler(&request) {
                    Ok(()) => drop(block_on(request.finish(None, None), Deadline::NEVER)),
                    Err(error) => request.fail(&error),
                });
            }
            Ok(())
        })
    })
}

/// HZ-C08: a host that probes a million times and reads nothing is cut off with a reason.
#[test]
fn hz_c08_a_flood_of_probes_is_bounded() {
    watched("probes", |watch| {
        let (tell, told) = mpsc::channel();
        let tell = Mutex::new(tell);
        let (mut raw, session) = Raw::session(ECHO, limits(4, 64));
        let running = serve(&session, move |request| {
            let tell = tell.lock().expect("one request");
            tell.send(()).expect("it is told that this runs");
            let why = block_on(request.cancelled(), Deadline::NEVER)?;
            tell.send(()).expect("and that it is over");
            Err(why)
        });
        raw.send(&Frame::req(u64::MAX.into(), None, ECHO, "application/cbor"));
        told.recv().expect("it runs");
        let Raw { mut reader, socket, .. } = raw;
        let mut writer = FrameWriter::new(Flooding::new(&socket, move || told.try_recv().is_ok()));
        let (goes_on, has_gone_on) = mpsc::channel();
        let flood = thread::spawn(move || {
            let sent = (0..1_000_000_u64)
                .inspect(|n| {
                    if n % 1024 == 0 {
                        goes_on.send(()).expect("looked at")
                    }
                })
                .take_while(|n| writer.write(&Frame::heartbeat((*n).into())).is_ok())
                .count();
            socket.shutdown(std::net::Shutdown::Write).expect("open");
            sent
        });
        for () in has_gone_on {
            watch.look(&session.stats());
        }
        assert!(flood.join().expect("no panic") < 1_000_000, "cut off before");
        let mut answered = 0;
        while let Ok(Some(_)) = reader.read() {
            answered += 1;
        }
        assert!(answered < 32 * 1024, "{answered} were queued");
        let error = running.join().expect("no panic").expect_err("cut off");
        assert_eq!(error.kind(), ErrorKind::LimitReached);
        assert!(error.message().contains("16384"), "names the limit: {error}");
        watch.look(&session.stats());
    });
}

/// HZ-C08, the other way round: a cartridge that floods its engine ends its own link.
#[test]
fn hz_c08_a_flood_from_a_cartridge_is_bounded() {
    type Flood = (&'static str, fn(u64) -> Frame);
    let floods: [Flood; 2] = [
        ("probes", |n| Frame::heartbeat(n.into())),
        ("calls", |n| Frame::req(n.into(), None, "cap:any", "application/cbor")),
    ];
    for (what, frame) in floods {
        watched(what, move |watch| {
            let (raw, peer) = Raw::cartridge(&engine(limits(4, 64)), ECHO);
            let call = peer.call(ECHO).expect("live");
            let Raw { socket, .. } = raw;
            let over = || peer.dead().is_some();
            let mut writer = FrameWriter::new(Flooding::new(&socket, over));
            let sent = (0..1_000_000_u64)
                .inspect(|n| {
                    if n % 1024 == 0 {
                        watch.look(&peer.stats());
                    }
                })
                .take_while(|n| writer.write(&frame(*n)).is_ok())
                .count();
            assert!(sent < 1_000_000, "cut off before");
            let error = call.blocking_wait().expect_err("cut off");
            assert_eq!(error.kind(), ErrorKind::LimitReached, "{error}");
            assert!(error.message().contains("cartridge"), "{error}");
            assert_eq!(peer.dead(), Some(error));
            watch.look(&peer.stats());
            let _ = socket.shutdown(std::net::Shutdown::Both);
        });
    }
}

/// L14: logs cost no credit, and what nobody reads of them is bounded by count and by bytes.
#[test]
fn a_flood_of_logs_is_bounded() {
    watched("logs", |watch| {
        let (mut raw, peer) = Raw::cartridge(&engine(limits(4, 64)), ECHO);
        let call = peer.call(ECHO).expect("live");
        let id = raw.until(FrameType::Req).id;
        let long = "x".repeat(MIB as usize);
        for _ in 0..400 {
            raw.send(&Frame::log(id, None, "info", AttributionClass::Internal, &long));
        }
        raw.settle();
        let held = watch.look_at_rest(&peer.stats());
        assert!((MIB..2 * MIB).contains(&held), "the last of them: {held}");
        for n in 0..5000 {
            raw.send(&Frame::log(id, None, "info", AttributionClass::Internal, &n.to_string()));
        }
        raw.settle();
        assert!(watch.look_at_rest(&peer.stats()) < MIB);
        raw.answer(id, &[]);
        call.blocking_wait().expect("success");
        let mut events = 0;
        while call.blocking_next_event().is_some() {
            events += 1;
        }
        assert_eq!(events, 1024);
        assert_eq!(peer.counters().drops["event_unread"]["log"], 5400 - 1024);
        until("nothing is held of what is over", || watch.look(&peer.stats()) == 0);
    });
}

/// HZ-C19: what lies unread is within its window, whatever a frame is filled with.
#[test]
fn hz_c19_an_unread_window_is_bounded() {
    const WINDOW: u64 = 32;
    const SIZE: usize = 200 * 1024;
    let agreed = Limits { max_frame: 256 * KIB, ..limits(WINDOW, SIZE as u64) };
    let payload = Value::Bytes(vec![7; SIZE].into()).encode();
    let text = Value::Map(vec![("text".into(), "x".repeat(SIZE).into())]);
    let many = Value::Map(vec![("many".into(), Value::Array(vec![Value::Null; 60_000]))]);
    let values = [(payload, None), (vec![0xf6], Some(text)), (vec![0xf6], Some(many))];
    watched("an unread window", move |watch| {
        for (id, (payload, meta)) in (0_u64..).zip(values) {
            let (mut raw, session) = Raw::session(ECHO, agreed);
            raw.req(id, ECHO);
            raw.start(id, "in");
            let bytes =
                payload.len() as u64 + meta.as_ref().map_or(0, |meta| meta.encode().len() as u64);
            for index in 0..WINDOW {
                let mut chunk = Frame::chunk(id.into(), None, "in", index, payload.clone().into());
                chunk.meta.clone_from(&meta);
                raw.send(&chunk);
            }
            raw.settle();
            let held = watch.look_at_rest(&session.stats());
            assert!(held >= WINDOW * bytes, "{id}: {held} bytes, {bytes} in each chunk");
            raw.chunk(id, "in", WINDOW, &Value::Null);
            raw.settle(); // nobody has taken the request: it ends by itself
            assert_eq!(session.counters().drops["credit_violation"]["chunk"], 1, "L12");
            until("and holds no more", || watch.look(&session.stats()) <= held);
            raw.hang_up();
        }
    });
}

/// HZ-C12: the parts of an item that nobody can read yet hold no more than they are, whatever came in their
/// frames beside them.
#[test]
fn hz_c12_small_parts_in_large_frames_hold_little() {
    const PARTS: u64 = 2000;
    watched("small parts", |watch| {
        let (mut raw, session) = Raw::session(ECHO, limits(4, 64));
        raw.req(1, ECHO);
        raw.send(&Frame::stream_start(1_u64.into(), None, "in", "media:items").with_sequence(true));
        let head = vec![0x5a, 0, 0, 0xff, 0xff]; // a byte string of 64 KiB begins
        raw.send(&Frame::chunk(1_u64.into(), None, "in", 0, head.into()));
        let padding = Value::Map(vec![("padding".into(), "x".repeat(128 * 1024).into())]);
        for index in 1..PARTS {
            let mut chunk = Frame::chunk(1_u64.into(), None, "in", index, vec![7].into());
            chunk.meta = Some(padding.clone());
            raw.send(&chunk);
        }
        let given: u64 = raw.settle().iter().filter_map(|frame| frame.credit).sum();
        assert_eq!(given, PARTS, "L10: each is given back at once");
        let held = watch.look_at_rest(&session.stats());
        assert!((PARTS..PARTS * KIB).contains(&held), "{held}");
        raw.hang_up();
    });
}

/// HZ-C12: a length prefix is not believed.
#[test]
fn hz_c12_a_length_is_not_believed() {
    const LINKS: u64 = 500;
    watched("prefixes", |watch| {
        let above = u32::try_from(sluicegate::Limits::DEFAULT.max_frame + 1).expect("fits");
        let mut held = Vec::new();
        for n in 0..LINKS {
            let (mut host, plugin) = UnixStream::pair().expect("a pair of sockets");
            let prefix = if n % 2 == 0 { [0xff; 4] } else { above.to_be_bytes() };
            std::io::Write::write_all(&mut host, &prefix).expect("written"); // and silence
            let cartridge = Cartridge::new(Manifest::new("test", "1"));
            let reader = plugin.try_clone().expect("a second handle");
            let error = cartridge.serve(reader, plugin).map(drop).expect_err("refused at once");
            assert_eq!(error.kind(), ErrorKind::FrameTooLarge);
            held.push(host);
        }
        watch.within(LINKS * 16 * KIB); // there is no connection yet
    });
}

/// A socket that drops its end of a channel when it is asked for what follows the length of a frame:
/// by then, whoever reads has reserved what it reserves.
struct PastPrefix {
    inner: UnixStream,
    came: usize,
    wanted: Option<mpsc::Sender<()>>,
}

impl Read for PastPrefix {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.came == 4 {
            drop(self.wanted.take());
        }
        let came = self.inner.read(buffer)?;
        self.came += came;
        Ok(came)
    }
}

/// HZ-C12: neither is one below the limit, as long as its bytes do not come.
#[test]
fn hz_c12_a_length_within_the_limit_reserves_little() {
    const LINKS: usize = 100;
    // A thread and what it reads ahead, each 64 KiB at most; a body of the limit would be 3.5 MiB.
    watched("lengths", |watch| {
        let length = u32::try_from(sluicegate::Limits::DEFAULT.max_frame).expect("fits");
        let (wanted, all_want) = mpsc::channel();
        let links: Vec<_> = (0..LINKS)
            .map(|_| {
                let (mut near, far) = UnixStream::pair().expect("a pair of sockets");
                std::io::Write::write_all(&mut near, &length.to_be_bytes()).expect("written");
                let far = PastPrefix { inner: far, came: 0, wanted: Some(wanted.clone()) };
                let reading = thread::spawn(move || FrameReader::new(far).read().map(drop));
                (near, reading)
            })
            .collect();
        drop(wanted);
        assert!(all_want.recv().is_err(), "nothing is sent");
        watch.within(LINKS as u64 * 128 * KIB);
        for (near, reading) in links {
            near.shutdown(std::net::Shutdown::Both).expect("open");
            assert_eq!(
                reading.join().expect("no panic").expect_err("cut").kind(),
                ErrorKind::Malformed
            );
        }
    });
}

/// HZ-C09: opening and cancelling as fast as possible costs bounded memory, every request is answered
/// once, and who behaves on the same link is served.
#[test]
fn hz_c09_rapid_open_and_cancel_is_bounded() {
    const PAIRS: u64 = 40_000;
    const EVERY: u64 = 1000; // pairs for each good request
    const VALUES: u64 = 3;
    // A kilobyte that stays of each is over this at the end.
    const STAYS: u64 = 32 * MIB;
    watched("rapid cancels", |watch| {
        let running_now = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&running_now);
        let (raw, session) = Raw::session(ECHO, limits(4, 64));
        let running = serve(&session, move |request| {
            count.fetch_add(1, Ordering::SeqCst);
            let ended = echo(request);
            count.fetch_sub(1, Ordering::SeqCst);
            ended
        });
        let Raw { mut reader, mut writer, socket, .. } = raw;
        let abuser = thread::spawn(move || {
            (0..PAIRS).try_for_each(|id| {
                writer.write(&Frame::req(id.into(), None, ECHO, "application/cbor"))?;
                writer.write(&Frame::cancel(id.into(), None, false))?;
                if id % EVERY != 0 {
                    return Ok(());
                }
                let good = MessageId::Uint(PAIRS + id);
                writer.write(&Frame::req(good, None, ECHO, "application/cbor"))?;
                writer.write(&Frame::stream_start(good, None, "in", "media:blob"))?;
                for n in 0..VALUES {
                    let value = Value::Uint(n).encode().into();
                    writer.write(&Frame::chunk(good, None, "in", n, value))?;
                }
                writer.write(&Frame::stream_end(good, None, "in", Some(VALUES)))?;
                writer.write(&Frame::end(good, None))
            })
        });
        let (mut cancelled, mut served, mut echoed) = (0, 0, 0);
        while cancelled < PAIRS || served < PAIRS / EVERY {
            let frame = reader.read().expect("a whole frame").expect("the link lives");
            let good = matches!(frame.id, MessageId::Uint(id) if id >= PAIRS);
            echoed += u64::from(good && frame.frame_type == FrameType::Chunk);
            match (frame.is_terminal(), good) {
                (true, true) => {
                    assert_eq!(frame.exit_code(), Some(0), "{frame:?}");
                    served += 1;
                    watch.look(&session.stats());
                    watch.within(STAYS);
                }
                (true, false) => {
                    assert_eq!(frame.error_code(), Some("CANCELLED"), "{frame:?}");
                    cancelled += 1;
                }
                (false, _) => {}
            }
        }
        assert_eq!((cancelled, served), (PAIRS, PAIRS / EVERY), "each is answered once");
        assert_eq!(echoed, served * VALUES);
        abuser.join().expect("no panic").expect("written");
        socket.shutdown(std::net::Shutdown::Both).expect("open");
        running.join().expect("no panic").expect("a host that closes is no error");
        assert_eq!(running_now.load(Ordering::SeqCst), 0, "every handler has ended");
        until("nothing is held of what is over", || watch.look(&session.stats()) == 0);
        watch.within(STAYS);
    });
}
