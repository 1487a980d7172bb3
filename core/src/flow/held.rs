//! [`Kept`]: what a stage holds goes one by one, and what goes badly stays here.

use std::mem::{needs_drop, take};
use std::ops::{Deref, DerefMut};

use super::guard::contained;

/// Elements that a stage or an edge holds. When it goes, each of them goes by itself: one whose `Drop`
/// throws takes neither the others nor the process along.
#[derive(Debug, Default)]
pub(super) struct Kept<C: Default + IntoIterator>(C);

impl<C: Default + IntoIterator> Kept<C> {
    pub(super) fn new(held: C) -> Self {
        Kept(held)
    }

    /// Takes everything out.
    pub(super) fn all(&mut self) -> Self {
        Kept(take(&mut self.0))
    }
}

impl<C: Default + IntoIterator> Deref for Kept<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.0
    }
}

impl<C: Default + IntoIterator> DerefMut for Kept<C> {
    fn deref_mut(&mut self) -> &mut C {
        &mut self.0
    }
}

impl<C: Default + IntoIterator> Drop for Kept<C> {
    fn drop(&mut self) {
        if needs_drop::<C::Item>() {
            for element in take(&mut self.0) {
                contained(move || drop(element));
            }
        }
    }
}
