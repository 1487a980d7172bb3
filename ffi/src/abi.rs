//! What the library says about itself: versions, the texts of statuses, live handles.

use std::collections::HashMap;
use std::sync::LazyLock;

use libc::c_char;
use sluicegate::error::ErrorKind;

use crate::border::Text;
use crate::guard::guard;
use crate::handle;
use crate::router::Router;
use crate::status::Status;

/// The version of this header. Compare it with what sluice_abi_version() answers: a library of
/// another version must not be used with it.
pub const ABI_VERSION: u32 = 1;

/// The ABI version of the library that the program runs with.
///
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub extern "C" fn sluice_abi_version() -> u32 {
    ABI_VERSION
}

/// The version of the library, for a person: "0.1.0". Static.
///
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub extern "C" fn sluice_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

struct Texts {
    name: Text,
    code: Text,
    text: Text,
}

static TEXTS: LazyLock<HashMap<i32, Texts>> = LazyLock::new(|| {
    let ours = [
        (0, "Ok", "OK", "Done; the out-parameters are written."),
        (1, "Wait", "WAIT", "It would have to wait; nothing was taken."),
    ];
    let cores = ErrorKind::ALL
        .iter()
        .map(|kind| (kind.number(), kind.name(), kind.code(), kind.text().trim()));
    ours.into_iter()
        .chain(cores)
        .map(|(number, name, code, text)| {
            let texts = [name, code, text].map(Text::new);
            let [name, code, text] = texts;
            (number, Texts { name, code, text })
        })
        .collect()
});

fn text_of(status: i32, which: fn(&Texts) -> &Text) -> *const c_char {
    let found = std::panic::catch_unwind(|| TEXTS.get(&status).map(|texts| which(texts).as_ptr()));
    found.ok().flatten().unwrap_or(c"Unknown".as_ptr())
}

/// The name of a status, as other languages spell it: "CreditViolation". Static; "Unknown" for a
/// number that is none.
///
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub extern "C" fn sluice_status_name(status: i32) -> *const c_char {
    text_of(status, |texts| &texts.name)
}

/// The code that stands for a status on the wire: "CREDIT_VIOLATION". Static; "Unknown" for a
/// number that is none.
///
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub extern "C" fn sluice_status_code(status: i32) -> *const c_char {
    text_of(status, |texts| &texts.code)
}

/// One sentence about a status. Static; "Unknown" for a number that is none.
///
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub extern "C" fn sluice_status_text(status: i32) -> *const c_char {
    text_of(status, |texts| &texts.text)
}

/// How many objects of all kinds are alive in this process, for leak tests.
///
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub extern "C" fn sluice_live_handles() -> u64 {
    handle::live()
}

/// Panics inside the library on purpose, so that a binding can test that nothing crosses.
///
/// router   may be NULL; a router is left broken: from then on it answers SLUICE_BROKEN
/// returns  SLUICE_PANIC | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_debug_panic(router: *const Router) -> Status {
    guard(|| {
        if !router.is_null() {
            handle::get(router)?.break_on_purpose();
        }
        panic!("on purpose")
    })
}
