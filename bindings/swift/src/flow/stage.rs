//! The stages.

use std::sync::Arc;

use sluicegate::Error;
use sluicegate::flow::Flow as CoreFlow;

use super::blueprint::{EdgeFacts, FlowCore};
use super::element::{Called, Element, Function, own, sizes};
use super::mats::{Mat, Mats};
use crate::error::Failure;
use crate::guard::guard;

/// A flow without a control.
pub(super) fn flow(flow: CoreFlow<Element, Element>) -> Arc<FlowCore> {
    Arc::new(FlowCore(flow.map_mat(|_| Mats::new())))
}

/// Each element through `function`.
#[uniffi::export]
pub fn flow_map(function: Arc<dyn Function>) -> Arc<FlowCore> {
    let function = Called(function);
    flow(CoreFlow::try_map(move |element: Element| function.one(&[&element])))
}

/// Each element through `function`; what it answers nothing for is dropped.
#[uniffi::export]
pub fn flow_filter_map(function: Arc<dyn Function>) -> Arc<FlowCore> {
    let function = Called(function);
    flow(CoreFlow::try_filter_map(move |element: Element| function.some(&[&element])))
}

/// The elements that `function` says yes to.
#[uniffi::export]
pub fn flow_filter(function: Arc<dyn Function>) -> Arc<FlowCore> {
    let function = Called(function);
    flow(CoreFlow::try_filter(move |element: &Element| function.yes(&[element])))
}

/// Shows each element to `function`.
#[uniffi::export]
pub fn flow_tap(function: Arc<dyn Function>) -> Arc<FlowCore> {
    let function = Called(function);
    flow(CoreFlow::try_map(move |element: Element| {
        function.yes(&[&element])?;
        Ok(element)
    }))
}

/// The first `n`.
#[uniffi::export]
pub fn flow_take(n: u64) -> Arc<FlowCore> {
    flow(CoreFlow::take(n))
}

/// All but the first `n`.
#[uniffi::export]
pub fn flow_drop(n: u64) -> Arc<FlowCore> {
    flow(CoreFlow::drop(n))
}

/// Those up to the first that `function` says no to.
#[uniffi::export]
pub fn flow_take_while(function: Arc<dyn Function>) -> Arc<FlowCore> {
    let function = Called(function);
    flow(CoreFlow::try_take_while(move |element: &Element| function.yes(&[element])))
}

/// Each state of a fold.
#[uniffi::export]
pub fn flow_scan(first: u64, function: Arc<dyn Function>) -> Arc<FlowCore> {
    let (first, function) = (own(first), Called(function));
    flow(CoreFlow::try_scan(first, move |state: Element, element: Element| {
        function.one(&[&state, &element])
    }))
}

/// The last state of a fold.
#[uniffi::export]
pub fn flow_fold(first: u64, function: Arc<dyn Function>) -> Arc<FlowCore> {
    let (first, function) = (own(first), Called(function));
    flow(CoreFlow::try_fold(first, move |state: Element, element: Element| {
        function.one(&[&state, &element])
    }))
}

/// Ends a run from outside.
#[uniffi::export]
pub fn flow_kill_switch() -> Arc<FlowCore> {
    Arc::new(FlowCore(CoreFlow::switch().map_mat(|switch| vec![Mat::Switch(switch)])))
}

/// A boundary between two threads; `size` tells the bytes of an element.
///
/// # Errors
/// `InvalidArgument` for a capacity of 0.
#[uniffi::export]
pub fn flow_buffer(
    edge: EdgeFacts,
    size: Option<Arc<dyn Function>>,
) -> Result<Arc<FlowCore>, Failure> {
    guard(|| Ok::<_, Error>(flow(CoreFlow::buffer_sized(edge.try_into()?, sizes(size)))))
}
