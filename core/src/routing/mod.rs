//! Requests that go through this process: between the connections of a relay, and between the
//! cartridges of an engine.
//!
//! Whatever stands in between passes frames on and touches no credit (L11).
//!
//! | file | what it holds |
//! |---|---|
//! | `table`, `tally` | requests by both of their ends, the ring of the ended; what passed on a stream |
//! | `index` | the live requests by what they touch |
//! | `router` | each frame to where its request goes on; cancel, overrun, a connection that is gone |
//! | `port` | where frames wait for a connection that is being made |
//! | `stats` | figures as JSON |

mod end;
mod index;
mod port;
mod router;
mod stats;
mod table;
mod tally;

pub(crate) use end::LinkId;
pub(crate) use router::{Destination, Router};
pub(crate) use stats::figures;
