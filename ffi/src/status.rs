//! The status that every call answers: core's table of error kinds, plus OK and WAIT.

use sluicegate::error::ErrorKind;

/// What a call answers. The numbers are the same in every language, are never reused and never
/// change their meaning.
///
/// cbindgen:prefix-with-name=false
/// cbindgen:rename-all=None
#[allow(non_camel_case_types, reason = "spelled as in the header")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// Done; the out-parameters are written.
    SLUICE_OK = 0,
    /// It would have to wait; nothing was taken.
    SLUICE_WAIT = 1,
    /// A limit passed: of a wait, which took nothing, or of a whole call or stream, now ended.
    SLUICE_TIMED_OUT = 2,
    /// The gate, stream or request was closed; the reason says why.
    SLUICE_CLOSED = 3,
    /// The stream ended as it should; there is nothing more to read.
    SLUICE_END_OF_STREAM = 4,
    /// The request was cancelled.
    SLUICE_CANCELLED = 5,
    /// A chunk came that no credit had been granted for (L12).
    SLUICE_CREDIT_VIOLATION = 6,
    /// The process or connection at the other end is gone.
    SLUICE_PEER_DIED = 7,
    /// An argument is outside what the call takes.
    SLUICE_INVALID_ARGUMENT = 8,
    /// A frame is larger than the limit of the link.
    SLUICE_FRAME_TOO_LARGE = 9,
    /// Bytes that are not a frame, or a value that is not CBOR.
    SLUICE_MALFORMED = 10,
    /// A well-formed frame where the protocol does not allow it.
    SLUICE_PROTOCOL = 11,
    /// The two ends could not agree on version, limits or identity.
    SLUICE_HANDSHAKE = 12,
    /// A chunk's bytes do not match its checksum.
    SLUICE_CHECKSUM = 13,
    /// A call that collects a whole stream met one without end (L16).
    SLUICE_UNBOUNDED = 14,
    /// The other end failed the request; code, class and message are its own.
    SLUICE_REMOTE = 15,
    /// The operating system refused a read, a write or a start.
    SLUICE_IO = 16,
    /// The cartridge could not be started.
    SLUICE_SPAWN = 17,
    /// The handle was made before a fork and is used in the child.
    SLUICE_FORKED = 18,
    /// An earlier panic left the object in an unknown state.
    SLUICE_BROKEN = 19,
    /// The library panicked; the call had no effect that can be relied on.
    SLUICE_PANIC = 20,
    /// Nobody serves this cap.
    SLUICE_NO_HANDLER = 21,
    /// A stated bound was reached: item size, queued control frames, open requests.
    SLUICE_LIMIT_REACHED = 22,
    /// Scalar and sequence calls were mixed on one stream.
    SLUICE_WRONG_MODE = 23,
    /// The live feed's ring was full and its policy is to fail rather than to drop.
    SLUICE_FEED_OVERRUN = 24,
    /// A bounded queue between two stages was full and its strategy is to fail.
    SLUICE_BUFFER_OVERFLOW = 25,
    /// A user's function in a stage failed or panicked.
    SLUICE_STAGE_FAILED = 26,
    /// A stage that takes one subscriber has one already.
    SLUICE_ALREADY_SUBSCRIBED = 27,
    /// The scope was shut down: it runs nothing more.
    SLUICE_SCOPE_SHUT_DOWN = 28,
    /// The plan of stages could lock up, or cannot do what it says.
    SLUICE_PLAN_REFUSED = 29,
}

impl Status {
    const ALL: [Status; 30] = [
        Status::SLUICE_OK,
        Status::SLUICE_WAIT,
        Status::SLUICE_TIMED_OUT,
        Status::SLUICE_CLOSED,
        Status::SLUICE_END_OF_STREAM,
        Status::SLUICE_CANCELLED,
        Status::SLUICE_CREDIT_VIOLATION,
        Status::SLUICE_PEER_DIED,
        Status::SLUICE_INVALID_ARGUMENT,
        Status::SLUICE_FRAME_TOO_LARGE,
        Status::SLUICE_MALFORMED,
        Status::SLUICE_PROTOCOL,
        Status::SLUICE_HANDSHAKE,
        Status::SLUICE_CHECKSUM,
        Status::SLUICE_UNBOUNDED,
        Status::SLUICE_REMOTE,
        Status::SLUICE_IO,
        Status::SLUICE_SPAWN,
        Status::SLUICE_FORKED,
        Status::SLUICE_BROKEN,
        Status::SLUICE_PANIC,
        Status::SLUICE_NO_HANDLER,
        Status::SLUICE_LIMIT_REACHED,
        Status::SLUICE_WRONG_MODE,
        Status::SLUICE_FEED_OVERRUN,
        Status::SLUICE_BUFFER_OVERFLOW,
        Status::SLUICE_STAGE_FAILED,
        Status::SLUICE_ALREADY_SUBSCRIBED,
        Status::SLUICE_SCOPE_SHUT_DOWN,
        Status::SLUICE_PLAN_REFUSED,
    ];
}

impl From<ErrorKind> for Status {
    fn from(kind: ErrorKind) -> Self {
        Status::ALL
            .into_iter()
            .find(|status| *status as i32 == kind.number())
            .expect("a test compares the two tables")
    }
}

/// The error kind with this number.
pub(crate) fn kind(number: i32) -> Option<ErrorKind> {
    ErrorKind::ALL.iter().copied().find(|kind| kind.number() == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_cores_table() {
        assert_eq!(Status::ALL.len(), ErrorKind::ALL.len() + 2);
        for kind in ErrorKind::ALL {
            let status = Status::from(*kind);
            assert_eq!(status as i32, kind.number());
            let spelled: String = format!("{status:?}").replace("SLUICE_", "").replace('_', "");
            assert_eq!(spelled, kind.name().to_uppercase());
        }
    }
}
