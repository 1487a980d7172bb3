//! `sluice_hub`, `sluice_merge_hub`: one source for whoever comes, one for whatever comes.

use std::time::Duration;

use sluicegate::flow::{self, HubOptions, HubPolicy as Core, Overflow};

use super::blueprint::{Hub, MergeHub, Sink, Source, put_sink, put_source};
use super::edge::{EdgeOptions, edge};
use super::{Mat, Mats};
use crate::border::{self, invalid};
use crate::error::{self, ErrorObject};
use crate::guard::{guard, guard_with};
use crate::handle::{self};
use crate::status::Status;

/// What a hub does about a subscriber that has not asked and whose buffer is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum HubPolicy {
    /// It waits: nothing is lost, and everybody goes at this subscriber's pace.
    Wait = 0,
    /// This subscriber loses its oldest elements, and holds nobody up.
    DropHead = 1,
    /// This subscriber loses what comes, and holds nobody up.
    DropNew = 2,
    /// The subscription fails with SLUICE_BUFFER_OVERFLOW, once what its buffer holds was taken.
    Disconnect = 3,
    /// This subscriber loses its newest elements, and holds nobody up.
    DropTail = 4,
    /// This subscriber loses all that its buffer holds, and holds nobody up.
    DropBuffer = 5,
}

impl HubPolicy {
    const ALL: [(HubPolicy, Core); 6] = [
        (HubPolicy::Wait, Core::Wait),
        (HubPolicy::DropHead, Core::Drop(Overflow::DropHead)),
        (HubPolicy::DropNew, Core::Drop(Overflow::DropNew)),
        (HubPolicy::Disconnect, Core::Disconnect),
        (HubPolicy::DropTail, Core::Drop(Overflow::DropTail)),
        (HubPolicy::DropBuffer, Core::Drop(Overflow::DropBuffer)),
    ];
}

/// Shares what comes with everybody who subscribes: each run of it gives a sluice_hub. While nobody
/// listens it holds the source.
///
/// capacity  elements that are not shared yet, at least 1
/// replay    how many of the last ones a newcomer gets; 0: none
/// out       the blueprint, yours to release
/// err       may be NULL
/// returns   SLUICE_OK | SLUICE_INVALID_ARGUMENT, also for a capacity of 0
/// threads   any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sink_broadcast_hub(
    capacity: u64,
    replay: u64,
    out: *mut *mut Sink,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let options = HubOptions::capacity(capacity)?.replay(replay);
        put_sink(out, &flow::Sink::broadcast_hub(options), Mat::Hub)
    })
}

/// Takes a reference away.
///
/// hub      may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_hub_release(hub: *mut Hub) -> Status {
    guard(|| handle::release(hub))
}

/// A source of what the hub shares once it runs. It runs once: another run fails with
/// SLUICE_ALREADY_SUBSCRIBED.
///
/// policy           a sluice_hub_policy
/// patience_micros  with SLUICE_HUB_POLICY_WAIT, how long at most; then as SLUICE_HUB_POLICY_DISCONNECT;
///                  UINT64_MAX: no limit
/// capacity         elements of its buffer, at least 1
/// out              the blueprint, yours to release
/// err              may be NULL
/// returns          SLUICE_OK | SLUICE_INVALID_ARGUMENT, also for a capacity of 0 | SLUICE_FORKED
/// threads          any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_hub_subscribe(
    hub: *const Hub,
    policy: i32,
    patience_micros: u64,
    capacity: u64,
    out: *mut *mut Source,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let policy = HubPolicy::ALL
            .into_iter()
            .find_map(|(theirs, ours)| (theirs as i32 == policy).then_some(ours))
            .ok_or_else(|| invalid("there is no such hub policy"))?;
        let policy = match policy {
            Core::Wait if patience_micros != u64::MAX => {
                Core::WaitAtMost(Duration::from_micros(patience_micros))
            }
            other => other,
        };
        let source = handle::get(hub)?.0.subscribe_with(policy, capacity)?;
        put_source(out, source.map_mat(|_| Vec::new()))
    })
}

/// How many listen now.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_hub_subscribers(hub: *const Hub, out: *mut usize) -> Status {
    guard(|| border::put(out, handle::get(hub)?.0.subscribers().len()))
}

/// Whether the source has ended and everything was shared.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_hub_is_over(hub: *const Hub, out: *mut bool) -> Status {
    guard(|| border::put(out, handle::get(hub)?.0.is_over()))
}

/// A source of what many sinks are given: each run of it gives a sluice_merge_hub. Those that have an
/// element take turns.
///
/// options  the queue of each; NULL: the default one
/// out      the blueprint, yours to release
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also for a size of 0
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_source_merge_hub(
    options: *const EdgeOptions,
    out: *mut *mut Source,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let source = flow::Source::merge_hub(edge(options)?);
        put_source(out, source.map_mat(|hub| vec![Mat::MergeHub(hub)]))
    })
}

/// Takes a reference away. With the last one and the last sink the source completes, once every
/// producer has ended.
///
/// hub      may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_merge_hub_release(hub: *mut MergeHub) -> Status {
    guard(|| handle::release(hub))
}

/// A sink into the source. Each run of it, on any scope, attaches one producer more.
///
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_merge_hub_sink(
    hub: *const MergeHub,
    out: *mut *mut Sink,
) -> Status {
    guard(|| {
        let sink = handle::get(hub)?.0.sink();
        border::put_new(out, Sink(sink.map_mat(|_| Mats::new())))
    })
}

/// No more producers: the source completes with the last that is attached.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_merge_hub_complete(hub: *const MergeHub) -> Status {
    guard(|| {
        handle::get(hub)?.0.complete();
        Ok(())
    })
}

/// Producers of a merge hub that have failed so far, and what the last of them failed with.
///
/// out_count   producers
/// out_reason  may be NULL; the reason, yours to release, or NULL if none has failed
/// returns     SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_merge_hub_failures(
    hub: *const MergeHub,
    out_count: *mut u64,
    out_reason: *mut *mut ErrorObject,
) -> Status {
    guard(|| {
        border::need(out_count)?;
        let hub = handle::get(hub)?;
        if !out_reason.is_null() {
            error::put_reason(out_reason, hub.0.last_failure())?;
        }
        border::put(out_count, hub.0.failures())
    })
}
