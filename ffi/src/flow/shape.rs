//! `sluice_flow`: stages that group elements, take groups apart, or hold some back.

use super::blueprint::{Flow, put_flow};
use super::callback::{Callback, Chooser, Expander, Folder, Looper};
use super::element::Held;
use crate::border;
use crate::error::ErrorObject;
use crate::guard::{Fail, guard, guard_with};
use crate::handle;
use crate::status::Status;
use sluicegate::flow::{Flow as Core, NotUsed};
use sluicegate::{Error, ErrorKind};

/// A flow of lists as a flow of elements whose value is a `sluice_elements`.
pub(super) fn grouped(flow: &Core<Held, Vec<Held>, NotUsed>) -> Core<Held, Held> {
    flow.via(lists())
}

/// Makes a list of each group, under a name that tells it from the stage that groups.
pub(super) fn lists() -> Core<Vec<Held>, Held> {
    Core::try_map(group).named("lists")
}

/// Several elements as one.
fn group(elements: Vec<Held>) -> Result<Held, Error> {
    Held::list(elements).map_err(|_| {
        Error::new(ErrorKind::LimitReached, "no handle is left for a group of elements")
    })
}

/// Groups of `n`, the last one of what is left. The value of each element that comes out is a
/// sluice_elements.
///
/// n        elements, at least 1
/// micros   a group goes so many microseconds after its first element came, even if it is smaller;
///          UINT64_MAX: when it is full
/// out      the blueprint, yours to release
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also for a size of 0
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_batch(
    n: u64,
    micros: u64,
    out: *mut *mut Flow,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let batch = match micros {
            u64::MAX => Core::batch(n)?,
            _ => Core::batch_within(n, std::time::Duration::from_micros(micros))?,
        };
        put_flow(out, &grouped(&batch))
    })
}

/// Groups that have so many bytes at most, by what elements say of themselves; one that is larger is a
/// group of its own. The value of each element that comes out is a sluice_elements.
///
/// bytes    at least 1
/// out      the blueprint, yours to release
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also for a size of 0
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_batch_bytes(
    bytes: u64,
    out: *mut *mut Flow,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let batch = Core::batch_bytes(bytes, Held::bytes)?;
        put_flow(out, &grouped(&batch))
    })
}

/// Windows of `size` elements, each beginning `step` elements after the one before. The value of each
/// element that comes out is a sluice_elements.
///
/// size, step  elements, at least 1
/// out         the blueprint, yours to release
/// err         may be NULL
/// returns     SLUICE_OK | SLUICE_INVALID_ARGUMENT, also for a size of 0
/// threads     any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_sliding(
    size: u64,
    step: u64,
    out: *mut *mut Flow,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || put_flow(out, &grouped(&Core::sliding(size, step)?)))
}

/// Asks for elements a page at a time: the next `size` once no more than `mark` are left of it.
///
/// size     elements, at least 1
/// mark     elements, less than size; UINT64_MAX: a quarter of size
/// out      the blueprint, yours to release
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_page(
    size: u64,
    mark: u64,
    out: *mut *mut Flow,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let page = match mark {
            u64::MAX => Core::page(size)?,
            _ => Core::page_with_mark(size, mark)?,
        };
        put_flow(out, &page)
    })
}

/// Any number of elements for each one.
///
/// expander  taken over
/// out       the blueprint, yours to release
/// returns   SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads   any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_expand(
    expander: *const Expander,
    out: *mut *mut Flow,
) -> Status {
    guard(|| {
        let expander = Callback::take(expander)?;
        put_flow(out, &Core::try_expand(move |held: Held| expander.expand(&held)))
    })
}

/// Never holds back what is above: what comes before the next output is wanted is folded into it.
///
/// folder   taken over; what came together so far is its state
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_conflate(
    folder: *const Folder,
    out: *mut *mut Flow,
) -> Status {
    guard(|| {
        let folder = Callback::take(folder)?;
        // The stage's own function cannot fail, so a failure is its state until it is handed down.
        let conflate = Core::conflate(Ok, move |state: Result<Held, Error>, held: Held| {
            folder.fold(&state?, &held)
        });
        let known: Core<Held, Held> = conflate.via(Core::try_map(|state| state));
        put_flow(out, &known.called("conflate"))
    })
}

/// Each element through a run of a flow of its own for each key, behind a queue of 16 elements; groups
/// that have an output take turns. The element of a group whose queue is full holds the others up. The
/// first key beyond max_groups fails the stream with SLUICE_LIMIT_REACHED. Nothing of the flow is kept in
/// sluice_run.
///
/// max_groups  at least 1
/// slots       how many groups can be merged at once: fewer than max_groups could lock up
/// chooser     the key of an element, any number; taken over
/// flow        stays yours
/// out         the blueprint, yours to release
/// err         may be NULL
/// returns     SLUICE_OK | SLUICE_PLAN_REFUSED: fewer slots than groups | SLUICE_INVALID_ARGUMENT, also for no
///             group | SLUICE_FORKED
/// threads     any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_group_by(
    max_groups: u64,
    slots: u64,
    chooser: *const Chooser,
    flow: *const Flow,
    out: *mut *mut Flow,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let chooser = Callback::take(chooser)?;
        let flow = handle::get(flow)?.0.map_mat(|_| NotUsed);
        let key = move |held: &Held| chooser.choose(held);
        put_flow(out, &Core::try_group_by(max_groups, slots, key, flow)?)
    })
}

/// Each element through a flow, again and again, until a function lets it out. What goes round once
/// more does so behind what waits there. At most `capacity` elements are in the loop, and another is
/// asked for above only while there is a free place, so the loop never waits for itself. Ends once what
/// is above has ended and nothing is left in the loop, or when the flow ends. Nothing of the flow is kept
/// in sluice_run.
///
/// capacity  elements, at least 1
/// flow      makes exactly one element of each, as map, scan, tap, map_parallel, throttle, delay and
///           buffer do; stays yours
/// looper    is shown each element that the flow makes; taken over
/// out       the blueprint, yours to release
/// err       may be NULL
/// returns   SLUICE_OK | SLUICE_PLAN_REFUSED: a capacity of 0, which is a cycle without a buffer, or a flow
///           that may make more or fewer elements than it is given | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads   any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_feedback(
    capacity: u64,
    flow: *const Flow,
    looper: *const Looper,
    out: *mut *mut Flow,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let looper = Callback::take(looper)?;
        let turn = Core::try_map(move |held: Held| looper.turn(&held)).called("feedback");
        let body = handle::get(flow)?.0.map_mat(|_| NotUsed).via(turn);
        put_flow(out, &Core::feedback(capacity, body)?)
    })
}

/// What a `micros` parameter says.
pub(super) fn micros(micros: u64) -> Result<std::time::Duration, Fail> {
    match micros {
        0 => Err(border::invalid("a time of 0")),
        _ => Ok(std::time::Duration::from_micros(micros)),
    }
}
