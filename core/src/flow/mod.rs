//! Streams between threads of one process, as blueprints whose demand is credit.
//!
//! A [`Source`] has one typed output, a [`Flow`] an input and an output, a [`Sink`] an input; all
//! three are immutable and can be used as often as one likes. Closed, they are a [`RunnableGraph`],
//! and each [`run`](RunnableGraph::run) on a [`Scope`] makes fresh stages, fresh edges and a fresh
//! materialised value:
//!
//! ```
//! use sluicegate::flow::{Flow, Scope, Sink, Source};
//!
//! let scope = Scope::new("example")?;
//! let lengths = Flow::map(|n: u64| format!("value={n}")).via(Flow::map(|s: String| s.len()));
//! let result = Source::iter([7, 1234]).via(lengths).to(Sink::collect()).run(&scope)?;
//! assert_eq!(result.blocking_wait()?, [7, 10]);
//! # Ok::<(), sluicegate::Error>(())
//! ```
//!
//! # How it runs
//!
//! Stages that follow each other are fused: they run as one *island*, on one thread of the scope, and
//! hand elements on by a plain call. A queue stands only where a boundary was asked for
//! ([`Flow::buffer`], a manual source, a fan-out, an outlet): such an [`edge`](EdgeOptions) is a
//! [`CreditGate`](crate::CreditGate) at its producer, a bounded queue, and a
//! [`CreditWindow`](crate::CreditWindow) at its consumer. A grant of that window is the `request(n)`
//! of the streams protocol; there is no second implementation of demand.
//!
//! # Several inputs, several outputs
//!
//! | what | how demand goes |
//! |---|---|
//! | [`Source::zip`], [`Source::combine`], [`Source::merge`] | one element at a time of each input; an input has a meter of its own |
//! | [`Sink::broadcast`], [`Sink::balance`], [`Sink::partition`] | each branch is an island behind an edge; above is asked for what the edges can take |
//! | [`Sink::broadcast_hub`], [`Source::merge_hub`] | those who listen or produce come and go while it runs |
//! | [`Source::wire`], [`Sink::wire`] | the credit of a stream of a request, at either end of a link |
//!
//! # The protocol between two stages
//!
//! | rule | where it is kept |
//! |---|---|
//! | an element only against demand | [`model::demand`](crate::model::demand), in every stage's meter |
//! | demand adds up, up to 2^64 - 1; a request for 0 is ignored | the same |
//! | one terminal; it never overtakes an element | a stage is dropped with its terminal |
//! | a request before the subscription adds up and counts from the start | the same |
//! | one subscription: a stage has one owner | the types; a probe or hub source answers `AlreadySubscribed` |
//! | what comes after the end is dropped and counted | [`StageView::late`] |
//!
//! Dropping the receiving side is the cancel signal: it travels up at once, releases every element
//! that an edge holds exactly once, and wakes every producer that waits.

#[cfg(doctest)]
#[doc = include_str!("../../../docs/flow.md")]
mod guide {}

mod blueprint;
mod build;
mod channel;
mod clock;
mod context;
mod edge;
mod explain;
mod fetch;
mod guard;
mod held;
mod hub;
mod hub_core;
mod io;
mod island;
mod manual;
mod merge_hub;
mod meter;
mod ops;
mod outlet;
mod pages;
mod plan;
mod probe;
mod promise;
mod pump;
mod scope;
mod sink;
mod source;
mod stage;
mod switch;
pub mod testkit;
mod tick;
mod wire;

pub use blueprint::{Feedback, Flow, NotUsed, RunnableGraph, Sink, Source};
pub use build::Build;
pub use clock::Clock;
pub use context::{Context, Signal, Up, Upstream};
pub use edge::{EdgeOptions, Offer, Overflow};
pub use explain::{ScopeExplanation, StageStanding, WaitsFor};
pub use hub::{Hub, HubOptions, HubPolicy};
pub use hub_core::HubSubscriber;
pub use manual::Manual;
pub use merge_hub::MergeHub;
pub use meter::{Demand, StageView};
pub use ops::Ops;
pub use outlet::{Outlet, OutletIter};
pub use pages::Page;
pub use probe::{Publisher, Subscriber, SubscriberEvent};
pub use promise::{Completion, Promise, Status};
pub use scope::Scope;
pub use stage::FanOptions;
pub use switch::Switch;
