//! What stands still, and what it waits for.

use std::time::Duration;

use serde_json::{Value as Json, json};

/// What a stream waits for.
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
        }
    }
}

/// One stream that stands still.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The stream's name.
    pub stream: String,
    /// What it waits for.
    pub cause: Cause,
    /// For how long.
    pub since: Duration,
    /// CHUNK frames that have gone, or come, so far.
    pub chunks: u64,
    /// Chunks that may still go, or come, without another grant.
    pub window: u64,
    /// Values that have come and were not read.
    pub unread: u64,
}

/// One stream that stands still, and whose it is.
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
        let Standing { stream, cause, since, chunks, window, unread } = &self.standing;
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
        })
    }
}
