//! feedback: a cycle, through a buffer that has a place for everything that goes round.

use std::collections::VecDeque;
use std::task::Poll;

use super::Inlet;
use crate::error::{Error, ErrorKind};
use crate::flow::context::{Context, Signal, Up, Upstream};
use crate::flow::held::Kept;
use crate::flow::meter::Meter;
use crate::flow::plan::{Pace, Tempo};
use crate::flow::{Feedback, Flow, NotUsed};
use crate::model::demand::Stage;
use crate::sync::Arc;
use crate::wait::watched::Watched;

impl<I: Send + 'static, O: Send + 'static> Flow<I, O> {
    /// Each element through `body`, again and again until `body` lets it out: what it answers as
    /// [`Feedback::Again`] goes through it once more, behind what waits there; [`Feedback::Out`] leaves.
    ///
    /// The loop has an edge of `capacity` elements, and a place in it for each element that is in the
    /// loop: a new one is asked for above only while there is a free one. So the loop never waits for
    /// itself, as long as `body` makes exactly one element of each, which its stages must promise:
    /// `map`, `scan`, `tap`, `map_async`, `map_parallel`, `throttle`, `delay`, `buffer` and the like.
    ///
    /// Ends once the upstream has ended and nothing is left in the loop, or when `body` ends.
    ///
    /// # Errors
    /// `PlanRefused`, with the reason, for a capacity of 0, which is a cycle without a buffer, and for
    /// a `body` that may make more or fewer elements than it is given.
    pub fn feedback(capacity: u64, body: Flow<I, Feedback<I, O>>) -> Result<Self, Error> {
        let refused =
            |why: &str| Err(Error::new(ErrorKind::PlanRefused, format!("feedback {why}")));
        if capacity == 0 {
            return refused(
                "of 0 elements is a cycle without a buffer, and locks up: what is to go round again \
                 waits for room, and room is made by what waits; give it room for 1 element at least",
            );
        }
        if body.tempo().pace != Pace::Every(1) {
            return refused(
                "through stages that may make more or fewer elements than they are given can lock up: \
                 the loop could not have a place for each element in it, or would wait for one that was \
                 dropped; the body makes one of each, and what filters or expands goes behind the loop",
            );
        }
        Ok(Flow::from_make(move |build, up| {
            let meter = build.meter("feedback", Stage::each(capacity).expect("not 0"));
            let round = Arc::new(Round(Watched::new(Kept::default())));
            let again = build.meter("feedback again", Stage::each(capacity).expect("not 0"));
            let turn = Turn { round: Arc::clone(&round), meter: again, key: None };
            let (body, NotUsed) = body.make(build, Box::new(turn))?;
            let inlet = Inlet::new(up, meter);
            let (inside, out) = (0, Kept::default());
            Ok((Box::new(Loop { inlet, round, body, inside, out }), NotUsed))
        })
        .at(Tempo::EACH))
    }
}

/// The edge of the loop: what waits to go through the body. There are no more elements in the loop
/// than the stage's meter lets in, so it is never full.
struct Round<I>(Watched<Kept<VecDeque<I>>>);

/// The first stage of the body, on whatever island that has it.
struct Turn<I> {
    round: Arc<Round<I>>,
    meter: Meter,
    key: Option<u64>,
}

impl<I: Send> Upstream<I> for Turn<I> {
    fn request(&mut self, n: u64) {
        self.meter.request(n);
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<I>> {
        if !self.meter.wanted() {
            return Poll::Pending;
        }
        let next = self.round.0.ask(&mut self.key, context.waker(), |waiting| waiting.pop_front());
        let Some(element) = next else { return Poll::Pending };
        let accepted = self.meter.arrive();
        debug_assert!(accepted, "it asks itself for what it is asked for");
        self.meter.emit(1);
        Poll::Ready(Signal::Next(element))
    }
}

impl<I> Drop for Turn<I> {
    fn drop(&mut self) {
        self.round.0.forget(&mut self.key);
    }
}

struct Loop<I, O> {
    /// Counts what is in the loop as held.
    inlet: Inlet<I>,
    round: Arc<Round<I>>,
    body: Up<Feedback<I, O>>,
    /// Elements in the loop.
    inside: u64,
    /// What has left the loop and is not wanted yet.
    out: Kept<Option<O>>,
}

impl<I: Send, O: Send> Loop<I, O> {
    /// One element more goes through the body, which is asked for what it makes of it.
    fn enter(&mut self, element: I) {
        self.round.0.update(|waiting| waiting.push_back(element));
        self.body.request(1);
    }
}

impl<I: Send, O: Send> Upstream<O> for Loop<I, O> {
    fn request(&mut self, n: u64) {
        self.inlet.request(n);
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<O>> {
        while !context.stopping() {
            if self.out.is_some() {
                if !self.inlet.wanted() {
                    return Poll::Pending;
                }
                self.inlet.emit(1);
                let out = self.out.take();
                return Poll::Ready(out.map_or(Signal::Complete, Signal::Next));
            }
            match self.inlet.pull(context) {
                Poll::Ready(Some(element)) => {
                    self.inside = self.inside.saturating_add(1);
                    self.enter(element);
                    continue;
                }
                Poll::Ready(None) if self.inside == 0 => return self.inlet.end(),
                Poll::Ready(None) | Poll::Pending => {}
            }
            match self.body.poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Signal::Next(Feedback::Out(out))) => {
                    self.inside = self.inside.saturating_sub(1);
                    *self.out = Some(out);
                }
                Poll::Ready(Signal::Next(Feedback::Again(element))) => self.enter(element),
                Poll::Ready(Signal::Complete) => {
                    self.inlet.close(Ok(()));
                    return Poll::Ready(Signal::Complete);
                }
                Poll::Ready(Signal::Fail(error)) => return self.inlet.fail(error),
            }
        }
        Poll::Pending
    }
}
