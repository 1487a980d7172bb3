//! A limit of time on a request or on one of its streams: what is due, and how it ends.

use std::fmt::Write;
use std::time::{Duration, Instant};

use super::exchange::{Exchange, Side};
use crate::account::{Cause, Standing};
use crate::error::{Error, ErrorKind, Reason};
use crate::stream::Due;
use crate::time::now;

/// So much of what stood still is named in an error.
const NAMED: usize = 4;

impl Exchange {
    /// Ends the request `limit` from now, unless it has ended by then. Never waits.
    pub(crate) fn limit(&self, limit: Duration) -> Result<(), Error> {
        self.limit.set(limit, &self.wire().alarm)
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

    /// Ends the request if a limit of it has passed; otherwise answers when the next one will.
    pub(super) fn expire(&self, at: Instant) -> Option<Instant> {
        if self.is_ending() {
            return None;
        }
        let (inputs, outputs) = self.streams();
        let whole = self.limit.due().map(|due| (due, None));
        let inputs = inputs.iter().filter_map(|input| {
            Some((input.due()?, Some(input.info().id.clone().unwrap_or_default())))
        });
        let outputs = outputs
            .iter()
            .filter_map(|output| Some((output.due()?, Some(output.name().to_owned()))));
        let next = whole.into_iter().chain(inputs).chain(outputs).min_by_key(|(due, _)| due.at);
        let (due, stream) = next?;
        if due.at > at {
            return Some(due.at);
        }
        // A handler that has been told to stop and has not answered answers so now.
        let reason = self.stopped().unwrap_or_else(|| self.passed(due, stream.as_deref(), at));
        self.fail(&reason);
        None
    }

    /// What whoever uses the request is told, and the other end.
    fn passed(&self, due: Due, stream: Option<&str>, at: Instant) -> Error {
        let what = match (stream, self.side()) {
            (Some(name), _) => format!("stream {name:?} of {}", self.cap()),
            (None, Side::Caller) => format!("the call of {}", self.cap()),
            (None, Side::Handler) => format!("the request for {}", self.cap()),
        };
        let message = format!("the limit of {:?} for {what} has passed", due.limit);
        self.name_waits(&ErrorKind::TimedOut.into(), message, stream, at)
    }

    /// `reason` with what of this request stands still.
    pub(super) fn stood_still(&self, reason: &Reason) -> Reason {
        self.name_waits(reason, reason.message().to_owned(), None, now())
    }

    /// An error like `like` with this message and what stands still, of one stream or of all.
    fn name_waits(
        &self,
        like: &Error,
        mut message: String,
        stream: Option<&str>,
        at: Instant,
    ) -> Error {
        let standings = self.standings(at);
        let standings = standings.iter().map(|request| &request.standing);
        let mut concerned = standings
            .filter(|standing| {
                let whole = matches!(standing.cause, Cause::Queue | Cause::Pool);
                whole || stream.is_none_or(|name| name == standing.stream)
            })
            .peekable();
        if concerned.peek().is_none() {
            message.push_str(": none of its streams was waited on");
        }
        for (n, standing) in concerned.take(NAMED).enumerate() {
            let between = if n == 0 { ": " } else { ", " };
            let _ = write!(message, "{between}{}", waited(standing)); // a String takes it all
        }
        Error::with_code(like.kind(), like.code(), like.class(), message)
    }
}

fn waited(standing: &Standing) -> String {
    let Standing { stream, cause, since, unread, .. } = standing;
    match cause {
        Cause::Credit => format!("stream {stream:?} has waited for credit for {since:.0?}"),
        Cause::Room => format!("stream {stream:?} has waited for room on the link for {since:.0?}"),
        Cause::Data => {
            format!("the reader of stream {stream:?} has waited for a value for {since:.0?}")
        }
        Cause::Unread => {
            format!("{unread} values of stream {stream:?} have waited to be read for {since:.0?}")
        }
        Cause::Queue => format!("the request has waited to be taken for {since:.0?}"),
        Cause::Pool => format!("the request has waited for a place in a pool for {since:.0?}"),
    }
}
