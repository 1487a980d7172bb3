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
//! | `names` | what each connection of a switch is called |
//! | `offer` | what a host offers, and which of it serves a cap |
//! | `options` | how a switch works |
//! | `pulse` | heartbeats, and what stands still behind a relay |
//! | `vigil` | whether those behind a relay live |
//! | `switch` | connections of hosts and callers |
//! | `host`, `host_core`, `uplink`, `cartridge` | the cartridges of one machine: started, stopped, started again |

mod cartridge;
mod host;
mod host_core;
mod names;
mod offer;
mod options;
mod pulse;
mod switch;
mod uplink;
mod vigil;

pub use host::Host;
pub use host_core::HostOptions;
pub use offer::{Matcher, SameTags};
pub use options::SwitchOptions;
pub use switch::{Switch, call_through};
