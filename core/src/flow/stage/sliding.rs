//! sliding: windows that overlap, or leave gaps.

use std::collections::VecDeque;

use super::{Step, Verdict};
use crate::error::Error;
use crate::flow::Flow;
use crate::flow::edge::positive;
use crate::flow::held::Kept;

impl<T: Clone + Send + 'static> Flow<T, Vec<T>> {
    /// Windows of `size` elements in a row, each beginning `step` elements after the one before. At
    /// completion the last window may be shorter, if it has an element that none before had.
    ///
    /// # Errors
    /// `InvalidArgument` for a size or a step of 0.
    pub fn sliding(size: u64, step: u64) -> Result<Self, Error> {
        positive("sliding window", "elements", size)?;
        positive("sliding step", "elements", step)?;
        let new = move || Sliding { size, step, skip: 0, fresh: false, window: Kept::default() };
        Ok(Flow::line("sliding", new))
    }
}

struct Sliding<T> {
    size: u64,
    step: u64,
    /// Elements between two windows that are still to come.
    skip: u64,
    /// The window has an element that has not been handed down.
    fresh: bool,
    window: Kept<VecDeque<T>>,
}

impl<T: Clone + Send> Step<T, Vec<T>> for Sliding<T> {
    fn step(&mut self, input: T) -> Result<Verdict<Vec<T>>, Error> {
        if let Some(less) = self.skip.checked_sub(1) {
            self.skip = less;
            return Ok(Verdict::Drop);
        }
        self.window.push_back(input);
        self.fresh = true;
        if (self.window.len() as u64) < self.size {
            return Ok(Verdict::Drop);
        }
        let window = self.window.iter().cloned().collect();
        self.fresh = false;
        let gone = usize::try_from(self.step.min(self.size)).unwrap_or(usize::MAX);
        let gone = gone.min(self.window.len());
        self.window.drain(..gone);
        self.skip = self.step.saturating_sub(self.size);
        Ok(Verdict::Emit(window))
    }

    fn rest(&mut self) -> Result<Option<Vec<T>>, Error> {
        let window = std::mem::take(&mut *self.window);
        Ok((self.fresh && !window.is_empty()).then(|| window.into()))
    }
}
