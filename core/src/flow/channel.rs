//! Channels as sources and sinks: for threads that speak `crossbeam_channel` already.

use std::convert::Infallible;
use std::task::Poll;

use crossbeam_channel::{Receiver, Sender, bounded, select};

use super::blueprint::{NotUsed, Sink, Source};
use super::context::{Context, Signal, Up, Upstream};
use super::edge::{Credit, EdgeOptions};
use super::meter::Meter;
use super::promise::Completion;
use super::pump::Pump;
use super::sink::{Collect, drained};
use super::source::edge;
use crate::error::{Error, ErrorKind};
use crate::model::demand::Stage;
use crate::sync::{Arc, Mutex};

/// Ends a wait at a channel when it goes.
type Stop = Sender<Infallible>;

impl<T: Send + 'static> Source<T> {
    /// What comes through `receiver`, until its last sender is gone. Receives on a thread of its own,
    /// one element for each that is asked for and none ahead; an end is seen when one is asked for. In
    /// a scope without threads, [`settle`](super::Scope::settle) waits at an empty channel.
    /// Runs at the same time share the channel: each element reaches one of them.
    #[must_use]
    pub fn channel(receiver: Receiver<T>) -> Self {
        let options = EdgeOptions::capacity(u64::MAX).expect("not 0");
        Source::from_make(move |build| {
            let (stop, stopped) = bounded(0);
            let meter = build.meter("channel", Stage::each(u64::MAX).expect("not 0"));
            let receiver = receiver.clone();
            let (up, core) = edge(build, "channel", options, Credit::Asked, Arc::new(|_: &T| 0));
            let received = Received { meter, receiver, stopped };
            build.island("channel", Pump::new(Box::new(received), core));
            Ok((Box::new(Asked { up: Box::new(up), _stop: stop }), NotUsed))
        })
    }
}

struct Received<T> {
    meter: Meter,
    receiver: Receiver<T>,
    stopped: Receiver<Infallible>,
}

impl<T: Send> Upstream<T> for Received<T> {
    fn request(&mut self, n: u64) {
        self.meter.request(n);
    }

    fn poll(&mut self, _: &mut Context<'_>) -> Poll<Signal<T>> {
        if !self.meter.wanted() {
            return Poll::Pending;
        }
        let received = select! {
            recv(self.receiver) -> received => received.ok(),
            recv(self.stopped) -> _ => None,
        };
        let Some(element) = received else { return Poll::Ready(Signal::Complete) };
        let _asked_of_itself = self.meter.arrive();
        self.meter.emit(1);
        Poll::Ready(Signal::Next(element))
    }
}

/// The consumer's side. Dropped, it ends the wait of the receiving thread.
struct Asked<T> {
    up: Up<T>,
    _stop: Stop,
}

impl<T> Upstream<T> for Asked<T> {
    fn request(&mut self, n: u64) {
        self.up.request(n);
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<T>> {
        self.up.poll(context)
    }
}

impl<T: Send + 'static> Sink<T, Completion<()>> {
    /// Sends each element into `sender`, waiting for room on the thread of the sink's island. Fails
    /// with `Closed`, and cancels the upstream, once nobody receives any more. The blueprint holds a
    /// sender itself, so the end of a run is told by its completion and not by the channel.
    #[must_use]
    pub fn channel(sender: Sender<T>) -> Self {
        Sink::from_make(move |build, up| {
            let (stop, stopped) = bounded(0);
            let stop: Mutex<Option<Stop>> = Mutex::new(Some(stop));
            let sending = Sending { sender: sender.clone(), stopped };
            let interrupt = move || {
                let stop = stop.lock().take();
                drop(stop);
            };
            Ok(drained(build, up, "channel", sending, Box::new(interrupt)))
        })
    }
}

struct Sending<T> {
    sender: Sender<T>,
    stopped: Receiver<Infallible>,
}

impl<T: Send> Collect<T, ()> for Sending<T> {
    fn next(&mut self, element: T) -> Result<bool, Error> {
        let sent = select! {
            send(self.sender, element) -> sent => sent.is_ok(),
            recv(self.stopped) -> _ => return Ok(true), // the scope is being shut down
        };
        if sent { Ok(true) } else { Err(Error::new(ErrorKind::Closed, "nobody receives any more")) }
    }

    fn finish(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
