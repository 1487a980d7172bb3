//! The upper side of a stage that has a shape of its own: its upstream, its counters, its end.

use std::task::{Poll, ready};

use crate::error::Error;
use crate::flow::context::{Context, Gone, Signal, Up};
use crate::flow::meter::Meter;
use crate::model::demand::is_request;

/// An upstream with the stage's two counters. What is asked for above is passed on here, and nowhere
/// else.
pub(in crate::flow) struct Inlet<I> {
    up: Up<I>,
    meter: Meter,
    /// How the upstream ended, until that is told below.
    end: Option<Result<(), Error>>,
}

impl<I> Inlet<I> {
    pub(in crate::flow) fn new(up: Up<I>, meter: Meter) -> Self {
        Inlet { up, meter, end: None }
    }

    fn ask(&mut self, n: u64) {
        if is_request(n) {
            self.up.request(n);
        }
    }

    /// Connects a stage that reads ahead. Later calls do nothing.
    pub(in crate::flow) fn start(&mut self) {
        let ask = self.meter.start();
        self.ask(ask);
    }

    pub(in crate::flow) fn request(&mut self, n: u64) {
        let ask = self.meter.request(n);
        self.ask(ask);
    }

    pub(in crate::flow) fn name(&self) -> &str {
        self.meter.name()
    }

    /// May an output be handed down?
    pub(in crate::flow) fn wanted(&self) -> bool {
        self.meter.wanted()
    }

    /// Was anything asked for above that has not arrived?
    pub(in crate::flow) fn awaits(&self) -> bool {
        self.meter.awaits()
    }

    /// Outputs that were asked for and have not left.
    pub(in crate::flow) fn owed(&self) -> u64 {
        self.meter.owed()
    }

    /// What the upstream failed with, if that is how it ended.
    pub(in crate::flow) fn failure(&self) -> Option<&Error> {
        self.end.as_ref()?.as_ref().err()
    }

    /// True once nothing more comes from above.
    pub(in crate::flow) fn ended(&self) -> bool {
        self.end.is_some()
    }

    /// The next input, which the stage holds from now on; `None` once nothing more comes.
    pub(in crate::flow) fn pull(&mut self, context: &mut Context<'_>) -> Poll<Option<I>> {
        while self.end.is_none() {
            match ready!(self.up.poll(context)) {
                Signal::Next(input) => {
                    if self.meter.arrive() {
                        return Poll::Ready(Some(input));
                    }
                }
                Signal::Complete => self.close(Ok(())),
                Signal::Fail(error) => self.close(Err(error)),
            }
        }
        Poll::Ready(None)
    }

    /// An output leaves and `inputs` with it.
    pub(in crate::flow) fn emit(&mut self, inputs: u64) {
        let ask = self.meter.emit(inputs);
        self.ask(ask);
    }

    /// An input leaves without an output.
    pub(in crate::flow) fn discard(&mut self) {
        let ask = self.meter.discard();
        self.ask(ask);
    }

    /// The upstream is not wanted any more, or is over: it is dropped here.
    pub(in crate::flow) fn close(&mut self, end: Result<(), Error>) {
        self.meter.finish();
        self.up = Box::new(Gone);
        self.end.get_or_insert(end);
    }

    /// Cancels the upstream, and the answer that fails the downstream.
    pub(in crate::flow) fn fail<O>(&mut self, error: Error) -> Poll<Signal<O>> {
        self.close(Ok(()));
        Poll::Ready(Signal::Fail(error))
    }

    /// The failure of the upstream, if that is how it ended: from now on it has completed.
    pub(in crate::flow) fn mend(&mut self) -> Option<Error> {
        match self.end.replace(Ok(())) {
            Some(Err(error)) => Some(error),
            _ => None,
        }
    }

    /// How the upstream ended, for the downstream. Pending before that.
    pub(in crate::flow) fn end<O>(&mut self) -> Poll<Signal<O>> {
        match self.end.clone() {
            None => Poll::Pending,
            Some(Ok(())) => Poll::Ready(Signal::Complete),
            Some(Err(error)) => Poll::Ready(Signal::Fail(error)),
        }
    }
}
