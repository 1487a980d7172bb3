//! The only room with file descriptors: frames over any `Read` and `Write`.
//!
//! ```text
//! writers ─▶ Lanes: control lane ─┐
//!                   flow lane  ───┴▶ writer thread ─▶ FrameWriter ─▶ wire ─▶ FrameReader ─▶ reader thread
//! ```
//!
//! The thread that reads a link never waits for a write: what it has to send goes to a lane. Data
//! waits for room in bytes before it enters its lane; control frames go ahead of it.

mod alarm;
mod cut;
mod handshake;
mod lanes;
mod least;
mod losses;
mod offload;
mod queue;
mod quiet;
mod reader;
mod room;
mod socket;
mod stdio;
mod sum;
mod trace;
mod transit;
mod writer;

pub(crate) use alarm::Alarm;
pub use handshake::{CartridgeHello, accept, propose};
pub(crate) use handshake::{Newcomer, Notice, read_notice, welcome};
pub(crate) use lanes::Lanes;
pub(crate) use least::fits;
pub(crate) use losses::{losses_to_stderr, tell_losses};
pub use offload::offload;
pub(crate) use quiet::{spawn_quiet, survive_broken_pipes};
pub use reader::FrameReader;
pub(crate) use reader::TRUNCATED;
pub use socket::{Address, Listener, SocketReader, SocketWriter, connect, socket_pair};
pub(crate) use socket::{Limited, Shutter};
pub(crate) use stdio::claim_stdio;
pub use trace::{TraceFormat, trace};
pub(crate) use transit::Source;
pub use writer::FrameWriter;
