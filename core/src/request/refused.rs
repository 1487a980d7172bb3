//! What a frame that was refused is counted as.

use crate::error::{Error, ErrorKind};
use crate::model::accounting::DropReason;

/// What a chunk that was refused is counted as.
pub(super) fn drop_reason(error: &Error) -> DropReason {
    match error.kind() {
        ErrorKind::CreditViolation => DropReason::CreditViolation,
        ErrorKind::LimitReached => DropReason::LimitReached,
        _ => DropReason::Protocol,
    }
}
