//! [`Ops`]: the stages as methods of what they follow.

use std::future::Future;
use std::hash::Hash;
use std::time::Duration;

use super::blueprint::{Feedback, Flow, Source};
use super::edge::EdgeOptions;
use crate::error::Error;

/// The stages, written behind the [`Source`] or [`Flow`] that they follow. Each is short for `via` and
/// the constructor of the same name in [`Flow`], which says what it does; here the types of closures
/// are known from what stands before.
///
/// ```
/// use sluicegate::flow::{Ops, Scope, Sink, Source};
///
/// let scope = Scope::new("example")?;
/// let graph = Source::iter(1..=9).map(|n| n * n).filter(|n| n % 2 == 1).batch(2)?.to(Sink::collect());
/// assert_eq!(graph.run(&scope)?.blocking_wait()?, [vec![1, 9], vec![25, 49], vec![81]]);
/// # Ok::<(), sluicegate::Error>(())
/// ```
#[expect(missing_docs, reason = "each is the constructor of the same name in `Flow`")]
#[expect(clippy::missing_errors_doc, reason = "the same")]
pub trait Ops: Sized {
    /// What comes out.
    type Out: Send + 'static;
    /// The same with another stage behind it.
    type With<O: Send + 'static>;

    /// This, then `flow`.
    #[must_use]
    fn then<O: Send + 'static>(&self, flow: Flow<Self::Out, O>) -> Self::With<O>;

    #[must_use]
    fn map<O, F>(&self, function: F) -> Self::With<O>
    where
        O: Send + 'static,
        F: Fn(Self::Out) -> O + Send + Sync + 'static,
    {
        self.then(Flow::map(function))
    }

    #[must_use]
    fn try_map<O, F>(&self, function: F) -> Self::With<O>
    where
        O: Send + 'static,
        F: Fn(Self::Out) -> Result<O, Error> + Send + Sync + 'static,
    {
        self.then(Flow::try_map(function))
    }

    #[must_use]
    fn filter_map<O, F>(&self, function: F) -> Self::With<O>
    where
        O: Send + 'static,
        F: Fn(Self::Out) -> Option<O> + Send + Sync + 'static,
    {
        self.then(Flow::filter_map(function))
    }

    #[must_use]
    fn try_filter_map<O, F>(&self, function: F) -> Self::With<O>
    where
        O: Send + 'static,
        F: Fn(Self::Out) -> Result<Option<O>, Error> + Send + Sync + 'static,
    {
        self.then(Flow::try_filter_map(function))
    }

    #[must_use]
    fn filter(
        &self,
        pass: impl Fn(&Self::Out) -> bool + Send + Sync + 'static,
    ) -> Self::With<Self::Out> {
        self.then(Flow::filter(pass))
    }

    #[must_use]
    fn try_filter(
        &self,
        pass: impl Fn(&Self::Out) -> Result<bool, Error> + Send + Sync + 'static,
    ) -> Self::With<Self::Out> {
        self.then(Flow::try_filter(pass))
    }

    #[must_use]
    fn tap(&self, look: impl Fn(&Self::Out) + Send + Sync + 'static) -> Self::With<Self::Out> {
        self.then(Flow::tap(look))
    }

    #[must_use]
    fn scan<O, F>(&self, first: O, function: F) -> Self::With<O>
    where
        O: Clone + Send + Sync + 'static,
        F: Fn(O, Self::Out) -> O + Send + Sync + 'static,
    {
        self.then(Flow::scan(first, function))
    }

    #[must_use]
    fn try_scan<O, F>(&self, first: O, function: F) -> Self::With<O>
    where
        O: Clone + Send + Sync + 'static,
        F: Fn(O, Self::Out) -> Result<O, Error> + Send + Sync + 'static,
    {
        self.then(Flow::try_scan(first, function))
    }

    #[must_use]
    fn fold<O, F>(&self, first: O, function: F) -> Self::With<O>
    where
        O: Clone + Send + Sync + 'static,
        F: Fn(O, Self::Out) -> O + Send + Sync + 'static,
    {
        self.then(Flow::fold(first, function))
    }

    #[must_use]
    fn try_fold<O, F>(&self, first: O, function: F) -> Self::With<O>
    where
        O: Clone + Send + Sync + 'static,
        F: Fn(O, Self::Out) -> Result<O, Error> + Send + Sync + 'static,
    {
        self.then(Flow::try_fold(first, function))
    }

    #[must_use]
    fn take(&self, n: u64) -> Self::With<Self::Out> {
        self.then(Flow::take(n))
    }

    #[must_use]
    fn take_while(
        &self,
        pass: impl Fn(&Self::Out) -> bool + Send + Sync + 'static,
    ) -> Self::With<Self::Out> {
        self.then(Flow::take_while(pass))
    }

    #[must_use]
    fn try_take_while(
        &self,
        pass: impl Fn(&Self::Out) -> Result<bool, Error> + Send + Sync + 'static,
    ) -> Self::With<Self::Out> {
        self.then(Flow::try_take_while(pass))
    }

    #[must_use]
    fn drop(&self, n: u64) -> Self::With<Self::Out> {
        self.then(Flow::drop(n))
    }

    #[must_use]
    fn drop_while(
        &self,
        skip: impl Fn(&Self::Out) -> bool + Send + Sync + 'static,
    ) -> Self::With<Self::Out> {
        self.then(Flow::drop_while(skip))
    }

    #[must_use]
    fn try_drop_while(
        &self,
        skip: impl Fn(&Self::Out) -> Result<bool, Error> + Send + Sync + 'static,
    ) -> Self::With<Self::Out> {
        self.then(Flow::try_drop_while(skip))
    }

    fn batch(&self, n: u64) -> Result<Self::With<Vec<Self::Out>>, Error> {
        Ok(self.then(Flow::batch(n)?))
    }

    fn batch_within(&self, n: u64, within: Duration) -> Result<Self::With<Vec<Self::Out>>, Error> {
        Ok(self.then(Flow::batch_within(n, within)?))
    }

    fn batch_bytes(
        &self,
        limit: u64,
        size: impl Fn(&Self::Out) -> u64 + Send + Sync + 'static,
    ) -> Result<Self::With<Vec<Self::Out>>, Error> {
        Ok(self.then(Flow::batch_bytes(limit, size)?))
    }

    fn sliding(&self, size: u64, step: u64) -> Result<Self::With<Vec<Self::Out>>, Error>
    where
        Self::Out: Clone,
    {
        Ok(self.then(Flow::sliding(size, step)?))
    }

    #[must_use]
    fn expand<F, C>(&self, function: F) -> Self::With<C::Item>
    where
        F: Fn(Self::Out) -> C + Send + Sync + 'static,
        C: IntoIterator + 'static,
        C::Item: Send + 'static,
        C::IntoIter: Send + 'static,
    {
        self.then(Flow::expand(function))
    }

    #[must_use]
    fn try_expand<F, C>(&self, function: F) -> Self::With<C::Item>
    where
        F: Fn(Self::Out) -> Result<C, Error> + Send + Sync + 'static,
        C: IntoIterator + 'static,
        C::Item: Send + 'static,
        C::IntoIter: Send + 'static,
    {
        self.then(Flow::try_expand(function))
    }

    #[must_use]
    fn flatten(&self) -> Self::With<<Self::Out as IntoIterator>::Item>
    where
        Self::Out: IntoIterator,
        <Self::Out as IntoIterator>::Item: Send + 'static,
        <Self::Out as IntoIterator>::IntoIter: Send + 'static,
    {
        self.then(Flow::flatten())
    }

    fn page(&self, size: u64) -> Result<Self::With<Self::Out>, Error> {
        Ok(self.then(Flow::page(size)?))
    }

    #[must_use]
    fn buffer(&self, options: EdgeOptions) -> Self::With<Self::Out> {
        self.then(Flow::buffer(options))
    }

    fn map_async<O, F, Fut>(&self, n: u64, function: F) -> Result<Self::With<O>, Error>
    where
        O: Send + 'static,
        F: Fn(Self::Out) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, Error>> + Send + 'static,
    {
        Ok(self.then(Flow::map_async(n, function)?))
    }

    fn map_async_unordered<O, F, Fut>(&self, n: u64, function: F) -> Result<Self::With<O>, Error>
    where
        O: Send + 'static,
        F: Fn(Self::Out) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, Error>> + Send + 'static,
    {
        Ok(self.then(Flow::map_async_unordered(n, function)?))
    }

    fn map_parallel<O, F>(&self, n: u64, function: F) -> Result<Self::With<O>, Error>
    where
        O: Send + 'static,
        F: Fn(Self::Out) -> Result<O, Error> + Send + Sync + 'static,
    {
        Ok(self.then(Flow::map_parallel(n, function)?))
    }

    fn map_parallel_unordered<O, F>(&self, n: u64, function: F) -> Result<Self::With<O>, Error>
    where
        O: Send + 'static,
        F: Fn(Self::Out) -> Result<O, Error> + Send + Sync + 'static,
    {
        Ok(self.then(Flow::map_parallel_unordered(n, function)?))
    }

    fn group_by<K, O, F>(
        &self,
        max_groups: u64,
        slots: u64,
        key: F,
        flow: Flow<Self::Out, O>,
    ) -> Result<Self::With<O>, Error>
    where
        K: Eq + Hash + Send + 'static,
        O: Send + 'static,
        F: Fn(&Self::Out) -> K + Send + Sync + 'static,
    {
        Ok(self.then(Flow::group_by(max_groups, slots, key, flow)?))
    }

    fn try_group_by<K, O, F>(
        &self,
        max_groups: u64,
        slots: u64,
        key: F,
        flow: Flow<Self::Out, O>,
    ) -> Result<Self::With<O>, Error>
    where
        K: Eq + Hash + Send + 'static,
        O: Send + 'static,
        F: Fn(&Self::Out) -> Result<K, Error> + Send + Sync + 'static,
    {
        Ok(self.then(Flow::try_group_by(max_groups, slots, key, flow)?))
    }

    fn feedback<O: Send + 'static>(
        &self,
        capacity: u64,
        body: Flow<Self::Out, Feedback<Self::Out, O>>,
    ) -> Result<Self::With<O>, Error> {
        Ok(self.then(Flow::feedback(capacity, body)?))
    }

    #[must_use]
    fn recover(
        &self,
        function: impl Fn(&Error) -> Option<Self::Out> + Send + Sync + 'static,
    ) -> Self::With<Self::Out> {
        self.then(Flow::recover(function))
    }

    #[must_use]
    fn recover_with(&self, source: Source<Self::Out>) -> Self::With<Self::Out> {
        self.then(Flow::recover_with(source))
    }

    fn throttle(
        &self,
        elements: u64,
        per: Duration,
        burst: u64,
    ) -> Result<Self::With<Self::Out>, Error> {
        Ok(self.then(Flow::throttle(elements, per, burst)?))
    }

    fn delay(&self, by: Duration, room: u64) -> Result<Self::With<Self::Out>, Error> {
        Ok(self.then(Flow::delay(by, room)?))
    }

    #[must_use]
    fn debounce(&self, quiet: Duration) -> Self::With<Self::Out> {
        self.then(Flow::debounce(quiet))
    }

    #[must_use]
    fn conflate<O, S, F>(&self, seed: S, aggregate: F) -> Self::With<O>
    where
        O: Send + 'static,
        S: Fn(Self::Out) -> O + Send + Sync + 'static,
        F: Fn(O, Self::Out) -> O + Send + Sync + 'static,
    {
        self.then(Flow::conflate(seed, aggregate))
    }

    #[must_use]
    fn idle_timeout(&self, limit: Duration) -> Self::With<Self::Out> {
        self.then(Flow::idle_timeout(limit))
    }

    #[must_use]
    fn initial_timeout(&self, limit: Duration) -> Self::With<Self::Out> {
        self.then(Flow::initial_timeout(limit))
    }

    #[must_use]
    fn completion_timeout(&self, limit: Duration) -> Self::With<Self::Out> {
        self.then(Flow::completion_timeout(limit))
    }

    #[must_use]
    fn take_within(&self, time: Duration) -> Self::With<Self::Out> {
        self.then(Flow::take_within(time))
    }

    #[must_use]
    fn drop_within(&self, time: Duration) -> Self::With<Self::Out> {
        self.then(Flow::drop_within(time))
    }
}

impl<T: Send + 'static, M: 'static> Ops for Source<T, M> {
    type Out = T;
    type With<O: Send + 'static> = Source<O, M>;

    fn then<O: Send + 'static>(&self, flow: Flow<T, O>) -> Source<O, M> {
        self.via(flow)
    }
}

impl<I: Send + 'static, T: Send + 'static, M: 'static> Ops for Flow<I, T, M> {
    type Out = T;
    type With<O: Send + 'static> = Flow<I, O, M>;

    fn then<O: Send + 'static>(&self, flow: Flow<T, O>) -> Flow<I, O, M> {
        self.via(flow)
    }
}
