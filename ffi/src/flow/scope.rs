//! `sluice_scope`: who owns the threads, queues and completions of what runs.

use std::time::Duration;

use libc::c_char;
use sluicegate::flow::{Clock, Scope as Core, StageView};
use sluicegate::{Error, ErrorKind};

use crate::border::{self, Growing, Text};
use crate::engine::Engine;
use crate::error::ErrorObject;
use crate::guard::{Fail, guard, guard_with};
use crate::handle::{self, object};
use crate::item::{Item, put_text};
use crate::status::Status;

/// Owns what runs on it. With its last reference everything is stopped, as sluice_scope_shutdown does.
pub struct Scope(pub(crate) Core);
object!(Scope = 24);

/// The stages of a scope at one moment.
pub struct Stages(Vec<(Text, std::sync::Arc<StageView>)>);
object!(Stages = 25);

/// The counters of a stage, in elements. Begin with SLUICE_STAGE_INFO_INIT. Exact at a quiet point, a
/// close guess while the stage works.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StageInfo {
    /// Set by SLUICE_STAGE_INFO_INIT.
    pub struct_size: u32,
    /// Its kind, or what it was named; borrowed from the sluice_stages, NUL-terminated.
    pub name: *const c_char,
    /// Asked for below and not handed down yet.
    pub downstream: u64,
    /// Asked for above and not arrived yet.
    pub upstream: u64,
    /// Arrived and not left yet.
    pub held: u64,
    /// Handed down so far.
    pub passed: u64,
    /// Signals that came after the end and were dropped.
    pub late: u64,
    /// Elements that an overflow strategy discarded.
    pub lost: u64,
}

// SAFETY: a C struct of plain fields that begins with its size; all zero is a value of it.
unsafe impl Growing for StageInfo {}

/// Milliseconds of a caller as a limit: a negative number is none.
pub(super) fn limit(timeout_ms: i64) -> Duration {
    u64::try_from(timeout_ms).map_or(Duration::MAX, Duration::from_millis)
}

/// Makes a scope that runs each chain of stages on a thread of its own.
///
/// name     for errors; may be NULL
/// out      the scope, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_scope_new(
    name: *const c_char,
    name_len: usize,
    out: *mut *mut Scope,
) -> Status {
    guard(|| {
        border::need(out)?;
        border::put_new(out, Scope(Core::new(border::text(name, name_len)?)?))
    })
}

/// The same with a clock that stands still until sluice_scope_advance moves it, for tests of stages
/// that wait for time.
///
/// name     for errors; may be NULL
/// out      the scope, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_scope_new_hand(
    name: *const c_char,
    name_len: usize,
    out: *mut *mut Scope,
) -> Status {
    guard(|| {
        border::need(out)?;
        let name = border::text(name, name_len)?;
        border::put_new(out, Scope(Core::with_clock(name, Clock::hand())?))
    })
}

/// Makes a scope without threads, for tests: stages run in sluice_scope_settle only, on its thread, in
/// an order that the seed decides, on a clock moved by hand. The same seed gives the same order.
///
/// name     for errors; may be NULL
/// seed     any number
/// out      the scope, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_scope_new_stepped(
    name: *const c_char,
    name_len: usize,
    seed: u64,
    out: *mut *mut Scope,
) -> Status {
    guard(|| {
        border::need(out)?;
        border::put_new(out, Scope(Core::stepped(border::text(name, name_len)?, seed)))
    })
}

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_scope_retain(scope: *const Scope) -> Status {
    guard(|| handle::retain(scope))
}

/// Takes a reference away; with the last one all that runs is stopped, waiting up to a second for
/// functions of yours that still run. Say sluice_scope_shutdown before to know that it has stopped.
///
/// scope    may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; waits as said
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_scope_release(scope: *mut Scope) -> Status {
    guard(|| handle::release(scope))
}

/// Runs what can run in a stepped scope until nothing can. Does nothing in one with threads.
///
/// out_turns  may be NULL; how many turns that took
/// returns    SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads    one at a time on one scope; runs your functions
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_scope_settle(scope: *const Scope, out_turns: *mut u64) -> Status {
    guard(|| {
        border::put_opt(out_turns, handle::get(scope)?.0.settle());
        Ok(())
    })
}

/// Moves a clock made by hand, and in a stepped scope runs what that wakes.
///
/// micros   microseconds
/// returns  SLUICE_OK | SLUICE_WRONG_MODE: the scope has the machine's clock | SLUICE_INVALID_ARGUMENT |
///          SLUICE_FORKED
/// threads  one at a time on one stepped scope; may run your functions
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_scope_advance(scope: *const Scope, micros: u64) -> Status {
    guard(|| match handle::get(scope)?.0.advance(Duration::from_micros(micros)) {
        true => Ok(()),
        false => Err(Status::SLUICE_WRONG_MODE.into()),
    })
}

/// Stops everything on a scope, for good, and waits until it has: what queues hold is released, whoever
/// waits to offer is told, completions that are pending are cancelled. A function of yours is not
/// interrupted. May be called again.
///
/// timeout_ms  milliseconds from now; SLUICE_FOREVER = no limit
/// err         may be NULL; names what still runs
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_scope_shutdown(
    scope: *const Scope,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || Ok(handle::get(scope)?.0.shutdown(limit(timeout_ms))?))
}

/// How many chains of stages run now.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_scope_running(scope: *const Scope, out: *mut usize) -> Status {
    guard(|| border::put(out, handle::get(scope)?.0.running()))
}

/// Who waits for whom on a scope, now, as JSON: {"scope", "islands", "stages"}; how many chains of
/// stages run, and of each stage "stage" (its name), "downstream", "upstream", "held", "passed", "late"
/// and "lost" as in sluice_stage_info, and "waits_for": "consumer" (nothing is asked of it), "source" (it
/// has asked above and nothing has come) or "itself" (it works on what it holds). Disturbs nothing.
///
/// out      an item of kind SLUICE_ITEM_TEXT, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_scope_explain(scope: *const Scope, out: *mut *mut Item) -> Status {
    guard(|| put_text(out, handle::get(scope)?.0.explain().to_json().to_string()))
}

/// The same in words: a stage a line, sources before what reads from them.
///
/// out      an item of kind SLUICE_ITEM_TEXT, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_scope_explain_text(
    scope: *const Scope,
    out: *mut *mut Item,
) -> Status {
    guard(|| put_text(out, handle::get(scope)?.0.explain().to_string()))
}

/// Has sluice_engine_explain tell of the stages of this scope too, for as long as the scope lives: beside
/// what it says of streams there is "stages", an array with "scope" (its name), what sluice_scope_explain
/// says of each stage, and "says", the same in words. Again for the same engine, it changes nothing.
///
/// engine   stays yours
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_scope_tell(scope: *const Scope, engine: *const Engine) -> Status {
    guard(|| {
        handle::get(scope)?.0.tell(handle::get(engine)?.engine());
        Ok(())
    })
}

/// Every stage that runs now, in the order they were made.
///
/// out      the list, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_scope_stages(scope: *const Scope, out: *mut *mut Stages) -> Status {
    guard(|| {
        border::need(out)?;
        let views = handle::get(scope)?.0.stages();
        let named = views.into_iter().map(|view| (Text::new(view.name()), view)).collect();
        border::put_new(out, Stages(named))
    })
}

/// Lets a list go, and the names that it lent.
///
/// stages   may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_stages_release(stages: *mut Stages) -> Status {
    guard(|| handle::release(stages))
}

/// How many stages a list has.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_stages_count(stages: *const Stages, out: *mut usize) -> Status {
    guard(|| border::put(out, handle::get(stages)?.0.len()))
}

/// The counters of a stage now, also after it has ended.
///
/// index    from 0
/// out      begin with SLUICE_STAGE_INFO_INIT
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also behind the end | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_stages_info(
    stages: *const Stages,
    index: usize,
    out: *mut StageInfo,
) -> Status {
    guard(|| {
        let stages = handle::get(stages)?;
        let (name, view) = stages.0.get(index).ok_or_else(|| behind(index, stages.0.len()))?;
        let demand = view.demand();
        let info = StageInfo {
            struct_size: 0,
            name: name.as_ptr(),
            downstream: demand.downstream,
            upstream: demand.upstream,
            held: demand.held,
            passed: view.passed(),
            late: view.late(),
            lost: view.lost(),
        };
        border::put_sized(out, info)
    })
}

fn behind(index: usize, count: usize) -> Fail {
    Error::new(ErrorKind::InvalidArgument, format!("index {index} of {count} stages")).into()
}
