//! A relay asks those behind it whether they live: a frozen process, or a machine that lost its power, may
//! leave its connection open and tell nobody.

use std::time::Duration;

use crate::error::{Error, ErrorKind, Reason};
use crate::link::spawn_quiet;
use crate::request::Connection;
use crate::sync::{Arc, AtomicBool, Ordering};
use crate::time::Deadline;
use crate::wait::block_on;
use crate::wait::watched::{Watched, until};

/// Who asks.
pub(super) trait Watch: Send + Sync + 'static {
    type Host: Send;

    /// How often it asks, and how long an answer may take. None: never.
    fn pace(&self) -> Option<(Duration, Duration)>;

    /// True once: whoever calls first begins.
    fn begins(&self) -> bool;

    /// Whether there is nothing to ask any more.
    fn over(&self) -> &Watched<bool>;

    /// Who is asked.
    fn hosts(&self) -> Vec<Self::Host>;

    /// What it is called, how it is reached, and whether it has ever answered.
    fn parts(host: &Self::Host) -> (&str, &Arc<Connection>, &AtomicBool);

    /// One has not answered in time, though it had before.
    fn dead(&self, host: &Self::Host, reason: &Reason);
}

/// Starts the thread that asks, unless there is one.
///
/// # Errors
/// `LimitReached` if there is no thread to be had.
pub(super) fn keep<W: Watch>(watch: &Arc<W>) -> Result<(), Error> {
    let Some((period, patience)) = watch.pace() else { return Ok(()) };
    if !watch.begins() {
        return Ok(());
    }
    let watch = Arc::clone(watch);
    spawn_quiet("health", move || ask_on(&watch, period, patience)).map(drop).map_err(|e| {
        Error::new(ErrorKind::LimitReached, format!("no thread to watch hosts on: {e}"))
    })
}

fn ask_on<W: Watch>(watch: &Arc<W>, period: Duration, patience: Duration) {
    loop {
        let over = until(Arc::clone(watch), |watch| watch.over(), |over| over.then_some(()));
        if block_on(over, Deadline::after(period)).is_ok() {
            return;
        }
        let hosts = watch.hosts();
        let asked: Vec<_> = hosts.iter().map(|host| (host, W::parts(host).1.probe(None))).collect();
        let deadline = Deadline::after(patience);
        for (host, answer) in asked {
            let (name, _, answers) = W::parts(host);
            match block_on(answer, deadline) {
                Ok(Some(_)) => answers.store(true, Ordering::Release),
                Ok(None) => {} // its reader has told the end
                Err(_) if answers.load(Ordering::Acquire) => {
                    let message = format!("host `{name}` did not answer within {patience:?}");
                    watch.dead(host, &Error::new(ErrorKind::PeerDied, message));
                }
                Err(_) => {} // it may not know heartbeats
            }
        }
    }
}
