//! Threads of this library, and what signals they take.

use std::io;

#[cfg(not(any(loom, shuttle)))]
use nix::sys::signal::{SigSet, Signal};

use crate::sync::thread::{Builder, JoinHandle};

/// Starts a thread that no signal is delivered to, so that the application's handlers run on the
/// application's threads, and a broken pipe is an error of the write and not the end of the
/// process. The dispositions of the process are left as they are.
pub(crate) fn spawn_quiet(
    name: &str,
    body: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    Builder::new().name(format!("sluice-{name}")).spawn(move || {
        // Cannot fail with a full set; were it to, signals would be taken here as everywhere. A checker
        // of schedules runs all of its threads on the one that has to hear an interrupt.
        #[cfg(not(any(loom, shuttle)))]
        let _ = SigSet::all().thread_block();
        body();
    })
}

/// Makes a broken pipe an error of the write on this thread, which runs functions of the application: other
/// signals it takes as any thread of theirs does.
pub(crate) fn survive_broken_pipes() {
    #[cfg(not(any(loom, shuttle)))]
    {
        let mut broken = SigSet::empty();
        broken.add(Signal::SIGPIPE);
        let _blocked = broken.thread_block(); // cannot fail with a set of signals that there are
    }
}
