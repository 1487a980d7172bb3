//! State that can be waited on: a lock, and the wakers of those who wait for it to change.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::wake_all;
use crate::check::{self, Lost, Suspects};
use crate::sync::{Arc, Mutex};

/// The wakers of the tasks that wait for one state.
#[derive(Default)]
struct WaitSet {
    next: u64,
    wakers: BTreeMap<u64, Waker>,
    /// Who found an answer without a wake; always empty unless the process is checked.
    suspects: Suspects,
}

impl WaitSet {
    /// Keeps `waker`; answers the one it replaces, for the caller to drop with the lock released.
    #[must_use = "a waker is foreign code when it goes"]
    fn put(&mut self, key: &mut Option<u64>, waker: Waker) -> Option<Waker> {
        let key = *key.get_or_insert_with(|| {
            self.next = self.next.wrapping_add(1);
            self.next
        });
        self.wakers.insert(key, waker)
    }

    /// A waiter of `whose` has found an answer. While its waker stands, nobody has woken it.
    fn answered(&mut self, key: Option<u64>, whose: &'static str) {
        if check::on() && key.is_some_and(|key| self.wakers.contains_key(&key)) {
            self.suspects.add(whose);
        }
    }
}

struct Inner<S> {
    state: S,
    waiting: WaitSet,
}

/// Shared state with waiters. Every change wakes all of them, each asks its own question again:
/// no wake is used up by a waiter that cannot act on it.
pub(crate) struct Watched<S>(Mutex<Inner<S>>);

impl<S> Watched<S> {
    pub(crate) fn new(state: S) -> Self {
        Watched(Mutex::new(Inner { state, waiting: WaitSet::default() }))
    }

    /// Looks at the state, or changes it in a way that nobody waits for.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&mut S) -> R) -> R {
        look(&mut self.0.lock().state)
    }

    /// Changes the state, then wakes every waiter with the lock released.
    pub(crate) fn update<R>(&self, change: impl FnOnce(&mut S) -> R) -> R {
        let mut inner = self.0.lock();
        let result = change(&mut inner.state);
        if check::on() && check::lost(Lost::Forgotten, std::any::type_name::<S>()) {
            return result;
        }
        let wakers = std::mem::take(&mut inner.waiting.wakers);
        inner.waiting.suspects.woken();
        drop(inner);
        wake_all(wakers.into_values().map(|waker| check::due(waker, std::any::type_name::<S>())));
        result
    }
}

impl<S> Watched<S> {
    /// Asks once, for a waiter that keeps its `key` from one call to the next. Without an answer
    /// `waker` is fired at the next change. Whoever gives up calls [`forget`](Self::forget).
    pub(crate) fn ask<T>(
        &self,
        key: &mut Option<u64>,
        waker: &Waker,
        ask: impl FnOnce(&mut S) -> Option<T>,
    ) -> Option<T> {
        let waker = waker.clone(); // foreign code: never under the lock
        let mut inner = self.0.lock();
        let answer = ask(&mut inner.state);
        if answer.is_some() {
            inner.waiting.answered(*key, std::any::type_name::<S>());
        } else {
            let replaced = inner.waiting.put(key, waker);
            drop(inner);
            drop(replaced); // foreign code may run when it goes: never under the lock
        }
        answer
    }

    /// Asks once, for the waiter of `key`, and leaves its waker as it is.
    pub(crate) fn glance<T>(
        &self,
        key: Option<u64>,
        ask: impl FnOnce(&mut S) -> Option<T>,
    ) -> Option<T> {
        let mut inner = self.0.lock();
        let answer = ask(&mut inner.state);
        if answer.is_some() {
            inner.waiting.answered(key, std::any::type_name::<S>());
        }
        answer
    }

    /// Leaves no waker of `key` behind.
    pub(crate) fn forget(&self, key: &mut Option<u64>) {
        if let Some(key) = key.take() {
            let mut inner = self.0.lock();
            let waker = inner.waiting.wakers.remove(&key);
            drop(inner);
            drop(waker); // foreign code may run when it goes: never under the lock
        }
    }
}

/// Waits until `ask` answers. It is asked under the lock and must not call anything that locks.
pub(crate) fn until<S, T, O, A>(
    owner: Arc<O>,
    field: fn(&O) -> &Watched<S>,
    ask: A,
) -> Until<S, O, A>
where
    A: FnMut(&mut S) -> Option<T>,
{
    Until { owner, field, ask, key: None }
}

/// See [`until`].
pub(crate) struct Until<S, O, A> {
    owner: Arc<O>,
    field: fn(&O) -> &Watched<S>,
    ask: A,
    key: Option<u64>,
}

impl<S, O, A> Unpin for Until<S, O, A> {}

impl<S, T, O, A> Future for Until<S, O, A>
where
    A: FnMut(&mut S) -> Option<T>,
{
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let this = self.get_mut();
        let watched = (this.field)(&this.owner);
        match watched.ask(&mut this.key, context.waker(), &mut this.ask) {
            Some(answer) => Poll::Ready(answer),
            None => Poll::Pending,
        }
    }
}

impl<S, O, A> Drop for Until<S, O, A> {
    fn drop(&mut self) {
        (self.field)(&self.owner).forget(&mut self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Deadline;
    use crate::wait::block_on;

    struct Owner {
        count: Watched<u32>,
    }

    #[test]
    fn a_change_wakes_everyone_and_each_asks_its_own_question() {
        let owner = Arc::new(Owner { count: Watched::new(0) });
        let waiters: Vec<_> = (1..=4)
            .map(|at_least| {
                let owner = Arc::clone(&owner);
                std::thread::spawn(move || {
                    let wait = until(owner, |o| &o.count, move |n| (*n >= at_least).then_some(*n));
                    block_on(wait, Deadline::NEVER)
                })
            })
            .collect();
        for _ in 0..4 {
            owner.count.update(|n| *n += 1);
        }
        for (at_least, waiter) in (1..=4).zip(waiters) {
            assert!(waiter.join().expect("no panic").expect("no deadline") >= at_least);
        }
        assert!(owner.count.0.lock().waiting.wakers.is_empty());
    }

    #[test]
    fn a_dropped_wait_leaves_no_waker_behind() {
        let owner = Arc::new(Owner { count: Watched::new(0) });
        let wait = until(Arc::clone(&owner), |o| &o.count, |n| (*n > 0).then_some(()));
        let limit = Deadline::after(std::time::Duration::from_millis(1));
        assert!(block_on(wait, limit).is_err());
        assert!(owner.count.0.lock().waiting.wakers.is_empty());
    }
}
