//! `sluice_sink`: where elements go.

use libc::c_char;
use sluicegate::flow::{Flow, Sink as Core};

use super::Mat;
use super::blueprint::{Sink, put_sink};
use super::callback::{Callback, Folder, Observer};
use super::completion::Done;
use super::edge::{EdgeOptions, edge};
use super::element::{Element, Held};
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
pub unsafe extern "C" fn sluice_sink_retain(sink: *const Sink) -> Status {
    guard(|| handle::retain(sink))
}

/// Takes a reference away. What was made of the blueprint lives on.
///
/// sink     may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait; may run release functions
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sink_release(sink: *mut Sink) -> Status {
    guard(|| handle::release(sink))
}

/// All elements, in order: its sluice_completion holds them. The memory is your affair: the list grows
/// with the stream.
///
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sink_collect(out: *mut *mut Sink) -> Status {
    guard(|| put_sink(out, &Core::collect(), |done| Mat::Done(Done::List(done))))
}

/// Calls a function with each element; its sluice_completion holds none.
///
/// observer  taken over
/// out       the blueprint, yours to release
/// returns   SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads   any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sink_foreach(
    observer: *const Observer,
    out: *mut *mut Sink,
) -> Status {
    guard(|| {
        let observer = Callback::take(observer)?;
        let sink = Core::try_foreach(move |held| observer.look(&held));
        put_sink(out, &sink, |done| Mat::Done(Done::Unit(done)))
    })
}

/// The last state of a function over all elements: its sluice_completion holds that one.
///
/// first    the first state; taken over on SLUICE_OK, stays yours otherwise
/// folder   taken over
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sink_fold(
    first: *const Element,
    folder: *const Folder,
    out: *mut *mut Sink,
) -> Status {
    guard(|| {
        let folder = Callback::take(folder)?;
        border::need(out)?;
        let first = Held::take(first)?;
        // Its own stage for the states, whose errors fail the stream; the sink keeps the last one.
        let states =
            Flow::try_fold(first.clone(), move |state: Held, held| folder.fold(&state, &held));
        let sink = states.to(Core::fold(first, |_, state| state)).called("fold");
        put_sink(out, &sink, |done| Mat::Done(Done::One(done)))
    })
}

/// The first element, after which what is above is cancelled: its sluice_completion holds it, or none
/// of an empty stream.
///
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sink_first(out: *mut *mut Sink) -> Status {
    guard(|| put_sink(out, &Core::first(), |done| Mat::Done(Done::Maybe(done))))
}

/// The last element: its sluice_completion holds it, or none of an empty stream.
///
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sink_last(out: *mut *mut Sink) -> Status {
    guard(|| put_sink(out, &Core::last(), |done| Mat::Done(Done::Maybe(done))))
}

/// Asks for everything and keeps nothing; its sluice_completion holds none.
///
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sink_ignore(out: *mut *mut Sink) -> Status {
    guard(|| put_sink(out, &Core::ignore(), |done| Mat::Done(Done::Unit(done))))
}

/// Elements taken by hand: each run of it gives a sluice_outlet.
///
/// options  the queue that is taken from; NULL: the default ones
/// out      the blueprint, yours to release
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also for a size of 0
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sink_outlet(
    options: *const EdgeOptions,
    out: *mut *mut Sink,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || put_sink(out, &Core::outlet(edge(options)?), Mat::Outlet))
}

/// A sink that a test plays: each run of it gives a sluice_subscriber.
///
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sink_probe(out: *mut *mut Sink) -> Status {
    guard(|| put_sink(out, &Core::probe(), Mat::Subscriber))
}

/// The same sink under another name in sluice_scope_stages and in errors.
///
/// sink     stays yours
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sink_named(
    sink: *const Sink,
    name: *const c_char,
    name_len: usize,
    out: *mut *mut Sink,
) -> Status {
    guard(|| {
        let named = handle::get(sink)?.0.named(border::text(name, name_len)?);
        border::put_new(out, Sink(named))
    })
}
