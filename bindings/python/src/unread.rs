//! Items that were received and given back: a receive that was interrupted after its item had come
//! has consumed nothing.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use sluicegate::{Error, InputStream, Item};

use crate::sync::Mutex;

/// The items of one stream that were given back, and who waits for one.
pub(crate) struct Unread<T = Item>(Mutex<State<T>>);

struct State<T> {
    items: VecDeque<T>,
    waiting: BTreeMap<u64, Waker>,
    next: u64,
}

impl<T> Default for Unread<T> {
    fn default() -> Self {
        Unread(Mutex::new(State { items: VecDeque::new(), waiting: BTreeMap::new(), next: 0 }))
    }
}

impl<T> Unread<T> {
    /// Gives an item back: it is the next to be received.
    pub(crate) fn put_back(&self, item: T) {
        let waiting = {
            let mut state = self.0.lock();
            state.items.push_front(item);
            std::mem::take(&mut state.waiting)
        };
        for waker in waiting.into_values() {
            waker.wake();
        }
    }

    /// Takes the first item that was given back.
    pub(crate) fn take(&self) -> Option<T> {
        self.0.lock().items.pop_front()
    }
}

/// The next item, given back or new.
pub(crate) fn recv(stream: &InputStream, unread: &Arc<Unread>) -> Recv<Item> {
    first(stream.recv(), unread)
}

/// The next item, given back or what `new` answers.
pub(crate) fn first<T>(
    new: impl Future<Output = Result<Option<T>, Error>> + Send + 'static,
    unread: &Arc<Unread<T>>,
) -> Recv<T> {
    Recv { new: Box::pin(new), unread: Arc::clone(unread), place: None }
}

type NewItem<T> = dyn Future<Output = Result<Option<T>, Error>> + Send;

/// See [`recv`].
pub(crate) struct Recv<T> {
    new: Pin<Box<NewItem<T>>>,
    unread: Arc<Unread<T>>,
    place: Option<u64>,
}

impl<T> Future for Recv<T> {
    type Output = Result<Option<T>, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        {
            let this = &mut *self;
            let mut state = this.unread.0.lock();
            if let Some(item) = state.items.pop_front() {
                return Poll::Ready(Ok(Some(item)));
            }
            let place = *this.place.get_or_insert_with(|| {
                state.next += 1;
                state.next
            });
            state.waiting.insert(place, context.waker().clone());
        }
        self.new.as_mut().poll(context)
    }
}

impl<T> Drop for Recv<T> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            let waker = self.unread.0.lock().waiting.remove(&place);
            drop(waker);
        }
    }
}
