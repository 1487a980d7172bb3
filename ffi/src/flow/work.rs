//! `sluice_flow`, `sluice_source`: functions on several threads, and what becomes of failures.

use std::time::Duration;

use sluicegate::Error;
use sluicegate::flow::Flow as Core;

use super::blueprint::{Flow, Source, put_flow, put_source};
use super::callback::{Callback, Mapper, Recoverer};
use super::element::Held;
use crate::error::ErrorObject;
use crate::guard::{Fail, guard, guard_with};
use crate::handle;
use crate::status::Status;

/// Each element through a function, on `n` threads of the scope at once.
///
/// n        threads, at least 1; no more elements are in work or wait for their turn
/// ordered  in the order they came; otherwise as soon as they are done
/// mapper   taken over; called by several threads at once
/// out      the blueprint, yours to release
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also for an n of 0
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_map_parallel(
    n: u64,
    ordered: bool,
    mapper: *const Mapper,
    out: *mut *mut Flow,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let mapper = Callback::take(mapper)?;
        let map = move |held: Held| mapper.map(&held);
        let flow = match ordered {
            true => Core::map_parallel(n, map)?,
            false => Core::map_parallel_unordered(n, map)?,
        };
        put_flow(out, &flow)
    })
}

/// If what is above fails, a function may make a last element of the failure; then the stream
/// completes. A function that fails does so in the place of its element.
///
/// recoverer  taken over
/// out        the blueprint, yours to release
/// returns    SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads    any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_recover(
    recoverer: *const Recoverer,
    out: *mut *mut Flow,
) -> Status {
    guard(|| {
        let recoverer = Callback::take(recoverer)?;
        // The stage's own function cannot fail, so a failure is its element until it is handed down.
        let recover: Core<Result<Held, Error>, Result<Held, Error>> =
            Core::recover(move |failure: &Error| recoverer.recover(failure).transpose());
        let known = Core::map(Ok).via(recover).via(Core::try_map(|element| element));
        put_flow(out, &known.called("recover"))
    })
}

/// If what is above fails, goes on with another source, whose own failure passes. Nothing of that
/// source is kept in sluice_run: its controls are its own affair.
///
/// source   stays yours
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_recover_with(
    source: *const Source,
    out: *mut *mut Flow,
) -> Status {
    guard(|| put_flow(out, &Core::recover_with(plain(source)?)))
}

/// A source run again, from its start, each time it fails. Elements that were handed down stay so. The
/// last failure passes. Nothing of the source is kept in sluice_run.
///
/// source                     stays yours
/// attempts                   runs in all, at least 1
/// first_micros, most_micros  the wait before the second run, and twice as long each time up to most
/// out                        the blueprint, yours to release
/// err                        may be NULL
/// returns                    SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads                    any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_source_retry(
    source: *const Source,
    attempts: u64,
    first_micros: u64,
    most_micros: u64,
    out: *mut *mut Source,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let (first, most) =
            (Duration::from_micros(first_micros), Duration::from_micros(most_micros));
        let retry = plain(source)?.retry(attempts, first, most)?;
        put_source(out, retry.map_mat(|_| Vec::new()))
    })
}

/// The source without its controls.
fn plain(source: *const Source) -> Result<sluicegate::flow::Source<Held>, Fail> {
    Ok(handle::get(source)?.0.map_mat(|_| sluicegate::flow::NotUsed))
}
