//! `sluice_source`, `sluice_sink`: several sources as one, one source for several sinks.

use sluicegate::flow::{FanOptions, Sink as CoreSink, Source as Core};

use super::Mats;
use super::blueprint::{Sink, Source, put_source};
use super::callback::{Callback, Chooser};
use super::edge::{EdgeOptions, edge};
use super::element::Held;
use super::shape::lists;
use crate::border::{self, invalid};
use crate::error::ErrorObject;
use crate::guard::{Fail, guard, guard_with};
use crate::handle::{self, Object};
use crate::status::Status;

/// The blueprints behind an array of handles.
fn all<T: Object, B>(
    handles: *const *const T,
    count: usize,
    blueprint: impl Fn(&T) -> B,
) -> Result<Vec<B>, Fail> {
    if count == 0 {
        return Err(invalid("nothing to join: the array is empty"));
    }
    let handles = border::array(handles, count)?;
    handles.iter().map(|one| Ok(blueprint(&*handle::get(*one)?))).collect()
}

fn flat(mats: Vec<Mats>) -> Mats {
    mats.into_iter().flatten().collect()
}

/// One element of each source, grouped, until one of them ends: the value of each element that comes
/// out is a sluice_elements of as many as there are sources.
///
/// sources  count of them, at least 1; stay yours
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_source_zip(
    sources: *const *const Source,
    count: usize,
    out: *mut *mut Source,
) -> Status {
    guard(|| {
        let sources = all(sources, count, |source| source.0.clone())?;
        let zipped = Core::combine(sources).map_mat(flat);
        put_source(out, zipped.called("zip").via(lists()))
    })
}

/// The elements of several sources as they come: those that have one take turns. Completes with the
/// last of them, fails with the first failure.
///
/// sources  count of them, at least 1; stay yours
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_source_merge(
    sources: *const *const Source,
    count: usize,
    out: *mut *mut Source,
) -> Status {
    guard(|| {
        let sources = all(sources, count, |source| source.0.clone())?;
        put_source(out, Core::merge_all(sources).map_mat(flat))
    })
}

/// The elements of several sources, those of the first before those of the others whenever both have
/// one; the others take turns. While the first always has one, the others wait.
///
/// sources  count of them, at least 1; stay yours
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_source_merge_prefer(
    sources: *const *const Source,
    count: usize,
    out: *mut *mut Source,
) -> Status {
    guard(|| {
        let sources = all(sources, count, |source| source.0.clone())?;
        put_source(out, Core::merge_prefer_all(sources).map_mat(flat))
    })
}

/// The elements of several sources, one source after the other.
///
/// sources  count of them, at least 1; stay yours
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_source_concat(
    sources: *const *const Source,
    count: usize,
    out: *mut *mut Source,
) -> Status {
    guard(|| {
        let sources = all(sources, count, |source| source.0.clone())?;
        put_source(out, Core::concat_all(sources).map_mat(flat))
    })
}

fn fan(options: *const EdgeOptions, end_with_first: bool) -> Result<FanOptions, Fail> {
    let fan = FanOptions::default().edge(edge(options)?);
    Ok(if end_with_first { fan.end_with_first() } else { fan })
}

/// Every element to every sink. Waits for the slowest, by the edge in front of each.
///
/// sinks           count of them, at least 1; stay yours
/// options         the edges; NULL: the default ones
/// end_with_first  a sink that cancels ends all of them: the others complete. Otherwise they go on, and
///                 what is above is cancelled with the last
/// out             the blueprint, yours to release; a run of it has the results of all, in this order
/// err             may be NULL
/// returns         SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads         any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sink_broadcast(
    sinks: *const *const Sink,
    count: usize,
    options: *const EdgeOptions,
    end_with_first: bool,
    out: *mut *mut Sink,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let sinks = all(sinks, count, |sink| sink.0.clone())?;
        let all = CoreSink::broadcast_with(sinks, fan(options, end_with_first)?);
        border::put_new(out, Sink(all.map_mat(flat)))
    })
}

/// Each element to one sink that has room, in turn.
///
/// sinks           count of them, at least 1; stay yours
/// options         the edges; NULL: the default ones
/// end_with_first  as in sluice_sink_broadcast
/// out             the blueprint, yours to release; a run of it has the results of all, in this order
/// err             may be NULL
/// returns         SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads         any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sink_balance(
    sinks: *const *const Sink,
    count: usize,
    options: *const EdgeOptions,
    end_with_first: bool,
    out: *mut *mut Sink,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let sinks = all(sinks, count, |sink| sink.0.clone())?;
        let one = CoreSink::balance_with(sinks, fan(options, end_with_first)?);
        border::put_new(out, Sink(one.map_mat(flat)))
    })
}

/// Each element to the sink of the number that a function says.
///
/// sinks           count of them, at least 1; stay yours
/// options         the edges; NULL: the default ones
/// end_with_first  as in sluice_sink_broadcast
/// chooser         taken over
/// out             the blueprint, yours to release; a run of it has the results of all, in this order
/// err             may be NULL
/// returns         SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads         any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sink_partition(
    sinks: *const *const Sink,
    count: usize,
    options: *const EdgeOptions,
    end_with_first: bool,
    chooser: *const Chooser,
    out: *mut *mut Sink,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let chooser = Callback::take(chooser)?;
        let sinks = all(sinks, count, |sink| sink.0.clone())?;
        let options = fan(options, end_with_first)?;
        let choose = move |held: &Held| chooser.choose(held);
        let one = CoreSink::try_partition_with(sinks, options, choose);
        border::put_new(out, Sink(one.map_mat(flat)))
    })
}
