//! The host: starts cartridges or attaches to them, calls them, chains them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use sluicegate::account::Snapshot;
use sluicegate::engine::Health as CoreHealth;
use sluicegate::link::offload;
use sluicegate::{
    Command, Engine as CoreEngine, EngineOptions, Error, ErrorKind, Mode, NetworkPolicy,
    Peer as CorePeer, Version,
};

use crate::call::Call;
use crate::errors;
use crate::fork::Owned;
use crate::notices::{self, Notices};
use crate::number::Count;
use crate::op::Op;
use crate::report::{self, Control};
use crate::stream::{InputStream, OutputStream};
use crate::transport::{LimitsTuple, duplicate, limits_in, limits_out};

/// The core of `sluicegate.Engine`.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct Engine {
    core: Owned<CoreEngine>,
    notices: Notices,
}

impl Engine {
    pub(crate) fn core(&self) -> PyResult<&CoreEngine> {
        self.core.get()
    }
}

/// Seconds between heartbeats, seconds to answer one, seconds until there is a notice of a stall, whether
/// losses are not written to stderr.
pub(crate) type Health = (Option<f64>, f64, Option<f64>, bool);

/// A time that a caller gave, in seconds.
pub(crate) fn seconds(name: &str, given: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(given).map_err(|error| invalid(format!("{name}: {error}")))
}

/// Options as Python gives them, and what collects the notices.
pub(crate) fn options(
    limits: (Count, Count, Count, Count),
    handshake_timeout: f64,
    policy: &str,
    max_item: Count,
    (heartbeat, patience, stall, quiet_losses): Health,
    peer_calls: bool,
    protocol: Count,
) -> PyResult<(EngineOptions, Notices)> {
    let notices = Notices::default();
    let options = EngineOptions {
        limits: limits_in(limits)?,
        handshake_timeout: seconds("handshake_timeout", handshake_timeout)?,
        policy: policy_from(policy)?,
        max_item: max_item.0,
        health: CoreHealth {
            heartbeat: heartbeat.map(|given| seconds("heartbeat", given)).transpose()?,
            patience: seconds("patience", patience)?,
            stall: stall.map(|given| seconds("stall", given)).transpose()?,
            on_stall: notices.stalls.hears(),
            on_loss: notices::on_loss(&notices.losses, quiet_losses),
        },
        peer_calls,
        version: Version::proposed(protocol.0).map_err(|error| errors::raise(&error))?,
    };
    Ok((options, notices))
}

/// A command as Python gives it.
pub(crate) fn command(
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(OsString, Option<OsString>)>,
    cwd: Option<PathBuf>,
    tee_stderr: bool,
) -> Command {
    let mut command = Command::new(program).args(args).tee_stderr(tee_stderr);
    for (name, value) in env {
        command = match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    match cwd {
        Some(cwd) => command.cwd(cwd),
        None => command,
    }
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (limits, handshake_timeout, policy, max_item, health, peer_calls, protocol, /))]
    fn new(
        limits: (Count, Count, Count, Count),
        handshake_timeout: f64,
        policy: &str,
        max_item: Count,
        health: Health,
        peer_calls: bool,
        protocol: Count,
    ) -> PyResult<Self> {
        let (options, notices) =
            options(limits, handshake_timeout, policy, max_item, health, peer_calls, protocol)?;
        Ok(Engine { core: Owned::new(CoreEngine::new(options)), notices })
    }

    /// Starts a cartridge. Answers a peer.
    #[pyo3(signature = (program, args, env, cwd, tee_stderr, /))]
    fn spawn(
        &self,
        program: OsString,
        args: Vec<OsString>,
        env: Vec<(OsString, Option<OsString>)>,
        cwd: Option<PathBuf>,
        tee_stderr: bool,
    ) -> PyResult<Op> {
        let command = command(program, args, env, cwd, tee_stderr);
        let engine = self.core.get()?.clone();
        Ok(Op::new(offload("spawn", move || engine.spawn(&command)), Peer::object))
    }

    /// Attaches to a cartridge behind two descriptors, which are duplicated. Answers a peer.
    #[pyo3(signature = (reader, writer, /))]
    fn attach(&self, reader: i32, writer: i32) -> PyResult<Op> {
        let engine = self.core.get()?.clone();
        let (reader, writer) = (duplicate(reader)?, duplicate(writer)?);
        Ok(Op::new(offload("attach", move || engine.attach(reader, writer)), Peer::object))
    }

    fn close(&self) -> PyResult<Op> {
        Ok(closing(self.core.get()?.close()))
    }

    /// What is live and what was lost, as JSON.
    fn stats(&self) -> PyResult<String> {
        Ok(self.core.get()?.stats().to_string())
    }

    /// Answers who waits for whom, as JSON.
    fn explain(&self) -> PyResult<Op> {
        let engine = self.core.get()?.clone();
        Ok(report::explain(move || engine.explain()))
    }

    /// Answers the next stall notice, as JSON.
    fn next_stall(&self) -> PyResult<Op> {
        self.core.get()?;
        Ok(notices::next_stall(&self.notices.stalls))
    }

    /// Answers the next notice of what was lost, as JSON.
    fn next_loss(&self) -> PyResult<Op> {
        self.core.get()?;
        Ok(notices::next_loss(&self.notices.losses))
    }

    #[pyo3(signature = (address, /))]
    fn serve_control(&self, address: Option<&str>) -> PyResult<Control> {
        report::serve(Arc::new(self.core.get()?.clone()), address)
    }
}

fn invalid(message: String) -> PyErr {
    errors::raise(&Error::new(ErrorKind::InvalidArgument, message))
}

pub(crate) fn policy_from(policy: &str) -> PyResult<NetworkPolicy> {
    policy.parse().map_err(|error| invalid(format!("{policy:?}: {error}")))
}

fn closing(close: impl Future<Output = ()> + Send + 'static) -> Op {
    let closed = async move {
        close.await;
        Ok(())
    };
    Op::new(closed, |py, ()| Ok(py.None()))
}

type ByFrameType = BTreeMap<&'static str, u64>;

/// drops by reason and frame type, stragglers by frame type, overruns.
type Counters = (BTreeMap<&'static str, ByFrameType>, ByFrameType, u64);

/// urn, title, in_media, out_media, in_sequence, out_sequence, outputs.
type CapRow = (String, String, Option<String>, Option<String>, bool, bool, Vec<String>);

/// The core of `sluicegate.Peer`.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct Peer(Owned<CorePeer>);

impl Peer {
    pub(crate) fn object(py: Python<'_>, peer: CorePeer) -> PyResult<Py<PyAny>> {
        Ok(Py::new(py, Peer(Owned::new(peer)))?.into_any())
    }
}

#[pymethods]
impl Peer {
    #[getter]
    fn name(&self) -> PyResult<&str> {
        Ok(self.0.get()?.name())
    }

    #[getter]
    fn manifest_json(&self) -> PyResult<String> {
        Ok(self.0.get()?.manifest_json())
    }

    #[getter]
    fn caps(&self) -> PyResult<Vec<CapRow>> {
        let caps = self.0.get()?.caps().iter().cloned();
        Ok(caps
            .map(|cap| {
                let outputs = cap.outputs;
                let (takes, gives) = (cap.in_media, cap.out_media);
                (cap.urn, cap.title, takes, gives, cap.in_sequence, cap.out_sequence, outputs)
            })
            .collect())
    }

    #[getter]
    fn limits(&self) -> PyResult<LimitsTuple> {
        Ok(limits_out(self.0.get()?.limits()))
    }

    #[getter]
    fn live_calls(&self) -> PyResult<usize> {
        Ok(self.0.get()?.live_calls())
    }

    #[getter]
    fn pid(&self) -> PyResult<Option<u32>> {
        Ok(self.0.get()?.pid())
    }

    #[getter]
    fn stderr_tail(&self) -> PyResult<String> {
        Ok(self.0.get()?.stderr_tail())
    }

    /// Bytes resident now and at most, None where nobody can tell.
    #[getter]
    fn memory(&self) -> PyResult<Option<(u64, u64)>> {
        Ok(self.0.get()?.memory().map(|memory| (memory.resident, memory.peak)))
    }

    /// Why it is gone, None while it lives.
    #[getter]
    fn dead<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let reason = self.0.get()?.dead();
        reason.map(|reason| errors::exception(py, &reason)).transpose()
    }

    /// Answers why it is gone.
    fn died(&self) -> PyResult<Op> {
        let died = self.0.get()?.died();
        Ok(Op::new(async move { Ok(died.await) }, |py, reason| {
            Ok(errors::exception(py, &reason)?.unbind())
        }))
    }

    /// What was lost on this connection: drops by reason and frame type, stragglers by frame type,
    /// overruns.
    #[getter]
    fn counters(&self) -> PyResult<Counters> {
        let Snapshot { drops, stragglers, overruns } = self.0.get()?.counters();
        Ok((drops, stragglers, overruns))
    }

    /// What is live and what was lost, as JSON.
    fn stats(&self) -> PyResult<String> {
        Ok(self.0.get()?.stats().to_string())
    }

    #[pyo3(signature = (policy, /))]
    fn set_policy(&self, policy: &str) -> PyResult<()> {
        self.0.get()?.set_policy(policy_from(policy)?).map_err(|error| errors::raise(&error))
    }

    /// Sends a heartbeat.
    fn probe(&self) -> PyResult<()> {
        self.0.get()?.probe().map_err(|error| errors::raise(&error))
    }

    #[pyo3(signature = (cap, /))]
    fn call(&self, cap: &str) -> PyResult<Call> {
        self.0.get()?.call(cap).map(Call::new).map_err(|error| errors::raise(&error))
    }

    fn close(&self) -> PyResult<Op> {
        Ok(closing(self.0.get()?.close()))
    }

    fn kill(&self) -> PyResult<()> {
        self.0.get()?.kill();
        Ok(())
    }
}

/// Moves everything from one stream to another, and closes that. Answers how many chunks or items.
#[pyfunction]
#[pyo3(signature = (source, target, /))]
pub(crate) fn forward(source: &InputStream, target: &OutputStream) -> PyResult<Op> {
    let (from, unread) = source.parts()?;
    let (from, unread, to) = (from.clone(), unread.clone(), target.core()?.clone());
    let future = async move {
        let mut moved: u64 = 0;
        while let Some(item) = unread.take() {
            match from.info().mode {
                Mode::Scalar => to.emit(item.value).await?,
                Mode::Sequence => to.emit_list_item(item.value, item.meta).await?,
            }
            moved += 1;
        }
        Ok(sluicegate::forward(from, to).await?.saturating_add(moved))
    };
    Ok(Op::new(future, |py, moved| Ok(moved.into_pyobject(py)?.into_any().unbind())))
}
