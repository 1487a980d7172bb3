//! [`Source`], [`Flow`], [`Sink`]: what is to run, without anything running.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::build::Build;
use super::context::Up;
use super::guard::failed;
use super::held::own;
use super::plan::{Origin, Tempo, Through};
use super::scope::Scope;
use crate::error::Error;
use crate::sync::Arc;

/// The materialised value of a stage that has no control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NotUsed;

type MakeSource<T, M> = dyn Fn(&mut Build) -> Result<(Up<T>, M), Error> + Send + Sync;
type MakeFlow<I, O, M> = dyn Fn(&mut Build, Up<I>) -> Result<(Up<O>, M), Error> + Send + Sync;
type MakeSink<I, M> = dyn Fn(&mut Build, Up<I>) -> Result<M, Error> + Send + Sync;
type MakeGraph<M> = dyn Fn(&mut Build) -> Result<M, Error> + Send + Sync;

/// A blueprint with one output of elements `T`; running it yields a control `M`. Immutable; clones
/// are the same blueprint.
pub struct Source<T, M = NotUsed>(Arc<MakeSource<T, M>>, Origin);

/// A blueprint from elements `I` to elements `O`.
pub struct Flow<I, O, M = NotUsed>(Arc<MakeFlow<I, O, M>>, Through);

/// A blueprint with one input of elements `I`; running it yields a result or control `M`.
pub struct Sink<I, M = NotUsed>(Arc<MakeSink<I, M>>, Through);

/// What the body of a [`Flow::feedback`] makes of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feedback<I, O> {
    /// It goes round again, as this.
    Again(I),
    /// It leaves the loop, as this.
    Out(O),
}

/// A blueprint with neither input nor output left: it can run, as often as one likes.
pub struct RunnableGraph<M>(Arc<MakeGraph<M>>);

impl<T, M> Clone for Source<T, M> {
    fn clone(&self) -> Self {
        Source(Arc::clone(&self.0), self.1.clone())
    }
}

impl<I, O, M> Clone for Flow<I, O, M> {
    fn clone(&self) -> Self {
        Flow(Arc::clone(&self.0), self.1.clone())
    }
}

impl<I, M> Clone for Sink<I, M> {
    fn clone(&self) -> Self {
        Sink(Arc::clone(&self.0), self.1.clone())
    }
}

impl<M> Clone for RunnableGraph<M> {
    fn clone(&self) -> Self {
        RunnableGraph(Arc::clone(&self.0))
    }
}

impl<T: Send + 'static, M: 'static> Source<T, M> {
    pub(super) fn from_make(
        make: impl Fn(&mut Build) -> Result<(Up<T>, M), Error> + Send + Sync + 'static,
    ) -> Self {
        Source(Arc::new(make), Origin::default())
    }

    /// The same, with what it says of itself.
    pub(super) fn from(self, origin: Origin) -> Self {
        Source(self.0, origin)
    }

    pub(super) fn origin(&self) -> &Origin {
        &self.1
    }

    pub(super) fn make(&self, build: &mut Build) -> Result<(Up<T>, M), Error> {
        self.1.check()?;
        (self.0)(build)
    }

    /// This source, then `flow`. Keeps this source's materialised value.
    #[must_use]
    pub fn via<O: Send + 'static, N: 'static>(&self, flow: Flow<T, O, N>) -> Source<O, M> {
        self.via_mat(flow, |left, _| left)
    }

    /// This source, then `flow`; `combine` makes one materialised value of both.
    #[must_use]
    pub fn via_mat<O: Send + 'static, N: 'static, R: 'static>(
        &self,
        flow: Flow<T, O, N>,
        combine: impl Fn(M, N) -> R + Send + Sync + 'static,
    ) -> Source<O, R> {
        let combine = own(combine);
        let (source, origin) = (self.clone(), self.1.then(&flow.1));
        Source::from_make(move |build| {
            let (up, left) = source.make(build)?;
            let (up, right) = flow.make(build, up)?;
            Ok((up, combine(left, right)))
        })
        .from(origin)
    }

    /// Closed by `sink`. Keeps the sink's materialised value.
    #[must_use]
    pub fn to<N: 'static>(&self, sink: Sink<T, N>) -> RunnableGraph<N> {
        self.to_mat(sink, |_, right| right)
    }

    /// Closed by `sink`; `combine` makes one materialised value of both.
    #[must_use]
    pub fn to_mat<N: 'static, R: 'static>(
        &self,
        sink: Sink<T, N>,
        combine: impl Fn(M, N) -> R + Send + Sync + 'static,
    ) -> RunnableGraph<R> {
        let combine = own(combine);
        let (source, origin) = (self.clone(), self.1.then(&sink.1));
        RunnableGraph(Arc::new(move |build| {
            origin.check()?;
            let (up, left) = source.make(build)?;
            let right = sink.make(build, up)?;
            Ok(combine(left, right))
        }))
    }

    /// The same with another materialised value.
    #[must_use]
    pub fn map_mat<R: 'static>(
        &self,
        change: impl Fn(M) -> R + Send + Sync + 'static,
    ) -> Source<T, R> {
        let change = own(change);
        let source = self.clone();
        Source::from_make(move |build| {
            let (up, left) = source.make(build)?;
            Ok((up, change(left)))
        })
        .from(self.1.clone())
    }

    /// The same under another name in [`Scope::stages`], in errors and in `explain`.
    #[must_use]
    pub fn named(&self, name: impl Into<String>) -> Self {
        let (source, name) = (self.clone(), name.into());
        Source::from_make(move |build| build.named(&name, |build| source.make(build)))
            .from(self.1.clone())
    }

    /// The same under a name that is its own: one that its user [gives](Self::named) it replaces this. For
    /// who makes stages out of others.
    #[must_use]
    pub fn called(&self, name: impl Into<String>) -> Self {
        let (source, name) = (self.clone(), name.into());
        Source::from_make(move |build| build.called(&name, |build| source.make(build)))
            .from(self.1.clone())
    }
}

impl<I: Send + 'static, O: Send + 'static, M: 'static> Flow<I, O, M> {
    pub(super) fn from_make(
        make: impl Fn(&mut Build, Up<I>) -> Result<(Up<O>, M), Error> + Send + Sync + 'static,
    ) -> Self {
        Flow(Arc::new(make), Through::of(Tempo::FREE))
    }

    /// The same, with what it says of itself.
    pub(super) fn through(self, through: Through) -> Self {
        Flow(self.0, through)
    }

    /// The same, at this tempo.
    pub(super) fn at(self, tempo: Tempo) -> Self {
        self.through(Through::of(tempo))
    }

    pub(super) fn tempo(&self) -> Tempo {
        self.1.tempo
    }

    pub(super) fn make(&self, build: &mut Build, up: Up<I>) -> Result<(Up<O>, M), Error> {
        (self.0)(build, up)
    }

    /// This flow, then `next`. Keeps this flow's materialised value.
    #[must_use]
    pub fn via<P: Send + 'static, N: 'static>(&self, next: Flow<O, P, N>) -> Flow<I, P, M> {
        self.via_mat(next, |left, _| left)
    }

    /// This flow, then `next`; `combine` makes one materialised value of both.
    #[must_use]
    pub fn via_mat<P: Send + 'static, N: 'static, R: 'static>(
        &self,
        next: Flow<O, P, N>,
        combine: impl Fn(M, N) -> R + Send + Sync + 'static,
    ) -> Flow<I, P, R> {
        let combine = own(combine);
        let (flow, through) = (self.clone(), self.1.then(&next.1));
        Flow::from_make(move |build, up| {
            let (up, left) = flow.make(build, up)?;
            let (up, right) = next.make(build, up)?;
            Ok((up, combine(left, right)))
        })
        .through(through)
    }

    /// The same with another materialised value.
    #[must_use]
    pub fn map_mat<R: 'static>(
        &self,
        change: impl Fn(M) -> R + Send + Sync + 'static,
    ) -> Flow<I, O, R> {
        let change = own(change);
        let flow = self.clone();
        Flow::from_make(move |build, up| {
            let (up, left) = flow.make(build, up)?;
            Ok((up, change(left)))
        })
        .through(self.1.clone())
    }

    /// Closed downwards by `sink`. Keeps the sink's materialised value.
    #[must_use]
    pub fn to<N: 'static>(&self, sink: Sink<O, N>) -> Sink<I, N> {
        self.to_mat(sink, |_, right| right)
    }

    /// Closed downwards by `sink`; `combine` makes one materialised value of both.
    #[must_use]
    pub fn to_mat<N: 'static, R: 'static>(
        &self,
        sink: Sink<O, N>,
        combine: impl Fn(M, N) -> R + Send + Sync + 'static,
    ) -> Sink<I, R> {
        let combine = own(combine);
        let (flow, through) = (self.clone(), self.1.then(&sink.1));
        Sink::from_make(move |build, up| {
            let (up, left) = flow.make(build, up)?;
            let right = sink.make(build, up)?;
            Ok(combine(left, right))
        })
        .through(through)
    }

    /// The same under another name in [`Scope::stages`], in errors and in `explain`.
    #[must_use]
    pub fn named(&self, name: impl Into<String>) -> Self {
        let (flow, name) = (self.clone(), name.into());
        Flow::from_make(move |build, up| build.named(&name, |build| flow.make(build, up)))
            .through(self.1.clone())
    }

    /// The same under a name that is its own: one that its user [gives](Self::named) it replaces this. For
    /// who makes stages out of others.
    #[must_use]
    pub fn called(&self, name: impl Into<String>) -> Self {
        let (flow, name) = (self.clone(), name.into());
        Flow::from_make(move |build, up| build.called(&name, |build| flow.make(build, up)))
            .through(self.1.clone())
    }
}

impl<I: Send + 'static, M: 'static> Sink<I, M> {
    pub(super) fn from_make(
        make: impl Fn(&mut Build, Up<I>) -> Result<M, Error> + Send + Sync + 'static,
    ) -> Self {
        Sink(Arc::new(make), Through::of(Tempo::EACH))
    }

    /// The same, with what it says of itself.
    fn through(self, through: Through) -> Self {
        Sink(self.0, through)
    }

    pub(super) fn make(&self, build: &mut Build, up: Up<I>) -> Result<M, Error> {
        (self.0)(build, up)
    }

    /// The same with another materialised value.
    #[must_use]
    pub fn map_mat<R: 'static>(
        &self,
        change: impl Fn(M) -> R + Send + Sync + 'static,
    ) -> Sink<I, R> {
        let change = own(change);
        let sink = self.clone();
        Sink::from_make(move |build, up| Ok(change(sink.make(build, up)?))).through(self.1.clone())
    }

    /// The same under another name in [`Scope::stages`], in errors and in `explain`.
    #[must_use]
    pub fn named(&self, name: impl Into<String>) -> Self {
        let (sink, name) = (self.clone(), name.into());
        Sink::from_make(move |build, up| build.named(&name, |build| sink.make(build, up)))
            .through(self.1.clone())
    }

    /// The same under a name that is its own: one that its user [gives](Self::named) it replaces this. For
    /// who makes stages out of others.
    #[must_use]
    pub fn called(&self, name: impl Into<String>) -> Self {
        let (sink, name) = (self.clone(), name.into());
        Sink::from_make(move |build, up| build.called(&name, |build| sink.make(build, up)))
            .through(self.1.clone())
    }
}

impl<M> RunnableGraph<M> {
    /// Runs it: fresh stages, fresh edges, a fresh materialised value. If anything cannot be made,
    /// everything that this attempt made is taken back.
    ///
    /// # Errors
    /// `PlanRefused` for a plan that could lock up; `ScopeShutDown`; what a stage or a combiner failed with, `StageFailed` if it panicked;
    /// `LimitReached` if the system has no thread left.
    pub fn run(&self, scope: &Scope) -> Result<M, Error> {
        let mut build = Build::new(scope)?;
        let made = catch_unwind(AssertUnwindSafe(|| (self.0)(&mut build)));
        let mat = made.unwrap_or_else(|panic| Err(failed("run", panic)))?;
        build.commit()?;
        Ok(mat)
    }
}

impl<T, M> std::fmt::Debug for Source<T, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Source")
    }
}

impl<I, O, M> std::fmt::Debug for Flow<I, O, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Flow")
    }
}

impl<I, M> std::fmt::Debug for Sink<I, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sink")
    }
}

impl<M> std::fmt::Debug for RunnableGraph<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RunnableGraph")
    }
}
