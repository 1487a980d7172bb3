//! The thread that looks for waiters who were woken and never came.

use std::sync::{OnceLock, Weak};

use super::{GateLedger, hold, patience};
use crate::sync::{Arc, AtomicBool, Condvar, Mutex, Ordering, thread};
use crate::time::now;

/// Processes in a line of forks that are watched, each by a monitor of its own: a child's locks must not
/// be those that a thread of its parent held when it forked.
const GENERATIONS: usize = 8;

static MONITORS: [OnceLock<Monitor>; GENERATIONS] = [const { OnceLock::new() }; GENERATIONS];

struct Monitor {
    process: u32,
    running: AtomicBool,
    gates: Mutex<Vec<Weak<GateLedger>>>,
    /// Never notified: the monitor only waits for time to pass.
    pause: Condvar,
}

/// Looks after `gate` from now on, until it is gone.
pub(super) fn watch(gate: &Arc<GateLedger>) {
    let process = std::process::id();
    let new = || Monitor {
        process,
        running: AtomicBool::new(false),
        gates: Mutex::new(Vec::new()),
        pause: Condvar::default(),
    };
    let own = MONITORS.iter().map(|slot| slot.get_or_init(new)).find(|m| m.process == process);
    let Some(monitor) = own else { return };
    let mut gates = monitor.gates.lock();
    if gates.len() == gates.capacity() {
        gates.retain(|gate| gate.strong_count() > 0);
    }
    gates.push(Arc::downgrade(gate));
    drop(gates);
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
        let mut gates = self.gates.lock();
        loop {
            if let Some(next) = now().checked_add(pace) {
                self.pause.wait_until(&mut gates, next);
            } else {
                self.pause.wait(&mut gates);
            }
            gates.retain(|gate| gate.strong_count() > 0);
            let live: Vec<_> = gates.iter().filter_map(Weak::upgrade).collect();
            drop(gates);
            live.iter().for_each(|gate| hold(gate.look()));
            drop(live);
            gates = self.gates.lock();
        }
    }
}
