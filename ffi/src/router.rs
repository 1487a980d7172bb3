//! `sluice_router`: brings grants to gates.

use std::borrow::Borrow;
use std::hash::{Hash, Hasher};

use libc::c_char;
use sluicegate::{CreditGate, CreditRouter, Delivery as Delivered};

use crate::border;
use crate::gate::Gate;
use crate::guard::guard;
use crate::handle::{self, object};
use crate::status::Status;

/// The gates of the streams that are open for sending, by request and stream name.
pub struct Router(CreditRouter<Key>);
object!(Router = 5);

/// What identifies a request: any bytes.
#[derive(Clone, PartialEq, Eq)]
enum Key {
    Bytes(Vec<u8>),
    /// Panics when it is looked at, which a router does under its lock: see `sluice_debug_panic`.
    Panics,
}

impl Borrow<[u8]> for Key {
    fn borrow(&self) -> &[u8] {
        match self {
            Key::Bytes(bytes) => bytes,
            Key::Panics => panic!("on purpose, under the router's lock"),
        }
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Borrow::<[u8]>::borrow(self).hash(state); // as the bytes hash, which `Borrow` asks for
    }
}

impl Router {
    /// Panics under the router's lock, which leaves it broken.
    pub(crate) fn break_on_purpose(&self) {
        self.0.register(Key::Panics, None, &CreditGate::new(0));
    }
}

/// What became of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Delivery {
    /// It credited a gate.
    Granted = 0,
    /// The request is known, and the grant names none of its streams. Ignored.
    NoStream = 1,
    /// The request is not known: a straggler or a stray, the caller's to classify.
    NoRequest = 2,
}

impl From<Delivered> for Delivery {
    fn from(delivered: Delivered) -> Self {
        match delivered {
            Delivered::Granted => Delivery::Granted,
            Delivered::NoStream => Delivery::NoStream,
            Delivered::NoRequest => Delivery::NoRequest,
        }
    }
}

/// Makes a router that knows no request.
///
/// out      the router, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_router_new(out: *mut *mut Router) -> Status {
    guard(|| border::put_new(out, Router(CreditRouter::new())))
}

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_router_retain(router: *const Router) -> Status {
    guard(|| handle::retain(router))
}

/// Takes a reference away. The gates stay as they are.
///
/// router   may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_router_release(router: *mut Router) -> Status {
    guard(|| handle::release(router))
}

/// Enters a stream that is open for sending. Registering a name again replaces the gate; the one
/// before is closed with the reason REPLACED, so that nobody waits on it for ever.
///
/// request  any bytes that identify a request in your transport
/// stream   the stream's name; NULL: the stream without a name; the empty text is a name
/// gate     borrowed; the router keeps a reference of its own
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_BROKEN | SLUICE_FORKED
/// threads  any number at once; does not wait; may run wakers of others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_router_register(
    router: *const Router,
    request: *const u8,
    request_len: usize,
    stream: *const c_char,
    stream_len: usize,
    gate: *const Gate,
) -> Status {
    guard(|| {
        let request = Key::Bytes(border::bytes(request, request_len)?.to_vec());
        let stream = border::text_opt(stream, stream_len)?;
        let gate = handle::get(gate)?;
        handle::get(router)?.0.register(request, stream, &gate.0);
        Ok(())
    })
}

/// Takes a stream out once it is no longer open for sending. Its gate stays as it is.
///
/// stream   NULL: the stream without a name
/// returns  SLUICE_OK, also if it was not there | SLUICE_INVALID_ARGUMENT | SLUICE_BROKEN |
///          SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_router_unregister(
    router: *const Router,
    request: *const u8,
    request_len: usize,
    stream: *const c_char,
    stream_len: usize,
) -> Status {
    guard(|| {
        let request = border::bytes(request, request_len)?;
        let stream = border::text_opt(stream, stream_len)?;
        handle::get(router)?.0.unregister(request, stream);
        Ok(())
    })
}

/// Credits the stream that a grant names, or the request's only one if it names none.
///
/// stream   NULL: the grant names no stream
/// n        chunks
/// out      may be NULL; what became of it
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_BROKEN | SLUICE_FORKED
/// threads  any number at once; does not wait; may run wakers of others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_router_grant(
    router: *const Router,
    request: *const u8,
    request_len: usize,
    stream: *const c_char,
    stream_len: usize,
    n: u64,
    out: *mut Delivery,
) -> Status {
    guard(|| {
        let request = border::bytes(request, request_len)?;
        let stream = border::text_opt(stream, stream_len)?;
        let delivered = handle::get(router)?.0.grant(request, stream, n);
        border::put_opt(out, delivered.into());
        Ok(())
    })
}

/// Ends a request: closes all its gates, which releases every waiter (L13).
///
/// reason   why; may be empty or NULL
/// returns  SLUICE_OK, also if it was not there | SLUICE_INVALID_ARGUMENT | SLUICE_BROKEN |
///          SLUICE_FORKED
/// threads  any number at once; does not wait; may run wakers of others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_router_close_request(
    router: *const Router,
    request: *const u8,
    request_len: usize,
    reason: *const c_char,
    reason_len: usize,
) -> Status {
    guard(|| {
        let request = border::bytes(request, request_len)?;
        let reason = border::text(reason, reason_len)?;
        handle::get(router)?.0.close_request(request, reason);
        Ok(())
    })
}

/// Ends every request, for a connection that is gone.
///
/// reason   why; may be empty or NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_BROKEN | SLUICE_FORKED
/// threads  any number at once; does not wait; may run wakers of others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_router_close_all(
    router: *const Router,
    reason: *const c_char,
    reason_len: usize,
) -> Status {
    guard(|| {
        let reason = border::text(reason, reason_len)?;
        handle::get(router)?.0.close_all(reason);
        Ok(())
    })
}

/// How many requests have streams open for sending.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_BROKEN | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_router_len(router: *const Router, out: *mut u64) -> Status {
    guard(|| border::put(out, handle::get(router)?.0.len() as u64))
}
