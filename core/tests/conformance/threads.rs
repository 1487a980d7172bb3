//! The blocking way: each actor is a thread in `blocking_acquire` or `blocking_acquire_timeout`.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::json;
use sluicegate::Deadline;

use crate::waiting::{Leave, Limit, Return, Start, Way, acquired};

pub struct Threads {
    short: Duration,
    post: Sender<Return>,
    mailbox: Receiver<Return>,
    actors: Vec<JoinHandle<()>>,
}

impl Way for Threads {
    const NAME: &'static str = "threads";

    fn new(short: Duration) -> Self {
        let (post, mailbox) = channel();
        Threads { short, post, mailbox, actors: Vec::new() }
    }

    fn start(&mut self, start: Start) {
        let post = self.post.clone();
        let limit = match (start.limit, start.leaves) {
            (Limit::None, Some(Leave::Cancel)) => Limit::Short(self.short), // no cancelling a blocked thread
            (limit, _) => limit,
        };
        self.actors.push(std::thread::spawn(move || {
            let began = Instant::now();
            let deadline = match limit {
                Limit::None => None,
                Limit::Zero => Some(Deadline::after(Duration::ZERO)),
                Limit::Short(limit) => Some(Deadline::after(limit)),
                Limit::Long => Some(Deadline::after(Duration::MAX)),
            };
            let answer = match deadline {
                None => acquired(start.gate.blocking_acquire(start.n)),
                Some(deadline) => match start.gate.blocking_acquire_timeout(start.n, deadline) {
                    Ok(answer) => acquired(answer),
                    Err(_) => json!("timed_out"),
                },
            };
            // The replay may have stopped listening; then nobody wants the answer.
            let _ = post.send(Return { actor: start.actor, answer, after: began.elapsed() });
        }));
    }

    fn leave(&mut self, _actor: &str, _how: Leave) {
        // its limit passes by itself
    }

    fn returned(&mut self, limit: Duration) -> Option<Return> {
        self.mailbox.recv_timeout(limit).ok()
    }

    fn expires_by_hand(&self) -> bool {
        false
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        for actor in self.actors.drain(..) {
            let joined = actor.join();
            assert!(joined.is_ok() || std::thread::panicking(), "an actor panicked");
        }
    }
}
