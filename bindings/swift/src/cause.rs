//! What a user's function threw, kept with the error that it became.

use std::sync::Arc;

use crate::token::{Element, own};

/// An error of Swift's, as a token that is this side's until it is dropped.
#[derive(uniffi::Object)]
pub struct CauseCore(Element);

#[uniffi::export]
impl CauseCore {
    /// Takes a token over.
    #[uniffi::constructor]
    pub fn new(token: u64) -> Arc<Self> {
        Arc::new(CauseCore(own(token)))
    }

    /// The token, lent for as long as this is held.
    pub fn token(&self) -> u64 {
        self.0.token()
    }
}

impl std::fmt::Debug for CauseCore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CauseCore").finish_non_exhaustive()
    }
}
