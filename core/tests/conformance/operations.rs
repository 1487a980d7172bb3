//! The way of a language that brings its own wait: each actor is a thread that polls an operation
//! and sleeps on a channel of its own, where the bell, the clock and a cancel come in.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::waiting::{Leave, Limit, Return, Start, Way, acquired};

enum Signal {
    Ring,
    Cancel,
}

pub struct Operations {
    post: Sender<Return>,
    mailbox: Receiver<Return>,
    actors: Vec<JoinHandle<()>>,
    signals: BTreeMap<String, Sender<Signal>>,
}

fn wait(start: &Start, signal: &Sender<Signal>, signals: &Receiver<Signal>) -> Value {
    let end = match start.limit {
        Limit::None | Limit::Long => None,
        Limit::Zero => Some(Instant::now()),
        Limit::Short(limit) => Some(Instant::now() + limit),
    };
    let mut op = start.gate.acquire_op(start.n);
    loop {
        let ring = signal.clone();
        let rung = op.poll(move || {
            let _ = ring.send(Signal::Ring); // the actor may have left
        });
        if let Some(answer) = rung {
            assert!(op.is_done());
            return acquired(answer);
        }
        let came = match end {
            None => signals.recv().map_err(RecvTimeoutError::from),
            Some(end) => signals.recv_timeout(end.saturating_duration_since(Instant::now())),
        };
        match came {
            Ok(Signal::Ring) => {}
            // Dropping the operation, at the end of this function, leaves the line.
            Ok(Signal::Cancel) => return json!("cancelled"),
            Err(RecvTimeoutError::Timeout) => return json!("timed_out"),
            Err(RecvTimeoutError::Disconnected) => unreachable!("this thread holds a sender"),
        }
    }
}

impl Way for Operations {
    const NAME: &'static str = "operations";

    fn new(_short: Duration) -> Self {
        let (post, mailbox) = channel();
        Operations { post, mailbox, actors: Vec::new(), signals: BTreeMap::new() }
    }

    fn start(&mut self, start: Start) {
        let post = self.post.clone();
        let (signal, signals) = channel();
        self.signals.insert(start.actor.clone(), signal.clone());
        self.actors.push(std::thread::spawn(move || {
            let began = Instant::now();
            let answer = wait(&start, &signal, &signals);
            // The replay may have stopped listening; then nobody wants the answer.
            let _ = post.send(Return { actor: start.actor, answer, after: began.elapsed() });
        }));
    }

    fn leave(&mut self, actor: &str, how: Leave) {
        if let (Leave::Cancel, Some(signal)) = (how, self.signals.get(actor)) {
            let _ = signal.send(Signal::Cancel); // it may have come back by itself
        }
    }

    fn returned(&mut self, limit: Duration) -> Option<Return> {
        self.mailbox.recv_timeout(limit).ok()
    }

    fn expires_by_hand(&self) -> bool {
        false
    }
}

impl Drop for Operations {
    fn drop(&mut self) {
        for actor in self.actors.drain(..) {
            let joined = actor.join();
            assert!(joined.is_ok() || std::thread::panicking(), "an actor panicked");
        }
    }
}
