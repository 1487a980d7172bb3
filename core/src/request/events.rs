//! The LOGs of a request that wait to be read, and what they say of where it waits.

use std::collections::VecDeque;
use std::time::Instant;

use super::terminal::Event;
use crate::account::load::{ENTRY, EVENT_BYTES, EVENTS};

/// The levels by which a handler says that a request waits for a place in its pool, and no longer.
const QUEUED: &str = "queued";
const DEQUEUED: &str = "dequeued";

#[derive(Default)]
pub(super) struct Events {
    queue: VecDeque<Event>,
    bytes: usize,
    pooled: Option<Instant>,
}

impl Events {
    /// Takes one in that came at `at`; answers how many made room for it.
    pub(super) fn push(&mut self, event: Event, at: Instant) -> u64 {
        if let Event::Log { level, .. } = &event {
            match level.as_str() {
                QUEUED => self.pooled = self.pooled.or(Some(at)),
                DEQUEUED => self.pooled = None,
                _ => {}
            }
        }
        self.bytes = self.bytes.saturating_add(event.text_len());
        self.queue.push_back(event);
        let mut dropped = 0;
        while self.queue.len() > EVENTS || (self.bytes > EVENT_BYTES && self.queue.len() > 1) {
            let _oldest = self.take();
            dropped += 1;
        }
        dropped
    }

    pub(super) fn take(&mut self) -> Option<Event> {
        let event = self.queue.pop_front()?;
        self.bytes = self.bytes.saturating_sub(event.text_len());
        Some(event)
    }

    /// The bytes of text that wait to be read, with what they cost to hold.
    pub(super) fn held(&self) -> u64 {
        let wide = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        wide(self.queue.len()).saturating_mul(ENTRY).saturating_add(wide(self.bytes))
    }

    /// The handler works on it: it waits for no place.
    pub(super) fn works(&mut self) {
        self.pooled = None;
    }

    /// Since when it has waited for a place in a pool, if it does.
    pub(super) fn pooled(&self) -> Option<Instant> {
        self.pooled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::now;

    fn log(level: &str, message: &str) -> Event {
        Event::Log { level: level.to_owned(), class: None, message: message.to_owned() }
    }

    #[test]
    fn a_request_waits_for_a_place_from_queued_to_dequeued() {
        let (mut events, at) = (Events::default(), now());
        assert_eq!(events.push(log("info", "hello"), at), 0);
        assert_eq!(events.pooled(), None);
        events.push(log(QUEUED, "3 before you"), at);
        events.push(log(QUEUED, "2 before you"), at + std::time::Duration::from_secs(1));
        assert_eq!(events.pooled(), Some(at), "since the first");
        events.push(log(DEQUEUED, "go"), at);
        assert_eq!(events.pooled(), None);
        events.push(log(QUEUED, "again"), at);
        events.works();
        assert_eq!(events.pooled(), None);
    }

    #[test]
    fn the_oldest_makes_room_by_number_and_by_bytes() {
        let (mut events, at) = (Events::default(), now());
        let pushed = (0..EVENTS + 3).map(|n| events.push(log("info", &n.to_string()), at));
        assert_eq!(pushed.sum::<u64>(), 3);
        assert_eq!(events.take(), Some(log("info", "3")));
        let long = "x".repeat(EVENT_BYTES + 1);
        assert_eq!(events.push(log("info", &long), at), EVENTS as u64 - 1, "it has all the room");
        assert_eq!(events.take(), Some(log("info", &long)));
        assert_eq!(events.take(), None);
    }
}
