//! The stages between a source and a sink, a family a file.

mod line;
mod one;
mod take;

pub(super) use line::{Line, Step, Verdict};
