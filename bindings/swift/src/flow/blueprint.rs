//! Blueprints, and how they are put together.

use std::sync::Arc;

use sluicegate::Error;
use sluicegate::flow::{EdgeOptions, Overflow, RunnableGraph, Sink, Source};

use super::element::{Called, Element, Function, own, sizes};
use super::mats::{Mat, Mats};
use crate::error::{Failure, Fault};
use crate::guard::guard;

/// Core's flow over elements of Swift's.
pub(super) type Flow = sluicegate::flow::Flow<Element, Element, Mats>;

/// A source.
#[derive(uniffi::Object)]
pub struct SourceCore(pub(super) Source<Element, Mats>);

/// A flow.
#[derive(uniffi::Object)]
pub struct FlowCore(pub(super) Flow);

/// A sink.
#[derive(uniffi::Object)]
pub struct SinkCore(pub(super) Sink<Element, Mats>);

/// A closed blueprint.
#[derive(uniffi::Object)]
pub struct GraphCore(pub(super) RunnableGraph<Mats>);

/// What becomes of an element that finds its edge full.
#[derive(Clone, Copy, Debug, uniffi::Enum)]
pub enum OverflowFacts {
    /// It waits.
    Backpressure,
    /// The oldest makes room.
    DropHead,
    /// The newest makes room.
    DropTail,
    /// It is discarded.
    DropNew,
    /// All make room.
    DropBuffer,
    /// The edge fails.
    Fail,
}

/// An edge.
#[derive(Clone, Copy, Debug, uniffi::Record)]
pub struct EdgeFacts {
    /// Elements.
    pub capacity: u64,
    /// Bytes; absent: no limit.
    pub bytes: Option<u64>,
    /// When it is full.
    pub overflow: OverflowFacts,
}

impl TryFrom<EdgeFacts> for EdgeOptions {
    type Error = Error;

    fn try_from(facts: EdgeFacts) -> Result<Self, Error> {
        let edge = EdgeOptions::capacity(facts.capacity)?.overflow(facts.overflow.into());
        facts.bytes.map_or(Ok(edge), |bytes| edge.bytes(bytes))
    }
}

impl From<OverflowFacts> for Overflow {
    fn from(facts: OverflowFacts) -> Self {
        match facts {
            OverflowFacts::Backpressure => Overflow::Backpressure,
            OverflowFacts::DropHead => Overflow::DropHead,
            OverflowFacts::DropTail => Overflow::DropTail,
            OverflowFacts::DropNew => Overflow::DropNew,
            OverflowFacts::DropBuffer => Overflow::DropBuffer,
            OverflowFacts::Fail => Overflow::Fail,
        }
    }
}

/// A source without a control.
pub(super) fn plain(source: Source<Element>) -> Arc<SourceCore> {
    Arc::new(SourceCore(source.map_mat(|_| Mats::new())))
}

fn both(mut left: Mats, right: Mats) -> Mats {
    left.extend(right);
    left
}

/// A source that `make` makes the generator of, anew for each run: a function that answers one element
/// at a time and `No` at the end.
#[uniffi::export]
pub fn source_generated(make: Arc<dyn Generators>) -> Arc<SourceCore> {
    let source = Source::try_iter(move || {
        let next = Called(make.make());
        Ok(std::iter::from_fn(move || next.some(&[]).transpose()))
    });
    plain(source)
}

/// Makes generators.
#[uniffi::export(with_foreign)]
pub trait Generators: Send + Sync {
    /// A new one.
    fn make(&self) -> Arc<dyn Function>;
}

/// A source that fails at once.
#[uniffi::export]
pub fn source_failed(fault: Fault) -> Arc<SourceCore> {
    plain(Source::failed(fault.into()))
}

/// A source that is fed by hand; `size` tells the bytes of an element.
///
/// # Errors
/// `InvalidArgument` for a capacity of 0.
#[uniffi::export]
pub fn source_manual(
    edge: EdgeFacts,
    size: Option<Arc<dyn Function>>,
) -> Result<Arc<SourceCore>, Failure> {
    guard(|| {
        let source = Source::manual_sized(edge.try_into()?, sizes(size));
        let source = source.map_mat(|manual| vec![Mat::Manual(manual)]);
        Ok::<_, Error>(Arc::new(SourceCore(source)))
    })
}

/// A source that a test plays: strict, or with an edge.
///
/// # Errors
/// `InvalidArgument` for a capacity of 0.
#[uniffi::export]
pub fn source_probe(edge: Option<EdgeFacts>) -> Result<Arc<SourceCore>, Failure> {
    guard(|| {
        let source = match edge {
            None => Source::strict_probe(),
            Some(edge) => Source::probe(edge.try_into()?),
        };
        let source = source.map_mat(|probe| vec![Mat::Manual(probe.control().clone())]);
        Ok::<_, Error>(Arc::new(SourceCore(source)))
    })
}

#[uniffi::export]
impl SourceCore {
    /// This source, then `flow`.
    pub fn via(&self, flow: &FlowCore) -> Arc<SourceCore> {
        Arc::new(SourceCore(self.0.via_mat(flow.0.clone(), both)))
    }

    /// Closed by `sink`.
    pub fn to(&self, sink: &SinkCore) -> Arc<GraphCore> {
        Arc::new(GraphCore(self.0.to_mat(sink.0.clone(), both)))
    }

    /// The same under another name.
    pub fn named(&self, name: String) -> Arc<SourceCore> {
        Arc::new(SourceCore(self.0.named(name)))
    }
}

#[uniffi::export]
impl FlowCore {
    /// This flow, then `next`.
    pub fn via(&self, next: &FlowCore) -> Arc<FlowCore> {
        Arc::new(FlowCore(self.0.via_mat(next.0.clone(), both)))
    }

    /// Closed by `sink`.
    pub fn to(&self, sink: &SinkCore) -> Arc<SinkCore> {
        Arc::new(SinkCore(self.0.to_mat(sink.0.clone(), both)))
    }

    /// The same under another name.
    pub fn named(&self, name: String) -> Arc<FlowCore> {
        Arc::new(FlowCore(self.0.named(name)))
    }
}

/// A sink that keeps all elements.
#[uniffi::export]
pub fn sink_collect() -> Arc<SinkCore> {
    Arc::new(SinkCore(Sink::collect().map_mat(|all| vec![Mat::Completion(all)])))
}

/// A sink that folds: `function` gets state and element.
#[uniffi::export]
pub fn sink_fold(first: u64, function: Arc<dyn Function>) -> Arc<SinkCore> {
    let (first, function) = (own(first), Called(function));
    let fold = sluicegate::flow::Flow::try_fold(first, move |state: Element, element: Element| {
        function.one(&[&state, &element])
    });
    Arc::new(SinkCore(fold.to(Sink::collect()).map_mat(|all| vec![Mat::Completion(all)])))
}

/// A sink that calls `function` with each element.
#[uniffi::export]
pub fn sink_foreach(function: Arc<dyn Function>) -> Arc<SinkCore> {
    let function = Called(function);
    let each = sluicegate::flow::Flow::try_map(move |element: Element| {
        function.yes(&[&element]).map(drop)
    });
    let none = Sink::fold(Vec::new(), |none, (): ()| none);
    Arc::new(SinkCore(each.to(none).map_mat(|none| vec![Mat::Completion(none)])))
}

/// A sink that keeps the first element, or the last.
#[uniffi::export]
pub fn sink_end(last: bool) -> Arc<SinkCore> {
    let sink = if last {
        Sink::fold(Vec::new(), |_, element| vec![element])
    } else {
        sluicegate::flow::Flow::take(1).to(Sink::collect())
    };
    Arc::new(SinkCore(sink.map_mat(|all| vec![Mat::Completion(all)])))
}

/// A sink that asks for everything and keeps nothing.
#[uniffi::export]
pub fn sink_ignore() -> Arc<SinkCore> {
    let sink = Sink::fold(Vec::new(), |none, _: Element| none);
    Arc::new(SinkCore(sink.map_mat(|none| vec![Mat::Completion(none)])))
}

/// A sink that is read by hand.
///
/// # Errors
/// `InvalidArgument` for a capacity of 0.
#[uniffi::export]
pub fn sink_outlet(edge: EdgeFacts) -> Result<Arc<SinkCore>, Failure> {
    guard(|| {
        let sink = Sink::outlet(edge.try_into()?).map_mat(|outlet| vec![Mat::Outlet(outlet)]);
        Ok::<_, Error>(Arc::new(SinkCore(sink)))
    })
}

/// A sink that a test plays.
#[uniffi::export]
pub fn sink_probe() -> Arc<SinkCore> {
    let sink = Sink::probe().map_mat(|probe| vec![Mat::Subscriber(Arc::new(probe))]);
    Arc::new(SinkCore(sink))
}
