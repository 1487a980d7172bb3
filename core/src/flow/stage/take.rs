//! take, drop, `drop_while`: by count and position.

use super::{Step, Verdict};
use crate::error::Error;
use crate::flow::Flow;
use crate::flow::held::{Own, own};
use crate::flow::plan::Tempo;
use crate::model::demand::limited;
use crate::sync::Arc;

impl<T: Send + 'static> Flow<T, T> {
    /// The first `n` elements. Never asks for more than `n`; cancels the upstream straight after the
    /// last.
    #[must_use]
    pub fn take(n: u64) -> Self {
        Flow::line("take", move || Take { to_ask: n, to_come: n }).at(Tempo::EACH)
    }

    /// All but the first `n` elements.
    #[must_use]
    pub fn drop(n: u64) -> Self {
        Flow::line("drop", move || Skip(n))
    }

    /// All from the first element on that `skip` says false of.
    #[must_use]
    pub fn drop_while(skip: impl Fn(&T) -> bool + Send + Sync + 'static) -> Self {
        Self::try_drop_while(move |input| Ok(skip(input)))
    }

    /// The same with a function whose error fails the stream.
    #[must_use]
    pub fn try_drop_while(
        skip: impl Fn(&T) -> Result<bool, Error> + Send + Sync + 'static,
    ) -> Self {
        let skip = own(skip);
        Flow::line("drop_while", move || SkipWhile { skip: Some(Arc::clone(&skip)) })
    }
}

struct Take {
    /// What may still be asked for.
    to_ask: u64,
    /// What is still to be handed down.
    to_come: u64,
}

impl<T> Step<T, T> for Take {
    fn step(&mut self, input: T) -> Result<Verdict<T>, Error> {
        self.to_come = self.to_come.saturating_sub(1);
        Ok(if self.to_come == 0 { Verdict::Last(input) } else { Verdict::Emit(input) })
    }

    fn limit(&mut self, n: u64) -> u64 {
        let (pass, left) = limited(self.to_ask, n);
        self.to_ask = left;
        pass
    }

    fn is_empty(&self) -> bool {
        self.to_come == 0
    }
}

struct Skip(u64);

impl<T> Step<T, T> for Skip {
    fn step(&mut self, input: T) -> Result<Verdict<T>, Error> {
        if self.0 == 0 {
            return Ok(Verdict::Emit(input));
        }
        self.0 = self.0.saturating_sub(1);
        Ok(Verdict::Drop)
    }
}

struct SkipWhile<F> {
    skip: Option<Arc<Own<F>>>,
}

impl<T, F: Fn(&T) -> Result<bool, Error> + Send + Sync> Step<T, T> for SkipWhile<F> {
    fn step(&mut self, input: T) -> Result<Verdict<T>, Error> {
        if let Some(skip) = &self.skip
            && skip(&input)?
        {
            return Ok(Verdict::Drop);
        }
        self.skip = None;
        Ok(Verdict::Emit(input))
    }
}
