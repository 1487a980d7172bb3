//! Pointers in and out. The only file that follows a pointer of the caller.
//!
//! Nothing here is `unsafe fn`, so that exports stay readable; instead only exports call these, and
//! only with the pointers that their own caller handed them. The caller's duty (`lib.rs`) is what
//! each `SAFETY` line below leans on.

use sluicegate::{Error, ErrorKind};

use crate::fail::Fail;
use crate::handle::{self, Object};
use crate::status::Status;

/// Length that says "up to the NUL": `SLUICE_NUL`.
pub(crate) const NUL: usize = usize::MAX;

/// An argument that is outside what the call takes, and how.
pub(crate) fn invalid(what: &str) -> Fail {
    Error::new(ErrorKind::InvalidArgument, what).into()
}

/// Bytes handed in. NULL is the empty string if `len` is 0.
pub(crate) fn bytes<'a>(data: *const u8, len: usize) -> Result<&'a [u8], Fail> {
    if len == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(invalid("the data is NULL and its length is not 0"));
    }
    if len > isize::MAX as usize {
        return Err(invalid("the length is larger than any memory"));
    }
    // SAFETY: the caller's duty: `data` points to `len` readable bytes for the time of the call, and
    // no export keeps the slice longer.
    Ok(unsafe { std::slice::from_raw_parts(data, len) })
}

/// A text handed in; NULL is none.
pub(crate) fn text_opt<'a>(text: *const libc::c_char, len: usize) -> Result<Option<&'a str>, Fail> {
    if text.is_null() {
        return match len {
            0 | NUL => Ok(None),
            _ => Err(invalid("the text is NULL and its length is not 0")),
        };
    }
    let len = match len {
        // SAFETY: the caller's duty: with SLUICE_NUL for a length, the text ends with a NUL.
        NUL => unsafe { libc::strlen(text) },
        len => len,
    };
    let text = bytes(text.cast(), len)?;
    std::str::from_utf8(text).map(Some).map_err(|_| invalid("the text is not UTF-8"))
}

/// A text handed in; NULL is the empty one.
pub(crate) fn text<'a>(text: *const libc::c_char, len: usize) -> Result<&'a str, Fail> {
    Ok(text_opt(text, len)?.unwrap_or(""))
}

/// Reads a struct of the caller.
pub(crate) fn read<T: Copy>(theirs: *const T) -> Result<T, Fail> {
    if theirs.is_null() {
        return Err(invalid("a struct that has to be there is NULL"));
    }
    // SAFETY: the caller's duty: the pointer is NULL or leads to one readable `T`.
    Ok(unsafe { theirs.read() })
}

/// An array of the caller, for the time of the call.
pub(crate) fn array<'a, T>(theirs: *const T, count: usize) -> Result<&'a [T], Fail> {
    if theirs.is_null() || count > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(invalid("the array is NULL, or larger than any memory"));
    }
    // SAFETY: the caller's duty: `theirs` leads to `count` readable values for the time of the call, and
    // no export keeps the slice longer.
    Ok(unsafe { std::slice::from_raw_parts(theirs, count) })
}

/// Fails unless `out` can be written, so that a call without a place for its answer does nothing.
pub(crate) fn need<T>(out: *mut T) -> Result<(), Fail> {
    if out.is_null() { Err(Status::SLUICE_INVALID_ARGUMENT.into()) } else { Ok(()) }
}

/// Writes an out-parameter.
pub(crate) fn put<T>(out: *mut T, value: T) -> Result<(), Fail> {
    need(out)?;
    put_opt(out, value);
    Ok(())
}

/// Writes an out-parameter that may be NULL.
pub(crate) fn put_opt<T>(out: *mut T, value: T) {
    if !out.is_null() {
        // SAFETY: the caller's duty: an out-parameter is NULL or room for one `T`. `write` neither
        // reads nor drops what was there.
        unsafe { out.write(value) };
    }
}

/// Writes a handle for `value`.
pub(crate) fn put_new<T: Object>(out: *mut *mut T, value: T) -> Result<(), Fail> {
    need(out)?;
    put(out, handle::new(value)?)
}

/// A C struct that may grow: its first field is its size, set by whoever made it.
///
/// # Safety
/// It is `repr(C)`, begins with a `u32` of its size, and all bits zero is a value of it.
pub(crate) unsafe trait Growing: Copy {}

/// The caller's struct, with the defaults (zero) for what a caller of an older header lacks. `None`
/// for NULL.
pub(crate) fn sized<T: Growing>(theirs: *const T) -> Result<Option<T>, Fail> {
    if theirs.is_null() {
        return Ok(None);
    }
    let len = their_size(theirs)?;
    // SAFETY: `Growing` says that zero is a value; the caller's duty: `theirs` has as many bytes as
    // its size says, and `len` is at most that and at most the size of `T`.
    unsafe {
        let mut ours = std::mem::zeroed::<T>();
        std::ptr::copy_nonoverlapping(theirs.cast::<u8>(), (&raw mut ours).cast::<u8>(), len);
        Ok(Some(ours))
    }
}

/// Fills the caller's struct as far as it goes, leaving its size as it is.
pub(crate) fn put_sized<T: Growing>(out: *mut T, value: T) -> Result<(), Fail> {
    const SIZE: usize = size_of::<u32>();
    need(out)?;
    let len = their_size(out)?;
    let value = &raw const value;
    // SAFETY: as for `sized`; both pointers stay within their structs.
    unsafe {
        let (from, to) = (value.cast::<u8>().add(SIZE), out.cast::<u8>().add(SIZE));
        std::ptr::copy_nonoverlapping(from, to, len - SIZE);
    }
    Ok(())
}

/// How many bytes of `T` the caller's struct has.
fn their_size<T: Growing>(theirs: *const T) -> Result<usize, Fail> {
    // SAFETY: the caller's duty: the struct is there, and begins with its size.
    let size = unsafe { theirs.cast::<u32>().read() } as usize;
    if size < size_of::<u32>() {
        return Err(invalid("the struct's size is not set; begin with its INIT macro"));
    }
    Ok(size.min(size_of::<T>()))
}

/// A text that the library lends: NUL-terminated, alive as long as the object that owns it.
pub(crate) struct Text(Box<[u8]>);

impl Text {
    pub(crate) fn new(text: &str) -> Self {
        let mut bytes = Vec::with_capacity(text.len() + 1);
        bytes.extend_from_slice(text.as_bytes());
        bytes.push(0);
        Text(bytes.into())
    }

    pub(crate) fn as_ptr(&self) -> *const libc::c_char {
        self.0.as_ptr().cast()
    }

    /// Lends it through `out` and, if that is not NULL, `out_len`.
    pub(crate) fn lend(
        &self,
        out: *mut *const libc::c_char,
        out_len: *mut usize,
    ) -> Result<(), Fail> {
        put(out, self.as_ptr())?;
        put_opt(out_len, self.0.len() - 1);
        Ok(())
    }
}

/// Lends a text that may be absent: NULL and 0.
pub(crate) fn lend_text(
    text: Option<&Text>,
    out: *mut *const libc::c_char,
    out_len: *mut usize,
) -> Result<(), Fail> {
    match text {
        Some(text) => text.lend(out, out_len),
        None => {
            put(out, std::ptr::null())?;
            put_opt(out_len, 0);
            Ok(())
        }
    }
}

/// Lends bytes that may be absent: NULL and 0. They live as long as the object that owns them.
pub(crate) fn lend_bytes(
    bytes: Option<&[u8]>,
    out: *mut *const u8,
    out_len: *mut usize,
) -> Result<(), Fail> {
    need(out)?;
    need(out_len)?;
    put(out, bytes.map_or(std::ptr::null(), <[u8]>::as_ptr))?;
    put(out_len, bytes.map_or(0, <[u8]>::len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_checked() {
        assert_eq!(text(c"abc".as_ptr(), NUL).expect("text"), "abc");
        assert_eq!(text(c"abc".as_ptr(), 2).expect("text"), "ab");
        assert_eq!(text_opt(std::ptr::null(), 0).expect("none"), None);
        assert!(text(std::ptr::null(), 3).is_err());
        assert!(text(c"\xff".as_ptr(), NUL).is_err());
    }
}
