//! Pipelines across a link: a stream of a request as a source, a stream of a request as a sink.
//!
//! An input is read against demand only, and reading is what grants credit; an output is written only
//! as far as there is credit, and asks above for the next element once the link has taken the last. So
//! a consumer that asks for nothing stops the producer at the other end, with what the window and the
//! stages hold in between and no more.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Task, Poll, ready};

use super::blueprint::{NotUsed, Sink, Source};
use super::context::{Context, Signal, Up, Upstream};
use super::island::Drive;
use super::meter::Meter;
use super::promise::{Completion, Promise};
use crate::error::{Error, ErrorKind};
use crate::feed::{Feed, FeedItem};
use crate::frame::Value;
use crate::model::demand::Stage;
use crate::stream::{InputStream, Item, OutputStream};
use crate::sync::Mutex;

type Doing<T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send>>;

/// Something outside of the flow that gives elements one by one.
trait Outside: Send + 'static {
    type Element: Send + 'static;

    /// The next element; `None` at the clean end. Dropped, it has taken nothing.
    fn next(&self) -> Doing<Option<Self::Element>>;

    /// The end, once nothing lies before it. Takes nothing.
    fn end(&self) -> Doing<()>;

    /// Nobody reads on.
    fn give_up(&self);
}

impl Outside for InputStream {
    type Element = Item;

    fn next(&self) -> Doing<Option<Item>> {
        Box::pin(self.recv())
    }

    fn end(&self) -> Doing<()> {
        Box::pin(self.drained())
    }

    fn give_up(&self) {
        self.cancel();
    }
}

impl Outside for Feed {
    type Element = FeedItem;

    fn next(&self) -> Doing<Option<FeedItem>> {
        Box::pin(self.recv())
    }

    fn end(&self) -> Doing<()> {
        Box::pin(self.drained())
    }

    fn give_up(&self) {
        self.abandon();
    }
}

/// Reads from outside what was asked for.
struct Read<O: Outside> {
    outside: O,
    meter: Meter,
    next: Option<Doing<Option<O::Element>>>,
    end: Option<Doing<()>>,
    over: bool,
}

impl<O: Outside> Upstream<O::Element> for Read<O> {
    fn request(&mut self, n: u64) {
        self.meter.request(n);
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<O::Element>> {
        let mut task = Task::from_waker(context.waker());
        let answer = if self.meter.wanted() {
            let next = self.next.get_or_insert_with(|| self.outside.next());
            ready!(next.as_mut().poll(&mut task))
        } else {
            let end = self.end.get_or_insert_with(|| self.outside.end());
            ready!(end.as_mut().poll(&mut task)).map(|()| None)
        };
        self.next = None;
        match answer {
            Ok(Some(element)) => {
                let accepted = self.meter.arrive();
                debug_assert!(accepted, "read against demand only");
                self.meter.emit(1);
                Poll::Ready(Signal::Next(element))
            }
            Ok(None) => {
                self.over = true;
                Poll::Ready(Signal::Complete)
            }
            Err(error) => {
                self.over = true;
                Poll::Ready(Signal::Fail(error))
            }
        }
    }
}

impl<O: Outside> Drop for Read<O> {
    fn drop(&mut self) {
        if !self.over {
            (self.next, self.end) = (None, None);
            self.outside.give_up();
        }
    }
}

fn read<O: Outside>(kind: &'static str, outside: O) -> Source<O::Element> {
    let outside = Mutex::new(Some(outside));
    Source::from_make(move |build| {
        let Some(outside) = outside.lock().take() else {
            let text = format!("a {kind} source runs once: what it reads from can be read once");
            return Err(Error::new(ErrorKind::AlreadySubscribed, text));
        };
        let meter = build.meter(kind, Stage::each(u64::MAX).expect("not 0"));
        let stage = Read { outside, meter, next: None, end: None, over: false };
        Ok((Box::new(stage) as Up<O::Element>, NotUsed))
    })
}

impl Source<Item> {
    /// The values of an input stream with their metadata. Each is read once it is asked for, and
    /// reading grants the credit for another: the sender stands still while nothing is asked for.
    /// Ends as the stream ends. Cancelled, it gives the stream up: at a caller that cancels the
    /// request. Runs once, another run fails with `AlreadySubscribed`.
    #[must_use]
    pub fn wire(input: InputStream) -> Self {
        read("wire", input)
    }
}

impl Source<Value> {
    /// The same without metadata.
    #[must_use]
    pub fn wire_values(input: InputStream) -> Self {
        Source::wire(input).via(super::Flow::map(|item: Item| item.value))
    }
}

impl Source<FeedItem> {
    /// The items of a live feed, each taken once it is asked for; the feed's ring and its policy stand
    /// between the source that cannot wait and the demand. Cancelled, it gives the feed up. Runs once,
    /// another run fails with `AlreadySubscribed`.
    #[must_use]
    pub fn feed(feed: Feed) -> Self {
        read("feed", feed)
    }
}

type SendOne<T> = fn(&OutputStream, T) -> Doing<()>;

/// The island of a sink into an output stream.
struct Write<T> {
    up: Up<T>,
    output: OutputStream,
    send: SendOne<T>,
    meter: Meter,
    promise: Promise<()>,
    /// An emission, or the close, that waits for credit or room.
    doing: Option<Doing<()>>,
    /// Fires when nothing more can be sent.
    ended: Option<Doing<()>>,
    /// Something may be held for a larger chunk.
    dirty: bool,
    closing: bool,
    begun: bool,
}

impl<T: Send> Write<T> {
    fn step(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if !std::mem::replace(&mut self.begun, true) {
            let ask = self.meter.request(u64::MAX);
            self.up.request(ask);
        }
        loop {
            if context.stopping() {
                return Poll::Pending;
            }
            let mut task = Task::from_waker(context.waker());
            if let Some(doing) = &mut self.doing {
                ready!(doing.as_mut().poll(&mut task))?;
                self.doing = None;
                if self.closing {
                    return Poll::Ready(Ok(()));
                }
                if self.meter.has_input() {
                    let ask = self.meter.emit(1);
                    self.up.request(ask);
                }
            }
            match self.up.poll(context) {
                Poll::Ready(Signal::Next(element)) => {
                    if self.meter.arrive() {
                        self.doing = Some((self.send)(&self.output, element));
                        self.dirty = true;
                    }
                }
                Poll::Ready(Signal::Complete) => {
                    self.meter.finish();
                    self.closing = true;
                    let output = self.output.clone();
                    self.doing = Some(Box::pin(async move { output.close().await }));
                }
                Poll::Ready(Signal::Fail(error)) => return Poll::Ready(Err(error)),
                Poll::Pending if std::mem::take(&mut self.dirty) => {
                    self.doing = Some(Box::pin(self.output.flush())); // nothing waits for more to come
                }
                Poll::Pending => {
                    let output = &self.output;
                    let ended = self.ended.get_or_insert_with(|| {
                        let ended = output.ended();
                        Box::pin(async move { Err(ended.await) })
                    });
                    let mut task = Task::from_waker(context.waker());
                    return ended.as_mut().poll(&mut task);
                }
            }
        }
    }
}

impl<T: Send> Drive for Write<T> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match ready!(self.step(context)) {
            Ok(()) => self.promise.try_success(()),
            Err(error) => {
                self.up = Box::new(super::context::Gone); // cancelled before it is told
                self.promise.end(error)
            }
        };
        Poll::Ready(())
    }

    fn stop(&mut self, why: &Error) {
        self.promise.end(why.clone());
    }
}

fn write<T: Send + 'static>(output: OutputStream, send: SendOne<T>) -> Sink<T, Completion<()>> {
    let output = Mutex::new(Some(output));
    Sink::from_make(move |build, up| {
        let Some(output) = output.lock().take() else {
            let text = "a wire sink runs once: a stream is written once";
            return Err(Error::new(ErrorKind::AlreadySubscribed, text));
        };
        let meter = build.meter("wire", Stage::each(1).expect("not 0"));
        let promise = Promise::new();
        let completion = promise.completion();
        let name = meter.name().to_owned();
        let (doing, ended, dirty, closing, begun) = (None, None, false, false, false);
        build.island(
            name,
            Write { up, output, send, meter, promise, doing, ended, dirty, closing, begun },
        );
        Ok(completion)
    })
}

impl Sink<Value, Completion<()>> {
    /// Emits each element to a scalar output stream, and closes it at the end. The next is asked for
    /// once the stream has taken the last: without credit the whole pipeline waits. What is held for a
    /// larger chunk is sent before the sink waits for its upstream.
    ///
    /// A failure of the upstream leaves the stream open: whoever has the request fails it with what
    /// the completion fails with. When the request ends, the upstream is cancelled and the completion
    /// fails with the reason. Runs once, another run fails with `AlreadySubscribed`.
    #[must_use]
    pub fn wire(output: OutputStream) -> Self {
        write(output, |output, value| Box::pin(output.emit(value)))
    }
}

impl Sink<Item, Completion<()>> {
    /// The same for a sequence stream, whose items have metadata.
    #[must_use]
    pub fn wire_items(output: OutputStream) -> Self {
        write(output, |output, item: Item| Box::pin(output.emit_list_item(item.value, item.meta)))
    }
}
