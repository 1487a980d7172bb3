//! `sluice_peer`: one cartridge, live.

use std::ptr;

use libc::c_char;

use crate::border::{self, Growing, Text};
use crate::call::Call;
use crate::error::{self, ErrorObject};
use crate::guard::{block, guard, guard_with};
use crate::handle::{self, object};
use crate::item::Item;
use crate::limits::{self, Limits};
use crate::op::{self, Op};
use crate::status::Status;

/// A cartridge that an engine can call.
pub struct Peer {
    peer: sluicegate::Peer,
    name: Text,
    manifest: Text,
    caps: Vec<Cap>,
}
object!(Peer = 21);

struct Cap {
    urn: Text,
    title: Text,
    in_media: Option<Text>,
    out_media: Option<Text>,
    in_sequence: bool,
    out_sequence: bool,
}

impl Peer {
    pub(crate) fn peer(&self) -> &sluicegate::Peer {
        &self.peer
    }

    pub(crate) fn new(peer: sluicegate::Peer) -> Self {
        let caps = peer.caps().iter().map(|cap| Cap {
            urn: Text::new(&cap.urn),
            title: Text::new(&cap.title),
            in_media: cap.in_media.as_deref().map(Text::new),
            out_media: cap.out_media.as_deref().map(Text::new),
            in_sequence: cap.in_sequence,
            out_sequence: cap.out_sequence,
        });
        Peer {
            caps: caps.collect(),
            name: Text::new(peer.name()),
            manifest: Text::new(&peer.manifest_json()),
            peer,
        }
    }
}

/// One cap of a cartridge. Begin with SLUICE_CAP_INFO_INIT. The texts end with a NUL and are borrowed
/// from the peer.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CapInfo {
    /// Set by SLUICE_CAP_INFO_INIT.
    pub struct_size: u32,
    /// The main input is a sequence of items.
    pub in_sequence: bool,
    /// The main output is a sequence of items.
    pub out_sequence: bool,
    /// The URN to call it by.
    pub urn: *const c_char,
    /// For people.
    pub title: *const c_char,
    /// Media of the main input; NULL: it takes none.
    pub in_media: *const c_char,
    /// Media of the main output; NULL: it has none.
    pub out_media: *const c_char,
}

// SAFETY: a C struct of plain fields that begins with its size; all zero is a value of it.
unsafe impl Growing for CapInfo {}

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_peer_retain(peer: *const Peer) -> Status {
    guard(|| handle::retain(peer))
}

/// Takes a reference away. The last one, of the peer and its calls, closes the cartridge.
///
/// peer     may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait; may run wakers of others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_peer_release(peer: *mut Peer) -> Status {
    guard(|| handle::release(peer))
}

/// The command or transport that it runs on, for people.
///
/// out, out_len  borrowed from the peer, NUL-terminated; out_len may be NULL
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_peer_name(
    peer: *const Peer,
    out: *mut *const c_char,
    out_len: *mut usize,
) -> Status {
    guard(|| border::lend_text(Some(&handle::get(peer)?.name), out, out_len))
}

/// Its manifest, JSON.
///
/// out, out_len  borrowed from the peer, NUL-terminated; out_len may be NULL
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_peer_manifest_json(
    peer: *const Peer,
    out: *mut *const c_char,
    out_len: *mut usize,
) -> Status {
    guard(|| border::lend_text(Some(&handle::get(peer)?.manifest), out, out_len))
}

/// The end of what it wrote to stderr, at most 64 KiB: an item of kind SLUICE_ITEM_TEXT, empty if it
/// was not spawned.
///
/// out      the item, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_peer_stderr_tail(peer: *const Peer, out: *mut *mut Item) -> Status {
    guard(|| {
        let tail = handle::get(peer)?.peer.stderr_tail();
        border::put_new(out, Item::of(sluicegate::Value::Text(tail)))
    })
}

/// How many caps it serves.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_peer_cap_count(peer: *const Peer, out: *mut usize) -> Status {
    guard(|| border::put(out, handle::get(peer)?.caps.len()))
}

/// One of its caps.
///
/// index    from 0
/// out      begin with SLUICE_CAP_INFO_INIT
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also for an index beyond the last | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_peer_cap(
    peer: *const Peer,
    index: usize,
    out: *mut CapInfo,
) -> Status {
    guard(|| {
        let peer = handle::get(peer)?;
        let cap = peer.caps.get(index).ok_or(Status::SLUICE_INVALID_ARGUMENT)?;
        let info = CapInfo {
            struct_size: 0,
            in_sequence: cap.in_sequence,
            out_sequence: cap.out_sequence,
            urn: cap.urn.as_ptr(),
            title: cap.title.as_ptr(),
            in_media: cap.in_media.as_ref().map_or(ptr::null(), Text::as_ptr),
            out_media: cap.out_media.as_ref().map_or(ptr::null(), Text::as_ptr),
        };
        border::put_sized(out, info)
    })
}

/// The agreed limits.
///
/// out      begin with SLUICE_LIMITS_INIT
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_peer_limits(peer: *const Peer, out: *mut Limits) -> Status {
    guard(|| limits::put(out, handle::get(peer)?.peer.limits()))
}

/// Calls a cap. A cap that it does not serve fails the call, not this.
///
/// out      the call, yours to release
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_LIMIT_REACHED | why the cartridge is gone | SLUICE_INVALID_ARGUMENT |
///          SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_peer_call(
    peer: *const Peer,
    cap: *const c_char,
    cap_len: usize,
    out: *mut *mut Call,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        let cap = border::text(cap, cap_len)?;
        border::put_new(out, Call::new(handle::get(peer)?.peer.call(cap)?))
    })
}

/// Its process id; 0: it was not spawned.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_peer_pid(peer: *const Peer, out: *mut u32) -> Status {
    guard(|| border::put(out, handle::get(peer)?.peer.pid().unwrap_or(0)))
}

/// Why it is gone.
///
/// out      the reason, yours to release; NULL: it lives
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_peer_dead(peer: *const Peer, out: *mut *mut ErrorObject) -> Status {
    guard(|| error::put_reason(out, handle::get(peer)?.peer.dead()))
}

/// The most memory that its process had, in bytes; 0: not spawned, gone, or the system does not tell.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_peer_peak_memory(peer: *const Peer, out: *mut u64) -> Status {
    guard(|| border::put(out, handle::get(peer)?.peer.memory().map_or(0, |memory| memory.peak)))
}

/// Closes it: what is queued is written, its stdin is closed, its calls end with SLUICE_CLOSED. It gets
/// 2 s to exit and is killed then. Answers when it is gone.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// err         may be NULL
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_peer_close(
    peer: *const Peer,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let waiting = closed(&*handle::get(peer)?);
        block(waiting, timeout_ms)
    })
}

/// The same as an operation.
///
/// out      the operation, yours to release; it answers as sluice_peer_close
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_peer_close_start(peer: *const Peer, out: *mut *mut Op) -> Status {
    guard(|| {
        let waiting = closed(&*handle::get(peer)?);
        op::start_unit(out, waiting)
    })
}

fn closed(peer: &Peer) -> impl Future<Output = Result<(), sluicegate::Error>> + Send + use<> {
    let close = peer.peer.close();
    async move {
        close.await;
        Ok(())
    }
}

/// Kills its process at once; an attached one is cut off. Its calls end with the reason.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait; may run wakers of others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_peer_kill(peer: *const Peer) -> Status {
    guard(|| {
        handle::get(peer)?.peer.kill();
        Ok(())
    })
}
