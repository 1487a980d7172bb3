//! Stages that change how many elements there are, and stages that know the time.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::Error;
use sluicegate::flow::Flow as CoreFlow;

use super::blueprint::FlowCore;
use super::element::{Called, Element, Function, sizes};
use super::stage::flow;
use crate::error::{Failure, Fault};
use crate::guard::guard;

fn micros(n: u64) -> Duration {
    Duration::from_micros(n)
}

/// Several elements as one: `pack` makes it.
fn packed(
    groups: CoreFlow<Element, Vec<Element>>,
    pack: Arc<dyn Function>,
) -> CoreFlow<Element, Element> {
    let pack = Called(pack);
    let one =
        CoreFlow::try_map(move |group: Vec<Element>| pack.one(&group.iter().collect::<Vec<_>>()));
    groups.via(one.named("pack"))
}

/// Groups of `n`, sooner after `within_micros` if that is given.
///
/// # Errors
/// `InvalidArgument` for a group of nothing.
#[uniffi::export]
pub fn flow_batch(
    n: u64,
    within_micros: Option<u64>,
    pack: Arc<dyn Function>,
) -> Result<Arc<FlowCore>, Failure> {
    guard(|| {
        let groups = match within_micros {
            None => CoreFlow::batch(n)?,
            Some(within) => CoreFlow::batch_within(n, micros(within))?,
        };
        Ok::<_, Error>(flow(packed(groups, pack)))
    })
}

/// Groups of at most `limit` bytes, as `size` tells them; a larger element is a group of its own.
///
/// # Errors
/// `InvalidArgument` for 0 bytes.
#[uniffi::export]
pub fn flow_batch_bytes(
    limit: u64,
    size: Arc<dyn Function>,
    pack: Arc<dyn Function>,
) -> Result<Arc<FlowCore>, Failure> {
    guard(|| {
        let groups = CoreFlow::batch_bytes(limit, sizes(Some(size)))?;
        Ok::<_, Error>(flow(packed(groups, pack)))
    })
}

/// Windows of `size` that begin every `step` elements.
///
/// # Errors
/// `InvalidArgument` for 0.
#[uniffi::export]
pub fn flow_sliding(
    size: u64,
    step: u64,
    pack: Arc<dyn Function>,
) -> Result<Arc<FlowCore>, Failure> {
    guard(|| Ok::<_, Error>(flow(packed(CoreFlow::sliding(size, step)?, pack))))
}

/// A buffer that is filled up again once `mark` have left; none: three quarters.
///
/// # Errors
/// `InvalidArgument` for 0.
#[uniffi::export]
pub fn flow_page(size: u64, mark: Option<u64>) -> Result<Arc<FlowCore>, Failure> {
    guard(|| {
        let page = match mark {
            None => CoreFlow::page(size)?,
            Some(mark) => CoreFlow::page_with_mark(size, mark)?,
        };
        Ok::<_, Error>(flow(page))
    })
}

/// Each element as some.
#[uniffi::export]
pub fn flow_expand(function: Arc<dyn Function>) -> Arc<FlowCore> {
    let function = Called(function);
    flow(CoreFlow::try_expand(move |element: Element| function.many(&[&element])))
}

/// `function` on up to `n` threads at once, in order or as they finish.
///
/// # Errors
/// `InvalidArgument` for 0.
#[uniffi::export]
pub fn flow_parallel(
    n: u64,
    ordered: bool,
    function: Arc<dyn Function>,
) -> Result<Arc<FlowCore>, Failure> {
    guard(|| {
        let function = Called(function);
        let call = move |element: Element| function.one(&[&element]);
        let parallel = if ordered {
            CoreFlow::map_parallel(n, call)?
        } else {
            CoreFlow::map_parallel_unordered(n, call)?
        };
        Ok::<_, Error>(flow(parallel))
    })
}

/// Skips elements while `function` says yes.
#[uniffi::export]
pub fn flow_drop_while(function: Arc<dyn Function>) -> Arc<FlowCore> {
    let function = Called(function);
    flow(CoreFlow::try_drop_while(move |element: &Element| function.yes(&[element])))
}

/// At most `elements` each `per_micros`, after a burst.
///
/// # Errors
/// `InvalidArgument` for 0.
#[uniffi::export]
pub fn flow_throttle(elements: u64, per_micros: u64, burst: u64) -> Result<Arc<FlowCore>, Failure> {
    guard(|| Ok::<_, Error>(flow(CoreFlow::throttle(elements, micros(per_micros), burst)?)))
}

/// The latest once none has come for `quiet_micros`.
#[uniffi::export]
pub fn flow_debounce(quiet_micros: u64) -> Arc<FlowCore> {
    flow(CoreFlow::debounce(micros(quiet_micros)))
}

/// Each element so much later; up to `room` are held.
///
/// # Errors
/// `InvalidArgument` for no room.
#[uniffi::export]
pub fn flow_delay(by_micros: u64, room: u64) -> Result<Arc<FlowCore>, Failure> {
    guard(|| Ok::<_, Error>(flow(CoreFlow::delay(micros(by_micros), room)?)))
}

/// What comes within a time of the start, or what comes after it.
#[uniffi::export]
pub fn flow_within(time_micros: u64, takes: bool) -> Arc<FlowCore> {
    let time = micros(time_micros);
    flow(if takes { CoreFlow::take_within(time) } else { CoreFlow::drop_within(time) })
}

/// What a timeout limits.
#[derive(Clone, Copy, Debug, uniffi::Enum)]
pub enum TimeoutFacts {
    /// The time between two elements.
    Idle,
    /// The time to the first.
    Initial,
    /// The time to the end.
    Completion,
}

/// Fails a stream that is too slow.
#[uniffi::export]
pub fn flow_timeout(what: TimeoutFacts, limit_micros: u64) -> Arc<FlowCore> {
    let limit = micros(limit_micros);
    flow(match what {
        TimeoutFacts::Idle => CoreFlow::idle_timeout(limit),
        TimeoutFacts::Initial => CoreFlow::initial_timeout(limit),
        TimeoutFacts::Completion => CoreFlow::completion_timeout(limit),
    })
}

/// A fold of what came before it was wanted.
#[uniffi::export]
pub fn flow_conflate(seed: Arc<dyn Function>, fold: Arc<dyn Function>) -> Arc<FlowCore> {
    let (seed, fold) = (Called(seed), Called(fold));
    let conflate = CoreFlow::conflate(
        move |first: Element| seed.one(&[&first]),
        move |state: Result<Element, Error>, next: Element| fold.one(&[&state?, &next]),
    );
    flow(conflate.via(CoreFlow::try_map(|state: Result<Element, Error>| state).called("conflate")))
}

/// Says what stands in for a failure.
#[uniffi::export(with_foreign)]
pub trait Recovery: Send + Sync {
    /// The token of a last element, if there is one.
    fn recover(&self, fault: Fault) -> Option<u64>;
}

/// A last element in place of a failure.
#[uniffi::export]
pub fn flow_recover(recovery: Arc<dyn Recovery>) -> Arc<FlowCore> {
    flow(CoreFlow::recover(move |error: &Error| {
        recovery.recover(Fault::from(error)).map(super::element::own)
    }))
}
