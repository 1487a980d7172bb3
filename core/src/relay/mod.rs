//! Relays: a [`Switch`] that hosts and callers connect to, and a [`Host`] that offers cartridges to one.
//!
//! ```text
//! caller ─▶ Switch ─▶ Host ─▶ cartridge          REQ, chunks; grants for results
//! caller ◀─ Switch ◀─ Host ◀─ cartridge          results; grants for arguments
//! ```
//!
//! Whatever stands in between passes frames on and touches no credit (L11): the windows are those of
//! the two ends. So a relay holds at most what the windows of its streams allow, one slow stream
//! holds up no other, and nothing here ever waits for a consumer.
//!
//! | file | what it holds |
//! |---|---|
//! | `table`, `tally` | requests by both of their ends, the ring of the ended; what passed on a stream |
//! | `router` | each frame to where its request goes on; cancel, overrun, a connection that is gone |
//! | `port` | where frames wait for a connection that is being made |
//! | `names` | what each connection of a switch is called |
//! | `offer` | what a host offers, and which of it serves a cap |
//! | `pulse` | heartbeats, and what stands still behind a relay |
//! | `switch`, `stats` | connections of hosts and callers; figures as JSON |
//! | `host`, `uplink`, `cartridge` | the cartridges of one machine: started, stopped, started again |

mod cartridge;
mod host;
mod names;
mod offer;
mod port;
mod pulse;
mod router;
mod stats;
mod switch;
mod table;
mod tally;
mod uplink;

pub use host::{Host, HostOptions};
pub use offer::{Matcher, SameTags};
pub use switch::{Switch, SwitchOptions, call_through};
