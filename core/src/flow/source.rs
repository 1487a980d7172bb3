//! Where elements come from: iterators, a hand, nothing.

use std::task::Poll;

use super::blueprint::{NotUsed, Source};
use super::build::Build;
use super::context::{Context, Signal, Upstream};
use super::edge::{Credit, EdgeCore, EdgeOptions, EdgeOut, SizeOf};
use super::guard::guarded;
use super::held::{Kept, own};
use super::manual::Manual;
use super::meter::Meter;
use crate::error::Error;
use crate::model::demand::Stage;
use crate::sync::Arc;

/// What a source pulls from, made anew for each run.
type Pull<T> = Box<dyn FnMut() -> Result<Option<T>, Error> + Send>;

/// A source that is a function, called once for each element that was asked for.
struct Pulled<T> {
    pull: Kept<Option<Pull<T>>>,
    meter: Meter,
}

impl<T: Send> Upstream<T> for Pulled<T> {
    fn request(&mut self, n: u64) {
        self.meter.request(n);
    }

    fn poll(&mut self, _: &mut Context<'_>) -> Poll<Signal<T>> {
        if !self.meter.wanted() {
            return Poll::Pending; // asked again when more is requested: by the same island
        }
        match guarded(self.meter.name(), || self.pull.as_mut().map_or(Ok(None), |pull| pull())) {
            Ok(Some(element)) => {
                let _asked_of_itself = self.meter.arrive();
                self.meter.emit(1);
                Poll::Ready(Signal::Next(element))
            }
            Ok(None) => Poll::Ready(Signal::Complete),
            Err(error) => Poll::Ready(Signal::Fail(error)),
        }
    }
}

/// A source that ends at once, in one way or the other.
struct Ended(Option<Error>);

impl<T> Upstream<T> for Ended {
    fn request(&mut self, _: u64) {}

    fn poll(&mut self, _: &mut Context<'_>) -> Poll<Signal<T>> {
        Poll::Ready(self.0.take().map_or(Signal::Complete, Signal::Fail))
    }
}

impl<T: Send + 'static> Source<T> {
    pub(super) fn pulled(
        kind: &'static str,
        make: impl Fn() -> Result<Pull<T>, Error> + Send + Sync + 'static,
    ) -> Self {
        let make = own(make);
        Source::from_make(move |build| {
            let pull = guarded(kind, || make())?;
            let meter = build.meter(kind, Stage::each(u64::MAX).expect("not 0"));
            let pull = Kept::new(Some(pull));
            Ok((Box::new(Pulled { pull, meter }), NotUsed))
        })
    }

    /// The elements of `items`, which is cloned for each run.
    #[must_use]
    pub fn iter<C>(items: C) -> Self
    where
        C: IntoIterator<Item = T> + Clone + Send + Sync + 'static,
        C::IntoIter: Send + 'static,
    {
        Source::pulled("iter", move || {
            let mut items = items.clone().into_iter();
            Ok(Box::new(move || Ok(items.next())))
        })
    }

    /// What the iterators that `make` makes give, a new one for each run. An error that `make` or the
    /// iterator gives fails the stream.
    #[must_use]
    pub fn try_iter<C, It>(make: C) -> Self
    where
        C: Fn() -> Result<It, Error> + Send + Sync + 'static,
        It: Iterator<Item = Result<T, Error>> + Send + 'static,
    {
        Source::pulled("iter", move || {
            let mut items = make()?;
            Ok(Box::new(move || items.next().transpose()))
        })
    }

    /// One element.
    #[must_use]
    pub fn single(element: T) -> Self
    where
        T: Clone + Sync,
    {
        Source::iter(std::iter::once(element)).called("single")
    }

    /// The same element again and again, without an end.
    #[must_use]
    pub fn repeat(element: T) -> Self
    where
        T: Clone + Sync,
    {
        Source::iter(std::iter::repeat(element)).called("repeat")
    }

    /// No element, and the end.
    #[must_use]
    pub fn empty() -> Self {
        Source::from_make(|_| Ok((Box::new(Ended(None)), NotUsed)))
    }

    /// No element, and this failure.
    #[must_use]
    pub fn failed(error: Error) -> Self {
        Source::from_make(move |_| Ok((Box::new(Ended(Some(error.clone()))), NotUsed)))
    }

    /// Elements out of a state: each call takes the state and gives the next one and an element, or
    /// `None` at the end.
    #[must_use]
    pub fn unfold<S>(
        first: S,
        next: impl Fn(S) -> Result<Option<(S, T)>, Error> + Send + Sync + 'static,
    ) -> Self
    where
        S: Clone + Send + Sync + 'static,
    {
        let next = own(next);
        Source::pulled("unfold", move || {
            let (mut state, next) = (Some(first.clone()), Arc::clone(&next));
            Ok(Box::new(move || {
                let Some(now) = state.take() else { return Ok(None) };
                Ok(next(now)?.map(|(after, element)| {
                    state = Some(after);
                    element
                }))
            }))
        })
    }
}

impl Source<u64> {
    /// The numbers of `range`, one by one.
    #[must_use]
    pub fn range(range: std::ops::Range<u64>) -> Self {
        Source::iter(range).called("range")
    }
}

impl<T: Send + 'static> Source<T, Manual<T>> {
    /// A source that is fed through its control, by an edge of its own.
    #[must_use]
    pub fn manual(options: EdgeOptions) -> Self {
        Self::manual_sized(options, |_| 0)
    }

    /// The same for an edge that is limited in bytes: `size` tells the bytes of an element.
    #[must_use]
    pub fn manual_sized(
        options: EdgeOptions,
        size: impl Fn(&T) -> u64 + Send + Sync + 'static,
    ) -> Self {
        let size = own(size);
        let size: SizeOf<T> = Arc::new(move |element: &T| size(element));
        Source::from_make(move |build| {
            let (up, core) = edge(build, "manual", options, Credit::Each, Arc::clone(&size));
            Ok((Box::new(up), Manual::new(core)))
        })
    }
}

/// An edge whose consumer is a stage of what is being built.
pub(super) fn edge<T: Send + 'static>(
    build: &mut Build,
    kind: &str,
    options: EdgeOptions,
    told: Credit,
    size: SizeOf<T>,
) -> (EdgeOut<T>, Arc<EdgeCore<T>>) {
    let core = EdgeCore::new(options, told, size);
    // What was asked for and has not come is what the producer may send: no more than fits.
    let room = if told == Credit::Asked { options.elements() } else { u64::MAX };
    let meter = build.meter(kind, Stage::each(room).expect("the options hold no zero"));
    let queue = Arc::downgrade(&core);
    meter.view().reads(Box::new(move || queue.upgrade().map(|core| core.counts())));
    (EdgeOut::new(Arc::clone(&core), meter), core)
}
