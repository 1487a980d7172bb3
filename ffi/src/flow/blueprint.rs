//! `sluice_source`, `sluice_flow`, `sluice_sink`, `sluice_graph` and hubs: the objects, and how one is
//! handed out.

use sluicegate::flow;

use super::element::Held;
use super::{Mat, Mats};
use crate::border;
use crate::guard::Fail;
use crate::handle::object;

/// A blueprint with one output. Immutable: it can be used in as many graphs, and run as often, as one
/// likes. What a blueprint is made of it keeps alive by itself.
pub struct Source(pub(super) flow::Source<Held, Mats>);
object!(Source = 26);

pub(super) fn put_source(
    out: *mut *mut Source,
    source: flow::Source<Held, Mats>,
) -> Result<(), Fail> {
    border::put_new(out, Source(source))
}

/// A blueprint with an input and an output. Immutable, as sluice_source is.
pub struct Flow(pub(super) flow::Flow<Held, Held, Mats>);
object!(Flow = 27);

pub(super) fn put_flow(out: *mut *mut Flow, flow: &flow::Flow<Held, Held>) -> Result<(), Fail> {
    border::put_new(out, Flow(flow.map_mat(|_| Vec::new())))
}

/// A blueprint with one input. Immutable, as sluice_source is.
pub struct Sink(pub(super) flow::Sink<Held, Mats>);
object!(Sink = 28);

pub(super) fn put_sink<M: 'static>(
    out: *mut *mut Sink,
    sink: &flow::Sink<Held, M>,
    mat: impl Fn(M) -> Mat + Send + Sync + 'static,
) -> Result<(), Fail> {
    border::put_new(out, Sink(sink.map_mat(move |m| vec![mat(m)])))
}

/// A blueprint with neither input nor output left: it can run, as often as one likes.
pub struct Graph(pub(super) flow::RunnableGraph<Mats>);
object!(Graph = 29);

/// The control of a source that many may listen to. Once the last reference and the last subscriber are
/// gone, the source is cancelled.
pub struct Hub(pub(super) flow::Hub<Held>);
object!(Hub = 37);

/// The control of a source that many may feed.
pub struct MergeHub(pub(super) flow::MergeHub<Held>);
object!(MergeHub = 38);
