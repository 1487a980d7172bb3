//! `sluice_flow`: the stages between a source and a sink.

use libc::c_char;
use sluicegate::flow::Flow as Core;

use super::blueprint::{Flow, Sink, put_flow};
use super::callback::{Callback, Folder, Mapper, Observer, Predicate, Sifter};
use super::edge::{EdgeOptions, edge};
use super::element::{Element, Held};
use super::{Mat, both};
use crate::border;
use crate::error::ErrorObject;
use crate::guard::{guard, guard_with};
use crate::handle::{self};
use crate::status::Status;

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_retain(flow: *const Flow) -> Status {
    guard(|| handle::retain(flow))
}

/// Takes a reference away. What was made of the blueprint lives on.
///
/// flow     may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait; may run release functions
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_release(flow: *mut Flow) -> Status {
    guard(|| handle::release(flow))
}

/// Each element through a function.
///
/// mapper   taken over
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_map(mapper: *const Mapper, out: *mut *mut Flow) -> Status {
    guard(|| {
        let mapper = Callback::take(mapper)?;
        put_flow(out, &Core::try_map(move |held| mapper.map(&held)))
    })
}

/// The elements that a function says true of. For each that is dropped another is asked for.
///
/// predicate  taken over
/// out        the blueprint, yours to release
/// returns    SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads    any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_filter(
    predicate: *const Predicate,
    out: *mut *mut Flow,
) -> Status {
    guard(|| {
        let predicate = Callback::take(predicate)?;
        put_flow(out, &Core::try_filter(move |held| predicate.test(held)))
    })
}

/// Each element through a function that may make none of it. For each that is dropped another is asked
/// for.
///
/// sifter   taken over
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_filter_map(
    sifter: *const Sifter,
    out: *mut *mut Flow,
) -> Status {
    guard(|| {
        let sifter = Callback::take(sifter)?;
        put_flow(out, &Core::try_filter_map(move |held| sifter.sift(&held)))
    })
}

/// Shows each element to a function.
///
/// observer  taken over
/// out       the blueprint, yours to release
/// returns   SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads   any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_tap(observer: *const Observer, out: *mut *mut Flow) -> Status {
    guard(|| {
        let observer = Callback::take(observer)?;
        let tap = Core::try_map(move |held| observer.look(&held).map(|()| held));
        put_flow(out, &tap.called("tap"))
    })
}

/// The first elements. Never asks for more; cancels what is above straight after the last.
///
/// n        elements
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_take(n: u64, out: *mut *mut Flow) -> Status {
    guard(|| put_flow(out, &Core::take(n)))
}

/// All but the first elements.
///
/// n        elements
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_drop(n: u64, out: *mut *mut Flow) -> Status {
    guard(|| put_flow(out, &Core::drop(n)))
}

/// The elements up to the first that a function says false of; then what is above is cancelled.
///
/// predicate  taken over
/// out        the blueprint, yours to release
/// returns    SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads    any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_take_while(
    predicate: *const Predicate,
    out: *mut *mut Flow,
) -> Status {
    guard(|| {
        let predicate = Callback::take(predicate)?;
        put_flow(out, &Core::try_take_while(move |held| predicate.test(held)))
    })
}

/// All from the first element on that a function says false of.
///
/// predicate  taken over
/// out        the blueprint, yours to release
/// returns    SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads    any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_drop_while(
    predicate: *const Predicate,
    out: *mut *mut Flow,
) -> Status {
    guard(|| {
        let predicate = Callback::take(predicate)?;
        put_flow(out, &Core::try_drop_while(move |held| predicate.test(held)))
    })
}

/// Each state of a function over the elements, beginning with what it makes of the first state and the
/// first element.
///
/// first    the first state; taken over on SLUICE_OK, stays yours otherwise
/// folder   taken over
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_scan(
    first: *const Element,
    folder: *const Folder,
    out: *mut *mut Flow,
) -> Status {
    guard(|| {
        let folder = Callback::take(folder)?;
        border::need(out)?;
        let first = Held::take(first)?;
        put_flow(out, &Core::try_scan(first, move |state, held| folder.fold(&state, &held)))
    })
}

/// The last state of a function over all elements, once the source has completed; the first state if
/// there was none.
///
/// first    the first state; taken over on SLUICE_OK, stays yours otherwise
/// folder   taken over
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_fold(
    first: *const Element,
    folder: *const Folder,
    out: *mut *mut Flow,
) -> Status {
    guard(|| {
        let folder = Callback::take(folder)?;
        border::need(out)?;
        let first = Held::take(first)?;
        put_flow(out, &Core::try_fold(first, move |state, held: Held| folder.fold(&state, &held)))
    })
}

/// A boundary: what is above runs on a thread of its own, ahead by what the queue holds.
///
/// options  NULL: the default ones
/// out      the blueprint, yours to release
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also for a size of 0
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_buffer(
    options: *const EdgeOptions,
    out: *mut *mut Flow,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || put_flow(out, &Core::buffer_sized(edge(options)?, Held::bytes)))
}

/// Passes everything on until it is thrown: each run of it gives a sluice_kill_switch, which ends the run from
/// outside.
///
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_kill_switch(out: *mut *mut Flow) -> Status {
    guard(|| {
        let flow = Core::switch().map_mat(|switch| vec![Mat::Switch(switch)]);
        border::put_new(out, Flow(flow))
    })
}

/// A flow, then another.
///
/// flow, next  stay yours
/// out         the blueprint, yours to release
/// returns     SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_via(
    flow: *const Flow,
    next: *const Flow,
    out: *mut *mut Flow,
) -> Status {
    guard(|| {
        let (flow, next) = (handle::get(flow)?, handle::get(next)?);
        border::put_new(out, Flow(flow.0.via_mat(next.0.clone(), both)))
    })
}

/// A flow, closed downwards by a sink.
///
/// flow, sink  stay yours
/// out         the blueprint, yours to release
/// returns     SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_to(
    flow: *const Flow,
    sink: *const Sink,
    out: *mut *mut Sink,
) -> Status {
    guard(|| {
        let (flow, sink) = (handle::get(flow)?, handle::get(sink)?);
        border::put_new(out, Sink(flow.0.to_mat(sink.0.clone(), both)))
    })
}

/// The same flow under another name in sluice_scope_stages and in errors.
///
/// flow     stays yours
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_named(
    flow: *const Flow,
    name: *const c_char,
    name_len: usize,
    out: *mut *mut Flow,
) -> Status {
    guard(|| {
        let named = handle::get(flow)?.0.named(border::text(name, name_len)?);
        border::put_new(out, Flow(named))
    })
}
