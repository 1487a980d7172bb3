//! [`Ending`]: what a snapshot says of a request that is over.

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ending {
    /// Its handler's END.
    End,
    /// Its handler's ERR.
    Err,
    /// A CANCEL, or a limit of time; at a relay, one that reached nobody, or an asker that went away.
    Cancelled,
    /// The connection is gone.
    MasterDied,
    /// One of its senders ran past a window (L12).
    CreditViolation,
}

impl Ending {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Ending::End => "end",
            Ending::Err => "err",
            Ending::Cancelled => "cancelled",
            Ending::MasterDied => "master_died",
            Ending::CreditViolation => "credit_violation",
        }
    }
}
