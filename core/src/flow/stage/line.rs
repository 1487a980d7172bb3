//! The shell of every stage that turns one input into one output or none.

use std::task::{Poll, ready};

use crate::error::Error;
use crate::flow::context::{Context, Gone, Signal, Up, Upstream};
use crate::flow::guard::guarded;
use crate::flow::held::Kept;
use crate::flow::meter::Meter;
use crate::model::demand::is_request;

/// What a stage makes of one input.
pub(in crate::flow) enum Verdict<O> {
    /// This output.
    Emit(O),
    /// Nothing: the input has spent demand above, so another is asked for.
    Drop,
    /// This output, and it was the last.
    Last(O),
    /// Nothing, and the stage is done.
    End,
}

/// The part of such a stage that differs.
pub(in crate::flow) trait Step<I, O>: Send {
    /// One input. A user's function is called here; what it throws fails the stream.
    fn step(&mut self, input: I) -> Result<Verdict<O>, Error>;

    /// What is still to be handed down once the upstream has completed.
    fn rest(&mut self) -> Result<Option<O>, Error> {
        Ok(None)
    }

    /// How many of `n` that were asked for this stage will ever hand down.
    fn limit(&mut self, n: u64) -> u64 {
        n
    }

    /// True before the first input: the stage hands nothing down in its whole life.
    fn is_empty(&self) -> bool {
        false
    }
}

/// The shell: demand, terminals and failures are the same for all of them.
pub(in crate::flow) struct Line<I, O, S> {
    up: Up<I>,
    meter: Meter,
    step: S,
    ended: bool,
    rest: Kept<Option<O>>,
}

impl<I, O, S: Step<I, O>> Line<I, O, S> {
    pub(in crate::flow) fn new(up: Up<I>, meter: Meter, step: S) -> Self {
        Line { up, meter, step, ended: false, rest: Kept::default() }
    }

    /// Cancels the upstream at once.
    fn cancel(&mut self) {
        self.ended = true;
        self.up = Box::new(Gone);
    }

    fn ask(&mut self, n: u64) {
        if is_request(n) {
            self.up.request(n);
        }
    }
}

impl<I, O, S> Upstream<O> for Line<I, O, S>
where
    I: Send,
    O: Send,
    S: Step<I, O>,
{
    fn request(&mut self, n: u64) {
        let n = self.step.limit(n);
        let ask = self.meter.request(n);
        self.ask(ask);
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<O>> {
        if !self.ended && self.step.is_empty() {
            self.cancel();
        }
        loop {
            if self.ended {
                if self.rest.is_none() {
                    return Poll::Ready(Signal::Complete);
                }
                if !self.meter.wanted() {
                    return Poll::Pending;
                }
                self.meter.emit(0);
                let rest = self.rest.take();
                return Poll::Ready(rest.map_or(Signal::Complete, Signal::Next));
            }
            if context.stopping() {
                return Poll::Pending;
            }
            let input = match ready!(self.up.poll(context)) {
                Signal::Next(input) => input,
                Signal::Complete => {
                    self.meter.finish();
                    self.cancel();
                    match guarded(self.meter.name(), || self.step.rest()) {
                        Ok(rest) => *self.rest = rest,
                        Err(error) => return Poll::Ready(Signal::Fail(error)),
                    }
                    continue;
                }
                Signal::Fail(error) => return Poll::Ready(Signal::Fail(error)),
            };
            if !self.meter.arrive() {
                continue;
            }
            match guarded(self.meter.name(), || self.step.step(input)) {
                Ok(Verdict::Emit(output)) => {
                    let ask = self.meter.emit(1);
                    self.ask(ask);
                    return Poll::Ready(Signal::Next(output));
                }
                Ok(Verdict::Drop) => {
                    let ask = self.meter.discard();
                    self.ask(ask);
                }
                Ok(Verdict::Last(output)) => {
                    self.meter.finish();
                    self.meter.emit(1);
                    self.cancel();
                    return Poll::Ready(Signal::Next(output));
                }
                Ok(Verdict::End) => {
                    self.meter.finish();
                    self.meter.discard();
                    self.cancel();
                }
                Err(error) => {
                    self.cancel();
                    return Poll::Ready(Signal::Fail(error));
                }
            }
        }
    }
}
