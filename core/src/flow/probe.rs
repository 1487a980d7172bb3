//! Probes: a source and a sink that a test plays by hand.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::future::Future;
use std::task::Poll;
use std::time::Duration;

use super::blueprint::{Sink, Source};
use super::context::{Context, Signal, Up};
use super::edge::{Credit, EdgeOptions, Offer};
use super::held::Kept;
use super::island::Drive;
use super::manual::Manual;
use super::meter::Meter;
use super::source::edge;
use crate::error::{Error, ErrorKind};
use crate::model::demand::Stage;
use crate::sync::Arc;
use crate::time::Deadline;
use crate::wait::watched::{Watched, until};
use crate::wait::{Op, block_on};

/// How long a probe waits for what a test expects, unless told otherwise.
const LIMIT: Duration = Duration::from_secs(1);

/// A source that a test plays. Every assertion waits no longer than its limit, and panics with what
/// it awaited and what came.
pub struct Publisher<T> {
    manual: Manual<T>,
    limit: Duration,
}

impl<T: Send + 'static> Publisher<T> {
    /// The same probe with another limit.
    #[must_use]
    pub fn with_limit(self, limit: Duration) -> Self {
        Publisher { limit, ..self }
    }

    /// The control behind the probe: offers, demand, counts.
    #[must_use]
    pub fn control(&self) -> &Manual<T> {
        &self.manual
    }

    /// Offers an element and waits for room or demand without a limit.
    pub fn offer(&self, element: T) -> Offer {
        self.manual.blocking_offer(element)
    }

    /// Sends an element.
    ///
    /// # Panics
    /// If it is not taken within the limit: the source is failed first, so that nothing hangs.
    #[track_caller]
    pub fn send_next(&self, element: T) -> &Self {
        match self.manual.blocking_offer_timeout(element, self.limit) {
            Ok(Offer::Enqueued) => self,
            Ok(other) => panic!("awaited: an element is taken; came: {other:?}"),
            Err(error) => {
                self.manual.fail(error.clone());
                panic!("awaited: an element is taken; came: {error}");
            }
        }
    }

    /// Completes the source. False if it had ended.
    pub fn send_complete(&self) -> bool {
        self.manual.complete()
    }

    /// Fails the source. False if it had ended.
    pub fn send_error(&self, error: Error) -> bool {
        self.manual.fail(error)
    }

    /// Waits until `n` elements at least can be sent.
    ///
    /// # Panics
    /// If they cannot within the limit.
    #[track_caller]
    pub fn expect_demand(&self, n: u64) -> &Self {
        match block_on(self.manual.ready(n), Deadline::after(self.limit)) {
            Ok(true) => self,
            Ok(false) => panic!("awaited: demand for {n}; came: cancel"),
            Err(_) => {
                let demand = self.manual.demand();
                panic!("awaited: demand for {n} within {:?}; came: demand for {demand}", self.limit)
            }
        }
    }

    /// Waits until the source was cancelled from below.
    ///
    /// # Panics
    /// If it was not within the limit.
    #[track_caller]
    pub fn expect_cancel(&self) {
        // More than any gate holds: this waits for the end alone.
        match block_on(self.manual.ready(u64::MAX), Deadline::after(self.limit)) {
            Ok(false) => {}
            Ok(true) | Err(_) => panic!("awaited: cancel within {:?}; came: nothing", self.limit),
        }
    }
}

/// What a subscriber probe received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubscriberEvent<T> {
    /// An element.
    Next(T),
    /// The end, as it should be.
    Complete,
    /// The end, with its reason.
    Error(Error),
}

struct Board<T> {
    /// Asked for by the test and not passed on yet.
    asked: u64,
    cancelled: bool,
    events: Kept<VecDeque<SubscriberEvent<T>>>,
    /// A terminal was received.
    ended: bool,
    /// And taken by the test.
    told: bool,
}

struct Shared<T> {
    board: Watched<Board<T>>,
    room: usize,
}

/// A sink that a test plays: nothing is asked for but by [`request`](Self::request).
pub struct Subscriber<T> {
    shared: Arc<Shared<T>>,
    limit: Duration,
}

impl<T: Send + 'static> Subscriber<T> {
    /// The same probe with another limit.
    #[must_use]
    pub fn with_limit(self, limit: Duration) -> Self {
        Subscriber { limit, ..self }
    }

    /// Asks for `n` elements more; 0 is ignored. False once a terminal was taken: a stream that has
    /// ended takes no demand.
    pub fn try_request(&self, n: u64) -> bool {
        self.shared.board.update(|board| {
            if !board.told {
                board.asked = board.asked.saturating_add(n);
            }
            !board.told
        })
    }

    /// Asks for `n` elements more.
    ///
    /// # Panics
    /// Once a terminal was taken.
    #[track_caller]
    pub fn request(&self, n: u64) -> &Self {
        assert!(
            self.try_request(n),
            "awaited: a stream that takes demand; came: its terminal, before"
        );
        self
    }

    /// Wants no more: everything above is cancelled.
    pub fn cancel(&self) {
        let released = self.shared.board.update(|board| {
            board.cancelled = true;
            board.events.all()
        });
        drop(released); // foreign code: never under the lock
    }

    /// The next event, on any executor.
    pub fn event(&self) -> impl Future<Output = SubscriberEvent<T>> + Send + use<T> {
        let shared = Arc::clone(&self.shared);
        let taken = until(Arc::clone(&shared), |shared| &shared.board, Board::take);
        async move {
            let event = taken.await;
            shared.board.update(|_| ()); // there is room for another
            event
        }
    }

    /// The same as an operation to poll by hand.
    #[must_use]
    pub fn event_op(&self) -> Op<SubscriberEvent<T>> {
        Op::new(self.event())
    }

    /// The next event, if it comes within `limit`.
    #[must_use]
    pub fn event_within(&self, limit: Duration) -> Option<SubscriberEvent<T>> {
        block_on(self.event(), Deadline::after(limit)).ok()
    }

    /// Takes an element, whatever it is.
    ///
    /// # Panics
    /// If something else comes, or nothing within the limit.
    #[track_caller]
    pub fn expect_any(&self) -> T {
        match self.event_within(self.limit) {
            Some(SubscriberEvent::Next(element)) => element,
            Some(SubscriberEvent::Complete) => panic!("awaited: an element; came: complete"),
            Some(SubscriberEvent::Error(error)) => panic!("awaited: an element; came: {error}"),
            None => panic!("awaited: an element within {:?}; came: nothing", self.limit),
        }
    }

    /// Takes the failure.
    ///
    /// # Panics
    /// If something else comes, or nothing within the limit.
    #[track_caller]
    pub fn expect_error(&self) -> Error {
        match self.event_within(self.limit) {
            Some(SubscriberEvent::Error(error)) => error,
            Some(SubscriberEvent::Next(_)) => panic!("awaited: a failure; came: an element"),
            Some(SubscriberEvent::Complete) => panic!("awaited: a failure; came: complete"),
            None => panic!("awaited: a failure within {:?}; came: nothing", self.limit),
        }
    }

    /// Takes the end.
    ///
    /// # Panics
    /// If something else comes, or nothing within the limit.
    #[track_caller]
    pub fn expect_complete(&self) {
        match self.event_within(self.limit) {
            Some(SubscriberEvent::Complete) => {}
            Some(SubscriberEvent::Next(_)) => panic!("awaited: complete; came: an element"),
            Some(SubscriberEvent::Error(error)) => panic!("awaited: complete; came: {error}"),
            None => panic!("awaited: complete within {:?}; came: nothing", self.limit),
        }
    }

    /// Sees that nothing comes within `limit`.
    ///
    /// # Panics
    /// If something comes.
    #[track_caller]
    pub fn expect_no_message(&self, limit: Duration) -> &Self {
        match self.event_within(limit) {
            None => self,
            Some(SubscriberEvent::Next(_)) => panic!("awaited: nothing; came: an element"),
            Some(SubscriberEvent::Complete) => panic!("awaited: nothing; came: complete"),
            Some(SubscriberEvent::Error(error)) => panic!("awaited: nothing; came: {error}"),
        }
    }
}

impl<T: Send + Debug + 'static> Subscriber<T> {
    /// Takes this element.
    ///
    /// # Panics
    /// If something else comes, or nothing within the limit.
    #[track_caller]
    pub fn expect_next<U: Debug>(&self, expected: U) -> &Self
    where
        T: PartialEq<U>,
    {
        match self.event_within(self.limit) {
            Some(SubscriberEvent::Next(element)) if element == expected => self,
            Some(other) => panic!("awaited: {expected:?}; came: {other:?}"),
            None => panic!("awaited: {expected:?} within {:?}; came: nothing", self.limit),
        }
    }
}

impl<T> Board<T> {
    fn take(&mut self) -> Option<SubscriberEvent<T>> {
        let event = self.events.pop_front()?;
        if !matches!(event, SubscriberEvent::Next(_)) {
            self.told = true;
        }
        Some(event)
    }
}

struct Play<T> {
    up: Up<T>,
    shared: Arc<Shared<T>>,
    meter: Meter,
    key: Option<u64>,
}

impl<T> Play<T> {
    fn tell(&self, event: SubscriberEvent<T>) {
        let ended = !matches!(event, SubscriberEvent::Next(_));
        let mut event = Kept::new(Some(event)); // dropped with the lock released
        self.shared.board.update(|board| {
            if !board.cancelled && !board.ended {
                board.ended = ended;
                board.events.extend(event.take());
            }
        });
    }
}

impl<T: Send> Drive for Play<T> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let room = self.shared.room;
            let mut full = false;
            let news = self.shared.board.ask(&mut self.key, context.waker(), |board| {
                full = board.events.len() >= room;
                if board.cancelled {
                    return Some(None);
                }
                (board.asked != 0).then(|| Some(std::mem::take(&mut board.asked)))
            });
            match news {
                Some(None) => return Poll::Ready(()), // dropped: that cancels above
                Some(Some(n)) => {
                    let ask = self.meter.request(n);
                    self.up.request(ask);
                    continue; // and leave the waker behind
                }
                None if full => return Poll::Pending,
                None => {}
            }
            match self.up.poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Signal::Next(element)) => {
                    if self.meter.arrive() {
                        self.meter.emit(1);
                        self.tell(SubscriberEvent::Next(element));
                    }
                }
                Poll::Ready(Signal::Complete) => {
                    self.tell(SubscriberEvent::Complete);
                    return Poll::Ready(());
                }
                Poll::Ready(Signal::Fail(error)) => {
                    self.tell(SubscriberEvent::Error(error));
                    return Poll::Ready(());
                }
            }
        }
    }

    fn stop(&mut self, why: &Error) {
        self.tell(SubscriberEvent::Error(why.clone()));
    }
}

impl<T> Drop for Play<T> {
    fn drop(&mut self) {
        self.shared.board.forget(&mut self.key);
        self.tell(SubscriberEvent::Error(Error::new(ErrorKind::Cancelled, "the stages went away")));
    }
}

impl<T: Send + 'static> Source<T, Publisher<T>> {
    /// A source that a test plays, with an edge of its own: it can send what the edge holds without
    /// being asked.
    #[must_use]
    pub fn probe(options: EdgeOptions) -> Self {
        Source::manual(options).map_mat(|manual| Publisher { manual, limit: LIMIT })
    }

    /// A source that a test plays and that sends nothing without demand.
    #[must_use]
    pub fn strict_probe() -> Self {
        let options = EdgeOptions::capacity(u64::MAX).expect("not 0");
        Source::from_make(move |build| {
            let (up, core) = edge(build, "probe", options, Credit::Asked, Arc::new(|_: &T| 0));
            Ok((Box::new(up) as Up<T>, Publisher { manual: Manual::new(core), limit: LIMIT }))
        })
    }
}

impl<T: Send + 'static> Sink<T, Subscriber<T>> {
    /// A sink that a test plays.
    #[must_use]
    pub fn probe() -> Self {
        Sink::from_make(|build, up| {
            let meter = build.meter("probe", Stage::each(u64::MAX).expect("not 0"));
            let board = Board {
                asked: 0,
                cancelled: false,
                events: Kept::default(),
                ended: false,
                told: false,
            };
            let shared = Arc::new(Shared { board: Watched::new(board), room: 16 });
            let play = Play { up, shared: Arc::clone(&shared), meter, key: None };
            build.island("probe", play);
            Ok(Subscriber { shared, limit: LIMIT })
        })
    }
}

impl<T> Debug for Publisher<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Publisher").field(&self.manual).finish()
    }
}

impl<T> Debug for Subscriber<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Subscriber")
    }
}
