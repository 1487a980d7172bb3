//! A child process as a source: whatever writes what it captures to its stdout.

use super::reader::read_all;
use super::synthetic::no_thread;
use super::{Feed, FeedOptions, Framing, Pace};
use crate::engine::Command;
use crate::engine::process::{Process, start_source};
use crate::error::{Error, ErrorKind};
use crate::link::spawn_quiet;
use crate::sync::Arc;
use crate::time::Deadline;
use crate::wait::{Op, block_on};

impl Feed {
    /// A feed of what `command` writes to its stdout, cut into items by `framing`: a webcam through
    /// `ffmpeg`, a microphone through `arecord`, without linking a codec.
    ///
    /// The child runs in a process group of its own, with an empty stdin. Its exit with status 0 ends
    /// the feed as it should; any other, and bytes that stop in the middle of an item, fail it with
    /// the end of the child's stderr. When the feed ends first, by a stop, by an overrun or because
    /// its last handle is dropped, the whole group is killed and reaped at once.
    ///
    /// # Errors
    /// `Spawn` if the child cannot be started; `InvalidArgument` if the ring or an item could hold
    /// nothing; `LimitReached` if there is no thread.
    pub fn command(
        options: FeedOptions,
        command: &Command,
        framing: Framing,
    ) -> Result<Self, Error> {
        let (feed, capture) = Feed::open(options)?;
        framing.check()?;
        let (child, stdout) = start_source(command)?;
        let (label, started) = (command.label(), Arc::clone(&child));
        let run = move || {
            let (killed, mut over) = (Arc::clone(&child), Op::new(capture.over()));
            // The end of the feed kills the child, from whichever thread it comes. A kill never waits.
            if over.poll(move || killed.kill()).is_some() {
                child.kill();
            }
            let read = read_all(stdout, framing, Pace::AsItComes, &capture);
            if !capture.is_over() {
                match read.and_then(|()| exited_well(&child)) {
                    Ok(()) => capture.finish(),
                    Err(error) => {
                        let message = format!("{}; {}", error.message(), child.obituary());
                        let error =
                            Error::with_code(error.kind(), error.code(), error.class(), message);
                        capture.fail(error.context(format_args!("source `{label}`")));
                    }
                }
            }
            child.kill();
        };
        spawn_quiet("capture", run).map_err(|e| {
            started.kill();
            no_thread(&e)
        })?;
        Ok(feed)
    }
}

/// Waits until the child has exited, which it did as it should or not.
fn exited_well(child: &Arc<Process>) -> Result<(), Error> {
    match block_on(Arc::clone(child).exited(), Deadline::NEVER) {
        Ok(status) if status.success() => Ok(()),
        _ => Err(Error::new(ErrorKind::PeerDied, "it failed")),
    }
}
