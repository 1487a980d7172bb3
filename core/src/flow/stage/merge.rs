//! merge, concat: the elements of several inputs as one stream.

use std::task::Poll;

use super::input::{Input, Look};
use crate::error::Error;
use crate::flow::build::Build;
use crate::flow::context::{Context, Signal, Up, Upstream};
use crate::flow::plan::{Lines, Origin, Through};
use crate::flow::{Flow, NotUsed, Source};

/// Inputs that take turns. Each is asked for one element as long as any is wanted below, so that what
/// was asked for and came too late for this output is held for the next: one of each input at most.
pub(in crate::flow) struct Turns<T> {
    inputs: Vec<Input<T>>,
    /// Whose turn it is.
    next: usize,
    /// The first input goes before the others whenever it can.
    prefer: bool,
}

impl<T: Send> Turns<T> {
    pub(in crate::flow) fn new(inputs: Vec<Input<T>>, prefer: bool) -> Self {
        Turns { inputs, next: 0, prefer }
    }

    pub(in crate::flow) fn push(&mut self, input: Input<T>) {
        self.inputs.push(input);
    }

    pub(in crate::flow) fn request(&mut self, n: u64) {
        self.inputs.iter_mut().for_each(|input| input.request(n));
    }

    /// The next element, of whose turn it is; `Complete` once all have ended. An input that ended is
    /// forgotten. A failure comes at once; what others hold goes with the stage.
    pub(in crate::flow) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<T>> {
        let mut over = Vec::new();
        let mut signal = None;
        for at in self.order() {
            match self.inputs[at].look(context) {
                Look::Held if self.inputs[at].wanted() => {
                    signal = Some(Signal::Next(self.take(at)));
                    break;
                }
                Look::Held | Look::Waits => {}
                Look::Over => over.push(at),
                Look::Failed(error) => {
                    over.push(at);
                    signal = Some(Signal::Fail(error));
                    break;
                }
            }
        }
        over.sort_unstable();
        for at in over.into_iter().rev() {
            self.forget(at);
        }
        match signal {
            Some(signal) => Poll::Ready(signal),
            None if self.inputs.is_empty() => Poll::Ready(Signal::Complete),
            None => {
                self.inputs.iter_mut().for_each(|input| input.look_past(context));
                Poll::Pending
            }
        }
    }

    fn order(&self) -> impl Iterator<Item = usize> + use<T> {
        let (n, next, prefer) = (self.inputs.len(), self.next, self.prefer);
        let others = (0..n).map(move |k| next.wrapping_add(k) % n);
        let first = if prefer && n != 0 { Some(0) } else { None };
        first.into_iter().chain(others.filter(move |at| Some(*at) != first))
    }

    fn take(&mut self, from: usize) -> T {
        for (at, input) in self.inputs.iter_mut().enumerate() {
            if at != from {
                input.pass_by();
            }
        }
        if !(self.prefer && from == 0) {
            self.next = from.wrapping_add(1);
        }
        self.inputs[from].take()
    }

    fn forget(&mut self, at: usize) {
        self.inputs.remove(at);
        if self.next > at {
            self.next = self.next.saturating_sub(1);
        }
        if at == 0 {
            self.prefer = false; // the preferred one has ended
        }
    }
}

impl<T: Send> Upstream<T> for Turns<T> {
    fn request(&mut self, n: u64) {
        Turns::request(self, n);
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<T>> {
        if context.stopping() {
            return Poll::Pending;
        }
        Turns::poll(self, context)
    }
}

/// Inputs one after the other.
struct Concat<T> {
    /// The current one is the last.
    inputs: Vec<Input<T>>,
}

impl<T: Send> Upstream<T> for Concat<T> {
    fn request(&mut self, n: u64) {
        if let Some(input) = self.inputs.last_mut() {
            input.request(n);
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<T>> {
        loop {
            let Some(input) = self.inputs.last_mut() else { return Poll::Ready(Signal::Complete) };
            match input.look(context) {
                Look::Held if input.wanted() => return Poll::Ready(Signal::Next(input.take())),
                Look::Held | Look::Waits => return Poll::Pending,
                Look::Failed(error) => return Poll::Ready(Signal::Fail(error)),
                Look::Over => {
                    let owed = input.owed();
                    self.inputs.pop();
                    if let Some(next) = self.inputs.last_mut() {
                        next.request(owed); // what the one before still owed
                    }
                }
            }
        }
    }
}

type Made<T, M> = (Vec<Input<T>>, Vec<M>);

fn make_all<T: Send + 'static, M: 'static>(
    build: &mut Build,
    kind: &'static str,
    room: u64,
    sources: &[Source<T, M>],
) -> Result<Made<T, M>, Error> {
    let mut made = (Vec::with_capacity(sources.len()), Vec::with_capacity(sources.len()));
    for source in sources {
        let (up, mat) = source.make(build)?;
        made.0.push(Input::with_room(build, kind, up, room));
        made.1.push(mat);
    }
    Ok(made)
}

impl<T: Send + 'static, M: 'static> Source<T, M> {
    /// The elements of all sources as they come; those that have one take turns. Each source is asked
    /// for one element at a time and may be one ahead. Ends when all have ended, fails with the first
    /// that fails. Without sources it ends at once.
    #[must_use]
    pub fn merge_all(sources: Vec<Source<T, M>>) -> Source<T, Vec<M>> {
        let origin = Origin::all(sources.iter().map(Source::origin), false);
        Source::from_make(move |build| {
            let (inputs, mats) = make_all(build, "merge", 1, &sources)?;
            Ok((Box::new(Turns::new(inputs, false)), mats))
        })
        .from(origin)
    }

    /// The elements of this source and of `other`, as [`merge_all`](Self::merge_all). Keeps this
    /// source's materialised value.
    #[must_use]
    pub fn merge<N: 'static>(&self, other: Source<T, N>) -> Source<T, M> {
        self.via(Flow::merge_with("merge", vec![other], false))
    }

    /// The elements of this source before those of `others` whenever both have one; the others take
    /// turns. While this source always has one, the others wait.
    #[must_use]
    pub fn merge_prefer<N: 'static>(&self, others: Vec<Source<T, N>>) -> Source<T, M> {
        self.via(Flow::merge_with("merge_prefer", others, true))
    }

    /// The same with the values of all: the first source is the preferred one. Without sources it ends
    /// at once.
    #[must_use]
    pub fn merge_prefer_all(sources: Vec<Source<T, M>>) -> Source<T, Vec<M>> {
        let origin = Origin::all(sources.iter().map(Source::origin), false);
        Source::from_make(move |build| {
            let (inputs, mats) = make_all(build, "merge_prefer", 1, &sources)?;
            Ok((Box::new(Turns::new(inputs, true)), mats))
        })
        .from(origin)
    }

    /// All elements of the first source, then those of the next. A later source is made with the
    /// first, and is asked for nothing before its turn. Without sources it ends at once.
    #[must_use]
    pub fn concat_all(sources: Vec<Source<T, M>>) -> Source<T, Vec<M>> {
        let origin = Origin::all(sources.iter().map(Source::origin), false);
        Source::from_make(move |build| {
            let (mut inputs, mats) = make_all(build, "concat", u64::MAX, &sources)?;
            inputs.reverse();
            Ok((Box::new(Concat { inputs }), mats))
        })
        .from(origin)
    }

    /// The elements of this source, then those of `next`, as [`concat_all`](Self::concat_all). Keeps
    /// this source's materialised value.
    #[must_use]
    pub fn concat<N: 'static>(&self, next: Source<T, N>) -> Source<T, M> {
        self.via(Flow::concat_with(next))
    }
}

impl<I: Send + 'static, T: Send + 'static, M: 'static> Flow<I, T, M> {
    /// What this flow gives and the elements of `other`, as [`Source::merge`].
    #[must_use]
    pub fn merge<N: 'static>(&self, other: Source<T, N>) -> Flow<I, T, M> {
        self.via(Flow::merge_with("merge", vec![other], false))
    }

    /// What this flow gives, then the elements of `next`, as [`Source::concat`].
    #[must_use]
    pub fn concat<N: 'static>(&self, next: Source<T, N>) -> Flow<I, T, M> {
        self.via(Flow::concat_with(next))
    }
}

impl<T: Send + 'static> Flow<T, T> {
    fn merge_with<N: 'static>(kind: &'static str, others: Vec<Source<T, N>>, prefer: bool) -> Self {
        let lines = others.iter().fold(Lines::default(), |all, one| all.with(&one.origin().lines));
        Flow::from_make(move |build, up: Up<T>| {
            let mut inputs = vec![Input::new(build, kind, up)];
            inputs.extend(make_all(build, kind, 1, &others)?.0);
            Ok((Box::new(Turns::new(inputs, prefer)), NotUsed))
        })
        .through(Through::mixing(&lines))
    }

    fn concat_with<N: 'static>(next: Source<T, N>) -> Self {
        let through = Through::mixing(&next.origin().lines);
        Flow::from_make(move |build, up: Up<T>| {
            let first = Input::with_room(build, "concat", up, u64::MAX);
            let (up, _) = next.make(build)?;
            let next = Input::with_room(build, "concat", up, u64::MAX);
            Ok((Box::new(Concat { inputs: vec![next, first] }), NotUsed))
        })
        .through(through)
    }
}
