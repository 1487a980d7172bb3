//! Bytes that cross the border without a buffer of their own: an address and a count.
//!
//! Swift lends with `withUnsafeBytes` for the length of one call; what core keeps is copied here,
//! once. Core lends what an operation holds until the operation is released.

use bytes::Bytes;

/// The bytes that Swift lent for this call, copied once.
///
/// # Safety
/// `count` bytes at `address` must be readable and unchanging until this returns. A count of 0
/// reads nothing.
pub(crate) unsafe fn borrow(address: u64, count: u64) -> Bytes {
    if count == 0 {
        return Bytes::new();
    }
    let start = std::ptr::with_exposed_provenance::<u8>(address as usize);
    // SAFETY: the caller lends `count` readable bytes for the length of this call.
    Bytes::copy_from_slice(unsafe { std::slice::from_raw_parts(start, count as usize) })
}

/// Where Swift can read `bytes`, for as long as their owner is not released.
pub(crate) fn address(bytes: &[u8]) -> u64 {
    bytes.as_ptr().expose_provenance() as u64
}
