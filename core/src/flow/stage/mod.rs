//! The stages between a source and a sink, a family a file.

mod batch;
mod expand;
mod inlet;
mod line;
mod one;
mod page;
mod sliding;
mod take;

pub(super) use inlet::Inlet;
pub(super) use line::{Line, Step, Verdict};
