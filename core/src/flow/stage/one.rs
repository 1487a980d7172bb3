//! map, tap, filter, `filter_map`, scan, fold: a function applied to each element.

use super::{Line, Step, Verdict};
use crate::error::Error;
use crate::flow::held::{Kept, Own, own};
use crate::flow::plan::Tempo;
use crate::flow::{Flow, NotUsed};
use crate::model::demand::Stage;
use crate::sync::Arc;

/// Inputs that such a stage may ask for at once: as many as are asked of it. It holds one at most.
const ROOM: u64 = u64::MAX;

/// A shared function as a step.
struct Each<F>(Arc<Own<F>>);

impl<I, O, F> Step<I, O> for Each<F>
where
    F: Fn(I) -> Result<Verdict<O>, Error> + Send + Sync,
{
    fn step(&mut self, input: I) -> Result<Verdict<O>, Error> {
        (self.0)(input)
    }
}

impl<I: Send + 'static, O: Send + 'static> Flow<I, O> {
    /// A stage of kind `kind` round a step made anew for each run.
    pub(in crate::flow) fn line<S: Step<I, O> + 'static>(
        kind: &'static str,
        step: impl Fn() -> S + Send + Sync + 'static,
    ) -> Flow<I, O> {
        Flow::from_make(move |build, up| {
            let stage = Stage::each(ROOM).expect("not 0");
            let meter = build.meter(kind, stage);
            Ok((Box::new(Line::new(up, meter, step())), NotUsed))
        })
    }

    fn each<F>(kind: &'static str, function: F) -> Flow<I, O>
    where
        F: Fn(I) -> Result<Verdict<O>, Error> + Send + Sync + 'static,
    {
        let function = own(function);
        Flow::line(kind, move || Each(Arc::clone(&function)))
    }

    /// Each element through `function`. A panic of it fails the stream.
    #[must_use]
    pub fn map(function: impl Fn(I) -> O + Send + Sync + 'static) -> Self {
        Flow::each("map", move |input| Ok(Verdict::Emit(function(input)))).at(Tempo::EACH)
    }

    /// Each element through `function`, whose error fails the stream.
    #[must_use]
    pub fn try_map(function: impl Fn(I) -> Result<O, Error> + Send + Sync + 'static) -> Self {
        Flow::each("map", move |input| function(input).map(Verdict::Emit)).at(Tempo::EACH)
    }

    /// Each element through `function`; what it makes nothing of is dropped, and another is asked for
    /// in its place.
    #[must_use]
    pub fn filter_map(function: impl Fn(I) -> Option<O> + Send + Sync + 'static) -> Self {
        Self::try_filter_map(move |input| Ok(function(input)))
    }

    /// The same with a function whose error fails the stream.
    #[must_use]
    pub fn try_filter_map(
        function: impl Fn(I) -> Result<Option<O>, Error> + Send + Sync + 'static,
    ) -> Self {
        Flow::each("filter_map", move |input| {
            Ok(function(input)?.map_or(Verdict::Drop, Verdict::Emit))
        })
    }

    /// Each state of `function` over the elements, beginning with what it makes of `first` and the
    /// first element.
    #[must_use]
    pub fn scan<F>(first: O, function: F) -> Self
    where
        O: Clone + Sync,
        F: Fn(O, I) -> O + Send + Sync + 'static,
    {
        Self::try_scan(first, move |state, input| Ok(function(state, input)))
    }

    /// The same with a function whose error fails the stream.
    #[must_use]
    pub fn try_scan<F>(first: O, function: F) -> Self
    where
        O: Clone + Sync,
        F: Fn(O, I) -> Result<O, Error> + Send + Sync + 'static,
    {
        let function = own(function);
        Flow::line("scan", move || Scan {
            state: Kept::new(Some(first.clone())),
            function: Arc::clone(&function),
        })
        .at(Tempo::EACH)
    }

    /// The last state of `function` over all elements, once the upstream has completed; `first` if
    /// there was none.
    #[must_use]
    pub fn fold<F>(first: O, function: F) -> Self
    where
        O: Clone + Sync,
        F: Fn(O, I) -> O + Send + Sync + 'static,
    {
        Self::try_fold(first, move |state, input| Ok(function(state, input)))
    }

    /// The same with a function whose error fails the stream.
    #[must_use]
    pub fn try_fold<F>(first: O, function: F) -> Self
    where
        O: Clone + Sync,
        F: Fn(O, I) -> Result<O, Error> + Send + Sync + 'static,
    {
        let function = own(function);
        Flow::line("fold", move || Fold {
            state: Kept::new(Some(first.clone())),
            function: Arc::clone(&function),
        })
    }
}

impl<T: Send + 'static> Flow<T, T> {
    /// Shows each element to `look`, on the thread of its island.
    #[must_use]
    pub fn tap(look: impl Fn(&T) + Send + Sync + 'static) -> Self {
        Flow::each("tap", move |input| {
            look(&input);
            Ok(Verdict::Emit(input))
        })
        .at(Tempo::EACH)
    }

    /// The elements that `pass` says true of. For each that is dropped another is asked for.
    #[must_use]
    pub fn filter(pass: impl Fn(&T) -> bool + Send + Sync + 'static) -> Self {
        Self::try_filter(move |input| Ok(pass(input)))
    }

    /// The same with a function whose error fails the stream.
    #[must_use]
    pub fn try_filter(pass: impl Fn(&T) -> Result<bool, Error> + Send + Sync + 'static) -> Self {
        Flow::each("filter", move |input| {
            Ok(if pass(&input)? { Verdict::Emit(input) } else { Verdict::Drop })
        })
    }

    /// The elements up to the first that `pass` says false of; then the upstream is cancelled.
    #[must_use]
    pub fn take_while(pass: impl Fn(&T) -> bool + Send + Sync + 'static) -> Self {
        Self::try_take_while(move |input| Ok(pass(input)))
    }

    /// The same with a function whose error fails the stream.
    #[must_use]
    pub fn try_take_while(
        pass: impl Fn(&T) -> Result<bool, Error> + Send + Sync + 'static,
    ) -> Self {
        Flow::each("take_while", move |input| {
            Ok(if pass(&input)? { Verdict::Emit(input) } else { Verdict::End })
        })
        .at(Tempo::EACH)
    }
}

struct Scan<O, F> {
    state: Kept<Option<O>>,
    function: Arc<Own<F>>,
}

impl<I, O, F> Step<I, O> for Scan<O, F>
where
    O: Clone + Send,
    F: Fn(O, I) -> Result<O, Error> + Send + Sync,
{
    fn step(&mut self, input: I) -> Result<Verdict<O>, Error> {
        // Without a state the function panicked before, and the stage is over.
        let Some(state) = self.state.take() else { return Ok(Verdict::End) };
        let next = (self.function)(state, input)?;
        *self.state = Some(next.clone());
        Ok(Verdict::Emit(next))
    }
}

struct Fold<O, F> {
    state: Kept<Option<O>>,
    function: Arc<Own<F>>,
}

impl<I, O, F> Step<I, O> for Fold<O, F>
where
    O: Send,
    F: Fn(O, I) -> Result<O, Error> + Send + Sync,
{
    fn step(&mut self, input: I) -> Result<Verdict<O>, Error> {
        let Some(state) = self.state.take() else { return Ok(Verdict::End) };
        *self.state = Some((self.function)(state, input)?);
        Ok(Verdict::Drop)
    }

    fn rest(&mut self) -> Result<Option<O>, Error> {
        Ok(self.state.take())
    }
}
