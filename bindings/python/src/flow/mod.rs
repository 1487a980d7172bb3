//! The streams layer: blueprints of the core whose elements are Python objects.
//!
//! | file | what it holds |
//! |---|---|
//! | `element` | an element, and the functions of the user |
//! | `blueprint` | flows and sinks put together, and run |
//! | `class` | the classes of blueprints and controls |
//! | `source`, `stage`, `sink` | their factories, a kind of blueprint each |
//! | `scope` | who owns what runs |
//! | `faults` | transports on which things go wrong, for tests |
//! | `manual`, `outlet`, `completion`, `hub`, `probe` | what a run yields |
//!
//! Here threads of the core enter the interpreter, to call the user's functions. Whoever calls the core
//! does so from outside, so that nobody waits inside for a thread that wants to come in.

mod blueprint;
mod class;
mod completion;
mod element;
mod faults;
mod hub;
mod manual;
mod outlet;
mod probe;
mod scope;
mod sink;
mod source;
mod stage;

pub(crate) use blueprint::{FlowGraph, edge_check};
pub(crate) use class::{FlowHub, FlowMergeHub, FlowSink, FlowSource, FlowStage, FlowSwitch};
pub(crate) use completion::{FlowCompletion, FlowPromise};
pub(crate) use faults::{FlowShuffle, faulty_link, fork_seed};
pub(crate) use manual::FlowManual;
pub(crate) use outlet::FlowOutlet;
pub(crate) use probe::FlowSubscriber;
pub(crate) use scope::FlowScope;
