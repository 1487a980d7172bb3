//! Errors on their way to Swift and back: the facts of core's error, nothing added.

use std::sync::Arc;

use sluicegate::{AttributionClass, Cause, Error, ErrorKind};

use crate::cause::CauseCore;

/// The facts of an error or of a reason.
#[derive(Clone, Debug, uniffi::Record)]
pub struct Fault {
    /// Number of the kind, from core's table.
    pub number: i32,
    /// The code that the wire carries.
    pub code: String,
    /// Whose fault it is, as the wire says it.
    pub class: String,
    /// The sentence for a person.
    pub message: String,
    /// What a function of Swift's threw, if that is what it came from. No link carries it.
    pub cause: Option<Arc<CauseCore>>,
}

/// What an exported call throws.
#[derive(Clone, Debug, uniffi::Error)]
pub enum Failure {
    /// Core refused or failed.
    Core {
        /// What core said.
        fault: Fault,
    },
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Failure::Core { fault } = self;
        write!(f, "{}: {}", fault.code, fault.message)
    }
}

impl std::error::Error for Failure {}

impl From<&Error> for Fault {
    fn from(error: &Error) -> Self {
        Fault {
            number: error.kind().number(),
            code: error.code().to_owned(),
            class: error.class().as_str().to_owned(),
            message: error.message().to_owned(),
            cause: error.cause().cloned().and_then(|cause| cause.downcast().ok()),
        }
    }
}

impl From<Fault> for Error {
    /// The same error. A number or class that core does not know counts as internal to the caller.
    fn from(fault: Fault) -> Self {
        let kind = ErrorKind::ALL
            .iter()
            .copied()
            .find(|kind| kind.number() == fault.number)
            .unwrap_or(ErrorKind::Remote);
        let class = fault.class.parse().unwrap_or(AttributionClass::Internal);
        let error = Error::with_code(kind, fault.code, class, fault.message);
        match fault.cause {
            None => error,
            Some(cause) => error.with_cause(cause as Cause),
        }
    }
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::Core { fault: Fault::from(&error.into()) }
    }
}

/// One line of core's table of error kinds.
#[derive(Clone, Debug, uniffi::Record)]
pub struct KindRow {
    /// The number, the same in every language.
    pub number: i32,
    /// The name in code.
    pub name: String,
    /// The code on the wire.
    pub code: String,
    /// The class on the wire.
    pub class: String,
    /// One sentence.
    pub text: String,
}

/// Core's table of error kinds, so that a test can hold the Swift one against it.
#[uniffi::export]
pub fn error_kinds() -> Vec<KindRow> {
    ErrorKind::ALL
        .iter()
        .map(|kind| KindRow {
            number: kind.number(),
            name: kind.name().to_owned(),
            code: kind.code().to_owned(),
            class: kind.class().as_str().to_owned(),
            text: kind.text().trim().to_owned(),
        })
        .collect()
}
