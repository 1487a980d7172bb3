//! [`Host`]: cartridges of one machine, offered to a switch.

use std::io::{Read, Write};
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value as Json;

use super::cartridge::{Run, Slot};
use super::host_core::{HostCore, HostOptions};
use super::{pulse, uplink};
use crate::account::{Explanation, Memory};
use crate::cartridge::Manifest;
use crate::engine::{Command, attach_for};
use crate::error::{Error, ErrorKind, Reason};
use crate::link::{Address, connect};
use crate::sync::Arc;

/// Cartridges that are offered to a [`Switch`](super::Switch). Cheap to clone; any thread may use it.
///
/// A cartridge runs from the first request for it. If it dies, its requests fail with what it wrote
/// to stderr, and the next request starts it again.
///
/// Dropping the last handle closes it.
#[derive(Clone)]
pub struct Host(Arc<Shut>);

/// Closes the host when the last handle goes; the links hold the inside.
struct Shut(Arc<HostCore>);

impl Drop for Shut {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Host {
    /// A host without cartridges.
    ///
    /// # Errors
    /// `Io` if there is no thread to be had.
    pub fn new(options: HostOptions) -> Result<Self, Error> {
        let inner = HostCore::new(options)?;
        Ok(Host(Arc::new(Shut(inner))))
    }

    /// Offers a cartridge, which is started now to learn what it can do.
    ///
    /// # Errors
    /// As [`Engine::spawn`](crate::Engine::spawn); `Handshake` with the code `WINDOW_MISMATCH` if it
    /// takes smaller windows than this host promises.
    pub fn add(&self, command: &Command) -> Result<(), Error> {
        let inner = self.inner();
        let slot =
            Arc::new(Slot::new(command.label(), Some(command.clone()), Json::Null, Run::Idle));
        let link = inner.number();
        inner.router.starting(link);
        slot.state.lock().run = Run::Starting(link);
        inner.start(&slot, link)?;
        inner.offer(slot);
        Ok(())
    }

    /// Offers a cartridge that is started by the first request for it. `manifest` says what it can do.
    pub fn add_lazy(&self, command: &Command, manifest: &Manifest) {
        let inner = self.inner();
        let slot = Slot::new(command.label(), Some(command.clone()), manifest.json(), Run::Idle);
        inner.offer(Arc::new(slot));
    }

    /// Offers a cartridge that runs already, over any transport.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn attach(
        &self,
        label: &str,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
    ) -> Result<(), Error> {
        let inner = self.inner();
        let link = inner.number();
        inner.router.starting(link);
        let slot = Arc::new(Slot::new(label.to_owned(), None, Json::Null, Run::Starting(link)));
        let role = inner.role(&slot, link);
        let options = inner.engine_options();
        let peer = attach_for(label, reader, writer, &options, &inner.owed, role);
        inner.started(&slot, link, peer)?;
        inner.offer(slot);
        Ok(())
    }

    /// Joins a switch over any transport. Returns once the switch routes requests to this host; one of
    /// another make, which does not tell, once it has taken the host in.
    ///
    /// # Errors
    /// `PeerDied` with what the switch did if it turns the host away; `InvalidArgument` if the host
    /// has joined one already.
    pub fn join(
        &self,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
    ) -> Result<(), Error> {
        uplink::join(self.inner(), reader, writer)
    }

    /// Joins the switch that listens at `address`.
    ///
    /// # Errors
    /// `Io` naming the address, or as [`join`](Self::join).
    pub fn join_at(&self, address: &Address) -> Result<(), Error> {
        let (reader, writer) = connect(address)?;
        self.join(reader, writer)
    }

    /// Takes no new requests for the cartridge of this label, and stops it once it has answered the
    /// old ones. False if there is none.
    #[must_use = "no cartridge may have this label"]
    pub fn retire(&self, label: &str) -> bool {
        let inner = self.inner();
        let slots: Vec<_> = inner.slots.lock().iter().cloned().collect();
        let mut found = false;
        for slot in slots.iter().filter(|slot| slot.label == label) {
            slot.state.lock().retiring = true;
            found = true;
            inner.settle(slot);
        }
        inner.changed();
        found
    }

    /// What the switch gave this host to keep, if it has.
    #[must_use]
    pub fn state(&self) -> Option<Bytes> {
        self.inner().state.with(|state| state.clone())
    }

    /// What goes through it, and what was lost, as JSON: its requests as [`Switch::stats`](super::Switch::stats)
    /// has them, with the names of its cartridges and `switch`, and the memory of this process.
    #[must_use]
    pub fn stats(&self) -> Json {
        let mut told = self.inner().stats();
        told["requests"] = self.inner().requests();
        told["memory"] = Memory::of_this().map(|memory| memory.resident).into();
        told
    }

    /// The processes of the cartridges that run now.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        let slots: Vec<_> = self.inner().slots.lock().iter().cloned().collect();
        slots.iter().filter_map(|slot| slot.peer()?.1.pid()).collect()
    }

    /// Says who waits for whom in the cartridges, which are asked, and which requests wait for one that is
    /// being started. Takes a second at most; one that does not answer is named.
    #[must_use]
    pub fn explain(&self) -> Explanation {
        let mut told = self.inner().queued();
        told.add(pulse::explain(&self.inner().running(), Duration::from_secs(1)));
        told
    }

    /// Why it is no longer connected to its switch, if it is not.
    #[must_use]
    pub fn dead(&self) -> Option<Reason> {
        self.inner().uplink.lock().as_ref().and_then(|uplink| uplink.is_dead())
    }

    /// Waits until it is no longer connected to its switch, and says why; at once if it never was.
    pub fn left(&self) -> impl Future<Output = Reason> + Send + use<> {
        let uplink = self.inner().uplink.lock().clone();
        async move {
            match uplink {
                Some(uplink) => uplink.died().await,
                None => Error::new(ErrorKind::Closed, "this host has joined no switch"),
            }
        }
    }

    /// Leaves the switch and closes every cartridge.
    pub fn close(&self) {
        self.inner().close();
    }

    fn inner(&self) -> &Arc<HostCore> {
        &self.0.0
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Host({} cartridges)", self.inner().slots.lock().len())
    }
}
