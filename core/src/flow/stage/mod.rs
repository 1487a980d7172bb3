//! The stages between a source and a sink, a family a file.

mod batch;
mod expand;
mod fan;
mod inlet;
mod input;
mod join;
mod line;
mod merge;
mod one;
mod page;
mod sliding;
mod take;

pub use fan::FanOptions;
pub(super) use inlet::Inlet;
pub(super) use input::Input;
pub(super) use line::{Line, Step, Verdict};
pub(super) use merge::Turns;
