//! `sluice_source`: where elements come from.

use libc::c_char;
use sluicegate::flow::Source as Core;

use super::blueprint::{Flow, Graph, Sink, Source, put_source};
use super::callback::{Callback, Fetcher, Opener, Pager};
use super::edge::{EdgeOptions, edge};
use super::element::{Element, Elements, Held};
use super::shape::micros;
use super::{Mat, Mats, both};
use crate::border::{self};
use crate::error::ErrorObject;
use crate::guard::{guard, guard_with};
use crate::handle::{self};
use crate::status::Status;

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
        put_source(out, source.map_mat(|manual| vec![Mat::Manual(manual)]))
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
        put_source(out, source.map_mat(|probe| vec![Mat::Manual(probe.control().clone())]))
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
        put_source(out, plain(&source.called("pull")))
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
        put_source(out, plain(&Core::fetch(move |from, n| fetcher.fetch(from, n))))
    })
}

/// Rows by the page: a function is called with the first cursor, then with the one that each page
/// gave for the next. A page is fetched when a row is wanted and none is left.
///
/// first    where the first page begins; taken over on SLUICE_OK, stays yours otherwise
/// mark     reads one page ahead, once no more than so many rows are left and none is wanted; 0: does not
/// pager    taken over
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_source_pages(
    first: *const Element,
    mark: u64,
    pager: *const Pager,
    out: *mut *mut Source,
) -> Status {
    guard(|| {
        let pager = Callback::take(pager)?;
        border::need(out)?;
        let first = Held::take(first)?;
        let pages = Core::pages_ahead(first, mark, move |cursor| pager.fetch(&cursor));
        put_source(out, plain(&pages))
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
    guard(|| put_source(out, plain(&Core::iter(handle::get(elements)?.copy()))))
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
        put_source(out, plain(&Core::single(Held::take(element)?)))
    })
}

/// The same element again and again, without an end.
///
/// element  taken over on SLUICE_OK; stays yours otherwise
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_source_repeat(
    element: *const Element,
    out: *mut *mut Source,
) -> Status {
    guard(|| {
        border::need(out)?;
        put_source(out, plain(&Core::repeat(Held::take(element)?)))
    })
}

/// An element each time a time has passed since the start, by the clock of the scope. A tick that nobody
/// has asked for is left out, so ticks never pile up.
///
/// every_micros  microseconds, at least 1
/// element       the same each time; taken over on SLUICE_OK, stays yours otherwise
/// out           the blueprint, yours to release
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT, also for a time of 0
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_source_tick(
    every_micros: u64,
    element: *const Element,
    out: *mut *mut Source,
) -> Status {
    guard(|| {
        border::need(out)?;
        let every = micros(every_micros)?;
        put_source(out, plain(&Core::tick(every, Held::take(element)?)?))
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
        let source =
            Core::try_iter(move || Ok((first..end).map(|number| Ok(Held::number(number)))));
        put_source(out, plain(&source.called("range")))
    })
}

/// A source without elements that completes.
///
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_source_empty(out: *mut *mut Source) -> Status {
    guard(|| put_source(out, plain(&Core::empty())))
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
    guard(|| put_source(out, plain(&Core::failed(handle::get(error)?.error()))))
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
        put_source(out, source.0.via_mat(flow.0.clone(), both))
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
    guard(|| put_source(out, handle::get(source)?.0.named(border::text(name, name_len)?)))
}
