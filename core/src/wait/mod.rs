//! The only room that sleeps or wakes.
//!
//! Everything that can be waited for is a [`Future`] without a runtime: a pure decision, asked
//! again after each wake. Three verbs come out of each:
//!
//! | verb | how |
//! |---|---|
//! | `try_x` | the decision, asked once |
//! | `blocking_x(deadline)` | [`block_on`]: this crate's own mutex and condition variable |
//! | `x_op()`, `on_ready` | [`Op`]: polled by hand with a one-shot [`Bell`], for a language that brings its own wait |
//!
//! and `x().await` on any executor. A wake is a hint. State changes first, then the waker is
//! fired, with no lock held.
//!
//! A party that holds grants it has not sent flushes them before any wait (L10). That rule lives in
//! [`owed`] and nowhere else.

mod bell;
mod block;
mod first;
mod op;
pub(crate) mod owed;
mod wake;
pub(crate) mod watched;

pub use bell::Bell;
pub use block::block_on;
pub(crate) use first::{Either, first};
pub use op::Op;
pub(crate) use wake::wake_all;
