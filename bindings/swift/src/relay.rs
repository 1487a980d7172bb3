//! Relays: a switch that hosts and callers connect to, and hosts that offer cartridges to it.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::engine::Losses;
use sluicegate::link::offload;
use sluicegate::{Address, Error, Host, HostOptions, Manifest, Switch, SwitchOptions};

use crate::engine::{CommandFacts, EngineCore, EngineFacts, PeerCore, PeerOp, PolicyFacts};
use crate::error::{Failure, Fault};
use crate::guard::{guard, quiet};
use crate::limits::LimitFacts;
use crate::matcher::{CapMatcher, Foreign};
use crate::notices::{self, Notices};
use crate::op::UnitOp;
use crate::report::{self, ControlCore, TextOp};
use crate::request::ReasonOp;
use crate::transport::files;

/// How a switch works.
#[derive(uniffi::Record)]
pub struct SwitchFacts {
    /// What is proposed to callers.
    pub limits: LimitFacts,
    /// What hosts are told.
    pub policy: PolicyFacts,
    /// Nanoseconds that a newcomer may take to prove who it is.
    pub join_nanos: u64,
    /// Warnings of what was lost are not written to stderr.
    pub quiet_losses: bool,
    /// Which cap serves another; absent: one with the same tags.
    pub matcher: Option<Arc<dyn CapMatcher>>,
}

/// Core's switch.
#[derive(uniffi::Object)]
pub struct SwitchCore {
    core: Switch,
    losses: Losses,
}

#[uniffi::export]
impl SwitchCore {
    /// A switch that nobody is connected to.
    #[uniffi::constructor]
    pub fn new(facts: SwitchFacts) -> Arc<Self> {
        let losses = Losses::default();
        let mut options = SwitchOptions {
            limits: facts.limits.into(),
            policy: facts.policy.into(),
            join_timeout: Duration::from_nanos(facts.join_nanos),
            on_loss: notices::on_loss(&losses, facts.quiet_losses),
            ..SwitchOptions::default()
        };
        if let Some(matcher) = facts.matcher {
            options.matcher = Arc::new(Foreign(matcher));
        }
        Arc::new(SwitchCore { core: Switch::new(options), losses })
    }

    /// Lets whoever connects join. Answers where it listens.
    ///
    /// # Errors
    /// `Io`, `Closed`, `InvalidArgument`.
    pub fn listen(&self, address: &str) -> Result<String, Failure> {
        guard(|| Ok::<_, Error>(self.core.listen(&address.parse::<Address>()?)?.to_string()))
    }

    /// Lets one newcomer join over two file descriptors, owned from now on.
    pub fn attach(&self, name: String, reading: i32, writing: i32) -> Arc<UnitOp> {
        let relay = self.core.clone();
        let (reader, writer) = files(reading, writing);
        UnitOp::start(offload("attach", move || relay.attach(&name, reader, writer)))
    }

    /// A caller in this process.
    pub fn caller(&self, engine: Arc<EngineCore>) -> Arc<PeerOp> {
        let relay = self.core.clone();
        PeerOp::start(offload("caller", move || {
            relay.caller(engine.engine()).map(|peer| Arc::new(PeerCore::from(peer)))
        }))
    }

    /// The caps that hosts offer now, sorted.
    pub fn caps(&self) -> Vec<String> {
        quiet(Vec::new(), || self.core.caps())
    }

    /// Gives every host something to keep.
    ///
    /// # Errors
    /// Why the last of the hosts that failed is gone.
    pub fn set_state(&self, state: &[u8]) -> Result<(), Failure> {
        guard(|| self.core.set_state(state))
    }

    /// What goes through it and what was lost, JSON.
    pub fn stats_json(&self) -> String {
        quiet(String::new(), || self.core.stats().to_string())
    }

    /// Who waits for whom, JSON. Everybody connected is asked.
    pub fn explain(&self) -> Arc<TextOp> {
        let relay = self.core.clone();
        TextOp::start(offload("explain", move || Ok(relay.explain().to_json().to_string())))
    }

    /// The next notice of what was lost, JSON.
    pub fn next_loss(&self) -> Arc<TextOp> {
        notices::next_loss(&self.losses)
    }

    /// Opens a control socket.
    ///
    /// # Errors
    /// `Io`, `InvalidArgument`.
    pub fn serve_control(&self, address: Option<String>) -> Result<Arc<ControlCore>, Failure> {
        report::serve(address, Arc::new(self.core.clone()))
    }

    /// Ends every connection.
    pub fn close(&self) {
        quiet((), || self.core.close());
    }
}

/// Connects to a switch that listens somewhere, as its caller.
#[uniffi::export]
pub fn connect_engine(engine: Arc<EngineCore>, address: String) -> Arc<PeerOp> {
    PeerOp::start(offload("connect", move || {
        let (reader, writer) = sluicegate::link::connect(&address.parse::<Address>()?)?;
        engine.engine().attach(reader, writer).map(|peer| Arc::new(PeerCore::from(peer)))
    }))
}

/// Core's host.
#[derive(uniffi::Object)]
pub struct HostCore {
    core: Host,
    losses: Losses,
}

#[uniffi::export]
impl HostCore {
    /// A host without cartridges.
    ///
    /// # Errors
    /// `Io` if no thread is to be had.
    #[uniffi::constructor]
    pub fn new(engine: EngineFacts, idle_nanos: Option<u64>) -> Result<Arc<Self>, Failure> {
        guard(|| {
            let notices = Notices::default();
            let options = HostOptions {
                engine: engine.options(&notices),
                idle: idle_nanos.map(Duration::from_nanos),
            };
            Host::new(options).map(|core| Arc::new(HostCore { core, losses: notices.losses }))
        })
    }

    /// Offers a cartridge, which is started now.
    pub fn add(&self, command: CommandFacts) -> Arc<UnitOp> {
        let host = self.core.clone();
        UnitOp::start(offload("add", move || host.add(&command.into())))
    }

    /// Offers a cartridge that is started by the first request for it; `manifest` is its manifest, JSON.
    ///
    /// # Errors
    /// As core's `from_json`.
    pub fn add_lazy(&self, command: CommandFacts, manifest: &str) -> Result<(), Failure> {
        guard(|| {
            self.core.add_lazy(&command.into(), &Manifest::from_json(manifest)?);
            Ok::<_, Error>(())
        })
    }

    /// Offers a cartridge that runs already, over two file descriptors, owned from now on.
    pub fn attach(&self, label: String, reading: i32, writing: i32) -> Arc<UnitOp> {
        let host = self.core.clone();
        let (reader, writer) = files(reading, writing);
        UnitOp::start(offload("attach", move || host.attach(&label, reader, writer)))
    }

    /// Joins the switch that listens there.
    pub fn join(&self, address: String) -> Arc<UnitOp> {
        let host = self.core.clone();
        UnitOp::start(offload("join", move || host.join_at(&address.parse::<Address>()?)))
    }

    /// Joins a switch over two file descriptors, owned from now on.
    pub fn join_over(&self, reading: i32, writing: i32) -> Arc<UnitOp> {
        let host = self.core.clone();
        let (reader, writer) = files(reading, writing);
        UnitOp::start(offload("join", move || host.join(reader, writer)))
    }

    /// Takes no new requests for a cartridge. False if there is none of this label.
    pub fn retire(&self, label: &str) -> bool {
        quiet(false, || self.core.retire(label))
    }

    /// What the switch gave it to keep.
    pub fn state(&self) -> Option<Vec<u8>> {
        quiet(None, || self.core.state().map(|state| state.to_vec()))
    }

    /// The processes of the cartridges that run now.
    pub fn pids(&self) -> Vec<u32> {
        quiet(Vec::new(), || self.core.pids())
    }

    /// What goes through it and what was lost, JSON.
    pub fn stats_json(&self) -> String {
        quiet(String::new(), || self.core.stats().to_string())
    }

    /// Who waits for whom in the cartridges, JSON.
    pub fn explain(&self) -> Arc<TextOp> {
        let host = self.core.clone();
        TextOp::start(offload("explain", move || Ok(host.explain().to_json().to_string())))
    }

    /// The next notice of what was lost, JSON.
    pub fn next_loss(&self) -> Arc<TextOp> {
        notices::next_loss(&self.losses)
    }

    /// Opens a control socket.
    ///
    /// # Errors
    /// `Io`, `InvalidArgument`.
    pub fn serve_control(&self, address: Option<String>) -> Result<Arc<ControlCore>, Failure> {
        report::serve(address, Arc::new(self.core.clone()))
    }

    /// Why it is no longer connected to its switch, if it is not.
    pub fn dead(&self) -> Option<Fault> {
        quiet(None, || self.core.dead().map(|reason| Fault::from(&reason)))
    }

    /// Waits until it is no longer connected to its switch.
    pub fn left(&self) -> Arc<ReasonOp> {
        let left = self.core.left();
        ReasonOp::start(async move { Ok::<_, Error>(Fault::from(&left.await)) })
    }

    /// Leaves the switch and closes every cartridge.
    pub fn close(&self) {
        quiet((), || self.core.close());
    }
}
