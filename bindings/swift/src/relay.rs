//! Relays: a switch that hosts and callers connect to, and hosts that offer cartridges to it.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::engine::Stalls;
use sluicegate::{Address, Error, Host, HostOptions, Manifest, Switch, SwitchOptions};

use crate::engine::{CommandFacts, EngineCore, EngineFacts, PeerCore, PeerOp, PolicyFacts};
use crate::error::{Failure, Fault};
use crate::guard::{guard, quiet};
use crate::limits::LimitFacts;
use crate::offload::offload;
use crate::op::UnitOp;
use crate::report::{self, ControlCore, TextOp};
use crate::request::ReasonOp;
use crate::transport::files;

/// Core's switch.
#[derive(uniffi::Object)]
pub struct SwitchCore(Switch);

#[uniffi::export]
impl SwitchCore {
    /// A switch that nobody is connected to.
    #[uniffi::constructor]
    pub fn new(limits: LimitFacts, policy: PolicyFacts, join_nanos: u64) -> Arc<Self> {
        Arc::new(SwitchCore(Switch::new(SwitchOptions {
            limits: limits.into(),
            policy: policy.into(),
            join_timeout: Duration::from_nanos(join_nanos),
            ..SwitchOptions::default()
        })))
    }

    /// Lets whoever connects join. Answers where it listens.
    ///
    /// # Errors
    /// `Io`, `Closed`, `InvalidArgument`.
    pub fn listen(&self, address: &str) -> Result<String, Failure> {
        guard(|| Ok::<_, Error>(self.0.listen(&address.parse::<Address>()?)?.to_string()))
    }

    /// Lets one newcomer join over two file descriptors, owned from now on.
    pub fn attach(&self, name: String, reading: i32, writing: i32) -> Arc<UnitOp> {
        let relay = self.0.clone();
        let (reader, writer) = files(reading, writing);
        UnitOp::start(offload("attach", move || relay.attach(&name, reader, writer)))
    }

    /// A caller in this process.
    pub fn caller(&self, engine: Arc<EngineCore>) -> Arc<PeerOp> {
        let relay = self.0.clone();
        PeerOp::start(offload("caller", move || {
            relay.caller(engine.engine()).map(|peer| Arc::new(PeerCore::from(peer)))
        }))
    }

    /// The caps that hosts offer now, sorted.
    pub fn caps(&self) -> Vec<String> {
        quiet(Vec::new(), || self.0.caps())
    }

    /// Gives every host something to keep.
    ///
    /// # Errors
    /// Why the last of the hosts that failed is gone.
    pub fn set_state(&self, state: &[u8]) -> Result<(), Failure> {
        guard(|| self.0.set_state(state))
    }

    /// What goes through it and what was lost, JSON.
    pub fn stats_json(&self) -> String {
        quiet(String::new(), || self.0.stats().to_string())
    }

    /// Who waits for whom, JSON. Everybody connected is asked.
    pub fn explain(&self) -> Arc<TextOp> {
        let relay = self.0.clone();
        TextOp::start(offload("explain", move || Ok(relay.explain().to_json().to_string())))
    }

    /// Opens a control socket.
    ///
    /// # Errors
    /// `Io`, `InvalidArgument`.
    pub fn serve_control(&self, address: Option<String>) -> Result<Arc<ControlCore>, Failure> {
        report::serve(address, Arc::new(self.0.clone()))
    }

    /// Ends every connection.
    pub fn close(&self) {
        quiet((), || self.0.close());
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
pub struct HostCore(Host);

#[uniffi::export]
impl HostCore {
    /// A host without cartridges.
    ///
    /// # Errors
    /// `Io` if no thread is to be had.
    #[uniffi::constructor]
    pub fn new(engine: EngineFacts, idle_nanos: Option<u64>) -> Result<Arc<Self>, Failure> {
        guard(|| {
            let options = HostOptions {
                engine: engine.options(&Stalls::default()),
                idle: idle_nanos.map(Duration::from_nanos),
            };
            Host::new(options).map(|host| Arc::new(HostCore(host)))
        })
    }

    /// Offers a cartridge, which is started now.
    pub fn add(&self, command: CommandFacts) -> Arc<UnitOp> {
        let host = self.0.clone();
        UnitOp::start(offload("add", move || host.add(&command.into())))
    }

    /// Offers a cartridge that is started by the first request for it; `manifest` is its manifest, JSON.
    ///
    /// # Errors
    /// As core's `from_json`.
    pub fn add_lazy(&self, command: CommandFacts, manifest: &str) -> Result<(), Failure> {
        guard(|| {
            self.0.add_lazy(&command.into(), &Manifest::from_json(manifest)?);
            Ok::<_, Error>(())
        })
    }

    /// Offers a cartridge that runs already, over two file descriptors, owned from now on.
    pub fn attach(&self, label: String, reading: i32, writing: i32) -> Arc<UnitOp> {
        let host = self.0.clone();
        let (reader, writer) = files(reading, writing);
        UnitOp::start(offload("attach", move || host.attach(&label, reader, writer)))
    }

    /// Joins the switch that listens there.
    pub fn join(&self, address: String) -> Arc<UnitOp> {
        let host = self.0.clone();
        UnitOp::start(offload("join", move || host.join_at(&address.parse::<Address>()?)))
    }

    /// Takes no new requests for a cartridge. False if there is none of this label.
    pub fn retire(&self, label: &str) -> bool {
        quiet(false, || self.0.retire(label))
    }

    /// What the switch gave it to keep.
    pub fn state(&self) -> Option<Vec<u8>> {
        quiet(None, || self.0.state().map(|state| state.to_vec()))
    }

    /// The processes of the cartridges that run now.
    pub fn pids(&self) -> Vec<u32> {
        quiet(Vec::new(), || self.0.pids())
    }

    /// What goes through it and what was lost, JSON.
    pub fn stats_json(&self) -> String {
        quiet(String::new(), || self.0.stats().to_string())
    }

    /// Who waits for whom in the cartridges, JSON.
    pub fn explain(&self) -> Arc<TextOp> {
        let host = self.0.clone();
        TextOp::start(offload("explain", move || Ok(host.explain().to_json().to_string())))
    }

    /// Opens a control socket.
    ///
    /// # Errors
    /// `Io`, `InvalidArgument`.
    pub fn serve_control(&self, address: Option<String>) -> Result<Arc<ControlCore>, Failure> {
        report::serve(address, Arc::new(self.0.clone()))
    }

    /// Why it is no longer connected to its switch, if it is not.
    pub fn dead(&self) -> Option<Fault> {
        quiet(None, || self.0.dead().map(|reason| Fault::from(&reason)))
    }

    /// Waits until it is no longer connected to its switch.
    pub fn left(&self) -> Arc<ReasonOp> {
        let left = self.0.left();
        ReasonOp::start(async move { Ok::<_, Error>(Fault::from(&left.await)) })
    }

    /// Leaves the switch and closes every cartridge.
    pub fn close(&self) {
        quiet((), || self.0.close());
    }
}
