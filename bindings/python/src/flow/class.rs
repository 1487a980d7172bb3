//! The classes that blueprints and the controls of a run are. Their methods stand in the files that are
//! named after them.

use pyo3::prelude::*;
use sluicegate::Error;
use sluicegate::flow::{self, Hub, MergeHub, NotUsed, Switch};

use super::blueprint::{Flow, Sink, Source, none};
use super::element::Element;
use crate::errors;
use crate::fork::Owned;

/// The core of `sluicegate.flow.Source`, made anew for each run.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct FlowSource(pub(super) Owned<Source>);

impl FlowSource {
    pub(super) fn of(source: Source) -> Self {
        FlowSource(Owned::new(source))
    }

    pub(super) fn plain(source: &flow::Source<Element, NotUsed>) -> Self {
        Self::of(source.map_mat(|_| none()))
    }
}

/// The core of `sluicegate.flow.Flow`, made anew for each run.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct FlowStage(pub(super) Owned<Flow>);

impl FlowStage {
    pub(super) fn of(flow: Flow) -> Self {
        FlowStage(Owned::new(flow))
    }

    pub(super) fn plain(flow: &flow::Flow<Element, Element, NotUsed>) -> Self {
        Self::of(flow.map_mat(|_| none()))
    }
}

/// The core of `sluicegate.flow.Sink`, made anew for each run.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct FlowSink(pub(super) Owned<Sink>);

impl FlowSink {
    pub(super) fn of(sink: Sink) -> Self {
        FlowSink(Owned::new(sink))
    }
}

/// The core of `sluicegate.flow.Hub`.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct FlowHub(pub(super) Owned<Hub<Element>>);

impl FlowHub {
    pub(super) fn new(hub: Hub<Element>) -> Self {
        FlowHub(Owned::new(hub))
    }
}

/// The core of `sluicegate.flow.MergeHub`.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct FlowMergeHub(pub(super) Owned<MergeHub<Element>>);

impl FlowMergeHub {
    pub(super) fn new(hub: MergeHub<Element>) -> Self {
        FlowMergeHub(Owned::new(hub))
    }
}

/// The core of `sluicegate.flow.Switch`.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct FlowSwitch(pub(super) Owned<Switch>);

impl FlowSwitch {
    pub(super) fn new(switch: Switch) -> Self {
        FlowSwitch(Owned::new(switch))
    }
}

/// What is refused, raised.
pub(super) fn refused(error: Error) -> PyErr {
    errors::raise(&error)
}
