//! Streams between threads of one process: the core's blueprints over elements that own a foreign
//! value.
//!
//! | file | what |
//! |---|---|
//! | `element` | an element and a list of them |
//! | `callback` | the functions that a caller hands in |
//! | `scope` | who owns what runs |
//! | `edge`, `blueprint` | the queue between two threads; the objects that blueprints are |
//! | `source`, `stage`, `sink` | how they are made and joined |
//! | `shape`, `rate`, `work`, `join` | more stages: groups, time, threads and failures, several at once |
//! | `wire`, `io` | streams of requests, live feeds and descriptors at the ends of a pipeline |
//! | `graph` | a closed blueprint and what a run of it gives |
//! | `manual`, `completion`, `outlet`, `probe`, `switch`, `hub`, `listeners` | the controls and results of a run |
//! | `expect` | what a test expects of the probes |
//! | `faults` | what goes wrong with transports in a test, from a seed |

pub(crate) mod element;

mod callback;

mod scope;

mod edge;

mod blueprint;

mod source;

mod stage;

mod shape;

mod rate;

mod work;

mod join;

mod sink;

mod wire;

mod io;

mod graph;

mod manual;

mod completion;

mod outlet;

mod probe;

mod expect;

mod faults;

mod switch;

mod hub;

mod listeners;

use completion::Done;
use element::Held;
use sluicegate::flow;

/// What a run gives, in the order of the stages that it came from.
pub(crate) type Mats = Vec<Mat>;

/// The control or result of one stage of a run.
pub(crate) enum Mat {
    Manual(flow::Manual<Held>),
    Done(Done),
    Outlet(flow::Outlet<Held>),
    Subscriber(flow::Subscriber<Held>),
    Switch(flow::Switch),
    Hub(flow::Hub<Held>),
    MergeHub(flow::MergeHub<Held>),
}

/// Both, the left one first.
fn both(mut left: Mats, right: Mats) -> Mats {
    left.extend(right);
    left
}
