//! `sluice_window`: the receiver's side of one stream, in chunks.

use sluicegate::CreditWindow;

use crate::border;
use crate::guard::guard;
use crate::handle::{self, object};
use crate::status::Status;

/// What a receiver has promised room for, and what it owes the sender, in chunks (L10).
pub struct Window(CreditWindow);
object!(Window = 4);

/// Makes a window that makes a grant due for each half of it consumed.
///
/// window   chunks that the sender begins with
/// out      the window, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_window_new(window: u64, out: *mut *mut Window) -> Status {
    guard(|| border::put_new(out, Window(CreditWindow::new(window))))
}

/// Makes a window whose grants are due after a batch of your choice.
///
/// window   chunks that the sender begins with
/// batch    chunks; held between 1 and half the window, so that it never stalls the sender
/// out      the window, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_window_new_with_batch(
    window: u64,
    batch: u64,
    out: *mut *mut Window,
) -> Status {
    guard(|| border::put_new(out, Window(CreditWindow::with_batch(window, batch))))
}

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_window_retain(window: *const Window) -> Status {
    guard(|| handle::retain(window))
}

/// Takes a reference away.
///
/// window   may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_window_release(window: *mut Window) -> Status {
    guard(|| handle::release(window))
}

/// A chunk arrives.
///
/// returns  SLUICE_OK: it was paid for | SLUICE_CREDIT_VIOLATION: no credit was left for it (L12), it
///          must not be delivered, the window is as before | SLUICE_INVALID_ARGUMENT |
///          SLUICE_BROKEN | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_window_arrive(window: *const Window) -> Status {
    guard(|| handle::get(window)?.0.arrive().map_err(|_| Status::SLUICE_CREDIT_VIOLATION.into()))
}

/// A chunk was consumed. Call it once for each accepted chunk that was not continued.
///
/// out_grant  chunks to grant to the sender now; 0: send nothing. The window is raised by
///            exactly this, so it must be sent
/// returns    SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_BROKEN | SLUICE_FORKED
/// threads    any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_window_consumed(
    window: *const Window,
    out_grant: *mut u64,
) -> Status {
    guard(|| {
        border::need(out_grant)?;
        border::put(out_grant, handle::get(window)?.0.consumed())
    })
}

/// Everything that is pending, to be granted before any wait (L10).
///
/// out_grant  chunks to grant to the sender now; 0: send nothing. The window is raised by
///            exactly this, so it must be sent
/// returns    SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_BROKEN | SLUICE_FORKED
/// threads    any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_window_flush(window: *const Window, out_grant: *mut u64) -> Status {
    guard(|| {
        border::need(out_grant)?;
        border::put(out_grant, handle::get(window)?.0.flush())
    })
}

/// A chunk that only continues an item is given back at once, alone.
///
/// out_grant  chunks to grant to the sender now: 1
/// returns    SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_BROKEN | SLUICE_FORKED
/// threads    any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_window_continued(
    window: *const Window,
    out_grant: *mut u64,
) -> Status {
    guard(|| {
        border::need(out_grant)?;
        border::put(out_grant, handle::get(window)?.0.continued())
    })
}

/// Chunks that may still arrive.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_BROKEN | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_window_remaining(window: *const Window, out: *mut u64) -> Status {
    guard(|| border::put(out, handle::get(window)?.0.remaining()))
}

/// Chunks consumed and not granted back yet.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_BROKEN | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_window_pending(window: *const Window, out: *mut u64) -> Status {
    guard(|| border::put(out, handle::get(window)?.0.pending()))
}

/// How many consumed chunks make a grant due.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_BROKEN | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_window_batch(window: *const Window, out: *mut u64) -> Status {
    guard(|| border::put(out, handle::get(window)?.0.batch()))
}

/// The chunks that the window was opened with.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_BROKEN | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_window_size(window: *const Window, out: *mut u64) -> Status {
    guard(|| border::put(out, handle::get(window)?.0.size()))
}

/// How two proposals for a limit become one: the smaller.
///
/// returns  SLUICE_OK | SLUICE_HANDSHAKE: one of them is 0, and a window of nothing can never move |
///          SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_negotiate(ours: u64, theirs: u64, out: *mut u64) -> Status {
    guard(|| {
        let agreed = sluicegate::model::negotiate(ours, theirs).ok_or(Status::SLUICE_HANDSHAKE)?;
        border::put(out, agreed)
    })
}
