//! The async way: each actor is a future on an executor of a few lines, all on one thread.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use serde_json::{Value, json};
use sluicegate::Closed;

use crate::waiting::{Leave, Limit, Return, Start, Way, acquired};

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

struct Task {
    future: Pin<Box<dyn Future<Output = Result<(), Closed>>>>,
    woken: Arc<Flag>,
}

#[derive(Default)]
pub struct Futures {
    tasks: BTreeMap<String, Task>,
    returns: VecDeque<Return>,
}

impl Futures {
    fn back(&mut self, actor: &str, answer: Value) {
        self.tasks.remove(actor); // dropped before the answer is told
        self.returns.push_back(Return { actor: actor.to_owned(), answer, after: Duration::ZERO });
    }

    /// Polls whoever was woken until nobody is.
    fn run(&mut self) {
        loop {
            let woken = |task: &Task| task.woken.0.swap(false, Ordering::Acquire);
            let Some((actor, task)) = self.tasks.iter_mut().find(|(_, task)| woken(task)) else {
                return;
            };
            let waker = Waker::from(Arc::clone(&task.woken));
            if let Poll::Ready(answer) = task.future.as_mut().poll(&mut Context::from_waker(&waker))
            {
                let actor = actor.clone();
                self.back(&actor, acquired(answer));
            }
        }
    }
}

impl Way for Futures {
    const NAME: &'static str = "futures";

    fn new(_short: Duration) -> Self {
        Futures::default()
    }

    fn start(&mut self, start: Start) {
        let gate = start.gate;
        let task = Task {
            future: Box::pin(async move { gate.acquire(start.n).await }),
            woken: Arc::new(Flag(AtomicBool::new(true))),
        };
        self.tasks.insert(start.actor.clone(), task);
        self.run();
        if start.limit == Limit::Zero && self.tasks.contains_key(&start.actor) {
            self.back(&start.actor, json!("timed_out"));
        }
    }

    fn leave(&mut self, actor: &str, how: Leave) {
        // Not polled first: one that was served already and is dropped now hands its credit on.
        if self.tasks.contains_key(actor) {
            let answer = if how == Leave::Cancel { json!("cancelled") } else { json!("timed_out") };
            self.back(actor, answer);
        }
    }

    fn returned(&mut self, _limit: Duration) -> Option<Return> {
        self.run();
        self.returns.pop_front() // nothing else moves: what is not here now will never come
    }

    fn expires_by_hand(&self) -> bool {
        true
    }
}
