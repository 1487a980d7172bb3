//! Faults of a transport, from a seed.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::Error;
use sluicegate::flow::testkit::{Faults, Seed, Shuffle, seed};
use sluicegate::link::offload;

use crate::engine::{EngineCore, PeerCore, PeerOp};
use crate::error::Failure;
use crate::guard::guard;
use crate::transport::files;

/// Core's shuffle: transports whose reads and writes change places.
#[derive(uniffi::Object)]
pub struct ShuffleCore(Shuffle);

#[uniffi::export]
impl ShuffleCore {
    /// None yet; nothing waits longer than this for the others.
    #[uniffi::constructor]
    pub fn new(limit_micros: u64) -> Arc<Self> {
        Arc::new(ShuffleCore(Shuffle::new(Duration::from_micros(limit_micros))))
    }
}

/// What goes wrong with one transport.
#[derive(uniffi::Record)]
pub struct FaultFacts {
    /// What everything is drawn from.
    pub seed: u64,
    /// Each read or write first waits up to so many microseconds.
    pub delay_micros: u64,
    /// Reads and writes take a part.
    pub splits: bool,
    /// It ends after so many bytes.
    pub cut_after: Option<u64>,
    /// Its reads and writes change places with those of others.
    pub shuffle: Option<Arc<ShuffleCore>>,
}

impl From<FaultFacts> for Faults {
    fn from(facts: FaultFacts) -> Self {
        let mut faults = Faults::new(facts.seed);
        if facts.delay_micros > 0 {
            faults = faults.delays(Duration::from_micros(facts.delay_micros));
        }
        if facts.splits {
            faults = faults.splits();
        }
        if let Some(bytes) = facts.cut_after {
            faults = faults.cut_after(bytes);
        }
        match facts.shuffle {
            Some(shuffle) => faults.shuffled(&shuffle.0),
            None => faults,
        }
    }
}

/// Attaches to a cartridge over two file descriptors, owned from now on, with faults in both.
#[uniffi::export]
pub fn attach_with_faults(
    engine: &EngineCore,
    reading: i32,
    writing: i32,
    reads: FaultFacts,
    writes: FaultFacts,
) -> Arc<PeerOp> {
    let engine = engine.engine().clone();
    let (reader, writer) = files(reading, writing);
    PeerOp::start(offload("attach", move || {
        let (reads, writes) = (Faults::from(reads), Faults::from(writes));
        let peer = engine.attach(reads.apply(reader), writes.apply(writer))?;
        Ok(Arc::new(PeerCore::from(peer)))
    }))
}

/// The seed that the environment says, or one of its own.
///
/// # Errors
/// `Panic` if the environment says something that is no number.
#[uniffi::export]
pub fn test_seed() -> Result<u64, Failure> {
    guard(|| Ok::<_, Error>(seed().value()))
}

/// A number of its own for `what`.
#[uniffi::export]
pub fn fork_seed(seed: u64, what: &str) -> u64 {
    Seed::fixed(seed).fork(what)
}
