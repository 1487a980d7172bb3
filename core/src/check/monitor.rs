//! The thread that looks for waiters who were woken and never came, and for those whom nobody woke.

use std::sync::{OnceLock, Weak};

use super::{Breach, hold, patience};
use crate::sync::{Arc, AtomicBool, Condvar, Mutex, Ordering, thread};
use crate::time::now;

/// Processes in a line of forks that are watched, each by a monitor of its own: a child's locks must not
/// be those that a thread of its parent held when it forked.
const GENERATIONS: usize = 8;

static MONITORS: [OnceLock<Monitor>; GENERATIONS] = [const { OnceLock::new() }; GENERATIONS];

/// Something that is looked at from time to time.
pub(super) trait Look: Send + Sync {
    fn look(&self) -> Result<(), Breach>;

    /// True once there is nothing to look for any more.
    fn is_over(&self) -> bool {
        false
    }
}

enum Looked {
    /// Until it is gone.
    Alive(Weak<dyn Look>),
    /// Until it is over.
    Kept(Arc<dyn Look>),
}

impl Looked {
    fn get(&self) -> Option<Arc<dyn Look>> {
        match self {
            Looked::Alive(alive) => alive.upgrade(),
            Looked::Kept(kept) => (!kept.is_over()).then(|| Arc::clone(kept)),
        }
    }
}

struct Monitor {
    process: u32,
    running: AtomicBool,
    looked: Mutex<Vec<Looked>>,
    /// Never notified: the monitor only waits for time to pass.
    pause: Condvar,
}

/// Looks after `alive` from now on, until it is gone.
pub(super) fn watch<L: Look + 'static>(alive: &Arc<L>) {
    let alive: Weak<L> = Arc::downgrade(alive);
    add(Looked::Alive(alive));
}

/// Looks after `kept` from now on, until it is over.
pub(super) fn keep(kept: Arc<dyn Look>) {
    add(Looked::Kept(kept));
}

fn add(looked: Looked) {
    let process = std::process::id();
    let new = || Monitor {
        process,
        running: AtomicBool::new(false),
        looked: Mutex::new(Vec::new()),
        pause: Condvar::default(),
    };
    let own = MONITORS.iter().map(|slot| slot.get_or_init(new)).find(|m| m.process == process);
    let Some(monitor) = own else { return };
    let mut all = monitor.looked.lock();
    if all.len() == all.capacity() {
        all.retain(|looked| looked.get().is_some());
    }
    all.push(looked);
    drop(all);
    if !monitor.running.swap(true, Ordering::AcqRel) {
        let started = thread::Builder::new().name("sluice-check".to_owned()).spawn(|| {
            // As every thread of this library: signals are the application's.
            #[cfg(not(any(loom, shuttle)))]
            let _ = nix::sys::signal::SigSet::all().thread_block();
            monitor.run();
        });
        monitor.running.store(started.is_ok(), Ordering::Release);
    }
}

impl Monitor {
    fn run(&self) {
        let pace = patience() / 4;
        let mut all = self.looked.lock();
        loop {
            if let Some(next) = now().checked_add(pace) {
                self.pause.wait_until(&mut all, next);
            } else {
                self.pause.wait(&mut all);
            }
            all.retain(|looked| looked.get().is_some());
            let live: Vec<_> = all.iter().filter_map(Looked::get).collect();
            drop(all);
            live.iter().for_each(|looked| hold(looked.look()));
            drop(live);
            all = self.looked.lock();
        }
    }
}
