//! `sluice_source`: where elements come from.

use std::ffi::c_void;

use libc::c_char;
use sluicegate::flow::{EdgeOptions as Options, Overflow as Strategy, Source as Core};

use super::callback::{Callback, Fetcher, Opener};
use super::element::{Element, Elements, Held};
use super::graph::Graph;
use super::sink::Sink;
use super::stage::Flow;
use super::{Mat, Mats, both};
use crate::border::{self, Growing, invalid};
use crate::error::ErrorObject;
use crate::guard::{Fail, guard, guard_with};
use crate::handle::{self, object};
use crate::status::Status;

/// A blueprint with one output. Immutable: it can be used in as many graphs, and run as often, as one
/// likes. What a blueprint is made of it keeps alive by itself.
pub struct Source(pub(super) Core<Held, Mats>);
object!(Source = 26);

/// What becomes of an element that finds its queue full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Overflow {
    /// It waits for room.
    Backpressure = 0,
    /// The oldest element of the queue makes room.
    DropHead = 1,
    /// The newest element of the queue makes room.
    DropTail = 2,
    /// It is discarded itself.
    DropNew = 3,
    /// All elements of the queue make room.
    DropBuffer = 4,
    /// The queue fails with SLUICE_BUFFER_OVERFLOW, once what it holds was taken.
    Fail = 5,
}

impl Overflow {
    const ALL: [(Overflow, Strategy); 6] = [
        (Overflow::Backpressure, Strategy::Backpressure),
        (Overflow::DropHead, Strategy::DropHead),
        (Overflow::DropTail, Strategy::DropTail),
        (Overflow::DropNew, Strategy::DropNew),
        (Overflow::DropBuffer, Strategy::DropBuffer),
        (Overflow::Fail, Strategy::Fail),
    ];
}

/// The queue between two threads. Begin with SLUICE_EDGE_OPTIONS_INIT: 16 elements, no limit in bytes,
/// backpressure.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct EdgeOptions {
    /// Set by SLUICE_EDGE_OPTIONS_INIT.
    pub struct_size: u32,
    /// A sluice_overflow.
    pub overflow: i32,
    /// Elements that it can hold, at least 1. No memory is reserved for them.
    pub capacity: u64,
    /// Bytes that it can hold, by what elements say of themselves; UINT64_MAX: any number, and not 0. An
    /// empty queue takes one element of any size.
    pub bytes: u64,
}

// SAFETY: a C struct of plain fields that begins with its size; all zero is a value of it.
unsafe impl Growing for EdgeOptions {}

/// The options of a caller; NULL says the default ones.
pub(super) fn edge(options: *const EdgeOptions) -> Result<Options, Fail> {
    let Some(theirs) = border::sized(options)? else {
        return Ok(Options::default());
    };
    let overflow = Overflow::ALL
        .into_iter()
        .find_map(|(theirs_is, ours)| (theirs_is as i32 == theirs.overflow).then_some(ours))
        .ok_or_else(|| invalid("there is no such overflow strategy"))?;
    Ok(Options::capacity(theirs.capacity)?.bytes(theirs.bytes)?.overflow(overflow))
}

pub(super) fn put(out: *mut *mut Source, source: Core<Held, Mats>) -> Result<(), Fail> {
    border::put_new(out, Source(source))
}

fn plain(source: &Core<Held>) -> Core<Held, Mats> {
    source.map_mat(|_| Vec::new())
}

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_source_retain(source: *const Source) -> Status {
    guard(|| handle::retain(source))
}

/// Takes a reference away. What was made of the blueprint lives on.
///
/// source   may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait; may run release functions
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_source_release(source: *mut Source) -> Status {
    guard(|| handle::release(source))
}

/// A source that is fed by hand: each run of it gives a sluice_manual.
///
/// options  the queue that is fed; NULL: the default ones
/// out      the blueprint, yours to release
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also for a size of 0
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_source_manual(
    options: *const EdgeOptions,
    out: *mut *mut Source,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        let source = Core::manual_sized(edge(options)?, Held::bytes);
        put(out, source.map_mat(|manual| vec![Mat::Manual(manual)]))
    })
}

/// A source that a test plays: as sluice_source_manual, but nothing can be offered without demand from
/// below. Its sluice_manual is the publisher's probe.
///
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_source_probe(out: *mut *mut Source) -> Status {
    guard(|| {
        let source = Core::<Held, _>::strict_probe();
        put(out, source.map_mat(|probe| vec![Mat::Manual(probe.control().clone())]))
    })
}

/// A source that pulls from a function of yours, one call for each element that is asked for.
///
/// opener   taken over
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_source_pull(
    opener: *const Opener,
    out: *mut *mut Source,
) -> Status {
    guard(|| {
        let opener = Callback::take(opener)?;
        let source = Core::try_iter(move || {
            let puller = opener.open()?;
            Ok(std::iter::from_fn(move || puller.pull().transpose()))
        });
        put(out, plain(&source.named("pull")))
    })
}

/// Rows by position. Behind sluice_flow_page this is a paged source with the demand of the page.
///
/// fetcher  taken over
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_source_fetch(
    fetcher: *const Fetcher,
    out: *mut *mut Source,
) -> Status {
    guard(|| {
        let fetcher = Callback::take(fetcher)?;
        put(out, plain(&Core::fetch(move |from, n| fetcher.fetch(from, n))))
    })
}

/// A source of the elements that a list holds now.
///
/// elements  stays yours
/// out       the blueprint, yours to release
/// returns   SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads   any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_source_elements(
    elements: *const Elements,
    out: *mut *mut Source,
) -> Status {
    guard(|| put(out, plain(&Core::iter(handle::get(elements)?.copy()))))
}

/// A source of one element.
///
/// element  taken over on SLUICE_OK; stays yours otherwise
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_source_single(
    element: *const Element,
    out: *mut *mut Source,
) -> Status {
    guard(|| {
        border::need(out)?;
        put(out, plain(&Core::single(Held::take(element)?)))
    })
}

/// A source of numbers: the value of each element is the number itself, as a uintptr_t, and there is
/// nothing to free.
///
/// first    the first number
/// end      the number behind the last
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_source_range(
    first: usize,
    end: usize,
    out: *mut *mut Source,
) -> Status {
    guard(|| {
        let source = Core::try_iter(move || {
            Ok((first..end).map(|number| {
                let value: *mut c_void = std::ptr::without_provenance_mut(number);
                Ok(Held::new(Element { value, ..Element::NONE }))
            }))
        });
        put(out, plain(&source.named("range")))
    })
}

/// A source without elements that completes.
///
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_source_empty(out: *mut *mut Source) -> Status {
    guard(|| put(out, plain(&Core::empty())))
}

/// A source without elements that fails.
///
/// error    stays yours
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_source_failed(
    error: *const ErrorObject,
    out: *mut *mut Source,
) -> Status {
    guard(|| put(out, plain(&Core::failed(handle::get(error)?.error()))))
}

/// A source, then a flow.
///
/// source, flow  stay yours
/// out           the blueprint, yours to release
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_source_via(
    source: *const Source,
    flow: *const Flow,
    out: *mut *mut Source,
) -> Status {
    guard(|| {
        let (source, flow) = (handle::get(source)?, handle::get(flow)?);
        put(out, source.0.via_mat(flow.0.clone(), both))
    })
}

/// A source, closed by a sink.
///
/// source, sink  stay yours
/// out           the blueprint, yours to release
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_source_to(
    source: *const Source,
    sink: *const Sink,
    out: *mut *mut Graph,
) -> Status {
    guard(|| {
        let (source, sink) = (handle::get(source)?, handle::get(sink)?);
        border::put_new(out, Graph(source.0.to_mat(sink.0.clone(), both)))
    })
}

/// The same source under another name in sluice_scope_stages and in errors.
///
/// source   stays yours
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_source_named(
    source: *const Source,
    name: *const c_char,
    name_len: usize,
    out: *mut *mut Source,
) -> Status {
    guard(|| put(out, handle::get(source)?.0.named(border::text(name, name_len)?)))
}
