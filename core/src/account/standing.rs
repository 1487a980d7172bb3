//! What stands still, and what it waits for.

use std::time::Duration;

use serde_json::{Value as Json, json};

/// What a stream, or a whole request, waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A sender has no credit: the receiver has granted none (L9).
    Credit,
    /// A sender has credit, and the link takes no more: the other end does not read, or the line is
    /// slower than the sender.
    Room,
    /// Values have come, and nobody reads them.
    Unread,
    /// A reader waits, and nothing has come.
    Data,
    /// A request has come, and nobody has taken it: its handlers are busy, or its cartridge is being started.
    Queue,
    /// A request waits for a place in its handler's pool, as the handler said.
    Pool,
}

impl Cause {
    /// The word for it in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Credit => "credit",
            Cause::Room => "room",
            Cause::Unread => "unread",
            Cause::Data => "data",
            Cause::Queue => "queue",
            Cause::Pool => "pool",
        }
    }
}

/// One stream that stands still, or one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The stream's name; empty for a whole request, which waits in a queue or for a pool.
    pub stream: String,
    /// What it waits for.
    pub cause: Cause,
    /// For how long.
    pub since: Duration,
    /// CHUNK frames that have gone, or come, so far.
    pub chunks: u64,
    /// Chunks that may still go, or come, without another grant.
    pub window: u64,
    /// Values that have come and were not read; frames that wait for a cartridge that is being started.
    pub unread: u64,
    /// Requests that wait before it, in a queue.
    pub ahead: u64,
}

impl Standing {
    /// A whole request that stands still.
    pub(crate) fn whole(cause: Cause, since: Duration) -> Self {
        Standing { stream: String::new(), cause, since, chunks: 0, window: 0, unread: 0, ahead: 0 }
    }
}

/// Says of each that waits in one queue how many wait before it: those that have waited for longer.
pub(crate) fn in_line<'a>(standing: impl Iterator<Item = &'a mut Standing>) {
    let mut queued: Vec<_> = standing.filter(|s| s.cause == Cause::Queue).collect();
    queued.sort_by_key(|standing| std::cmp::Reverse(standing.since));
    for (ahead, standing) in (0..).zip(queued) {
        standing.ahead = ahead;
    }
}

/// What stands still, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingRequest {
    /// The request's id.
    pub request: String,
    /// The cap that was called.
    pub cap: String,
    /// This end is the caller's, and not the handler's.
    pub calls: bool,
    /// What stands still.
    pub standing: Standing,
}

impl StandingRequest {
    /// As JSON. `party` is where it stands still, for people.
    #[must_use]
    pub fn to_json(&self, party: &str) -> Json {
        let Standing { stream, cause, since, chunks, window, unread, ahead } = &self.standing;
        json!({
            "party": party,
            "request": self.request,
            "cap": self.cap,
            "side": if self.calls { "caller" } else { "handler" },
            "stream": stream,
            "waits_for": cause.name(),
            "since_ms": u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            "chunks": chunks,
            "window": window,
            "unread": unread,
            "ahead": ahead,
        })
    }
}
