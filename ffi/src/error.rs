//! `sluice_error`: the detail of a failure, and the reason something was closed with.

use libc::c_char;
use sluicegate::Error;
use sluicegate::error::{AttributionClass, ErrorKind};

use crate::border;
pub(crate) use crate::detail::{ErrorObject, put, put_reason};
use crate::guard::{Fail, guard};
use crate::handle;
use crate::status::{self, Status};

/// Whose fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Class {
    /// As an input: the kind's own class. As an answer: none was given.
    Default = 0,
    /// The caller's data.
    Input = 1,
    /// Memory, disk, a limit or a pool.
    Resource = 2,
    /// What stands around the program: missing handler, dead process, transport.
    Environment = 3,
    /// The program itself.
    Internal = 4,
    /// A person asked for it.
    User = 5,
}

impl From<AttributionClass> for Class {
    fn from(class: AttributionClass) -> Self {
        match class {
            AttributionClass::Input => Class::Input,
            AttributionClass::Resource => Class::Resource,
            AttributionClass::Environment => Class::Environment,
            AttributionClass::Internal => Class::Internal,
            AttributionClass::User => Class::User,
        }
    }
}

/// The class with this number, which comes from C and may be any; outer error: none has it.
pub(crate) fn class(number: i32) -> Result<Option<AttributionClass>, Fail> {
    const CLASSES: [AttributionClass; 5] = [
        AttributionClass::Input,
        AttributionClass::Resource,
        AttributionClass::Environment,
        AttributionClass::Internal,
        AttributionClass::User,
    ];
    match usize::try_from(number) {
        Ok(0) => Ok(None),
        Ok(n) => {
            CLASSES.get(n - 1).copied().map(Some).ok_or(Status::SLUICE_INVALID_ARGUMENT.into())
        }
        Err(_) => Err(Status::SLUICE_INVALID_ARGUMENT.into()),
    }
}

/// Makes an error, to close, cancel or fail something with.
///
/// kind     a status number from SLUICE_TIMED_OUT on
/// code     the code that the wire carries; NULL: the kind's own
/// cls      SLUICE_CLASS_DEFAULT: the kind's own
/// message  one sentence for a person; may be NULL
/// out      the error, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_error_new(
    kind: i32,
    code: *const c_char,
    code_len: usize,
    cls: i32,
    message: *const c_char,
    message_len: usize,
    out: *mut *mut ErrorObject,
) -> Status {
    guard(|| {
        let kind: ErrorKind = status::kind(kind).ok_or(Status::SLUICE_INVALID_ARGUMENT)?;
        let code = border::text_opt(code, code_len)?.unwrap_or(kind.code());
        let cls = class(cls)?.unwrap_or(kind.class());
        let message = border::text(message, message_len)?;
        border::put_new(out, ErrorObject::new(Error::with_code(kind, code, cls, message)))
    })
}

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_error_retain(error: *const ErrorObject) -> Status {
    guard(|| handle::retain(error))
}

/// Takes a reference away; with the last one the texts that it lent go too.
///
/// error    may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_error_release(error: *mut ErrorObject) -> Status {
    guard(|| handle::release(error))
}

/// What went wrong, in one word.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_error_kind(error: *const ErrorObject, out: *mut Status) -> Status {
    guard(|| border::put(out, handle::get(error)?.error.kind().into()))
}

/// Whose fault it is.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_error_class(error: *const ErrorObject, out: *mut Class) -> Status {
    guard(|| border::put(out, handle::get(error)?.error.class().into()))
}

/// The code that the wire carries, or the text that a gate was closed with. May be empty.
///
/// out, out_len  borrowed from the error, NUL-terminated; out_len may be NULL
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_error_code(
    error: *const ErrorObject,
    out: *mut *const c_char,
    out_len: *mut usize,
) -> Status {
    guard(|| handle::get(error)?.code.lend(out, out_len))
}

/// The sentence for a person, without the code. May be empty.
///
/// out, out_len  borrowed from the error, NUL-terminated; out_len may be NULL
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_error_message(
    error: *const ErrorObject,
    out: *mut *const c_char,
    out_len: *mut usize,
) -> Status {
    guard(|| handle::get(error)?.message.lend(out, out_len))
}

/// All of it in one line for a person: "CODE: message".
///
/// out, out_len  borrowed from the error, NUL-terminated; out_len may be NULL
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_error_text(
    error: *const ErrorObject,
    out: *mut *const c_char,
    out_len: *mut usize,
) -> Status {
    guard(|| handle::get(error)?.text.lend(out, out_len))
}
