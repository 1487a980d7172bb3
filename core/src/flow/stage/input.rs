//! One of several inputs of a stage, with a meter of its own and room for one element.

use std::task::Poll;

use crate::error::Error;
use crate::flow::build::Build;
use crate::flow::context::{Context, Signal, Up};
use crate::flow::held::Kept;
use crate::flow::meter::Meter;
use crate::model::demand::{Stage, is_request};

pub(in crate::flow) struct Input<T> {
    up: Option<Up<T>>,
    meter: Meter,
    held: Kept<Option<T>>,
    /// What the upstream failed with, while an element stands before that.
    failure: Option<Error>,
}

/// How an input stands.
pub(in crate::flow) enum Look {
    /// It holds an element.
    Held,
    /// It waits for one; the waker is left behind.
    Waits,
    /// It holds nothing and has ended.
    Over,
    Failed(Error),
}

impl<T: Send> Input<T> {
    /// An input that asks for one element at a time.
    pub(in crate::flow) fn new(build: &mut Build, kind: &str, up: Up<T>) -> Self {
        Self::with_room(build, kind, up, 1)
    }

    /// The same, asking for as many as are asked for below, up to `room`.
    pub(in crate::flow) fn with_room(build: &mut Build, kind: &str, up: Up<T>, room: u64) -> Self {
        let meter = build.meter(kind, Stage::each(room).expect("room for one at least"));
        Input { up: Some(up), meter, held: Kept::default(), failure: None }
    }

    pub(in crate::flow) fn name(&self) -> &str {
        self.meter.name()
    }

    /// True if an output may leave.
    pub(in crate::flow) fn wanted(&self) -> bool {
        self.meter.wanted()
    }

    pub(in crate::flow) fn holds(&self) -> bool {
        self.held.is_some()
    }

    /// Outputs that were asked for and have not left.
    pub(in crate::flow) fn owed(&self) -> u64 {
        self.meter.owed()
    }

    pub(in crate::flow) fn request(&mut self, n: u64) {
        let ask = self.meter.request(n);
        self.ask(ask);
    }

    fn ask(&mut self, n: u64) {
        if is_request(n)
            && let Some(up) = &mut self.up
        {
            up.request(n);
        }
    }

    /// Has the next element at hand, if it can be had. An element that is held is never overtaken by
    /// the end.
    pub(in crate::flow) fn look(&mut self, context: &mut Context<'_>) -> Look {
        loop {
            if self.held.is_some() {
                return Look::Held;
            }
            let Some(up) = &mut self.up else {
                return self.failure.take().map_or(Look::Over, Look::Failed);
            };
            match up.poll(context) {
                Poll::Pending => return Look::Waits,
                Poll::Ready(Signal::Next(element)) => {
                    if self.meter.arrive() {
                        *self.held = Some(element);
                    }
                }
                Poll::Ready(Signal::Complete) => self.cancel(),
                Poll::Ready(Signal::Fail(error)) => {
                    self.cancel();
                    return Look::Failed(error);
                }
            }
        }
    }

    /// Has the stages above go on while it holds an element that cannot leave: a page fills itself, an
    /// end is heard, and told once the element has left.
    pub(in crate::flow) fn look_past(&mut self, context: &mut Context<'_>) {
        while self.held.is_some()
            && !self.meter.awaits() // there is no room for what would come
            && let Some(up) = &mut self.up
        {
            match up.poll(context) {
                Poll::Pending => return,
                Poll::Ready(Signal::Next(_)) => {
                    let _unasked_is_counted = self.meter.arrive();
                }
                Poll::Ready(Signal::Complete) => self.cancel(),
                Poll::Ready(Signal::Fail(error)) => {
                    self.cancel();
                    self.failure = Some(error);
                }
            }
        }
    }

    /// Takes what it holds, as an output or a part of one.
    ///
    /// # Panics
    /// Without an element, or without demand.
    pub(in crate::flow) fn take(&mut self) -> T {
        let element = self.held.take().expect("looked before");
        let ask = self.meter.emit(1);
        self.ask(ask);
        element
    }

    /// Another input made the output.
    pub(in crate::flow) fn pass_by(&mut self) {
        self.meter.met_elsewhere();
    }

    /// Cancels it. What it holds stays.
    pub(in crate::flow) fn cancel(&mut self) {
        self.meter.finish();
        self.up = None;
    }
}
