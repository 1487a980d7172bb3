//! What an emission holds while it is under way, and what becomes of it when the emission is given up
//! in between.

use std::time::Instant;

use super::output_core::{OutputCore, State};
use crate::account::Cause;
use crate::credit::CreditGate;
use crate::error::{Error, ErrorKind};
use crate::sync::Mutex;
use crate::time::now;

/// A unit taken from a gate, given back when dropped unless it was spent.
pub(super) struct Permit<'a> {
    pub(super) gate: &'a CreditGate,
    pub(super) units: u64,
}

impl Permit<'_> {
    pub(super) fn spent(mut self) {
        self.units = 0;
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.gate.put_back(self.units);
    }
}

/// The time from now until dropped is time spent waiting for credit.
pub(super) struct Stall<'a>(&'a Mutex<State>);

impl<'a> Stall<'a> {
    pub(super) fn begin(state: &'a Mutex<State>, cause: Cause) -> Self {
        state.lock().stalled_since = Some((cause, now()));
        Stall(state)
    }
}

impl Drop for Stall<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        if let Some((cause, since)) = state.stalled_since.take() {
            state.stalled[usize::from(cause == Cause::Room)] +=
                now().saturating_duration_since(since);
        }
    }
}

/// Held bytes on their way out: what was not sent when this is dropped is held again.
pub(super) struct Batch<'a> {
    pub(super) core: &'a OutputCore,
    pub(super) held: Vec<u8>,
    since: Option<Instant>,
    sent: usize,
}

impl<'a> Batch<'a> {
    pub(super) fn begin(core: &'a OutputCore) -> Self {
        let mut state = core.state.lock();
        let held = std::mem::take(&mut state.held);
        Batch { core, held, since: state.held_since.take(), sent: 0 }
    }

    pub(super) fn sent(&mut self, bytes: usize) {
        self.sent = self.sent.saturating_add(bytes);
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        if self.sent < self.held.len() {
            let mut state = self.core.state.lock();
            state.held = self.held.split_off(self.sent);
            state.held_since = self.since;
        }
    }
}

/// Breaks the stream if it is left while a part of an item is on the wire.
pub(super) struct MidItem<'a> {
    pub(super) core: &'a OutputCore,
    pub(super) begun: bool,
}

impl Drop for MidItem<'_> {
    fn drop(&mut self) {
        if self.begun {
            self.core.state.lock().broken = Some(Error::new(
                ErrorKind::Cancelled,
                format!("stream {:?}: an item was given up in its middle", self.core.name),
            ));
        }
    }
}
