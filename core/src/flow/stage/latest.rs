//! conflate, debounce: what comes while nothing is wanted is folded into one.

use std::task::Poll;
use std::time::Duration;

use super::Inlet;
use crate::flow::context::{Context, Signal, Upstream};
use crate::flow::guard::guarded;
use crate::flow::held::{Kept, Own, own};
use crate::flow::plan::Tempo;
use crate::flow::{Flow, NotUsed};
use crate::model::demand::Stage;
use crate::sync::Arc;

/// How many elements are taken in before the island looks at its other affairs: a source that never
/// pauses must not keep it from hearing of demand.
const TURN: u32 = 256;

impl<I: Send + 'static, O: Send + 'static> Flow<I, O> {
    /// Never holds the upstream back: what comes before the next output is wanted is folded into that
    /// output by `aggregate`, beginning with what `seed` makes of the first. Reads one element ahead
    /// of demand, again and again, so the source above is best on an edge.
    #[must_use]
    pub fn conflate<S, F>(seed: S, aggregate: F) -> Self
    where
        S: Fn(I) -> O + Send + Sync + 'static,
        F: Fn(O, I) -> O + Send + Sync + 'static,
    {
        let (seed, aggregate) = (own(seed), own(aggregate));
        Flow::latest("conflate", None, move |before, input| match before {
            None => seed(input),
            Some(before) => aggregate(before, input),
        })
    }

    fn latest<F>(kind: &'static str, quiet: Option<Duration>, fold: F) -> Self
    where
        F: Fn(Option<O>, I) -> O + Send + Sync + 'static,
    {
        let fold = own(fold);
        Flow::from_make(move |build, up| {
            let meter = build.meter(kind, Stage::ahead(1, 1).expect("not 0"));
            let (inlet, fold) = (Inlet::new(up, meter), Arc::clone(&fold));
            Ok((
                Box::new(Latest { inlet, fold, state: Kept::default(), quiet, due: None }),
                NotUsed,
            ))
        })
        .at(Tempo::LOOSE)
    }
}

impl<T: Send + 'static> Flow<T, T> {
    /// The latest element, once none has come for `quiet`, or at the end; those that it displaced are
    /// dropped. Never holds the upstream back.
    #[must_use]
    pub fn debounce(quiet: Duration) -> Self {
        Flow::latest("debounce", Some(quiet), |_, input| input)
    }
}

struct Latest<I, O, F> {
    inlet: Inlet<I>,
    fold: Arc<Own<F>>,
    state: Kept<Option<O>>,
    quiet: Option<Duration>,
    /// Not before this.
    due: Option<Duration>,
}

impl<I, O, F> Upstream<O> for Latest<I, O, F>
where
    I: Send,
    O: Send,
    F: Fn(Option<O>, I) -> O + Send + Sync,
{
    fn request(&mut self, n: u64) {
        self.inlet.request(n);
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<O>> {
        self.inlet.start();
        for _ in 0..TURN {
            let due = self.inlet.ended() || self.due.is_none_or(|due| due <= context.now());
            if due
                && self.inlet.wanted()
                && let Some(state) = self.state.take()
            {
                self.inlet.emit(0);
                return Poll::Ready(Signal::Next(state));
            }
            if self.inlet.ended() {
                return if self.state.is_none() { self.inlet.end() } else { Poll::Pending };
            }
            match self.inlet.pull(context) {
                Poll::Ready(Some(input)) => {
                    let before = self.state.take();
                    match guarded(self.inlet.name(), || Ok((self.fold)(before, input))) {
                        Ok(state) => *self.state = Some(state),
                        Err(error) => return self.inlet.fail(error),
                    }
                    self.due = self.quiet.map(|quiet| context.now().saturating_add(quiet));
                    self.inlet.discard();
                }
                Poll::Ready(None) => {}
                Poll::Pending => {
                    if let Some(due) = self.due
                        && self.state.is_some()
                        && self.inlet.wanted()
                    {
                        context.wake_at(due);
                    }
                    return Poll::Pending;
                }
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
