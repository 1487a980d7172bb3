//! The state of a hub, and the island that shares. Every decision is the model's.

use std::collections::{BTreeMap, VecDeque};
use std::task::{Poll, Waker};
use std::time::Duration;

use super::context::{Context, Signal, Up};
use super::held::Kept;
use super::island::Drive;
use super::meter::Meter;
use crate::check;
use crate::error::{Error, ErrorKind};
use crate::model::demand::is_request;
use crate::model::hub::{
    Hub, HubArrival, Receipt, Share, Subscriber, Turn, largest, replays_too_many,
};
use crate::model::overflow::{BufferEnd, Victim};
use crate::model::patience::{Judgement, Patience};
use crate::sync::{Arc, Mutex};
use crate::wait::wake_all;

/// What is seen of one subscriber. All counts are elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubSubscriber {
    /// The name of its first stage.
    pub name: String,
    /// Asked for and not shared with it yet.
    pub demand: u64,
    /// Shared with it and not taken yet: its buffer's capacity and what it asked for at most.
    pub held: u64,
    /// Lost by its policy.
    pub lost: u64,
}

struct Listener<T> {
    name: String,
    model: Subscriber,
    /// What its buffer holds.
    buffer: Kept<VecDeque<Arc<T>>>,
    /// What it has asked for and may take.
    ready: Kept<VecDeque<Arc<T>>>,
    /// How long it may hold up the hub, and since when it does.
    patience: Patience,
    waker: Option<Waker>,
}

struct State<T> {
    hub: Hub,
    queue: Kept<VecDeque<Arc<T>>>,
    listeners: BTreeMap<u64, Listener<T>>,
    next: u64,
    /// The last elements that were shared, `replays` at most.
    replay: Kept<VecDeque<Arc<T>>>,
    replays: u64,
    /// How the source ended, once everything was shared.
    end: Option<Option<Error>>,
    /// No handle is left: nobody can subscribe any more.
    abandoned: bool,
    driver: Option<Waker>,
}

/// A time or a span as the model has it: up to some 584 years.
fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A waker that was taken: whoever took it fires it.
fn to_be_woken(waker: Waker) -> Waker {
    check::due(waker, "a hub")
}

pub(super) struct HubCore<T>(Mutex<State<T>>);

/// What a subscriber that looks is told.
pub(super) enum Taken<T> {
    Element(Arc<T>),
    Nothing,
    End(Option<Error>),
}

/// What one look of the hub came to. The rest is for the caller to wake and to drop with the lock
/// released.
struct Round<T> {
    /// Elements to ask for above.
    ask: u64,
    /// Elements that are not shared yet.
    queued: u64,
    over: bool,
    /// When a subscriber will have held up the hub for too long.
    alarm: Option<Duration>,
    wake: Vec<Waker>,
    gone: Kept<Vec<Arc<T>>>,
}

impl<T> Listener<T> {
    /// Takes what it asked for out of its buffer.
    fn receive(&mut self) {
        loop {
            let (model, receipt) = self.model.receive(0);
            if receipt != Receipt::Received {
                return;
            }
            self.model = model;
            self.ready.extend(self.buffer.pop_front());
        }
    }

    fn share(&mut self, element: &Arc<T>, gone: &mut Vec<Arc<T>>) {
        loop {
            let (model, share) = self.model.share_with(0);
            self.model = model;
            match share {
                Share::HandOn => self.ready.push_back(Arc::clone(element)),
                Share::Keep => self.buffer.push_back(Arc::clone(element)),
                Share::MakeRoom(victim) => {
                    let first = gone.len();
                    match victim {
                        Victim::Oldest => gone.extend(self.buffer.pop_front()),
                        Victim::Newest => gone.extend(self.buffer.pop_back()),
                        Victim::Everything => gone.extend(self.buffer.drain(..)),
                    }
                    self.model = self.model.threw_out((gone.len() - first) as u64, 0);
                    continue;
                }
                Share::Lose | Share::HeldUp | Share::Expelled | Share::Gone => {}
            }
            return;
        }
    }

    fn finish(&mut self, why: BufferEnd) {
        self.model = self.model.finish(why).0;
    }

    /// Elements that it may take, or will once it has asked.
    fn held(&self) -> u64 {
        (self.buffer.len() + self.ready.len()) as u64
    }

    fn too_slow(&self) -> Error {
        let capacity = self.model.buffer.capacity;
        let text = match self.patience.limit.map(Duration::from_nanos) {
            None => format!("its buffer of {capacity} elements was full"),
            Some(limit) => {
                format!(
                    "it held up the hub for {limit:?} with a full buffer of {capacity} elements"
                )
            }
        };
        Error::new(ErrorKind::BufferOverflow, format!("subscriber {:?}: {text}", self.name))
    }
}

impl<T> State<T> {
    fn finish(&mut self, error: Option<Error>) -> Vec<Waker> {
        let why = if error.is_some() { BufferEnd::Failed } else { BufferEnd::Completed };
        self.end.get_or_insert(error);
        self.listeners
            .values_mut()
            .filter_map(|listener| {
                listener.finish(why);
                listener.waker.take().map(to_be_woken)
            })
            .collect()
    }

    fn anybody(&self) -> bool {
        self.listeners.values().any(|listener| listener.model.is_live())
    }

    /// Ends those who have held up the hub for too long; true if there were any. Sets the alarm for when
    /// the next will have.
    fn expel(&mut self, now: Duration, round: &mut Round<T>) -> bool {
        let (mut any, mut alarm) = (false, None);
        for listener in self.listeners.values_mut() {
            let blocking = self.hub.is_held_up_by(listener.model, 0);
            let (patience, judgement) = listener.patience.look(blocking, nanos(now));
            listener.patience = patience;
            match judgement {
                Judgement::LetBe => {}
                Judgement::LookAgain(next) => {
                    let next = Duration::from_nanos(next);
                    alarm = Some(alarm.map_or(next, |other: Duration| other.min(next)));
                }
                Judgement::TooSlow => {
                    any = true;
                    listener.finish(BufferEnd::Overflowed);
                    round.wake.extend(listener.waker.take().map(to_be_woken));
                }
            }
        }
        round.alarm = alarm;
        any
    }

    /// Shares what can be shared.
    fn share(&mut self, now: Duration, round: &mut Round<T>) {
        loop {
            let held_up = self.listeners.values().any(|listener| listener.model.holds_up(0));
            let (hub, turn) = self.hub.share_next(self.anybody(), held_up);
            self.hub = hub;
            if turn != Turn::Share {
                return;
            }
            let element = self.queue.pop_front().expect("the hub counts its queue");
            for listener in self.listeners.values_mut() {
                listener.share(&element, &mut round.gone);
                listener.patience = listener.patience.look(false, nanos(now)).0; // it held up nobody
                round.wake.extend(listener.waker.take().map(to_be_woken));
            }
            self.replay.push_back(element);
            if replays_too_many(self.replays, self.replay.len() as u64) {
                round.gone.extend(self.replay.pop_front());
            }
        }
    }
}

impl<T> HubCore<T> {
    pub(super) fn open(room: u64, replays: u64) -> Arc<Self> {
        Arc::new(HubCore(Mutex::new(State {
            hub: Hub::opened(room).expect("the options hold no zero"),
            queue: Kept::default(),
            listeners: BTreeMap::new(),
            next: 0,
            replay: Kept::default(),
            replays,
            end: None,
            abandoned: false,
            driver: None,
        })))
    }

    /// Changes the state, then wakes the hub's island with the lock released.
    fn change<R>(&self, change: impl FnOnce(&mut State<T>) -> R) -> R {
        let mut state = self.0.lock();
        let result = change(&mut state);
        let driver = state.driver.take().map(to_be_woken);
        drop(state);
        wake_all(driver);
        result
    }

    pub(super) fn subscribe(&self, name: &str, model: Subscriber, limit: Option<Duration>) -> u64 {
        let name = name.to_owned();
        self.change(|state| {
            let id = state.next;
            state.next = state.next.wrapping_add(1);
            let (buffer, ready) = (Kept::default(), Kept::default());
            let (patience, waker) = (Patience::patient(limit.map(nanos)), None);
            let mut listener = Listener { name, model, buffer, ready, patience, waker };
            let latest = usize::try_from(model.replayed(state.replay.len() as u64));
            let latest = latest.expect("no more than are kept");
            for element in state.replay.iter().rev().take(latest).rev() {
                listener.share(element, &mut Vec::new()); // it fits: nothing goes
            }
            if let Some(end) = &state.end {
                let failed = end.is_some();
                listener.finish(if failed { BufferEnd::Failed } else { BufferEnd::Completed });
            }
            state.listeners.insert(id, listener);
            id
        })
    }

    pub(super) fn request(&self, id: u64, n: u64) {
        if !is_request(n) {
            return;
        }
        self.change(|state| {
            if let Some(listener) = state.listeners.get_mut(&id) {
                listener.model = listener.model.request(n);
                listener.receive();
            }
        });
    }

    /// Takes the next element or the end; what the listener holds and has lost then. Without either,
    /// `waker` is left behind.
    pub(super) fn take(&self, id: u64, waker: &Waker) -> (Taken<T>, u64, u64) {
        let waker = waker.clone(); // foreign code: never under the lock
        let mut state = self.0.lock();
        let State { listeners, end, .. } = &mut *state;
        let Some(listener) = listeners.get_mut(&id) else { return (Taken::Nothing, 0, 0) };
        let mut replaced = None;
        let taken = match listener.ready.pop_front() {
            Some(element) => Taken::Element(element),
            None => match listener.model.receive(0).1 {
                Receipt::NoMore(BufferEnd::Overflowed) => Taken::End(Some(listener.too_slow())),
                Receipt::NoMore(_) => Taken::End(end.clone().flatten()),
                Receipt::Received | Receipt::NotAsked | Receipt::NothingYet => {
                    replaced = listener.waker.replace(waker);
                    Taken::Nothing
                }
            },
        };
        let (held, lost) = (listener.held(), listener.model.buffer.lost);
        drop(state);
        drop(replaced); // foreign code may run when it goes: never under the lock
        (taken, held, lost)
    }

    /// The subscriber wants no more.
    pub(super) fn leave(&self, id: u64) {
        let gone = self.change(|state| {
            let mut listener = state.listeners.remove(&id)?;
            listener.model = listener.model.leave().0;
            Some(listener)
        });
        drop(gone); // elements and wakers go with the lock released
    }

    pub(super) fn abandon(&self) {
        self.change(|state| state.abandoned = true);
    }

    pub(super) fn subscribers(&self) -> Vec<HubSubscriber> {
        let state = self.0.lock();
        let seen = state.listeners.values().map(|listener| HubSubscriber {
            name: listener.name.clone(),
            demand: listener.model.owed,
            held: listener.held(),
            lost: listener.model.buffer.lost,
        });
        seen.collect()
    }

    pub(super) fn is_over(&self) -> bool {
        self.0.lock().end.is_some()
    }

    /// One element more. False if the hub did not ask for it.
    fn arrive(&self, element: T) -> bool {
        let element = Arc::new(element);
        let mut state = self.0.lock();
        let (hub, answer) = state.hub.arrive();
        state.hub = hub;
        if answer == HubArrival::Accepted {
            state.queue.push_back(element);
        }
        answer == HubArrival::Accepted
    }

    fn upstream_ended(&self) {
        let mut state = self.0.lock();
        state.hub = state.hub.upstream_ended();
    }

    /// Shares what can be shared. `ended`: nothing more will arrive.
    fn round(&self, now: Duration, ended: Option<&Option<Error>>, waker: &Waker) -> Round<T> {
        let waker = waker.clone();
        let mut round = Round {
            ask: 0,
            queued: 0,
            over: false,
            alarm: None,
            wake: vec![],
            gone: Kept::default(),
        };
        let mut state = self.0.lock();
        state.share(now, &mut round);
        while state.expel(now, &mut round) {
            state.share(now, &mut round); // those behind one that was ended, who may be too slow as well
        }
        let demand = state.listeners.values().fold(0, |most, one| largest(most, one.model));
        if state.abandoned && !state.anybody() {
            round.over = true;
        } else if let Some(end) = ended.filter(|_| state.hub.is_shared()) {
            round.wake.append(&mut state.finish(end.clone()));
            round.over = true;
        } else if ended.is_none() {
            let (hub, ask) = state.hub.replenish(demand);
            state.hub = hub;
            round.ask = ask;
        }
        round.queued = state.hub.queued;
        let replaced = state.driver.replace(waker);
        drop(state);
        drop(replaced);
        round
    }

    fn finish(&self, error: Option<Error>) {
        let mut state = self.0.lock();
        let (wake, queue) = (state.finish(error), state.queue.all());
        drop(state);
        wake_all(wake);
        drop(queue);
    }
}

/// The island of a hub.
pub(super) struct HubDrive<T> {
    up: Option<Up<T>>,
    core: Arc<HubCore<T>>,
    meter: Meter,
    ended: Option<Option<Error>>,
}

impl<T> HubDrive<T> {
    pub(super) fn new(up: Up<T>, core: Arc<HubCore<T>>, meter: Meter) -> Self {
        HubDrive { up: Some(up), core, meter, ended: None }
    }

    fn end(&mut self, how: Option<Error>) {
        self.up = None;
        self.meter.finish();
        self.core.upstream_ended();
        self.ended = Some(how);
    }
}

impl<T: Send + Sync> Drive for HubDrive<T> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            if context.stopping() {
                return Poll::Pending;
            }
            let round = self.core.round(context.now(), self.ended.as_ref(), context.waker());
            wake_all(round.wake);
            drop(round.gone);
            if round.over {
                return Poll::Ready(());
            }
            if let Some(alarm) = round.alarm {
                context.wake_at(alarm);
            }
            let ask = self.meter.request(round.ask);
            self.meter.view().set_held(round.queued); // what is not shared yet
            let Some(up) = &mut self.up else { return Poll::Pending };
            if is_request(ask) {
                up.request(ask);
            }
            match up.poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Signal::Next(element)) => {
                    if self.meter.arrive() {
                        self.meter.emit(1);
                        let _unasked_is_dropped = self.core.arrive(element);
                    }
                }
                Poll::Ready(Signal::Complete) => self.end(None),
                Poll::Ready(Signal::Fail(error)) => self.end(Some(error)),
            }
        }
    }

    fn stop(&mut self, why: &Error) {
        self.core.finish(Some(why.clone()));
    }
}

impl<T> Drop for HubDrive<T> {
    fn drop(&mut self) {
        let gone = "the stages above the hub went away";
        self.core.finish(Some(Error::new(ErrorKind::Cancelled, gone)));
    }
}
