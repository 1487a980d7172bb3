//! Flow control you can link: one credit window, in every language.
//!
//! A sender can never run ahead of its receiver, memory stays bounded, nothing deadlocks, nothing is
//! lost silently. Every bounded hop is the same pair: a [`CreditGate`] at the sender and a
//! [`CreditWindow`] at the receiver.
//!
//! ```
//! use sluicegate::{CreditGate, CreditWindow, TryAcquire};
//!
//! let (gate, window) = (CreditGate::new(2), CreditWindow::new(2));
//! gate.blocking_acquire(1)?; // one credit a chunk (L9)
//! window.arrive().expect("a sender that keeps to its gate never overruns");
//! gate.grant(window.consumed()); // consuming is what grants (L10)
//! assert_eq!(gate.try_acquire(2), TryAcquire::Taken);
//! # Ok::<(), sluicegate::Closed>(())
//! ```
//!
//! # The rooms, bottom to top
//!
//! | room | what it holds |
//! |---|---|
//! | [`error`] | the one table of error kinds; codes of all languages come from it |
//! | [`model`] | what a window decides: plain state in, an answer out |
//! | [`account`] | drops, stragglers, overruns: three families of loss, never mixed |
//! | `check` | the run-time monitor, `SLUICEGATE_CHECK=1`: a live process held to the model |
//! | [`wait`] | the only room that sleeps or wakes: three verbs over any decision |
//! | [`credit`] | gate, window and router, for any transport |
//! | [`frame`] | frames, CBOR, checksum, numbering |
//! | [`link`] | frames over any `Read` and `Write`, limits, handshake |
//! | [`stream`] | values in and out, a window each |
//! | [`request`] | one call at either end, and the table of them |
//! | `routing` | requests that go through this process, of other ends |
//! | [`cartridge`] | the plugin's runtime |
//! | [`engine`] | the host: spawn, attach, call, forward |
//! | [`relay`] | a switch between hosts, and the hosts |
//! | [`feed`] | live sources that cannot be held up, in front of consumers that may be slow |
//! | [`flow`] | sources, flows and sinks in one process, whose demand is credit |
//! | [`control`] | a local socket by which a running process says what it is doing |
//!
//! A room uses those above it in this table only. There is no async runtime inside: everything that
//! waits is a future that any executor, [`wait::block_on`] or another language's own primitive
//! drives.
#![forbid(unsafe_code)]

pub mod account;
pub mod cartridge;
mod check;
pub mod control;
pub mod credit;
pub mod engine;
pub mod error;
pub mod feed;
pub mod flow;
pub mod frame;
pub mod link;
pub mod model;
pub mod relay;
pub mod request;
mod routing;
pub mod stream;
mod sync;
mod time;
pub mod wait;

pub use cartridge::{Cap, CapInfo, Cartridge, Manifest, Request, Session};
pub use credit::{Closed, CreditGate, CreditRouter, CreditWindow, Delivery, TryAcquire, Violation};
pub use engine::{Command, Engine, EngineOptions, Memory, Peer, blocking_forward, forward};
pub use error::{AttributionClass, Cause, Error, ErrorKind, Reason, TimedOut};
pub use frame::{Limits, MessageId, NetworkPolicy, Value, Version};
pub use link::Address;
pub use relay::{Host, HostOptions, Switch, SwitchOptions};
pub use request::{Call, Event, Terminal};
pub use stream::{
    InputStream, Item, Iter, Mode, OutputStream, StartOptions, StreamInfo, StreamSender,
    StreamStats, TryRecv,
};
pub use sync::Broken;
pub use time::Deadline;
