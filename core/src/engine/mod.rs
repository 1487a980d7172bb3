//! The host: starts cartridges or attaches to them, calls them, chains them.
//!
//! ```no_run
//! use sluicegate::{Command, Engine, blocking_forward};
//!
//! let engine = Engine::default();
//! let upper = engine.spawn(&Command::new("./upper"))?;
//! let call = upper.call("cap:upper;in=media:blob;out=media:blob")?;
//! let input = call.input("media:blob")?;
//! std::thread::spawn(move || {
//!     input.blocking_write(b"hello")?;
//!     call.blocking_finish_input()?;
//!     println!("{:?}", call.blocking_output()?.blocking_collect_bytes()?);
//!     Ok::<_, sluicegate::Error>(())
//! });
//! # Ok::<(), sluicegate::Error>(())
//! ```

mod calls;
mod explain;
mod health;
mod notices;
mod peer;
pub(crate) mod process;
mod route;

use std::io::{Read, Write};
use std::sync::Weak;
use std::time::Duration;

pub use crate::account::{Loss, Memory, OnLoss, Severity};
pub(crate) use explain::ask;
pub(crate) use health::beat;
pub use health::{Health, OnStall};
pub use notices::{Losses, Notice, Notices, Stalls};
pub use peer::Peer;
pub(crate) use peer::identify;
pub use process::Command;
pub use route::{blocking_forward, forward};

use crate::account::{Explanation, TellsOfStages};
pub use crate::cartridge::CapInfo;
use crate::error::Error;
use crate::frame::{Limits, NetworkPolicy, Version};
use crate::request::Role;
use crate::stream::MAX_ITEM;
use crate::sync::{Arc, AtomicBool, Mutex, Ordering};
use crate::wait::owed::Owed;

/// How an engine runs its cartridges.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// What is proposed to each cartridge; the smaller proposal of each limit wins.
    pub limits: Limits,
    /// The version of the protocol that cartridges are spoken to in. The host declares it and a cartridge
    /// has to speak it, so one of an older make needs an engine of its own. Of 4, a cartridge's hello says
    /// which form it is.
    pub version: Version,
    /// How long a cartridge may take from its start until it has proved its identity.
    pub handshake_timeout: Duration,
    /// What cartridges may do on the network.
    pub policy: NetworkPolicy,
    /// Largest item of a sequence stream, in bytes.
    pub max_item: u64,
    /// How cartridges are watched over.
    pub health: Health,
    /// Whether a cartridge may call the caps of the cartridges of this engine, its own included. A call
    /// passes through the engine with the credit of its two ends, whose windows must be equal (L11, L14).
    /// Otherwise its calls are refused with `NoHandler`.
    pub peer_calls: bool,
}

impl Default for EngineOptions {
    /// The protocol's limits and its version 6, 10 s for the handshake, the whole network, items of up to 64 MiB,
    /// a heartbeat every 30 s, no calls between cartridges.
    fn default() -> Self {
        EngineOptions {
            limits: Limits::default(),
            version: Version::default(),
            handshake_timeout: Duration::from_secs(10),
            policy: NetworkPolicy::Full,
            max_item: MAX_ITEM,
            health: Health::default(),
            peer_calls: false,
        }
    }
}

/// A host of cartridges. Cheap to clone; any thread may use it.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

impl Default for Engine {
    /// An engine with the default options.
    fn default() -> Self {
        Engine::new(EngineOptions::default())
    }
}

struct Inner {
    options: EngineOptions,
    owed: Arc<Owed>,
    calls: Arc<calls::Calls>,
    peers: Mutex<Vec<Known>>,
    watch: Arc<health::Watch>,
    watched: AtomicBool,
    /// Scopes whose stages are told of.
    scopes: Mutex<Vec<Weak<dyn TellsOfStages>>>,
}

/// A cartridge as its engine knows it. The engine keeps none alive, but hears until it is gone of one
/// that nobody holds any more.
struct Known {
    peer: Weak<peer::Inner>,
    going: peer::Going,
}

impl Inner {
    fn live_peers(&self) -> Vec<Peer> {
        let peers = self.peers.lock();
        let live = peers.iter().filter_map(|known| known.peer.upgrade()).map(Peer::from);
        live.filter(|peer| peer.dead().is_none()).collect()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.watch.end();
    }
}

impl Engine {
    /// An engine without cartridges.
    #[must_use]
    pub fn new(options: EngineOptions) -> Self {
        let inner = Inner {
            owed: Arc::default(),
            calls: Arc::new(calls::Calls::new(&options.health.on_loss)),
            options,
            peers: Mutex::default(),
            watch: Arc::default(),
            watched: AtomicBool::new(false),
            scopes: Mutex::default(),
        };
        Engine(Arc::new(inner))
    }

    /// Starts a cartridge and waits, at most the handshake's limit, until it has proved its identity.
    ///
    /// # Errors
    /// `Spawn` if it cannot be started, `Handshake` if the two ends do not agree or it is too slow,
    /// `PeerDied` if it ends, `Malformed` or `FrameTooLarge` if it writes something else than frames.
    /// Each names the cartridge and gives the end of its stderr.
    pub fn spawn(&self, command: &Command) -> Result<Peer, Error> {
        let (process, reader, writer) = process::start(command)?;
        self.connect(command.label(), Some(process), reader, writer)
    }

    /// Attaches to a cartridge over any transport, as [`spawn`](Self::spawn) does.
    ///
    /// # Errors
    /// As there. When the handshake takes too long, and when the cartridge is closed, the thread that
    /// reads `reader` stays until the transport ends; [`close`](Self::close) does not wait for it. Closing
    /// drops `writer`; a socket of the standard library, or one in a `File`, is shut down as well, so that
    /// the other end is told although there is a second handle. The drop of any other `writer` has to tell
    /// it by itself. A write that nobody reads, as to a pipe that is full, stays likewise, with its thread
    /// and `writer`, until it is read or the reader goes; nothing is written behind it.
    pub fn attach(
        &self,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
    ) -> Result<Peer, Error> {
        self.connect("attached cartridge".to_owned(), None, reader, writer)
    }

    fn connect(
        &self,
        label: String,
        process: Option<Arc<process::Process>>,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
    ) -> Result<Peer, Error> {
        let Inner { options, owed, calls, .. } = &*self.0;
        let (link, role): (_, Box<dyn Role>) = match options.peer_calls {
            true => {
                let (link, role) = calls.role();
                (Some(link), role)
            }
            false => (None, Box::new(peer::Host)),
        };
        let peer = peer::connect(label, process, reader, writer, options, owed, role)?;
        if let Some(link) = link {
            calls.add(link, &peer);
        }
        let mut peers = self.0.peers.lock();
        peers.retain(|known| !known.going.is_gone());
        peers.push(Known { peer: peer.downgrade(), going: peer.going() });
        drop(peers);
        if !self.0.watched.swap(true, Ordering::AcqRel) {
            health::start(&self.0)?;
        }
        Ok(peer)
    }

    /// Says who waits for whom: what stands still here and in the cartridges, which are asked. Takes a
    /// second at most; one that does not answer is named. Of the scopes that
    /// [tell it](crate::flow::Scope::tell) each stage says whom it waits for.
    #[must_use]
    pub fn explain(&self) -> Explanation {
        let mut told = explain::explain(&self.0.live_peers());
        let scopes: Vec<_> = self.0.scopes.lock().iter().filter_map(Weak::upgrade).collect();
        told.add(Explanation::of_stages(scopes.iter().flat_map(|scope| scope.stages())));
        told
    }

    /// Explains the stages of a scope too, for as long as there is one.
    pub(crate) fn hear(&self, scope: Weak<dyn TellsOfStages>) {
        let mut scopes = self.0.scopes.lock();
        scopes.retain(|known| known.strong_count() != 0 && !known.ptr_eq(&scope));
        scopes.push(scope);
    }

    /// What was lost and what is live, as JSON: for each cartridge its name, process, requests and
    /// losses; beside them the memory of this process, and the calls between cartridges, if they may
    /// call.
    #[must_use]
    pub fn stats(&self) -> serde_json::Value {
        let peers = self.0.live_peers();
        let cartridges: Vec<_> = peers.iter().map(Peer::stats).collect();
        let memory = Memory::of_this().map(|memory| memory.resident);
        let mut told = serde_json::json!({"cartridges": cartridges, "memory": memory});
        if self.0.options.peer_calls {
            told["peer_calls"] = self.0.calls.stats();
        }
        told
    }

    /// Closes every cartridge: calls end with an error, processes get 1.5 s to exit and are killed
    /// then. Returns when all are gone, within 2 s, those too whose last handle was dropped before.
    pub fn close(&self) -> impl Future<Output = ()> + Send + use<> {
        let peers = std::mem::take(&mut *self.0.peers.lock());
        for peer in peers.iter().filter_map(|known| known.peer.upgrade()) {
            peer.begin_close();
        }
        async move {
            for known in peers {
                known.going.gone().await;
            }
        }
    }
}

/// Starts a cartridge whose frames that are not of this end's own requests go to `role`.
pub(crate) fn spawn_for(
    command: &Command,
    options: &EngineOptions,
    owed: &Arc<Owed>,
    role: Box<dyn Role>,
) -> Result<Peer, Error> {
    let (process, reader, writer) = process::start(command)?;
    peer::connect(command.label(), Some(process), reader, writer, options, owed, role)
}

/// [`spawn_for`] for a cartridge that runs already.
pub(crate) fn attach_for(
    label: &str,
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
    options: &EngineOptions,
    owed: &Arc<Owed>,
    role: Box<dyn Role>,
) -> Result<Peer, Error> {
    peer::connect(label.to_owned(), None, reader, writer, options, owed, role)
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("options", &self.0.options).finish_non_exhaustive()
    }
}
