//! Several sources as one, and several sinks as one.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::Error;
use sluicegate::flow::{EdgeOptions, Flow as CoreFlow, Hub, HubOptions, HubPolicy, Sink, Source};

use super::blueprint::{EdgeFacts, FlowCore, OverflowFacts, SinkCore, SourceCore, plain};
use super::element::{Called, Element, Function};
use super::mats::{Mat, Mats};
use crate::error::{Failure, Fault};
use crate::guard::{guard, quiet};

fn bare(source: &Arc<SourceCore>) -> Source<Element> {
    source.0.map_mat(|_| sluicegate::flow::NotUsed)
}

pub(super) fn flat(lists: Vec<Mats>) -> Mats {
    lists.into_iter().flatten().collect()
}

/// One of each, as one: `pack` makes it. Keeps the values of both.
#[uniffi::export]
pub fn source_zip(
    left: &SourceCore,
    right: Arc<SourceCore>,
    pack: Arc<dyn Function>,
) -> Arc<SourceCore> {
    let pack = Called(pack);
    let both = |left: Mats, right: Mats| flat(vec![left, right]);
    let pair = move |a, b| pack.one(&[&a, &b]);
    Arc::new(SourceCore(left.0.try_zip_with_mat(right.0.clone(), pair, both)))
}

/// One of each of several, as one: `pack` makes it.
#[uniffi::export]
pub fn source_combine(sources: Vec<Arc<SourceCore>>, pack: Arc<dyn Function>) -> Arc<SourceCore> {
    let pack = Called(pack);
    let all = Source::combine(sources.iter().map(|source| source.0.clone()).collect());
    let one =
        CoreFlow::try_map(move |group: Vec<Element>| pack.one(&group.iter().collect::<Vec<_>>()));
    Arc::new(SourceCore(all.via(one.named("pack")).map_mat(flat)))
}

/// How several sources become one.
#[derive(Clone, Copy, Debug, uniffi::Enum)]
pub enum MergeFacts {
    /// In turns.
    Fair,
    /// The first whenever it has something.
    Prefer,
    /// One after the other.
    Concat,
}

/// Several sources as one. Keeps the values of all.
#[uniffi::export]
pub fn source_merge(
    first: &SourceCore,
    others: Vec<Arc<SourceCore>>,
    how: MergeFacts,
) -> Arc<SourceCore> {
    let others = others.iter().map(|source| source.0.clone());
    let all = std::iter::once(first.0.clone()).chain(others).collect();
    let merged = match how {
        MergeFacts::Fair => Source::merge_all(all),
        MergeFacts::Prefer => Source::merge_prefer_all(all),
        MergeFacts::Concat => Source::concat_all(all),
    };
    Arc::new(SourceCore(merged.map_mat(flat)))
}

/// How one source becomes several.
#[derive(Clone, Copy, Debug, uniffi::Enum)]
pub enum FanFacts {
    /// Everything to each.
    Broadcast,
    /// Each element to one that wants it.
    Balance,
}

/// Several sinks as one, each behind an edge.
#[uniffi::export]
pub fn sink_fan(how: FanFacts, sinks: Vec<Arc<SinkCore>>) -> Arc<SinkCore> {
    let sinks = sinks.iter().map(|sink| sink.0.clone()).collect();
    let fan = match how {
        FanFacts::Broadcast => Sink::broadcast(sinks),
        FanFacts::Balance => Sink::balance(sinks),
    };
    Arc::new(SinkCore(fan.map_mat(flat)))
}

/// What a hub does about a slow subscriber.
#[derive(Clone, Copy, Debug, uniffi::Enum)]
pub enum HubPolicyFacts {
    /// It waits.
    Wait,
    /// It waits so long.
    WaitAtMost {
        /// In microseconds.
        micros: u64,
    },
    /// The subscriber loses elements.
    Drop {
        /// These.
        overflow: OverflowFacts,
    },
    /// The subscription ends.
    Disconnect,
}

/// What is seen of a subscriber.
#[derive(Clone, Debug, uniffi::Record)]
pub struct HubSubscriberFacts {
    /// The name of its first stage.
    pub name: String,
    /// Asked for and not shared yet.
    pub demand: u64,
    /// Shared and not taken yet.
    pub held: u64,
    /// Lost by its policy.
    pub lost: u64,
}

/// A sink that shares what comes.
///
/// # Errors
/// `InvalidArgument` for a capacity of 0.
#[uniffi::export]
pub fn sink_hub(capacity: u64, replay: u64) -> Result<Arc<SinkCore>, Failure> {
    guard(|| {
        let options = HubOptions::capacity(capacity)?.replay(replay);
        let sink = Sink::broadcast_hub(options).map_mat(|hub| vec![Mat::Hub(hub)]);
        Ok::<_, Error>(Arc::new(SinkCore(sink)))
    })
}

/// A running hub.
#[derive(uniffi::Object)]
pub struct HubCore(pub(super) Hub<Element>);

#[uniffi::export]
impl HubCore {
    /// A source of what is shared once it runs.
    ///
    /// # Errors
    /// `InvalidArgument` for a capacity of 0.
    pub fn subscribe(
        &self,
        policy: HubPolicyFacts,
        capacity: u64,
    ) -> Result<Arc<SourceCore>, Failure> {
        guard(|| {
            let policy = match policy {
                HubPolicyFacts::Wait => HubPolicy::Wait,
                HubPolicyFacts::WaitAtMost { micros } => {
                    HubPolicy::WaitAtMost(Duration::from_micros(micros))
                }
                HubPolicyFacts::Drop { overflow } => HubPolicy::Drop(overflow.into()),
                HubPolicyFacts::Disconnect => HubPolicy::Disconnect,
            };
            Ok::<_, Error>(plain(self.0.subscribe_with(policy, capacity)?))
        })
    }

    /// Whether the source has ended and everything was shared.
    pub fn is_over(&self) -> bool {
        quiet(true, || self.0.is_over())
    }

    /// Everybody who listens now.
    pub fn subscribers(&self) -> Vec<HubSubscriberFacts> {
        quiet(Vec::new(), || {
            let all = self.0.subscribers().into_iter();
            all.map(|one| HubSubscriberFacts {
                name: one.name,
                demand: one.demand,
                held: one.held,
                lost: one.lost,
            })
            .collect()
        })
    }
}

/// A source that many feed.
///
/// # Errors
/// `InvalidArgument` for a capacity of 0.
#[uniffi::export]
pub fn source_merge_hub(edge: EdgeFacts) -> Result<Arc<SourceCore>, Failure> {
    guard(|| {
        let options: EdgeOptions = edge.try_into()?;
        let source = Source::merge_hub(options).map_mat(|hub| vec![Mat::MergeHub(hub)]);
        Ok::<_, Error>(Arc::new(SourceCore(source)))
    })
}

/// A running merge hub.
#[derive(uniffi::Object)]
pub struct MergeHubCore(pub(super) sluicegate::flow::MergeHub<Element>);

#[uniffi::export]
impl MergeHubCore {
    /// A sink into the source.
    pub fn sink(&self) -> Arc<SinkCore> {
        Arc::new(SinkCore(self.0.sink().map_mat(|_| Mats::new())))
    }

    /// No more producers.
    pub fn complete(&self) {
        quiet((), || self.0.complete());
    }

    /// Producers that have failed.
    pub fn failures(&self) -> u64 {
        quiet(0, || self.0.failures())
    }

    /// What the last of them failed with.
    pub fn last_failure(&self) -> Option<Fault> {
        quiet(None, || self.0.last_failure().map(|error| Fault::from(&error)))
    }
}

/// The source run again each time it fails.
///
/// # Errors
/// `InvalidArgument` for 0 attempts.
#[uniffi::export]
pub fn source_retry(
    source: Arc<SourceCore>,
    attempts: u64,
    first_micros: u64,
    most_micros: u64,
) -> Result<Arc<SourceCore>, Failure> {
    guard(|| {
        let (first, most) =
            (Duration::from_micros(first_micros), Duration::from_micros(most_micros));
        Ok::<_, Error>(plain(bare(&source).retry(attempts, first, most)?))
    })
}

/// Goes on with `other` if the upstream fails.
#[uniffi::export]
pub fn flow_recover_with(other: Arc<SourceCore>) -> Arc<FlowCore> {
    super::stage::flow(CoreFlow::recover_with(bare(&other)))
}
