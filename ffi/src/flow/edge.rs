//! `sluice_edge_options`: the queue between two threads.

use sluicegate::flow::{EdgeOptions as Options, Overflow as Strategy};

use crate::border::{self, Growing, invalid};
use crate::guard::Fail;

/// What becomes of an element that finds its queue full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Overflow {
    /// It waits for room.
    Backpressure = 0,
    /// The oldest element of the queue makes room.
    DropHead = 1,
    /// The newest element of the queue makes room.
    DropTail = 2,
    /// It is discarded itself.
    DropNew = 3,
    /// All elements of the queue make room.
    DropBuffer = 4,
    /// The queue fails with SLUICE_BUFFER_OVERFLOW, once what it holds was taken.
    Fail = 5,
}

impl Overflow {
    const ALL: [(Overflow, Strategy); 6] = [
        (Overflow::Backpressure, Strategy::Backpressure),
        (Overflow::DropHead, Strategy::DropHead),
        (Overflow::DropTail, Strategy::DropTail),
        (Overflow::DropNew, Strategy::DropNew),
        (Overflow::DropBuffer, Strategy::DropBuffer),
        (Overflow::Fail, Strategy::Fail),
    ];
}

/// The queue between two threads. Begin with SLUICE_EDGE_OPTIONS_INIT: 16 elements, no limit in bytes,
/// backpressure.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct EdgeOptions {
    /// Set by SLUICE_EDGE_OPTIONS_INIT.
    pub struct_size: u32,
    /// A sluice_overflow.
    pub overflow: i32,
    /// Elements that it can hold, at least 1. No memory is reserved for them.
    pub capacity: u64,
    /// Bytes that it can hold, by what elements say of themselves; UINT64_MAX: any number, and not 0. An
    /// empty queue takes one element of any size.
    pub bytes: u64,
}

// SAFETY: a C struct of plain fields that begins with its size; all zero is a value of it.
unsafe impl Growing for EdgeOptions {}

/// The options of a caller; NULL says the default ones.
pub(super) fn edge(options: *const EdgeOptions) -> Result<Options, Fail> {
    let Some(theirs) = border::sized(options)? else {
        return Ok(Options::default());
    };
    let overflow = Overflow::ALL
        .into_iter()
        .find_map(|(theirs_is, ours)| (theirs_is as i32 == theirs.overflow).then_some(ours))
        .ok_or_else(|| invalid("there is no such overflow strategy"))?;
    Ok(Options::capacity(theirs.capacity)?.bytes(theirs.bytes)?.overflow(overflow))
}
