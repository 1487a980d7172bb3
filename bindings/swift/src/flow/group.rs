//! A stream for each key, and branches that are chosen.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use sluicegate::flow::{FanOptions, Flow as CoreFlow, NotUsed, Sink};
use sluicegate::{Error, ErrorKind};

use super::blueprint::{FlowCore, SinkCore};
use super::element::{Called, Element, Function, Reply, rows};
use super::join::{FanFacts, flat};
use super::stage::flow;
use crate::error::Failure;
use crate::guard::guard;

/// Swift's side of keys, which are tokens too.
#[uniffi::export(with_foreign)]
pub trait Keys: Send + Sync {
    /// The key of an element, handed over.
    fn key(&self, token: u64) -> Reply;
    /// The hash of a key.
    fn hash(&self, key: u64) -> u64;
    /// True if two keys are the same.
    fn same(&self, left: u64, right: u64) -> bool;
}

struct Key {
    key: Element,
    keys: Arc<dyn Keys>,
}

impl Key {
    fn of(keys: &Arc<dyn Keys>, element: &Element) -> Result<Self, Error> {
        let none = || Error::new(ErrorKind::StageFailed, "the element has no key");
        let key = rows(keys.key(element.token()))?.pop().ok_or_else(none)?;
        Ok(Key { key, keys: Arc::clone(keys) })
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.keys.same(self.key.token(), other.key.token())
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.keys.hash(self.key.token()));
    }
}

/// Each element through a run of `inner` of its own for each key.
///
/// # Errors
/// `InvalidArgument` for 0 groups, `PlanRefused` for fewer slots than groups.
#[uniffi::export]
pub fn flow_group_by(
    max_groups: u64,
    slots: u64,
    keys: Arc<dyn Keys>,
    inner: &FlowCore,
) -> Result<Arc<FlowCore>, Failure> {
    guard(|| {
        let inner = inner.0.map_mat(|_| NotUsed);
        let key = move |element: &Element| Key::of(&keys, element);
        Ok::<_, Error>(flow(CoreFlow::try_group_by(max_groups, slots, key, inner)?))
    })
}

/// The branch that `choose` says for an element; none has a number too high for any.
fn chosen(choose: Arc<dyn Function>) -> impl Fn(&Element) -> Result<usize, Error> {
    let choose = Called(choose);
    move |element| Ok(usize::try_from(choose.number(&[element])?).unwrap_or(usize::MAX))
}

/// Several sinks as one: each element to the one that `choose` says.
#[uniffi::export]
pub fn sink_partition(sinks: Vec<Arc<SinkCore>>, choose: Arc<dyn Function>) -> Arc<SinkCore> {
    let branches = sinks.iter().map(|sink| sink.0.clone()).collect();
    let partition = Sink::try_partition_with(branches, FanOptions::default(), chosen(choose));
    Arc::new(SinkCore(partition.map_mat(flat)))
}

/// Several flows as one: what they give is merged.
#[uniffi::export]
pub fn flow_fan(how: FanFacts, flows: Vec<Arc<FlowCore>>) -> Arc<FlowCore> {
    let branches = flows.iter().map(|flow| flow.0.clone()).collect();
    let fan = match how {
        FanFacts::Broadcast => CoreFlow::broadcast(branches),
        FanFacts::Balance => CoreFlow::balance(branches),
    };
    Arc::new(FlowCore(fan.map_mat(flat)))
}

/// Several flows as one: each element through the one that `choose` says.
#[uniffi::export]
pub fn flow_partition(flows: Vec<Arc<FlowCore>>, choose: Arc<dyn Function>) -> Arc<FlowCore> {
    let branches = flows.iter().map(|flow| flow.0.clone()).collect();
    Arc::new(FlowCore(CoreFlow::try_partition(branches, chosen(choose)).map_mat(flat)))
}
