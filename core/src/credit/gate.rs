//! [`CreditGate`]: the sender's store of credit for one stream.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::check::GateLedger;
use crate::error::{Error, Reason, TimedOut};
use crate::model::gate::{AcquireAnswer, Gate};
use crate::sync::{Arc, AtomicU64, Mutex, MutexGuard, Ordering};
use crate::time::Deadline;
use crate::wait::{Bell, Op, block_on, wake_all};

/// The gate is closed; the reason is the first one it was closed with (L13).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the gate is closed: {reason}")]
pub struct Closed {
    /// Why it was closed.
    pub reason: Reason,
}

impl From<Closed> for Error {
    fn from(closed: Closed) -> Self {
        closed.reason
    }
}

/// What [`CreditGate::try_acquire`] answers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "credit taken and not sent is lost"]
pub enum TryAcquire {
    /// The credit is the caller's.
    Taken,
    /// There is not enough, or somebody stands in line before the caller. Nothing was taken.
    Wait,
    /// The gate is closed.
    Closed(Reason),
}

/// A sender's credit for one stream, in chunks (L9). Cheap to clone; clones are the same gate.
///
/// * Any number of threads and tasks may use it at once.
/// * First come, first served: a large acquire is served before small ones that came later, and
///   `try_acquire` does not overtake those who wait.
/// * A waiter that gives up (deadline, dropped future) takes nothing and lets the next one through.
/// * An acquire of more than the window can hold waits until grants have added up to it.
/// * Closing wakes everybody with the reason (L13).
///
/// While nobody waits, acquire and grant are one compare-and-swap each.
#[derive(Clone)]
pub struct CreditGate(Arc<Inner>);

/// `word` holds the available credit of an open gate that nobody waits for. [`SLOW`] says that the
/// truth is in `slow` instead: somebody waits, the gate is closed, or the credit is 2^64 − 1.
struct Inner {
    word: AtomicU64,
    slow: Mutex<Slow>,
    /// Only while the process is checked.
    ledger: Option<Arc<GateLedger>>,
    /// All that it was opened with and granted, in a gate that keeps account of it.
    granted: Option<AtomicU64>,
}

const SLOW: u64 = u64::MAX;

/// The gate that a word tells of; `None` if the truth is behind the lock.
fn unpack(word: u64) -> Option<Gate> {
    if word == SLOW { None } else { Some(Gate::opened(word)) }
}

/// The word that tells of a gate; `None` if none can.
fn pack(gate: Gate) -> Option<u64> {
    match gate {
        Gate { closed: true, .. } | Gate { available: SLOW, .. } => None,
        Gate { closed: false, available } => Some(available),
    }
}

struct Slow {
    /// Valid while `word` is [`SLOW`].
    gate: Gate,
    reason: Option<Reason>,
    next_ticket: u64,
    /// Those who wait, in the order they came.
    line: BTreeMap<u64, Place>,
    /// Tickets whose credit has been taken for them and who have not come to fetch it yet.
    served: BTreeSet<u64>,
    ledger: Option<Arc<GateLedger>>,
}

struct Place {
    n: u64,
    waker: Waker,
}

impl CreditGate {
    /// An open gate with `window` chunks of credit. Zero is a legal gate.
    #[must_use]
    pub fn new(window: u64) -> Self {
        CreditGate::with_account(window, None)
    }

    /// A gate that also keeps account of all that it is opened with and granted, for figures.
    pub(crate) fn accounted(window: u64) -> Self {
        CreditGate::with_account(window, Some(AtomicU64::new(window)))
    }

    fn with_account(window: u64, granted: Option<AtomicU64>) -> Self {
        let ledger = GateLedger::open(window);
        CreditGate(Arc::new(Inner {
            word: AtomicU64::new(window),
            slow: Mutex::new(Slow {
                gate: Gate::opened(window),
                reason: None,
                next_ticket: 0,
                line: BTreeMap::new(),
                served: BTreeSet::new(),
                ledger: ledger.clone(),
            }),
            ledger,
            granted,
        }))
    }

    /// Takes `n` chunks if that needs no waiting.
    pub fn try_acquire(&self, n: u64) -> TryAcquire {
        let fast = self.0.counted(
            |gate| gate.acquire(n, false),
            |ledger, answer, _| {
                if *answer == AcquireAnswer::Taken {
                    ledger.taken(n);
                }
            },
        );
        match fast {
            Some(AcquireAnswer::Taken) => TryAcquire::Taken,
            Some(AcquireAnswer::Wait) => TryAcquire::Wait,
            Some(AcquireAnswer::Closed) | None => {
                let mut slow = self.0.enter();
                let answer = slow.acquire(n);
                self.0.leave(slow);
                answer
            }
        }
    }

    /// Takes `n` chunks, waiting for them on this thread without a limit (L9).
    ///
    /// # Errors
    /// [`Closed`] if the gate is closed before it is this caller's turn; nothing was taken.
    pub fn blocking_acquire(&self, n: u64) -> Result<(), Closed> {
        match self.try_acquire(n) {
            TryAcquire::Taken => Ok(()),
            TryAcquire::Closed(reason) => Err(Closed { reason }),
            TryAcquire::Wait => block_on(self.acquire(n), Deadline::NEVER)
                .expect("a wait without a deadline does not time out"),
        }
    }

    /// Takes `n` chunks, waiting for them on this thread until `deadline`. A deadline in the past
    /// makes this [`try_acquire`](Self::try_acquire).
    ///
    /// # Errors
    /// [`TimedOut`] if the deadline passed first; nothing was taken. The inner error is [`Closed`].
    pub fn blocking_acquire_timeout(
        &self,
        n: u64,
        deadline: Deadline,
    ) -> Result<Result<(), Closed>, TimedOut> {
        match self.try_acquire(n) {
            TryAcquire::Taken => Ok(Ok(())),
            TryAcquire::Closed(reason) => Ok(Err(Closed { reason })),
            TryAcquire::Wait => block_on(self.acquire(n), deadline),
        }
    }

    /// Takes `n` chunks, on any executor. The place in line is taken at the first poll; dropping
    /// the future gives it up.
    #[must_use = "a future does nothing until it is polled"]
    pub fn acquire(&self, n: u64) -> AcquireFuture {
        AcquireFuture { gate: Arc::clone(&self.0), n, ticket: None, held: false }
    }

    /// The same as an operation to poll by hand.
    #[must_use = "an operation does nothing until it is polled"]
    pub fn acquire_op(&self, n: u64) -> Op<Result<(), Closed>> {
        Op::new(self.acquire(n))
    }

    /// Stands in line for `n` chunks and calls `ready` once, from any thread, when the turn has
    /// come or the gate is closed; at once if that is so already. `ready` must not wait; it may call
    /// anything on this gate.
    /// The returned operation answers what happened; dropping it gives the turn up.
    pub fn on_ready(
        &self,
        n: u64,
        ready: impl FnOnce() + Send + 'static,
    ) -> Op<Result<(), Closed>> {
        let bell = Bell::new(ready);
        let ring = Arc::clone(&bell);
        let mut op = self.acquire_op(n);
        match op.poll(move || ring.ring()) {
            None => op,
            Some(Ok(())) => {
                let mut held = self.acquire(n);
                held.held = true; // taken, and given back if nobody asks for the answer
                let op = Op::new(held);
                bell.ring();
                op
            }
            Some(Err(closed)) => {
                bell.ring();
                Op::new(std::future::ready(Err(closed)))
            }
        }
    }

    /// Adds `n` chunks, up to 2^64 − 1, and serves those who wait. Does nothing on a closed gate.
    pub fn grant(&self, n: u64) {
        if self.add(n)
            && let Some(granted) = &self.0.granted
        {
            let more = |sum| Some(Gate::opened(sum).grant(n).available);
            let _before = granted.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        }
    }

    /// Adds `n` chunks. False if the gate is closed.
    fn add(&self, n: u64) -> bool {
        if let Some(ledger) = &self.0.ledger {
            ledger.offered(n);
        }
        let fast = self.0.counted(
            |gate| (gate.grant(n), ()),
            |ledger, (), available| ledger.granted(n, available),
        );
        if fast.is_some() {
            return true;
        }
        let mut slow = self.0.enter();
        let open = !slow.gate.closed;
        if let (Some(ledger), true) = (&slow.ledger, open) {
            ledger.granted(n, slow.gate.available);
        }
        slow.gate = slow.gate.grant(n);
        self.0.leave(slow);
        open
    }

    /// Closes the gate: every waiter, and every later acquire, gets the reason. The first reason
    /// stays. True if this call closed it.
    pub fn close(&self, reason: impl Into<Reason>) -> bool {
        let reason = reason.into();
        let mut slow = self.0.enter();
        let (closed, closing) = slow.gate.close();
        slow.gate = closed;
        if closing {
            slow.reason = Some(reason);
        }
        self.0.leave(slow);
        closing
    }

    /// Chunks that could be taken now. A hint while others use the gate; readable after close.
    #[must_use]
    pub fn available(&self) -> u64 {
        match unpack(self.0.word.load(Ordering::Acquire)) {
            Some(gate) => gate.available,
            None => {
                let slow = self.0.enter();
                let available = slow.gate.available;
                self.0.leave(slow);
                available
            }
        }
    }

    /// True once closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.reason().is_some()
    }

    /// Why the gate was closed, if it is.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        if self.0.word.load(Ordering::Acquire) != SLOW {
            return None;
        }
        self.0.slow.lock().reason.clone()
    }

    /// What a breach of the gate's ledger calls it.
    pub(crate) fn name(&self, name: impl FnOnce() -> String) {
        if let Some(ledger) = &self.0.ledger {
            ledger.name(name);
        }
    }

    /// Puts back `n` chunks that the caller took and did not use. Does nothing on a closed gate.
    pub(crate) fn put_back(&self, n: u64) {
        if let Some(ledger) = &self.0.ledger {
            ledger.unspent(n);
        }
        self.add(n); // no grant
    }

    /// All that it was opened with and granted; nothing if it keeps no account.
    pub(crate) fn granted(&self) -> u64 {
        self.0.granted.as_ref().map_or(0, |granted| granted.load(Ordering::Relaxed))
    }

    /// All that the gate was opened with and granted, if the process is checked.
    pub(crate) fn given(&self) -> Option<u128> {
        self.0.ledger.as_ref().map(|ledger| ledger.given())
    }

    /// True if both are handles of one gate.
    #[must_use]
    pub fn is_same(&self, other: &CreditGate) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// How many stand in line.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.0.slow.lock().line.len()
    }
}

impl std::fmt::Debug for CreditGate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CreditGate")
            .field("available", &self.available())
            .field("reason", &self.reason())
            .finish()
    }
}

impl Inner {
    /// Runs a decision on the word by compare-and-swap; `None` if the truth is behind the lock, or
    /// would have to go there.
    fn fast<R>(&self, decide: impl Fn(Gate) -> (Gate, R)) -> Option<R> {
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            let (gate, answer) = decide(unpack(word)?);
            let next = pack(gate)?;
            if next == word {
                return Some(answer);
            }
            match self.word.compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(answer),
                Err(now) => word = now,
            }
        }
    }

    /// [`fast`](Self::fast), told to the ledger if there is one, with what was available before.
    fn counted<R>(
        &self,
        decide: impl Fn(Gate) -> (Gate, R),
        count: impl FnOnce(&GateLedger, &R, u64),
    ) -> Option<R> {
        let Some(ledger) = &self.ledger else { return self.fast(decide) };
        let _step = ledger.begin();
        let (available, answer) = self.fast(|gate| {
            let (next, answer) = decide(gate);
            (next, (gate.available, answer))
        })?;
        count(ledger, &answer, available);
        Some(answer)
    }

    /// Takes the lock and brings the truth behind it. Until [`leave`](Self::leave), every other
    /// caller comes to the lock too.
    fn enter(&self) -> MutexGuard<'_, Slow> {
        let mut slow = self.slow.lock();
        if let Some(gate) = unpack(self.word.swap(SLOW, Ordering::AcqRel)) {
            slow.gate = gate;
        }
        slow
    }

    /// Serves those in line, gives the truth back to the word if it fits there, and wakes with the
    /// lock released.
    fn leave(&self, mut slow: MutexGuard<'_, Slow>) {
        let due = slow.serve();
        if let Some(ledger) = &slow.ledger {
            let head = slow.line.values().next().map(|place| place.n);
            ledger.verify(slow.gate.available, slow.gate.closed, head);
        }
        if slow.line.is_empty()
            && let Some(word) = pack(slow.gate)
        {
            self.word.store(word, Ordering::Release);
        }
        drop(slow);
        wake_all(due);
    }
}

impl Slow {
    fn acquire(&mut self, n: u64) -> TryAcquire {
        let (gate, answer) = self.gate.acquire(n, !self.line.is_empty());
        self.gate = gate;
        if let (AcquireAnswer::Taken, Some(ledger)) = (answer, &self.ledger) {
            ledger.taken(n);
        }
        match answer {
            AcquireAnswer::Taken => TryAcquire::Taken,
            AcquireAnswer::Wait => TryAcquire::Wait,
            AcquireAnswer::Closed => TryAcquire::Closed(self.closed().reason),
        }
    }

    fn closed(&self) -> Closed {
        Closed { reason: self.reason.clone().expect("a closed gate has a reason") }
    }

    /// True if the turn of this waiter has come; it is fetched with this.
    fn fetch(&mut self, ticket: u64) -> bool {
        let served = self.served.remove(&ticket);
        if let (true, Some(ledger)) = (served, &self.ledger) {
            ledger.fetched(ticket);
        }
        served
    }

    /// Takes credit for everyone at the head of the line whose turn has come. Answers whom to wake.
    fn serve(&mut self) -> Vec<Waker> {
        let mut due = Vec::new();
        while let Some(first) = self.line.first_entry() {
            let (gate, answer) = self.gate.acquire(first.get().n, false);
            self.gate = gate;
            match answer {
                AcquireAnswer::Wait => break,
                AcquireAnswer::Taken => {
                    let (ticket, place) = first.remove_entry();
                    self.served.insert(ticket);
                    if let Some(ledger) = &self.ledger {
                        ledger.taken(place.n);
                        ledger.served(ticket);
                    }
                    due.push(place.waker);
                }
                AcquireAnswer::Closed => due.push(first.remove().waker),
            }
        }
        due
    }
}

/// See [`CreditGate::acquire`].
#[must_use = "a future does nothing until it is polled"]
pub struct AcquireFuture {
    gate: Arc<Inner>,
    n: u64,
    ticket: Option<u64>,
    /// The credit is taken, the answer not told yet.
    held: bool,
}

impl Future for AcquireFuture {
    type Output = Result<(), Closed>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if std::mem::take(&mut this.held) {
            return Poll::Ready(Ok(()));
        }
        let waker = context.waker().clone(); // foreign code: never under the lock
        let mut slow = this.gate.enter();
        let mut replaced = None;
        let answer = match this.ticket {
            None => match slow.acquire(this.n) {
                TryAcquire::Taken => Some(Ok(())),
                TryAcquire::Closed(reason) => Some(Err(Closed { reason })),
                TryAcquire::Wait => {
                    let ticket = slow.next_ticket;
                    slow.next_ticket = ticket.checked_add(1).expect("2^64 waits never happen");
                    let place = Place { n: this.n, waker };
                    slow.line.insert(ticket, place);
                    this.ticket = Some(ticket);
                    None
                }
            },
            Some(ticket) if slow.fetch(ticket) => Some(Ok(())),
            Some(ticket) => match slow.line.get_mut(&ticket) {
                Some(place) => {
                    replaced = Some(std::mem::replace(&mut place.waker, waker));
                    None
                }
                None => Some(Err(slow.closed())),
            },
        };
        this.gate.leave(slow);
        drop(replaced); // foreign code may run when it goes: never under the lock
        match answer {
            Some(answer) => {
                this.ticket = None;
                Poll::Ready(answer)
            }
            None => Poll::Pending,
        }
    }
}

impl Drop for AcquireFuture {
    fn drop(&mut self) {
        if self.ticket.is_none() && !self.held {
            return;
        }
        let mut slow = self.gate.enter();
        let left = self.ticket.and_then(|ticket| slow.line.remove(&ticket));
        if self.held || self.ticket.is_some_and(|ticket| slow.fetch(ticket)) {
            if let Some(ledger) = &slow.ledger {
                ledger.returned(self.n, slow.gate.available);
            }
            slow.gate = slow.gate.give_back(self.n); // taken for a waiter that went away: hand it on
        }
        self.gate.leave(slow);
        drop(left);
    }
}
