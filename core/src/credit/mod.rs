//! The three objects that any transport can use alone: a sender's [`CreditGate`], a receiver's
//! [`CreditWindow`] and the [`CreditRouter`] that brings grants to gates.
//!
//! They hold the model's state and add only waiting and waking.

mod gate;
mod router;
mod window;

pub use gate::{AcquireFuture, Closed, CreditGate, TryAcquire};
pub(crate) use router::credited;
pub use router::{CreditRouter, Delivery};
pub use window::{CreditWindow, Violation};
