//! What a run yields, before Swift has it.

use std::sync::Arc;

use sluicegate::flow::{Completion, Hub, Manual, MergeHub, Outlet, Subscriber, Switch};

use super::element::Element;

/// One value that a run yields.
#[derive(Clone)]
pub(super) enum Mat {
    Manual(Manual<Element>),
    Completion(Completion<Vec<Element>>),
    Done(Completion<()>),
    Switch(Switch),
    Outlet(Outlet<Element>),
    Subscriber(Arc<Subscriber<Element>>),
    Hub(Hub<Element>),
    MergeHub(MergeHub<Element>),
}

pub(super) type Mats = Vec<Mat>;
