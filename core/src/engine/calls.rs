//! Calls between the cartridges of an engine: each frame to where its call goes on (L11, L14).

use std::collections::BTreeMap;
use std::sync::Weak;

use serde_json::Value as Json;

use super::peer::{self, Peer};
use crate::account::OnLoss;
use crate::cartridge::{IDENTITY, same_cap};
use crate::error::{Error, ErrorKind, Reason};
use crate::frame::{FlowKey, Frame, MessageId};
use crate::link::tell_losses;
use crate::model::relay::may_join;
use crate::request::{Connection, Role, Unroutable};
use crate::routing::{Destination, LinkId, Router, figures};
use crate::sync::{Arc, AtomicU64, Mutex, Ordering};

/// What an engine knows of the calls that its cartridges make.
pub(super) struct Calls {
    router: Router,
    /// The cartridges that may call and be called.
    links: Mutex<BTreeMap<LinkId, Weak<peer::Inner>>>,
    next_link: AtomicU64,
    /// Calls are numbered from 1, so that one that comes back to who made it is told from its answer.
    numbers: AtomicU64,
}

impl Calls {
    /// What is lost of them is told to `on_loss`.
    pub(super) fn new(on_loss: &OnLoss) -> Self {
        let calls = Calls {
            router: Router::default(),
            links: Mutex::default(),
            next_link: AtomicU64::new(0),
            numbers: AtomicU64::new(0),
        };
        tell_losses(&calls.router.counters, "peer calls", on_loss);
        calls
    }

    /// What a new cartridge is to have done with its frames.
    pub(super) fn role(self: &Arc<Self>) -> (LinkId, Box<dyn Role>) {
        let link = self.next_link.fetch_add(1, Ordering::Relaxed);
        (link, Box::new(Link { calls: Arc::clone(self), link }))
    }

    /// A cartridge has proved who it is: from now on it may call and be called.
    pub(super) fn add(&self, link: LinkId, peer: &Peer) {
        self.router.add(link, peer.connection());
        self.links.lock().insert(link, peer.downgrade());
        if let Some(reason) = peer.dead() {
            self.gone(link, &reason); // it died before it was entered
        }
    }

    fn gone(&self, link: LinkId, reason: &Reason) {
        self.links.lock().remove(&link);
        self.router.gone(link, reason);
    }

    /// The live cartridges.
    fn peers(&self) -> Vec<(LinkId, Peer)> {
        let links = self.links.lock();
        let live = links.iter().filter_map(|(link, peer)| Some((*link, peer.upgrade()?)));
        live.map(|(link, peer)| (link, Peer::from(peer))).collect()
    }

    /// A call of `link` goes to the cartridge that serves its cap; of several, to the one with the fewest.
    fn open(&self, link: LinkId, frame: Frame, window: u64) -> Result<(), Error> {
        let asked = frame.cap.clone().unwrap_or_default();
        let peers = self.peers();
        if !peers.iter().any(|(known, _)| *known == link) {
            let message = format!("a call of {asked} before the handshake was over");
            return Err(Error::new(ErrorKind::Protocol, message));
        }
        let serving = peers.iter().filter_map(|(to, peer)| {
            let mut caps = peer.caps().iter().filter(|cap| cap.urn != IDENTITY);
            let cap = caps.find(|cap| same_cap(&cap.urn, &asked))?;
            Some((*to, cap.urn.clone(), peer.limits().initial_credit))
        });
        let serving: Vec<_> = serving.collect();
        let Some(theirs) = serving.first().map(|(_, _, theirs)| *theirs) else {
            let message = format!("no cartridge of this engine serves {asked}");
            return Err(Error::new(ErrorKind::NoHandler, message));
        };
        let fitting = serving.into_iter().filter(|(_, _, theirs)| may_join(window, *theirs));
        let Some((to, cap, _)) = fitting.min_by_key(|(to, _, _)| self.router.load(*to)) else {
            let message = format!(
                "the cartridge that serves {asked} takes windows of {theirs}, the one that calls it of {window}: they must be equal"
            );
            let kind = ErrorKind::LimitReached;
            return Err(Error::with_code(kind, "WINDOW_MISMATCH", kind.class(), message));
        };
        let number = self.numbers.fetch_add(1, Ordering::Relaxed) + 1;
        let flow = FlowKey::new(frame.id, Some(MessageId::Uint(number)));
        let to = Destination { link: to, flow, cap, is_peer: true, window };
        self.router.open(link, frame, to);
        Ok(())
    }

    /// The calls that are live and that ended lately, and what was lost of them.
    pub(super) fn stats(&self) -> Json {
        let peers = self.peers();
        let names = peers.iter().map(|(link, peer)| (*link, peer.name().to_owned())).collect();
        let losses = self.router.counters.snapshot();
        self.router.with(|routes| figures(routes, &names, &losses))
    }
}

/// What an engine does with the frames of one cartridge that are not of a call of its own.
struct Link {
    calls: Arc<Calls>,
    link: LinkId,
}

impl Role for Link {
    fn request(&self, connection: &Arc<Connection>, frame: Frame) {
        let (id, routing_id) = (frame.id, frame.routing_id);
        let window = connection.limits().initial_credit;
        if let Err(error) = self.calls.open(self.link, frame, window) {
            // A dead link has nobody to tell.
            let _ = connection.refuse(id, routing_id, &error);
        }
    }

    fn relay(&self, _connection: &Arc<Connection>, frame: Frame) -> Result<(), Unroutable> {
        self.calls.router.relay(self.link, frame)
    }

    fn over(&self, reason: &Reason) {
        self.calls.gone(self.link, reason);
    }

    fn heartbeat(
        &self,
        connection: &Arc<Connection>,
        frame: &Frame,
        answer: bool,
    ) -> Result<(), Reason> {
        peer::Host.heartbeat(connection, frame, answer)
    }

    fn policy(&self, frame: &Frame) -> Result<(), Reason> {
        peer::Host.policy(frame)
    }

    fn hello(&self, connection: &Connection, frame: &Frame) -> Result<(), Reason> {
        peer::Host.hello(connection, frame)
    }
}
