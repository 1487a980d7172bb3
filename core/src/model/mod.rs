//! What a window decides, and nothing else: plain state in, an answer out.
//!
//! No clock, no lock, no thread, no I/O. Waiting is a shell round these steps (`credit`, `stream`);
//! no other place in any language compares or counts a credit.

pub mod feed;
pub mod gate;
pub mod negotiate;
pub mod target;
pub mod window;

pub use gate::{Acquire, Gate};
pub use negotiate::negotiate;
pub use target::{Target, grant_target};
pub use window::{Arrival, Window};
