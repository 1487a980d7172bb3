//! `sluice_graph`, `sluice_run`: a closed blueprint, and the controls and results that a run gives.

use super::Mat;
use super::blueprint::{Graph, Hub, MergeHub};
use super::completion::Completion;
use super::manual::Manual;
use super::outlet::Outlet;
use super::probe::Subscriber;
use super::scope::Scope;
use super::switch::KillSwitch;
use crate::border;
use crate::error::ErrorObject;
use crate::guard::{Fail, guard, guard_with};
use crate::handle::{self, Object, object};
use crate::status::Status;
use crate::sync::Mutex;

/// What a run gives, each to be taken once.
pub struct Run(Mutex<Vec<Option<Mat>>>);
object!(Run = 30);

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_graph_retain(graph: *const Graph) -> Status {
    guard(|| handle::retain(graph))
}

/// Takes a reference away. What runs goes on.
///
/// graph    may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait; may run release functions
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_graph_release(graph: *mut Graph) -> Status {
    guard(|| handle::release(graph))
}

/// Runs a graph: fresh stages, fresh queues, fresh controls. If anything cannot be made, everything
/// that this attempt made is taken back.
///
/// graph, scope  stay yours
/// out           what the run gives, yours to release
/// err           may be NULL
/// returns       SLUICE_OK | SLUICE_SCOPE_SHUT_DOWN | what an opener failed with | SLUICE_LIMIT_REACHED:
///               the system has no thread left | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads       any number at once; does not wait; runs openers
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_graph_run(
    graph: *const Graph,
    scope: *const Scope,
    out: *mut *mut Run,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        let (graph, scope) = (handle::get(graph)?, handle::get(scope)?);
        let mats = graph.0.run(&scope.0)?;
        border::put_new(out, Run(Mutex::new(mats.into_iter().map(Some).collect())))
    })
}

/// Lets go of what was not taken: a manual source that nobody has fails, an outlet that nobody has is
/// cancelled. What was taken lives on.
///
/// run      may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait; may run release functions
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_run_release(run: *mut Run) -> Status {
    guard(|| handle::release(run))
}

/// Takes the first that `pick` picks, and writes a handle for it.
fn take<T: Object>(
    run: *const Run,
    out: *mut *mut T,
    pick: impl Fn(Mat) -> Result<T, Mat>,
) -> Result<(), Fail> {
    border::need(out)?;
    let run = handle::get(run)?;
    let mut picked = None;
    for place in run.0.lock().iter_mut() {
        match place.take().map(&pick) {
            Some(Ok(object)) => {
                picked = Some(object);
                break;
            }
            Some(Err(other)) => *place = Some(other),
            None => {}
        }
    }
    match picked {
        Some(object) => border::put_new(out, object),
        None => Err(border::invalid("the run has none of that kind, or it was taken before")),
    }
}

/// Takes the next control of a manual source that was not taken yet, in the order of the stages.
///
/// out      yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also if there is none left | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_run_manual(run: *const Run, out: *mut *mut Manual) -> Status {
    guard(|| {
        take(run, out, |mat| match mat {
            Mat::Manual(manual) => Ok(Manual(manual)),
            other => Err(other),
        })
    })
}

/// Takes the next result of a sink that was not taken yet, in the order of the stages.
///
/// out      yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also if there is none left | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_run_completion(
    run: *const Run,
    out: *mut *mut Completion,
) -> Status {
    guard(|| {
        take(run, out, |mat| match mat {
            Mat::Done(done) => Ok(Completion(done)),
            other => Err(other),
        })
    })
}

/// Takes the next outlet that was not taken yet, in the order of the stages.
///
/// out      yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also if there is none left | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_run_outlet(run: *const Run, out: *mut *mut Outlet) -> Status {
    guard(|| {
        take(run, out, |mat| match mat {
            Mat::Outlet(outlet) => Ok(Outlet(outlet)),
            other => Err(other),
        })
    })
}

/// Takes the next subscriber's probe that was not taken yet, in the order of the stages.
///
/// out      yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also if there is none left | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_run_subscriber(
    run: *const Run,
    out: *mut *mut Subscriber,
) -> Status {
    guard(|| {
        take(run, out, |mat| match mat {
            Mat::Subscriber(probe) => Ok(Subscriber(probe)),
            other => Err(other),
        })
    })
}

/// Takes the next switch that was not taken yet, in the order of the stages.
///
/// out      yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also if there is none left | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_run_kill_switch(
    run: *const Run,
    out: *mut *mut KillSwitch,
) -> Status {
    guard(|| {
        take(run, out, |mat| match mat {
            Mat::Switch(switch) => Ok(KillSwitch(switch)),
            other => Err(other),
        })
    })
}

/// Takes the next broadcast hub that was not taken yet, in the order of the stages.
///
/// out      yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also if there is none left | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_run_hub(run: *const Run, out: *mut *mut Hub) -> Status {
    guard(|| {
        take(run, out, |mat| match mat {
            Mat::Hub(hub) => Ok(Hub(hub)),
            other => Err(other),
        })
    })
}

/// Takes the next merge hub that was not taken yet, in the order of the stages.
///
/// out      yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also if there is none left | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_run_merge_hub(run: *const Run, out: *mut *mut MergeHub) -> Status {
    guard(|| {
        take(run, out, |mat| match mat {
            Mat::MergeHub(hub) => Ok(MergeHub(hub)),
            other => Err(other),
        })
    })
}
