//! `sluice_matcher`: which offered cap serves one that is asked for.

use std::ffi::c_void;

use libc::c_char;

use crate::border::{self, Text};
use crate::guard::Fail;

/// Says which offered cap serves a cap that is asked for.
///
/// `serves` is called by the reading threads of a switch, on several at once, with no lock of the library
/// held: for each request, and for each cap that a host offers until one serves. It may call whatever does
/// not wait, on its own switch too. It may not wait, which would hold up the connection that asks, nor throw
/// or jump out. `release` runs exactly once for every matcher that was handed over: when the switch and the
/// last thread of it are gone, on any thread, maybe after sluice_switch_release has returned. So `ctx` must
/// not own a reference of its own switch, which would never go then.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Matcher {
    /// Handed to both functions.
    pub ctx: *mut c_void,
    /// Whether `offered` serves a request for `asked`, which goes on under the offered one then. Not NULL.
    /// Both are borrowed for the time of the call, and end with a NUL.
    pub serves: Option<
        unsafe extern "C" fn(
            ctx: *mut c_void,
            offered: *const c_char,
            offered_len: usize,
            asked: *const c_char,
            asked_len: usize,
        ) -> bool,
    >,
    /// Frees what `ctx` stands for. May be NULL.
    pub release: Option<unsafe extern "C" fn(ctx: *mut c_void)>,
}

/// A matcher that the library owns.
pub(crate) struct Matching(Matcher);

// SAFETY: the contract of `sluice_matcher`: both functions may be called on any thread, `serves` on several
// at once.
unsafe impl Send for Matching {}
// SAFETY: as above.
unsafe impl Sync for Matching {}

impl Matching {
    /// Takes the matcher over. From here on its release function runs exactly once, come what may.
    pub(crate) fn take(theirs: *const Matcher) -> Option<Self> {
        if theirs.is_null() {
            return None;
        }
        // SAFETY: the caller's duty: a matcher is NULL or points to a readable `sluice_matcher`.
        Some(Matching(unsafe { *theirs }))
    }

    /// Fails if there is nothing to ask.
    pub(crate) fn checked(self) -> Result<Self, Fail> {
        match self.0.serves {
            Some(_) => Ok(self),
            None => Err(border::invalid("the matcher has no function")),
        }
    }
}

impl sluicegate::relay::Matcher for Matching {
    fn serves(&self, offered: &str, asked: &str) -> bool {
        let Some(serves) = self.0.serves else { return false };
        let (ours, theirs) = (Text::new(offered), Text::new(asked));
        // SAFETY: the contract of `sluice_matcher`; both texts are alive during the call.
        unsafe { serves(self.0.ctx, ours.as_ptr(), offered.len(), theirs.as_ptr(), asked.len()) }
    }
}

impl Drop for Matching {
    fn drop(&mut self) {
        if let Some(release) = self.0.release {
            // SAFETY: the contract of `sluice_matcher`; a value is dropped once.
            unsafe { release(self.0.ctx) };
        }
    }
}
