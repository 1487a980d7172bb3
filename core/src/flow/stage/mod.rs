//! The stages between a source and a sink, a family a file.

mod batch;
mod expand;
mod fan;
mod feedback;
mod futures;
mod group;
mod inlet;
mod input;
mod join;
mod latest;
mod limit;
mod line;
mod merge;
mod one;
mod page;
mod rate;
mod recover;
mod sliding;
mod take;
mod workers;

pub use fan::FanOptions;
pub(super) use inlet::Inlet;
pub(super) use input::Input;
pub(super) use line::{Line, Step, Verdict};
pub(super) use merge::Turns;
pub(super) use rate::some_time;
