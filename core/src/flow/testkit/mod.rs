//! Faults for tests, all from one seed: a transport that splits, delays and ends, and several that
//! change places.
//!
//! For each operation of a transport its seed decides how long it waits, how many bytes it takes, and how
//! far behind its last one it stands in the line of a [`Shuffle`]; and where the transport is cut. What
//! the threads of a program do meanwhile no seed decides: see [`Shuffle`].
//!
//! ```no_run
//! use std::os::unix::net::UnixStream;
//! use sluicegate::flow::testkit::{self, Faults};
//!
//! let seed = testkit::seed(); // printed if the test panics; SLUICEGATE_SEED=… replays it
//! let (near, far) = UnixStream::pair()?;
//! let cut = 100 + seed.fork("cut") % 1000;
//! let reader = Faults::new(seed.fork("reader")).splits().cut_after(cut).apply(near.try_clone()?);
//! let writer = Faults::new(seed.fork("writer")).splits().apply(near);
//! // engine.attach(reader, writer)
//! # let _ = (reader, writer, far);
//! # Ok::<(), std::io::Error>(())
//! ```

mod faults;
mod link;
mod seed;
mod shuffle;

pub use faults::{Faults, Faulty};
pub use link::link;
pub use seed::{Seed, seed};
pub use shuffle::Shuffle;
