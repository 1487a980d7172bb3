//! The host.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::link::offload;
use sluicegate::{
    CapInfo, Command, Engine, EngineOptions, Error, NetworkPolicy, Peer, Version, forward,
};

use crate::call::CallCore;
use crate::error::{Failure, Fault};
use crate::guard::{guard, quiet};
use crate::input::InputCore;
use crate::limits::LimitFacts;
use crate::notices::{self, Notices};
use crate::op::{CountOp, UnitOp, taking};
use crate::output::OutputCore;
use crate::report::{self, ControlCore, TextOp};
use crate::request::ReasonOp;
use crate::transport::files;

/// Core's engine.
#[derive(uniffi::Object)]
pub struct EngineCore {
    engine: Engine,
    notices: Notices,
}

/// What cartridges may do on the network.
#[derive(Clone, Copy, Debug, uniffi::Enum)]
pub enum PolicyFacts {
    /// Nothing.
    Offline,
    /// No telemetry.
    NoTelemetry,
    /// Everything.
    Full,
}

impl From<PolicyFacts> for NetworkPolicy {
    fn from(policy: PolicyFacts) -> Self {
        match policy {
            PolicyFacts::Offline => NetworkPolicy::Offline,
            PolicyFacts::NoTelemetry => NetworkPolicy::NoTelemetry,
            PolicyFacts::Full => NetworkPolicy::Full,
        }
    }
}

impl From<NetworkPolicy> for PolicyFacts {
    fn from(policy: NetworkPolicy) -> Self {
        match policy {
            NetworkPolicy::Offline => PolicyFacts::Offline,
            NetworkPolicy::NoTelemetry => PolicyFacts::NoTelemetry,
            NetworkPolicy::Full => PolicyFacts::Full,
        }
    }
}

/// A version of the protocol.
#[derive(Clone, Copy, Debug, uniffi::Enum)]
pub enum ProtocolFacts {
    /// 4.
    V4,
    /// 5.
    V5,
    /// 6.
    V6,
}

impl From<ProtocolFacts> for Version {
    fn from(facts: ProtocolFacts) -> Self {
        match facts {
            ProtocolFacts::V4 => Version::V4,
            ProtocolFacts::V5 => Version::V5,
            ProtocolFacts::V6 => Version::V6,
        }
    }
}

/// How an engine runs its cartridges.
#[derive(Clone, Debug, uniffi::Record)]
pub struct EngineFacts {
    /// What is proposed to each cartridge.
    pub limits: LimitFacts,
    /// Nanoseconds that a cartridge may take to start.
    pub handshake_nanos: u64,
    /// What cartridges may do on the network.
    pub policy: PolicyFacts,
    /// Largest item of a sequence stream, in bytes; absent for core's default.
    pub max_item: Option<u64>,
    /// Nanoseconds between two heartbeats; absent: none are sent.
    pub heartbeat_nanos: Option<u64>,
    /// Nanoseconds that a cartridge may take to answer one.
    pub patience_nanos: u64,
    /// Nanoseconds that a stream may stand still before there is a notice; absent: there are none.
    pub stall_nanos: Option<u64>,
    /// Warnings of what was lost are not written to stderr.
    pub quiet_losses: bool,
    /// A cartridge may call the caps of the cartridges of this engine.
    pub peer_calls: bool,
    /// The version of the protocol that cartridges are spoken to in.
    pub protocol: ProtocolFacts,
}

impl EngineFacts {
    /// Core's options; `notices` collects what they ask for.
    pub(crate) fn options(self, notices: &Notices) -> EngineOptions {
        let mut defaults = EngineOptions::default();
        defaults.health.heartbeat = self.heartbeat_nanos.map(Duration::from_nanos);
        defaults.health.patience = Duration::from_nanos(self.patience_nanos);
        defaults.health.stall = self.stall_nanos.map(Duration::from_nanos);
        defaults.health.on_stall = notices.stalls.hears();
        defaults.health.on_loss = notices::on_loss(&notices.losses, self.quiet_losses);
        EngineOptions {
            limits: self.limits.into(),
            handshake_timeout: Duration::from_nanos(self.handshake_nanos),
            policy: self.policy.into(),
            max_item: self.max_item.unwrap_or(defaults.max_item),
            peer_calls: self.peer_calls,
            version: self.protocol.into(),
            ..defaults
        }
    }
}

/// A program to start as a cartridge.
#[derive(Clone, Debug, uniffi::Record)]
pub struct CommandFacts {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Variables to set (a text) or to remove (absent), in order.
    pub environment: Vec<Variable>,
    /// Its working directory, unless this process's own.
    pub directory: Option<String>,
    /// Pass its stderr on to this process's.
    pub tee_stderr: bool,
}

/// One variable of an environment.
#[derive(Clone, Debug, uniffi::Record)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value; absent: it is removed.
    pub value: Option<String>,
}

impl From<CommandFacts> for Command {
    fn from(facts: CommandFacts) -> Self {
        let mut command = Command::new(facts.program).args(facts.arguments);
        for Variable { name, value } in facts.environment {
            command = match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(directory) = facts.directory {
            command = command.cwd(directory);
        }
        if facts.tee_stderr {
            command = command.tee_stderr(true);
        }
        command
    }
}

/// One cap of a cartridge.
#[derive(Clone, Debug, uniffi::Record)]
pub struct CapFacts {
    /// The URN to call it by.
    pub urn: String,
    /// For people.
    pub title: String,
    /// Media of the main input.
    pub in_media: Option<String>,
    /// Media of the main output.
    pub out_media: Option<String>,
    /// The main input is a sequence.
    pub in_sequence: bool,
    /// The main output is a sequence.
    pub out_sequence: bool,
    /// Media of all outputs, the main one first.
    pub outputs: Vec<String>,
}

impl From<&CapInfo> for CapFacts {
    fn from(info: &CapInfo) -> Self {
        CapFacts {
            urn: info.urn.clone(),
            title: info.title.clone(),
            in_media: info.in_media.clone(),
            out_media: info.out_media.clone(),
            in_sequence: info.in_sequence,
            out_sequence: info.out_sequence,
            outputs: info.outputs.clone(),
        }
    }
}

impl EngineCore {
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }
}

#[uniffi::export]
impl EngineCore {
    /// An engine without cartridges.
    #[uniffi::constructor]
    pub fn new(facts: EngineFacts) -> Arc<Self> {
        let notices = Notices::default();
        let engine = Engine::new(facts.options(&notices));
        Arc::new(EngineCore { engine, notices })
    }

    /// Starts a cartridge.
    pub fn spawn(&self, command: CommandFacts) -> Arc<PeerOp> {
        let (engine, command) = (self.engine.clone(), Command::from(command));
        PeerOp::start(offload("spawn", move || {
            engine.spawn(&command).map(|peer| Arc::new(PeerCore(peer)))
        }))
    }

    /// Attaches to a cartridge over two file descriptors, owned from now on.
    pub fn attach(&self, reading: i32, writing: i32) -> Arc<PeerOp> {
        let engine = self.engine.clone();
        let (reader, writer) = files(reading, writing);
        PeerOp::start(offload("attach", move || {
            engine.attach(reader, writer).map(|peer| Arc::new(PeerCore(peer)))
        }))
    }

    /// Closes every cartridge.
    pub fn close(&self) -> Arc<UnitOp> {
        let closed = self.engine.close();
        UnitOp::start(async move {
            closed.await;
            Ok::<_, Error>(())
        })
    }

    /// What is live and what was lost, JSON.
    pub fn stats_json(&self) -> String {
        quiet(String::new(), || self.engine.stats().to_string())
    }

    /// Who waits for whom, JSON. The cartridges are asked.
    pub fn explain(&self) -> Arc<TextOp> {
        let engine = self.engine.clone();
        TextOp::start(offload("explain", move || Ok(engine.explain().to_json().to_string())))
    }

    /// The next stall notice, an explanation, JSON.
    pub fn next_stall(&self) -> Arc<TextOp> {
        notices::next_stall(&self.notices.stalls)
    }

    /// The next notice of what was lost, JSON.
    pub fn next_loss(&self) -> Arc<TextOp> {
        notices::next_loss(&self.notices.losses)
    }

    /// Opens a control socket; no address is this process's own place.
    ///
    /// # Errors
    /// `Io`, `InvalidArgument`.
    pub fn serve_control(&self, address: Option<String>) -> Result<Arc<ControlCore>, Failure> {
        report::serve(address, Arc::new(self.engine.clone()))
    }
}

taking! {
    /// An operation that answers a cartridge once it has proved its identity.
    PeerOp -> Arc<PeerCore>
}

/// Core's peer.
#[derive(uniffi::Object)]
pub struct PeerCore(Peer);

impl From<Peer> for PeerCore {
    fn from(peer: Peer) -> Self {
        PeerCore(peer)
    }
}

/// The memory of a process, in bytes.
#[derive(Clone, Copy, Debug, uniffi::Record)]
pub struct MemoryFacts {
    /// Resident now.
    pub resident: u64,
    /// Resident at most, so far.
    pub peak: u64,
}

#[uniffi::export]
impl PeerCore {
    /// What it runs on, for people.
    pub fn name(&self) -> String {
        self.0.name().to_owned()
    }

    /// Its manifest, JSON.
    pub fn manifest_json(&self) -> String {
        self.0.manifest_json()
    }

    /// The caps that it serves.
    pub fn caps(&self) -> Vec<CapFacts> {
        self.0.caps().iter().map(CapFacts::from).collect()
    }

    /// The agreed limits.
    pub fn limits(&self) -> LimitFacts {
        self.0.limits().into()
    }

    /// Calls a cap.
    ///
    /// # Errors
    /// Why the cartridge is gone, or `LimitReached`.
    pub fn call(&self, cap: &str) -> Result<Arc<CallCore>, Failure> {
        guard(|| self.0.call(cap).map(|call| Arc::new(CallCore(call))))
    }

    /// What is live and what was lost on its connection, JSON.
    pub fn stats_json(&self) -> String {
        quiet(String::new(), || self.0.stats().to_string())
    }

    /// How many calls are live.
    pub fn live_calls(&self) -> u64 {
        quiet(0, || self.0.live_calls() as u64)
    }

    /// Its process id, if it was spawned.
    pub fn pid(&self) -> Option<u32> {
        self.0.pid()
    }

    /// The end of what it wrote to stderr.
    pub fn stderr_tail(&self) -> String {
        quiet(String::new(), || self.0.stderr_tail())
    }

    /// Its memory, if it was spawned and lives.
    pub fn memory(&self) -> Option<MemoryFacts> {
        let memory = quiet(None, || self.0.memory());
        memory.map(|memory| MemoryFacts { resident: memory.resident, peak: memory.peak })
    }

    /// Why it is gone, if it is.
    pub fn dead(&self) -> Option<Fault> {
        quiet(None, || self.0.dead().map(|reason| Fault::from(&reason)))
    }

    /// Waits until it is gone.
    pub fn died(&self) -> Arc<ReasonOp> {
        let died = self.0.died();
        ReasonOp::start(async move { Ok::<_, Error>(Fault::from(&died.await)) })
    }

    /// Closes it.
    pub fn close(&self) -> Arc<UnitOp> {
        let closed = self.0.close();
        UnitOp::start(async move {
            closed.await;
            Ok::<_, Error>(())
        })
    }

    /// Kills it.
    pub fn kill(&self) {
        quiet((), || self.0.kill());
    }

    /// What it may do on the network, said anew.
    ///
    /// # Errors
    /// Why it is gone.
    pub fn set_policy(&self, policy: PolicyFacts) -> Result<(), Failure> {
        guard(|| self.0.set_policy(policy.into()))
    }
}

/// Moves everything from one stream to another.
#[uniffi::export]
pub fn forward_stream(from: Arc<InputCore>, to: Arc<OutputCore>) -> Arc<CountOp> {
    CountOp::start(forward(from.0.clone(), to.0.clone()))
}
