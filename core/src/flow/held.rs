//! [`Kept`]: what a stage holds goes one by one, and what goes badly stays here. [`Own`] is the same for
//! the functions of users.

use std::mem::{needs_drop, take};
use std::ops::{Deref, DerefMut};

use super::guard::contained;
use crate::sync::Arc;

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

/// A user's function. What the `Drop` of what it has captured throws stays here: it takes neither other
/// functions of the same blueprint or run along, nor the process.
pub(super) struct Own<F>(Kept<Option<F>>);

impl<F> Deref for Own<F> {
    type Target = F;

    fn deref(&self) -> &F {
        self.0.as_ref().expect("it is there until it goes")
    }
}

/// A user's function, for as many runs as there are.
pub(super) fn own<F>(function: F) -> Arc<Own<F>> {
    Arc::new(Own(Kept::new(Some(function))))
}
