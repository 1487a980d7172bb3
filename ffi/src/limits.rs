//! `sluice_limits`: the four limits of a link.

use crate::border::{self, Growing};
use crate::guard::Fail;

/// The four limits that the two ends of a link agree on: of each, the smaller proposal. Begin with
/// SLUICE_LIMITS_INIT. This struct does not grow.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Limits {
    /// Set by SLUICE_LIMITS_INIT.
    pub struct_size: u32,
    /// Largest frame body, in bytes; 0: 3 670 016.
    pub max_frame: u64,
    /// Most bytes of data in a chunk; 0: 262 144.
    pub max_chunk: u64,
    /// Most frames held out of order, at a relay; 0: 64.
    pub max_reorder_buffer: u64,
    /// Chunks that a stream may send before the first grant (L9); 0: 32.
    pub initial_credit: u64,
}

// SAFETY: a C struct of plain fields that begins with its size; all zero is a value of it.
unsafe impl Growing for Limits {}

impl Limits {
    /// With the defaults for what is zero.
    pub(crate) fn limits(&self) -> sluicegate::Limits {
        let default = sluicegate::Limits::default();
        let or = |ours: u64, default: u64| if ours == 0 { default } else { ours };
        sluicegate::Limits {
            max_frame: or(self.max_frame, default.max_frame),
            max_chunk: or(self.max_chunk, default.max_chunk),
            max_reorder_buffer: or(self.max_reorder_buffer, default.max_reorder_buffer),
            initial_credit: or(self.initial_credit, default.initial_credit),
        }
    }
}

/// Limits handed in; NULL: the defaults.
pub(crate) fn read(limits: *const Limits) -> Result<sluicegate::Limits, Fail> {
    Ok(border::sized(limits)?.map(|limits| limits.limits()).unwrap_or_default())
}

/// Fills limits of the caller.
pub(crate) fn put(out: *mut Limits, limits: sluicegate::Limits) -> Result<(), Fail> {
    let limits = Limits {
        struct_size: 0,
        max_frame: limits.max_frame,
        max_chunk: limits.max_chunk,
        max_reorder_buffer: limits.max_reorder_buffer,
        initial_credit: limits.initial_credit,
    };
    border::put_sized(out, limits)
}
