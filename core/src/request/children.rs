//! The calls that a handler makes for the request that it serves: they stop with it.

use std::sync::Weak;

use crate::sync::{Arc, Mutex};

/// Calls, without keeping them.
pub(super) struct Children<T>(Mutex<Vec<Weak<T>>>);

impl<T> Default for Children<T> {
    fn default() -> Self {
        Children(Mutex::default())
    }
}

impl<T> Children<T> {
    pub(super) fn add(&self, child: &Arc<T>) {
        let mut children = self.0.lock();
        children.retain(|child| child.strong_count() > 0);
        children.push(Arc::downgrade(child));
    }

    /// Those that are live, each once.
    pub(super) fn take(&self) -> Vec<Arc<T>> {
        let children = std::mem::take(&mut *self.0.lock());
        children.iter().filter_map(Weak::upgrade).collect()
    }
}
