//! Which cap of a switch serves another, as Swift says.

use std::sync::Arc;

use sluicegate::relay::Matcher;

/// Decides which offered cap serves one that is asked for.
#[uniffi::export(with_foreign)]
pub trait CapMatcher: Send + Sync {
    /// Whether `offered` serves a request for `asked`. Called by the threads of the switch, on several at
    /// once, with no lock of it held. It must not wait.
    fn serves(&self, offered: String, asked: String) -> bool;
}

/// A matcher of Swift, for core.
pub(crate) struct Foreign(pub(crate) Arc<dyn CapMatcher>);

impl Matcher for Foreign {
    fn serves(&self, offered: &str, asked: &str) -> bool {
        self.0.serves(offered.to_owned(), asked.to_owned())
    }
}
