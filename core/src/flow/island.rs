//! A run of fused stages: one thing that is asked again when it is woken.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Weak;
use std::task::{Poll, Wake, Waker};
use std::time::Duration;

use super::clock::{Clock, Sleeper};
use super::context::Context;
use super::guard::{contained, failed};
use crate::check;
use crate::error::Error;
use crate::sync::{Arc, AtomicBool, Mutex, Ordering};
use crate::time::Deadline;
use crate::wait::block_on;
use crate::wait::watched::{Watched, until};

/// How often an island looks before its thread sleeps: a few microseconds. A checker of schedules has no
/// use for it.
const SPINS: u32 = if cfg!(any(loom, shuttle)) { 0 } else { 200 };

/// What an island does. Dropping it cancels everything above and releases everybody who waits for it.
pub(super) trait Drive: Send {
    /// Goes on until it must wait or is done.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()>;

    /// Tells why it will be dropped now: its completion says so.
    fn stop(&mut self, _why: &Error) {}
}

/// Ends a wait that knows nothing of wakers.
pub(super) type Interrupt = Box<dyn Fn() + Send + Sync>;

/// A drive on its own, before it runs.
pub(super) struct NewIsland {
    pub(super) name: String,
    pub(super) drive: Box<dyn Drive>,
    pub(super) interrupt: Option<Interrupt>,
}

/// Who owns an island.
pub(super) trait Owner: Send + Sync {
    /// The island with this number is over.
    fn finished(&self, id: u64);
}

#[derive(Default)]
struct Begin {
    begun: bool,
    why: Option<Error>,
}

pub(super) struct Island {
    pub(super) id: u64,
    pub(super) name: String,
    owner: Weak<dyn Owner>,
    clock: Clock,
    drive: Mutex<Option<Box<dyn Drive>>>,
    interrupt: Option<Interrupt>,
    woken: AtomicBool,
    stopping: AtomicBool,
    begin: Watched<Begin>,
}

/// What one turn of an island came to.
pub(super) enum Turn {
    Done,
    Wait(Option<Duration>),
    /// It is being asked already: by another thread, or further up on this one.
    Busy,
}

impl Island {
    pub(super) fn new(id: u64, owner: Weak<dyn Owner>, clock: Clock, new: NewIsland) -> Arc<Self> {
        Arc::new(Island {
            id,
            name: new.name,
            owner,
            clock,
            drive: Mutex::new(Some(new.drive)),
            interrupt: new.interrupt,
            woken: AtomicBool::new(true),
            stopping: AtomicBool::new(false),
            begin: Watched::new(Begin::default()),
        })
    }

    /// Lets the island run: every other island of the same run exists.
    pub(super) fn begin(&self) {
        self.begin.update(|state| state.begun = true);
    }

    /// Ends the island. Its stages are dropped by whoever runs it, or here if nobody does.
    pub(super) fn stop(self: &Arc<Self>, why: &Error, here: bool) {
        self.stopping.store(true, Ordering::Release);
        self.begin.update(|state| {
            state.begun = true;
            state.why.get_or_insert_with(|| why.clone());
        });
        self.wake_by_ref();
        if let Some(interrupt) = &self.interrupt {
            interrupt();
        }
        if here {
            self.release();
        }
    }

    /// True if asking it again is worth while. The mark is taken away.
    pub(super) fn take_woken(&self) -> bool {
        self.woken.swap(false, Ordering::AcqRel)
    }

    pub(super) fn is_woken(&self) -> bool {
        self.woken.load(Ordering::Acquire)
    }

    /// Asks the stages once.
    pub(super) fn turn(&self, waker: &Waker) -> Turn {
        let Some(mut drive) = self.drive.lock().take() else {
            return if self.stopping.load(Ordering::Acquire) { Turn::Done } else { Turn::Busy };
        };
        if !self.stopping.load(Ordering::Acquire) {
            let mut context = Context::new(waker, &self.clock, &self.stopping);
            match catch_unwind(AssertUnwindSafe(|| drive.poll(&mut context))) {
                Ok(Poll::Pending) => {
                    let alarm = context.alarm();
                    *self.drive.lock() = Some(drive);
                    if self.stopping.load(Ordering::Acquire) {
                        self.release();
                        return Turn::Done;
                    }
                    return Turn::Wait(alarm);
                }
                Ok(Poll::Ready(())) => {}
                Err(panic) => contained(|| drive.stop(&failed(&self.name, panic))),
            }
        }
        *self.drive.lock() = Some(drive);
        self.release();
        Turn::Done
    }

    /// Drops the stages. A panic of something that a stage owned stays here.
    fn release(&self) {
        let Some(mut drive) = self.drive.lock().take() else { return };
        let why = self.begin.with(|state| state.why.clone());
        if let Some(why) = &why {
            contained(|| drive.stop(why));
        }
        contained(move || drop(drive));
    }

    /// True unless it is being asked just now, or is over.
    pub(super) fn is_idle(&self) -> bool {
        self.drive.lock().is_some()
    }

    /// Has it asked again although nothing woke it.
    pub(super) fn mark_woken(&self) {
        self.woken.store(true, Ordering::Release);
    }

    /// How long it may sleep after a turn.
    pub(super) fn deadline(&self, alarm: Option<Duration>, waker: &Waker) -> Deadline {
        self.clock.deadline(self.sleeper(), alarm, waker)
    }

    /// Its place at the clock, which it leaves when it is over.
    fn sleeper(&self) -> Sleeper {
        (self.id, std::ptr::from_ref(self).addr())
    }

    /// The life of an island that has a thread.
    pub(super) fn run(self: &Arc<Self>) {
        let begun = until(Arc::clone(self), |island| &island.begin, |s| s.begun.then_some(()));
        let _no_deadline = block_on(begun, Deadline::NEVER);
        let waker = Waker::from(Arc::clone(self));
        loop {
            self.woken.store(false, Ordering::Release);
            match self.turn(&waker) {
                Turn::Done | Turn::Busy => break,
                Turn::Wait(alarm) => {
                    if self.soon() {
                        continue;
                    }
                    let deadline = self.deadline(alarm, &waker);
                    let island = Arc::clone(self);
                    let woken = until(
                        Arc::clone(self),
                        |island| &island.begin,
                        move |_| island.take_woken().then_some(()),
                    );
                    let _woken_or_time = block_on(woken, check::pace(deadline));
                }
            }
        }
        self.over();
    }

    /// True if it was woken while the thread looked on for a moment: a neighbour that is at work is
    /// cheaper to wait for than to sleep for.
    fn soon(&self) -> bool {
        for _ in 0..SPINS {
            if self.is_woken() {
                return true;
            }
            std::hint::spin_loop();
        }
        false
    }

    /// Leaves its owner's table.
    pub(super) fn over(&self) {
        let _forgotten = self.clock.deadline(self.sleeper(), None, Waker::noop());
        if let Some(owner) = self.owner.upgrade() {
            owner.finished(self.id);
        }
    }
}

impl Wake for Island {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.woken.swap(true, Ordering::AcqRel) {
            self.begin.update(|_| ());
        }
    }
}
