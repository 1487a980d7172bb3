//! A token of Swift's, released exactly once.

use std::sync::{Arc, OnceLock};

/// Swift's side of the elements that core holds.
#[uniffi::export(with_foreign)]
pub trait Keeper: Send + Sync {
    /// The token's value is held by nobody on this side any more. Called once for each token, from any
    /// thread.
    fn release(&self, token: u64);
}

static KEEPER: OnceLock<Arc<dyn Keeper>> = OnceLock::new();

/// Says who releases tokens. The first call counts; it comes before the first token.
#[uniffi::export]
pub fn keep_elements(keeper: Arc<dyn Keeper>) {
    let _the_first_stays = KEEPER.set(keeper);
}

/// A token that is this side's until it is dropped.
pub(crate) struct Owned(u64);

/// An element as core sees it: cheap to share between the branches of a fan-out.
pub(crate) type Element = Arc<Owned>;

/// Takes a token over.
pub(crate) fn own(token: u64) -> Element {
    Arc::new(Owned(token))
}

impl Owned {
    /// The token, lent: it is good for as long as this is held.
    pub(crate) fn token(&self) -> u64 {
        self.0
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(keeper) = KEEPER.get() {
            keeper.release(self.0);
        }
    }
}
