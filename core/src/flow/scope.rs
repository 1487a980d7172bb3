//! [`Scope`]: who owns the threads, edges and completions of what runs.

use std::collections::BTreeMap;
use std::sync::Weak;
use std::task::Waker;
use std::time::Duration;

use super::clock::Clock;
use super::island::{Island, NewIsland, Owner, Turn};
use super::meter::StageView;
use crate::error::{Error, ErrorKind};
use crate::link::survive_broken_pipes;
use crate::sync::{Arc, Mutex, thread};
use crate::time::Deadline;
use crate::wait::block_on;
use crate::wait::watched::{Watched, until};

/// What ties a run to something that runs already.
pub(super) type Join = Box<dyn FnOnce()>;

/// How long a scope that is dropped waits for functions of users that still run.
const DROP_LIMIT: Duration = Duration::from_secs(1);

/// Owns what runs: a thread an island, and through it every edge and every completion.
///
/// Shutting a scope down, or dropping it, stops every island: elements in edges are released, whoever
/// waits to offer is told, completions that are pending are cancelled. All calls are safe from any
/// thread.
pub struct Scope(Arc<ScopeCore>);

enum Mode {
    Threads,
    /// Nothing runs but in `settle`, in an order that the seed decides.
    Stepped(Mutex<Dice>),
}

/// A small generator for schedules (xorshift), not for secrets.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % (n.max(1) as u64)).unwrap_or(0)
    }
}

#[derive(Default)]
struct State {
    over: Option<Error>,
    next: u64,
    islands: BTreeMap<u64, Arc<Island>>,
    threads: Vec<thread::ThreadId>,
    views: Vec<Weak<StageView>>,
}

pub(super) struct ScopeCore {
    name: String,
    clock: Clock,
    mode: Mode,
    state: Watched<State>,
}

impl Scope {
    /// A scope that runs each island on a thread of its own.
    ///
    /// # Errors
    /// None today; room for a system that refuses what a scope needs.
    pub fn new(name: impl Into<String>) -> Result<Self, Error> {
        Ok(Self::make(name.into(), Clock::machine(), Mode::Threads))
    }

    /// The same with a clock of its own: [`Clock::hand`] for tests of stages that wait for time.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_clock(name: impl Into<String>, clock: Clock) -> Result<Self, Error> {
        Ok(Self::make(name.into(), clock, Mode::Threads))
    }

    /// A scope without threads for tests: islands run in [`settle`](Self::settle) only, on its thread,
    /// in an order that `seed` decides, on a clock moved by hand. The same seed gives the same order.
    #[must_use]
    pub fn stepped(name: impl Into<String>, seed: u64) -> Self {
        // Neighbouring seeds must not give neighbouring orders, and 0 is no state of the generator.
        let state =
            seed.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9) | 1;
        Self::make(name.into(), Clock::hand(), Mode::Stepped(Mutex::new(Dice(state))))
    }

    fn make(name: String, clock: Clock, mode: Mode) -> Self {
        Scope(Arc::new(ScopeCore { name, clock, mode, state: Watched::new(State::default()) }))
    }

    /// The scope's name, for errors and `explain`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// The clock that the scope's stages see.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// Every stage that is running now, in the order they were made.
    #[must_use]
    pub fn stages(&self) -> Vec<Arc<StageView>> {
        self.0.views()
    }

    /// How many islands run now.
    #[must_use]
    pub fn running(&self) -> usize {
        self.0.state.with(|state| state.islands.len())
    }

    /// Runs what can run until nothing can, and answers how many turns that took. 0 in a scope with
    /// threads, whose islands run by themselves. Called by a user's function it runs the other
    /// islands.
    pub fn settle(&self) -> u64 {
        let Mode::Stepped(dice) = &self.0.mode else { return 0 };
        let mut turns = 0_u64;
        loop {
            let ready: Vec<_> = self.0.state.with(|state| {
                let islands = state.islands.values();
                islands.filter(|island| island.is_woken() && island.is_idle()).cloned().collect()
            });
            if ready.is_empty() {
                return turns;
            }
            let island = &ready[dice.lock().below(ready.len())];
            island.take_woken();
            turns = turns.saturating_add(1);
            let waker = Waker::from(Arc::clone(island));
            match island.turn(&waker) {
                Turn::Done => island.over(),
                Turn::Wait(alarm) => {
                    let _asked_again_by_the_clock = island.deadline(alarm, &waker);
                }
                Turn::Busy => island.mark_woken(),
            }
        }
    }

    /// Moves a clock made by hand, and in a stepped scope runs what that wakes.
    pub fn advance(&self, by: Duration) -> bool {
        let moved = self.0.clock.advance(by);
        self.settle();
        moved
    }

    /// Stops everything and waits, no longer than `limit`, until all of it has stopped. Whatever a
    /// user's function is doing is not interrupted. May be called again.
    ///
    /// # Errors
    /// `TimedOut`, with the names of the islands that are still in a user's function.
    pub fn shutdown(&self, limit: Duration) -> Result<(), Error> {
        self.stop();
        let own = thread::current().id();
        let gone = until(
            Arc::clone(&self.0),
            |core| &core.state,
            move |state: &mut State| {
                (state.islands.is_empty() || state.threads.contains(&own)).then_some(())
            },
        );
        block_on(gone, Deadline::after(limit)).map_err(|_| {
            let names: Vec<_> = self
                .0
                .state
                .with(|state| state.islands.values().map(|island| island.name.clone()).collect());
            Error::new(
                ErrorKind::TimedOut,
                format!(
                    "scope {:?} did not stop within {limit:?}: still in a user's function: {}",
                    self.0.name,
                    names.join(", ")
                ),
            )
        })
    }

    fn stop(&self) {
        let why =
            Error::new(ErrorKind::ScopeShutDown, format!("scope {:?} was shut down", self.0.name));
        let (islands, first) = self.0.state.update(|state| {
            let first = state.over.is_none();
            state.over.get_or_insert_with(|| why.clone());
            (state.islands.values().cloned().collect::<Vec<_>>(), first)
        });
        if !first {
            return;
        }
        let here = matches!(self.0.mode, Mode::Stepped(_));
        for island in islands {
            island.stop(&why, here);
            if here {
                island.over();
            }
        }
    }

    pub(super) fn core(&self) -> &Arc<ScopeCore> {
        &self.0
    }
}

impl ScopeCore {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn views(&self) -> Vec<Arc<StageView>> {
        self.state.with(|state| state.views.iter().filter_map(Weak::upgrade).collect())
    }

    /// Why nothing runs any more.
    pub(super) fn over(&self) -> Option<Error> {
        self.state.with(|state| state.over.clone())
    }

    /// Runs all of `new`, or none of it.
    ///
    /// # Errors
    /// `ScopeShutDown`, or `LimitReached` if the system has no thread left.
    pub(super) fn spawn(
        self: &Arc<Self>,
        new: Vec<NewIsland>,
        views: &[Arc<StageView>],
        joins: Vec<Join>,
    ) -> Result<(), Error> {
        let mut islands = Vec::with_capacity(new.len());
        let mut refused = None;
        let mut unused = Some(new);
        self.state.update(|state| {
            if let Some(why) = &state.over {
                refused = Some(why.clone());
                return;
            }
            state.views.retain(|view| view.strong_count() != 0);
            state.views.extend(views.iter().map(Arc::downgrade));
            for new in unused.take().into_iter().flatten() {
                let id = state.next;
                state.next = state.next.wrapping_add(1);
                let owner: Weak<Self> = Arc::downgrade(self);
                let island = Island::new(id, owner, self.clock.clone(), new);
                state.islands.insert(id, Arc::clone(&island));
                islands.push(island);
            }
        });
        drop(unused); // stages of a run that is refused go with the lock released
        if let Some(why) = refused {
            return Err(why);
        }
        if let Mode::Threads = self.mode {
            for island in &islands {
                if let Err(error) = self.start(island) {
                    for island in &islands {
                        island.stop(&error, true);
                        island.over();
                    }
                    return Err(error);
                }
            }
        }
        joins.into_iter().for_each(|join| join());
        for island in &islands {
            island.begin();
        }
        Ok(())
    }

    fn start(self: &Arc<Self>, island: &Arc<Island>) -> Result<(), Error> {
        let core = Arc::downgrade(self);
        let own = Arc::clone(island);
        let run = move || {
            survive_broken_pipes();
            let id = thread::current().id();
            if let Some(core) = core.upgrade() {
                core.state.with(|state| state.threads.push(id));
            }
            own.run();
            if let Some(core) = core.upgrade() {
                core.state.with(|state| state.threads.retain(|other| *other != id));
            }
        };
        let thread = thread::Builder::new().name(format!("flow {}", island.name));
        thread.spawn(run).map(drop).map_err(|error| {
            Error::new(
                ErrorKind::LimitReached,
                format!("no thread for island {:?} of scope {:?}: {error}", island.name, self.name),
            )
        })
    }
}

impl Owner for ScopeCore {
    fn finished(&self, id: u64) {
        let island = self.state.update(|state| state.islands.remove(&id));
        drop(island);
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        let _still_running = self.shutdown(DROP_LIMIT);
    }
}

impl std::fmt::Debug for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scope")
            .field("name", &self.0.name)
            .field("running", &self.running())
            .finish_non_exhaustive()
    }
}
