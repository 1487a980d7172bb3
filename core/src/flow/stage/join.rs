//! zip, combine: one output of one element of each input.

use std::task::Poll;

use super::input::{Input, Look};
use crate::error::Error;
use crate::flow::context::{Context, Signal, Upstream};
use crate::flow::guard::guarded;
use crate::flow::held::{Own, own};
use crate::flow::plan::{Origin, Through};
use crate::flow::{Flow, Source};
use crate::sync::Arc;

struct Zip<A, B, F> {
    left: Input<A>,
    right: Input<B>,
    function: Arc<Own<F>>,
}

impl<A, B, O, F> Upstream<O> for Zip<A, B, F>
where
    A: Send,
    B: Send,
    O: Send,
    F: Fn(A, B) -> Result<O, Error> + Send + Sync,
{
    fn request(&mut self, n: u64) {
        self.left.request(n);
        self.right.request(n);
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<O>> {
        let sides = [self.left.look(context), self.right.look(context)];
        match verdict(sides) {
            Some(end) => {
                self.left.cancel();
                self.right.cancel();
                return Poll::Ready(end.map_or(Signal::Complete, Signal::Fail));
            }
            None if !self.left.wanted() || !self.left.holds() || !self.right.holds() => {
                self.left.look_past(context);
                self.right.look_past(context);
                return Poll::Pending;
            }
            None => {}
        }
        let (left, right) = (self.left.take(), self.right.take());
        let output = guarded(self.left.name(), || (self.function)(left, right));
        Poll::Ready(output.map_or_else(Signal::Fail, Signal::Next))
    }
}

/// How the stage ends, if it does: badly with the first input that failed, well with the first that has
/// ended and holds nothing.
fn verdict(sides: impl IntoIterator<Item = Look>) -> Option<Option<Error>> {
    let mut end = None;
    for side in sides {
        match side {
            Look::Failed(error) => return Some(Some(error)),
            Look::Over => end = Some(None),
            Look::Held | Look::Waits => {}
        }
    }
    end
}

struct Combine<T>(Vec<Input<T>>);

impl<T: Send> Upstream<Vec<T>> for Combine<T> {
    fn request(&mut self, n: u64) {
        self.0.iter_mut().for_each(|input| input.request(n));
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<Vec<T>>> {
        let sides: Vec<_> = self.0.iter_mut().map(|input| input.look(context)).collect();
        if let Some(end) = verdict(sides) {
            self.0.clear();
            return Poll::Ready(end.map_or(Signal::Complete, Signal::Fail));
        }
        if self.0.is_empty() {
            return Poll::Ready(Signal::Complete);
        }
        if !self.0.iter().all(|input| input.wanted() && input.holds()) {
            self.0.iter_mut().for_each(|input| input.look_past(context));
            return Poll::Pending;
        }
        Poll::Ready(Signal::Next(self.0.iter_mut().map(Input::take).collect()))
    }
}

impl<T: Send + 'static, M: 'static> Source<T, M> {
    /// Pairs of an element of each. Asks each side for one at a time, the next once the pair has left.
    /// Ends as soon as a side has ended and holds nothing, and cancels the other. Two subscriptions of
    /// one hub that could lock up, since one of them is ahead, are refused by the run, with
    /// `PlanRefused`.
    #[must_use]
    pub fn zip<U: Send + 'static, N: 'static>(&self, other: Source<U, N>) -> Source<(T, U), M> {
        self.zip_kind("zip", other, |left, right| Ok((left, right)))
    }

    /// The same through `function`, on the thread of the island. A panic of it fails the stream.
    #[must_use]
    pub fn zip_with<U: Send + 'static, N: 'static, O: Send + 'static>(
        &self,
        other: Source<U, N>,
        function: impl Fn(T, U) -> O + Send + Sync + 'static,
    ) -> Source<O, M> {
        self.zip_kind("zip_with", other, move |left, right| Ok(function(left, right)))
    }

    /// The same with a function whose error fails the stream.
    #[must_use]
    pub fn try_zip_with<U: Send + 'static, N: 'static, O: Send + 'static>(
        &self,
        other: Source<U, N>,
        function: impl Fn(T, U) -> Result<O, Error> + Send + Sync + 'static,
    ) -> Source<O, M> {
        self.zip_kind("zip_with", other, function)
    }

    /// The same, with one materialised value that `combine` makes of both.
    #[must_use]
    pub fn try_zip_with_mat<U: Send + 'static, N: 'static, O: Send + 'static, R: 'static>(
        &self,
        other: Source<U, N>,
        function: impl Fn(T, U) -> Result<O, Error> + Send + Sync + 'static,
        combine: impl Fn(M, N) -> R + Send + Sync + 'static,
    ) -> Source<O, R> {
        self.via_mat(Flow::zip_kind("zip_with", other, function), combine)
    }

    fn zip_kind<U: Send + 'static, N: 'static, O: Send + 'static>(
        &self,
        kind: &'static str,
        other: Source<U, N>,
        function: impl Fn(T, U) -> Result<O, Error> + Send + Sync + 'static,
    ) -> Source<O, M> {
        self.via(Flow::zip_kind(kind, other, function))
    }

    /// Lists of an element of each source, in the sources' order. Asks and ends as
    /// [`zip`](Self::zip). Without sources it ends at once.
    #[must_use]
    pub fn combine(sources: Vec<Source<T, M>>) -> Source<Vec<T>, Vec<M>> {
        let origin = Origin::all(sources.iter().map(Source::origin), true);
        Source::from_make(move |build| {
            let mut inputs = Vec::with_capacity(sources.len());
            let mut mats = Vec::with_capacity(sources.len());
            for source in &sources {
                let (up, mat) = source.make(build)?;
                inputs.push(Input::new(build, "combine", up));
                mats.push(mat);
            }
            Ok((Box::new(Combine(inputs)), mats))
        })
        .from(origin)
    }
}

impl<I: Send + 'static, O: Send + 'static, M: 'static> Flow<I, O, M> {
    /// What this flow gives, paired with the elements of `other`, as [`Source::zip`].
    #[must_use]
    pub fn zip<U: Send + 'static, N: 'static>(&self, other: Source<U, N>) -> Flow<I, (O, U), M> {
        self.via(Flow::zip_kind("zip", other, |left, right| Ok((left, right))))
    }

    /// The same through `function`.
    #[must_use]
    pub fn zip_with<U: Send + 'static, N: 'static, P: Send + 'static>(
        &self,
        other: Source<U, N>,
        function: impl Fn(O, U) -> P + Send + Sync + 'static,
    ) -> Flow<I, P, M> {
        let function = move |left, right| Ok(function(left, right));
        self.via(Flow::zip_kind("zip_with", other, function))
    }
}

impl<T: Send + 'static, O: Send + 'static, N: 'static> Flow<T, O, N> {
    fn zip_kind<U: Send + 'static>(
        kind: &'static str,
        other: Source<U, N>,
        function: impl Fn(T, U) -> Result<O, Error> + Send + Sync + 'static,
    ) -> Self {
        let (function, through) = (own(function), Through::pairing(&other.origin().lines));
        Flow::from_make(move |build, up| {
            let left = Input::new(build, kind, up);
            let (up, mat) = other.make(build)?;
            let right = Input::new(build, kind, up);
            let zip = Zip { left, right, function: Arc::clone(&function) };
            Ok((Box::new(zip), mat))
        })
        .through(through)
    }
}
