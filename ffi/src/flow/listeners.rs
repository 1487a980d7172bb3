//! `sluice_listeners`: who listens at a hub, and how each stands.

use libc::c_char;
use sluicegate::flow::HubSubscriber;

use super::blueprint::Hub;
use crate::border::{self, Growing, Text};
use crate::guard::guard;
use crate::handle::{self, object};
use crate::status::Status;

/// Who listens at a hub at one moment.
pub struct Listeners(Vec<(Text, HubSubscriber)>);
object!(Listeners = 39);

/// The figures of one who listens, in elements. Begin with SLUICE_LISTENER_INFO_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ListenerInfo {
    /// Set by SLUICE_LISTENER_INFO_INIT.
    pub struct_size: u32,
    /// The name of its first stage; borrowed from the sluice_listeners, NUL-terminated.
    pub name: *const c_char,
    /// Asked for and not shared with it yet.
    pub demand: u64,
    /// Shared with it and not taken yet: its buffer's capacity and what it asked for at most.
    pub held: u64,
    /// Lost by its policy.
    pub lost: u64,
}

// SAFETY: a C struct of plain fields that begins with its size; all zero is a value of it.
unsafe impl Growing for ListenerInfo {}

/// Everybody who listens now, in the order they came.
///
/// out      the list, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_hub_listeners(hub: *const Hub, out: *mut *mut Listeners) -> Status {
    guard(|| {
        border::need(out)?;
        let all = handle::get(hub)?.0.subscribers();
        let all = all.into_iter().map(|one| (Text::new(&one.name), one)).collect();
        border::put_new(out, Listeners(all))
    })
}

/// Lets a list go, and the names that it lent.
///
/// listeners  may be NULL
/// returns    SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads    any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_listeners_release(listeners: *mut Listeners) -> Status {
    guard(|| handle::release(listeners))
}

/// How many a list has.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_listeners_count(
    listeners: *const Listeners,
    out: *mut usize,
) -> Status {
    guard(|| border::put(out, handle::get(listeners)?.0.len()))
}

/// The figures of one of them, of the moment when the list was made.
///
/// index    from 0
/// out      begin with SLUICE_LISTENER_INFO_INIT
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also behind the end | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_listeners_info(
    listeners: *const Listeners,
    index: usize,
    out: *mut ListenerInfo,
) -> Status {
    guard(|| {
        let listeners = handle::get(listeners)?;
        let (name, one) = listeners.0.get(index).ok_or(Status::SLUICE_INVALID_ARGUMENT)?;
        let info = ListenerInfo {
            struct_size: 0,
            name: name.as_ptr(),
            demand: one.demand,
            held: one.held,
            lost: one.lost,
        };
        border::put_sized(out, info)
    })
}
