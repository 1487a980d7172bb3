//! A one-shot waker for foreign code: rings at most once, and withdrawing it joins the ring.

use std::task::Wake;

use crate::sync::thread::{self, ThreadId};
use crate::sync::{Arc, Condvar, Mutex};

type Ring = Box<dyn FnOnce() + Send>;

enum State {
    Armed(Ring),
    Ringing(ThreadId),
    Done,
}

/// A callback that fires at most once, from any thread, with no lock of this crate held.
///
/// Whatever the callback owns is dropped exactly once: after it ran, or when the bell is withdrawn.
/// The callback must not wait and must not panic; a panic is contained and lost.
pub struct Bell {
    state: Mutex<State>,
    rung: Condvar,
}

impl Bell {
    /// A bell that calls `ring`.
    pub fn new(ring: impl FnOnce() + Send + 'static) -> Arc<Self> {
        Arc::new(Bell { state: Mutex::new(State::Armed(Box::new(ring))), rung: Condvar::default() })
    }

    /// Fires unless it fired before or was withdrawn.
    pub fn ring(&self) {
        let mut state = self.state.lock();
        if !matches!(*state, State::Armed(_)) {
            return;
        }
        let State::Armed(ring) =
            std::mem::replace(&mut *state, State::Ringing(thread::current().id()))
        else {
            return;
        };
        drop(state);
        let _contained = std::panic::catch_unwind(std::panic::AssertUnwindSafe(ring));
        *self.state.lock() = State::Done;
        self.rung.notify_all();
    }

    /// Disarms the bell. Once this returns, the callback is not running and never will, unless it
    /// is the callback itself that withdraws. True if it never fired.
    pub fn withdraw(&self) -> bool {
        let mut state = self.state.lock();
        loop {
            match &*state {
                State::Armed(_) => {
                    let armed = std::mem::replace(&mut *state, State::Done);
                    drop(state);
                    drop(armed); // what the callback owns is released outside the lock
                    return true;
                }
                State::Ringing(by) if *by != thread::current().id() => self.rung.wait(&mut state),
                State::Ringing(_) | State::Done => return false,
            }
        }
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    #[test]
    fn rings_once_and_then_never_again() {
        let count = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&count);
        let bell = Bell::new(move || {
            seen.fetch_add(1, Ordering::SeqCst);
        });
        bell.ring();
        bell.ring();
        assert!(!bell.withdraw());
        assert_eq!(count.load(Ordering::SeqCst), 1);
        assert_eq!(Arc::strong_count(&count), 1, "the callback was dropped");
    }

    #[test]
    fn withdrawing_waits_for_a_ring_in_progress() {
        let (started, has_started) = mpsc::channel();
        let (finish, may_finish) = mpsc::channel::<()>();
        let done = Arc::new(AtomicUsize::new(0));
        let mark = Arc::clone(&done);
        let bell = Bell::new(move || {
            started.send(()).expect("the test listens");
            may_finish.recv().expect("the test lets go");
            mark.store(1, Ordering::SeqCst);
        });
        let ringing = Arc::clone(&bell);
        let ringer = thread::spawn(move || ringing.ring());
        has_started.recv().expect("the ring starts");
        let withdrawing = Arc::clone(&bell);
        let withdrawer = thread::spawn(move || withdrawing.withdraw());
        finish.send(()).expect("the ring goes on");
        assert!(!withdrawer.join().expect("no panic"));
        assert_eq!(done.load(Ordering::SeqCst), 1);
        ringer.join().expect("no panic");
    }

    #[test]
    fn a_callback_may_withdraw_its_own_bell() {
        let slot: Arc<Mutex<Option<Arc<Bell>>>> = Arc::new(Mutex::new(None));
        let inside = Arc::clone(&slot);
        let bell = Bell::new(move || {
            let own = inside.lock().take().expect("set before the ring");
            assert!(!own.withdraw());
        });
        *slot.lock() = Some(Arc::clone(&bell));
        bell.ring();
        assert!(!bell.withdraw());
    }
}
