//! `sluice_feed`: a live source that cannot be held up, in front of a consumer that may be slow.

use std::fs::File;
use std::os::fd::{FromRawFd, OwnedFd};
use std::time::Duration;

use bytes::Bytes;
use libc::c_int;
use sluicegate::feed::{
    Captured, Feed as Core, FeedItem, FeedMeta as Meta, FeedOptions as Options, FeedSender,
    FeedStats as Stats, Framing, OverrunPolicy, Pace,
};
use sluicegate::{Error, ErrorKind, Value};

use crate::border::{self, Growing};
use crate::engine::Command;
use crate::error::ErrorObject;
use crate::guard::{Fail, block, guard, guard_with};
use crate::handle::{self, object};
use crate::item::{self, Item};
use crate::op::{self, Op, Outcome};
use crate::output::Output;
use crate::status::Status;

/// A live feed: both its ends. One that captures by itself has no capture side for the caller.
pub struct Feed {
    feed: Core,
    capture: Option<FeedSender>,
}
object!(Feed = 22);

impl Feed {
    pub(crate) fn feed(&self) -> Core {
        self.feed.clone()
    }
}

/// How a feed is opened. Begin with SLUICE_FEED_OPTIONS_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct FeedOptions {
    /// Set by SLUICE_FEED_OPTIONS_INIT.
    pub struct_size: u32,
    /// The feed ends with SLUICE_FEED_OVERRUN when its ring is full; otherwise the oldest item makes room.
    pub fail_on_overrun: bool,
    /// Items that the ring can hold; 0: 64.
    pub capacity: u64,
    /// What is captured, a CBOR map: the metadata of the stream it is served to; NULL: none.
    pub format: *const u8,
    /// Bytes of it.
    pub format_len: usize,
}

// SAFETY: a C struct of plain fields that begins with its size; all zero is a value of it.
unsafe impl Growing for FeedOptions {}

fn options(options: *const FeedOptions) -> Result<Options, Fail> {
    let mut ours = Options::default();
    let Some(theirs) = border::sized(options)? else {
        return Ok(ours);
    };
    if theirs.capacity > 0 {
        ours.capacity = theirs.capacity;
    }
    if theirs.fail_on_overrun {
        ours.policy = OverrunPolicy::Fail;
    }
    ours.format = item::meta(theirs.format, theirs.format_len)?;
    Ok(ours)
}

/// A feed's figures at one moment, in items; captured = delivered + dropped + held, always. Begin with
/// SLUICE_FEED_STATS_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct FeedStats {
    /// Set by SLUICE_FEED_STATS_INIT.
    pub struct_size: u32,
    /// Nothing is captured any more.
    pub ended: bool,
    /// What the source produced while the feed was capturing.
    pub captured: u64,
    /// What left the ring for the consumer.
    pub delivered: u64,
    /// What was lost: overruns, and what was held when the feed was given up.
    pub dropped: u64,
    /// Of these, how many because the consumer was slower than reality.
    pub overruns: u64,
    /// What the ring holds now.
    pub held: u64,
    /// What the ring can hold.
    pub capacity: u64,
}

// SAFETY: a C struct of plain fields that begins with its size; all zero is a value of it.
unsafe impl Growing for FeedStats {}

impl From<Stats> for FeedStats {
    fn from(stats: Stats) -> Self {
        let Stats { captured, delivered, dropped, overruns, held, capacity, ended } = stats;
        FeedStats { struct_size: 0, ended, captured, delivered, dropped, overruns, held, capacity }
    }
}

/// What travels with an item of a feed. Begin with SLUICE_FEED_META_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct FeedMeta {
    /// Set by SLUICE_FEED_META_INIT.
    pub struct_size: u32,
    /// The item's number in the order of capture, from 0; lost items have one too.
    pub seq: u64,
    /// Presentation time, in microseconds, from wherever the source counts.
    pub pts_us: u64,
    /// When it was captured, in microseconds since the Unix epoch.
    pub capture_ts_us: u64,
    /// Items lost in front of it; 0 if none were.
    pub gap_dropped: u64,
    /// If some were: microseconds of presentation time from the item delivered before to this one.
    pub gap_duration_us: u64,
}

// SAFETY: a C struct of plain fields that begins with its size; all zero is a value of it.
unsafe impl Growing for FeedMeta {}

impl From<Meta> for FeedMeta {
    fn from(meta: Meta) -> Self {
        FeedMeta {
            struct_size: 0,
            seq: meta.seq,
            pts_us: meta.pts_us,
            capture_ts_us: meta.capture_ts_us,
            gap_dropped: meta.gap.map_or(0, |gap| gap.dropped),
            gap_duration_us: meta.gap.map_or(0, |gap| gap.duration_us),
        }
    }
}

/// Opens a feed that your own source pushes into.
///
/// options  NULL: a ring of 64, the oldest item makes room; begin with SLUICE_FEED_OPTIONS_INIT
/// out      the feed, yours to release
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_MALFORMED: format | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_feed_new(
    feed_options: *const FeedOptions,
    out: *mut *mut Feed,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        let (feed, capture) = Core::open(options(feed_options)?)?;
        border::put_new(out, Feed { feed, capture: Some(capture) })
    })
}

/// Starts a command whose stdout is the source: ffmpeg, arecord, whatever writes what it captures. Its
/// exit with status 0 ends the feed as it should, any other fails it with the end of its stderr.
/// When the feed ends first, the command and what it started are killed and reaped at once.
///
/// options     as for sluice_feed_new
/// item_bytes  bytes of an item, such as a raw frame; 0: one item a line, of at most 1 MiB
/// out         the feed, yours to release
/// err         may be NULL
/// returns     SLUICE_OK | SLUICE_SPAWN | SLUICE_LIMIT_REACHED | SLUICE_MALFORMED: format |
///             SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_feed_command(
    feed_options: *const FeedOptions,
    command: *const Command,
    item_bytes: usize,
    out: *mut *mut Feed,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        let command = handle::get(command)?.command();
        let feed = Core::command(options(feed_options)?, &command, framing(item_bytes))?;
        border::put_new(out, Feed { feed, capture: None })
    })
}

/// Opens a feed of what a file or pipe gives, read on a thread of the library's. The end of the file
/// ends the feed as it should; a part of an item at the end fails it.
///
/// options      as for sluice_feed_new
/// fd           taken over: closed when the source has ended, also if this call fails
/// item_bytes   bytes of an item; 0: one item a line, of at most 1 MiB
/// interval_us  microseconds from one item to the next, to play a file as if it were live; 0: as the
///              bytes come
/// out          the feed, yours to release
/// err          may be NULL
/// returns      SLUICE_OK | SLUICE_LIMIT_REACHED | SLUICE_MALFORMED: format | SLUICE_INVALID_ARGUMENT
/// threads      any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_feed_fd(
    feed_options: *const FeedOptions,
    fd: c_int,
    item_bytes: usize,
    interval_us: u64,
    out: *mut *mut Feed,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let file = own(fd)?;
        border::need(out)?;
        let pace = match interval_us {
            0 => Pace::AsItComes,
            interval => Pace::Every(Duration::from_micros(interval)),
        };
        let feed = Core::reader(options(feed_options)?, file, framing(item_bytes), pace)?;
        border::put_new(out, Feed { feed, capture: None })
    })
}

/// Takes a descriptor over.
fn own(fd: c_int) -> Result<File, Fail> {
    if fd < 0 {
        return Err(border::invalid("there is no such descriptor"));
    }
    // SAFETY: the caller's duty: a descriptor that is handed over is the library's from now on.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(fd) }))
}

fn framing(item_bytes: usize) -> Framing {
    const LONGEST_LINE: usize = 1024 * 1024;
    if item_bytes == 0 { Framing::Lines(LONGEST_LINE) } else { Framing::Fixed(item_bytes) }
}

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_feed_retain(feed: *const Feed) -> Status {
    guard(|| handle::retain(feed))
}

/// Takes a reference away. The last one, where no call on the feed is in progress, gives it up: the
/// source is stopped and what the ring holds is dropped.
///
/// feed     may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait; may run wakers of others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_feed_release(feed: *mut Feed) -> Status {
    guard(|| handle::release(feed))
}

/// An item was captured: bytes. Made for a capture callback: never waits for the consumer, for credit or
/// for the wire. It copies the bytes (one allocation), takes one lock for a fixed number of steps, and
/// wakes the consumer if that waits. If the ring was full, the oldest item was dropped for this one,
/// which the next delivered item says.
///
/// pts_us         presentation time in microseconds, from wherever the source counts
/// capture_ts_us  when it was captured, in microseconds since the Unix epoch; 0: now
/// out_seq        may be NULL; the item's number, written on SLUICE_OK only
/// returns        SLUICE_OK | SLUICE_FEED_OVERRUN: the ring was full and the feed fails on that; it has
///                ended | SLUICE_CLOSED: nothing is captured any more, stop the device |
///                SLUICE_INVALID_ARGUMENT, also if the feed captures by itself | SLUICE_FORKED
/// threads        any number at once; does not wait; may run the consumer's waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_feed_push(
    feed: *const Feed,
    data: *const u8,
    len: usize,
    pts_us: u64,
    capture_ts_us: u64,
    out_seq: *mut u64,
) -> Status {
    guard(|| {
        let value = Value::Bytes(Bytes::copy_from_slice(border::bytes(data, len)?));
        push(feed, value, pts_us, capture_ts_us, out_seq)
    })
}

/// The same for any CBOR value.
///
/// returns  as sluice_feed_push | SLUICE_MALFORMED
/// threads  any number at once; does not wait; may run the consumer's waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_feed_push_cbor(
    feed: *const Feed,
    cbor: *const u8,
    cbor_len: usize,
    pts_us: u64,
    capture_ts_us: u64,
    out_seq: *mut u64,
) -> Status {
    guard(|| push(feed, item::cbor(cbor, cbor_len)?, pts_us, capture_ts_us, out_seq))
}

fn push(
    feed: *const Feed,
    value: Value,
    pts_us: u64,
    capture_ts_us: u64,
    out_seq: *mut u64,
) -> Result<(), Fail> {
    let feed = handle::get(feed)?;
    let capture = feed.capture.as_ref().ok_or(Status::SLUICE_INVALID_ARGUMENT)?;
    let captured = match capture_ts_us {
        0 => capture.push(value, pts_us),
        at => capture.push_at(value, pts_us, at),
    };
    match captured {
        Captured::Stored(seq) | Captured::Evicted(seq) => {
            border::put_opt(out_seq, seq);
            Ok(())
        }
        Captured::Overflowed(_) => Err(Status::SLUICE_FEED_OVERRUN.into()),
        Captured::Over => Err(Status::SLUICE_CLOSED.into()),
    }
}

/// Stops the capture: the source has come to its end, or is to be stopped. What is held is still
/// delivered, then the feed ends as it should. Whatever the consumer does, it is told at once. May be
/// called again; the first end stays.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait; may run wakers of others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_feed_stop(feed: *const Feed) -> Status {
    guard(|| {
        handle::get(feed)?.feed.stop();
        Ok(())
    })
}

/// The device failed: what is held is still delivered, then the consumer gets the error. The first end
/// stays.
///
/// reason   NULL: SLUICE_IO without a message; stays yours
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also if the feed captures by itself | SLUICE_FORKED
/// threads  any number at once; does not wait; may run wakers of others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_feed_fail(feed: *const Feed, reason: *const ErrorObject) -> Status {
    guard(|| {
        let feed = handle::get(feed)?;
        let error = match reason.is_null() {
            true => Error::new(ErrorKind::Io, ""),
            false => handle::get(reason)?.error(),
        };
        feed.capture.as_ref().ok_or(Status::SLUICE_INVALID_ARGUMENT)?.fail(error);
        Ok(())
    })
}

/// Gives the feed up: the source is stopped, and what the ring holds is dropped.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait; may run wakers of others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_feed_abandon(feed: *const Feed) -> Status {
    guard(|| {
        handle::get(feed)?.feed.abandon();
        Ok(())
    })
}

/// Takes the next item, waiting for it; sluice_item_feed_meta tells its number and what was lost in
/// front of it.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// out         the item, yours to release
/// err         may be NULL; what the feed failed with
/// returns     SLUICE_OK | SLUICE_TIMED_OUT: nothing was taken | SLUICE_END_OF_STREAM: the clean end |
///             SLUICE_FEED_OVERRUN | what the source failed with | SLUICE_INVALID_ARGUMENT, also while the
///             feed is being served | SLUICE_FORKED
/// threads     any number at once, each item reaches one of them; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_feed_recv(
    feed: *const Feed,
    timeout_ms: i64,
    out: *mut *mut Item,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        let recv = handle::get(feed)?.feed.recv();
        let next = block(recv, timeout_ms)?.ok_or(Status::SLUICE_END_OF_STREAM)?;
        border::put_new(out, Item::new(with_meta(next)))
    })
}

/// The same as an operation; sluice_op_take_item has the result.
///
/// out      the operation, yours to release; it answers as sluice_feed_recv
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_feed_recv_start(feed: *const Feed, out: *mut *mut Op) -> Status {
    guard(|| {
        let recv = handle::get(feed)?.feed.recv();
        op::start_opt(out, recv, |next| Outcome::Item(with_meta(next)))
    })
}

pub(crate) fn with_meta(item: FeedItem) -> sluicegate::Item {
    sluicegate::Item { value: item.value, meta: Some(item.meta.to_value()) }
}

/// Delivers the feed to an output until it ends: each item takes its credit (L9) and waits for it here,
/// never at the source. The stream is opened, unless it is open, as an unbounded sequence (L16) with the
/// feed's format for metadata; it is left open at the end. A caller that closes the stream stops the
/// capture and gets what is held.
///
/// output      stays yours
/// timeout_ms  milliseconds from now; SLUICE_FOREVER = no limit. An item that is given up in its middle
///             breaks the stream; the feed goes on capturing
/// err         may be NULL
/// returns     SLUICE_OK: the feed has ended as it should | SLUICE_TIMED_OUT | SLUICE_FEED_OVERRUN | what the
///             source failed with | why the request or the link ended (L13) | SLUICE_WRONG_MODE |
///             SLUICE_INVALID_ARGUMENT, also if it is being served already | SLUICE_FORKED
/// threads     one at a time on one feed; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_feed_serve(
    feed: *const Feed,
    output: *const Output,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let serve = handle::get(feed)?.feed.serve(&handle::get(output)?.stream());
        block(serve, timeout_ms)
    })
}

/// The same as an operation.
///
/// out      the operation, yours to release; it answers as sluice_feed_serve
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_feed_serve_start(
    feed: *const Feed,
    output: *const Output,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        let serve = handle::get(feed)?.feed.serve(&handle::get(output)?.stream());
        op::start_unit(out, serve)
    })
}

/// The feed's figures now.
///
/// out      begin with SLUICE_FEED_STATS_INIT
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_feed_stats(feed: *const Feed, out: *mut FeedStats) -> Status {
    guard(|| border::put_sized(out, handle::get(feed)?.feed.stats().into()))
}

/// What a feed says about an item of it, at either end of a stream.
///
/// out      begin with SLUICE_FEED_META_INIT
/// returns  SLUICE_OK | SLUICE_WRONG_MODE: it is no item of a feed | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_item_feed_meta(item: *const Item, out: *mut FeedMeta) -> Status {
    guard(|| {
        let meta = handle::get(item)?.item().meta;
        let meta = meta.as_ref().and_then(Meta::read).ok_or(Status::SLUICE_WRONG_MODE)?;
        border::put_sized(out, meta.into())
    })
}
