//! The calls that a handler makes for the request that it serves: they stop with it.

use std::sync::Weak;

use super::exchange::Exchange;
use crate::error::{Error, ErrorKind, Reason};
use crate::sync::{Arc, Mutex};

/// Calls, without keeping them.
#[derive(Default)]
pub(super) struct Children(Mutex<Vec<Weak<Exchange>>>);

impl Exchange {
    /// `child` is a call made for this request: when this has to stop, so has that, for the same reason
    /// (L17).
    pub(super) fn adopt(&self, child: &Arc<Exchange>) {
        let mut children = self.children.0.lock();
        children.retain(|child| child.strong_count() > 0);
        children.push(Arc::downgrade(child));
        drop(children);
        if let Some(reason) = self.stopped() {
            child.give_up(&reason); // it had to stop meanwhile
        }
    }

    /// Cancels the calls that were made for this request.
    pub(super) fn cancel_children(&self, reason: &Reason) {
        let children = std::mem::take(&mut *self.children.0.lock());
        for child in children.iter().filter_map(Weak::upgrade) {
            child.give_up(reason);
        }
    }

    /// Cancels a call with a reason of any kind.
    pub(super) fn give_up(&self, reason: &Reason) {
        let reason = match reason.kind() {
            ErrorKind::Cancelled => reason.clone(),
            ErrorKind::TimedOut => self.stood_still(reason),
            _ => Error::with_code(
                ErrorKind::Cancelled,
                reason.code(),
                reason.class(),
                reason.message(),
            ),
        };
        self.fail(&reason);
    }
}
