//! Relays: a switch, and hosts that offer cartridges to it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use sluicegate::{
    Address, Host as CoreHost, HostOptions, Manifest, Switch as CoreSwitch, SwitchOptions,
    engine::Losses,
    link::{self, offload},
    relay::Matcher,
};

use crate::attach;
use crate::engine::{self, Engine, Health, Peer, command, seconds};
use crate::errors;
use crate::fork::Owned;
use crate::notices::{self, Notices};
use crate::number::Count;
use crate::object::Element;
use crate::op::Op;
use crate::report::{self, Control};
use crate::transport::{duplicate, limits_in};

fn address(text: &str) -> PyResult<Address> {
    text.parse().map_err(|error| errors::raise(&error))
}

fn done(future: impl Future<Output = Result<(), sluicegate::Error>> + Send + 'static) -> Op {
    Op::new(future, |py, ()| Ok(py.None()))
}

/// A function of the user that says which cap serves another.
struct Serves(Element);

impl Matcher for Serves {
    fn serves(&self, offered: &str, asked: &str) -> bool {
        let answer = attach::enter(|py| {
            let function = self.0.bind(py);
            let answer = function.call1((offered, asked)).and_then(|answer| answer.is_truthy());
            answer.unwrap_or_else(|raised| {
                raised.write_unraisable(py, Some(function));
                false
            })
        });
        answer.unwrap_or(false) // the interpreter is ending
    }
}

/// The core of `sluicegate.Switch`.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct Switch {
    core: Owned<CoreSwitch>,
    losses: Losses,
}

#[pymethods]
impl Switch {
    #[new]
    #[pyo3(signature = (limits, join_timeout, policy, quiet_losses, matcher, /))]
    fn new(
        limits: (Count, Count, Count, Count),
        join_timeout: f64,
        policy: &str,
        quiet_losses: bool,
        matcher: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let losses = Losses::default();
        let mut options = SwitchOptions {
            limits: limits_in(limits)?,
            join_timeout: seconds("join_timeout", join_timeout)?,
            policy: engine::policy_from(policy)?,
            on_loss: notices::on_loss(&losses, quiet_losses),
            ..SwitchOptions::default()
        };
        if let Some(matcher) = matcher {
            options.matcher = Arc::new(Serves(matcher.into()));
        }
        Ok(Switch { core: Owned::new(CoreSwitch::new(options)), losses })
    }

    /// Answers where it listens.
    #[pyo3(signature = (at, /))]
    fn listen(&self, at: &str) -> PyResult<String> {
        let place =
            self.core.get()?.listen(&address(at)?).map_err(|error| errors::raise(&error))?;
        Ok(place.to_string())
    }

    /// Lets a newcomer join over two descriptors, which are duplicated.
    #[pyo3(signature = (name, reader, writer, /))]
    fn attach(&self, name: String, reader: i32, writer: i32) -> PyResult<Op> {
        let switch = self.core.get()?.clone();
        let (reader, writer) = (duplicate(reader)?, duplicate(writer)?);
        Ok(done(offload("join", move || switch.attach(&name, reader, writer))))
    }

    /// Answers a peer.
    #[pyo3(signature = (engine, /))]
    fn caller(&self, engine: &Engine) -> PyResult<Op> {
        let (switch, engine) = (self.core.get()?.clone(), engine.core()?.clone());
        Ok(Op::new(offload("attach", move || switch.caller(&engine)), Peer::object))
    }

    #[getter]
    fn caps(&self) -> PyResult<Vec<String>> {
        Ok(self.core.get()?.caps())
    }

    #[pyo3(signature = (state, /))]
    fn set_state(&self, state: &[u8]) -> PyResult<()> {
        self.core.get()?.set_state(state).map_err(|error| errors::raise(&error))
    }

    fn stats(&self) -> PyResult<String> {
        Ok(self.core.get()?.stats().to_string())
    }

    fn explain(&self) -> PyResult<Op> {
        let switch = self.core.get()?.clone();
        Ok(report::explain(move || switch.explain()))
    }

    /// Answers the next notice of what was lost, as JSON.
    fn next_loss(&self) -> PyResult<Op> {
        self.core.get()?;
        Ok(notices::next_loss(&self.losses))
    }

    #[pyo3(signature = (address, /))]
    fn serve_control(&self, address: Option<&str>) -> PyResult<Control> {
        report::serve(Arc::new(self.core.get()?.clone()), address)
    }

    fn close(&self) -> PyResult<()> {
        self.core.get()?.close();
        Ok(())
    }
}

/// Attaches to the switch at an address as its caller. Answers a peer.
#[pyfunction]
#[pyo3(signature = (engine, at, /))]
pub(crate) fn connect(engine: &Engine, at: &str) -> PyResult<Op> {
    let (engine, address) = (engine.core()?.clone(), address(at)?);
    let attach = move || {
        let (reader, writer) = link::connect(&address)?;
        engine.attach(reader, writer)
    };
    Ok(Op::new(offload("attach", attach), Peer::object))
}

/// The core of `sluicegate.Host`.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct Host {
    core: Owned<CoreHost>,
    losses: Losses,
}

#[pymethods]
impl Host {
    #[new]
    #[pyo3(signature = (limits, handshake_timeout, policy, max_item, health, idle, /))]
    fn new(
        limits: (Count, Count, Count, Count),
        handshake_timeout: f64,
        policy: &str,
        max_item: Count,
        health: Health,
        idle: Option<f64>,
    ) -> PyResult<Self> {
        let (engine, Notices { losses, .. }) =
            engine::options(limits, handshake_timeout, policy, max_item, health, false, Count(6))?;
        let idle = idle.map(|idle| seconds("idle", idle)).transpose()?;
        let host = CoreHost::new(HostOptions { engine, idle });
        let core = Owned::new(host.map_err(|error| errors::raise(&error))?);
        Ok(Host { core, losses })
    }

    #[pyo3(signature = (program, args, env, cwd, tee_stderr, /))]
    fn add(
        &self,
        program: OsString,
        args: Vec<OsString>,
        env: Vec<(OsString, Option<OsString>)>,
        cwd: Option<PathBuf>,
        tee_stderr: bool,
    ) -> PyResult<Op> {
        let host = self.core.get()?.clone();
        let command = command(program, args, env, cwd, tee_stderr);
        Ok(done(offload("spawn", move || host.add(&command))))
    }

    #[pyo3(signature = (manifest, program, args, env, cwd, tee_stderr, /))]
    fn add_lazy(
        &self,
        manifest: &str,
        program: OsString,
        args: Vec<OsString>,
        env: Vec<(OsString, Option<OsString>)>,
        cwd: Option<PathBuf>,
        tee_stderr: bool,
    ) -> PyResult<()> {
        let manifest = Manifest::from_json(manifest).map_err(|error| errors::raise(&error))?;
        self.core.get()?.add_lazy(&command(program, args, env, cwd, tee_stderr), &manifest);
        Ok(())
    }

    /// Offers a cartridge behind two descriptors, which are duplicated.
    #[pyo3(signature = (label, reader, writer, /))]
    fn attach(&self, label: String, reader: i32, writer: i32) -> PyResult<Op> {
        let host = self.core.get()?.clone();
        let (reader, writer) = (duplicate(reader)?, duplicate(writer)?);
        Ok(done(offload("attach", move || host.attach(&label, reader, writer))))
    }

    #[pyo3(signature = (at, /))]
    fn join(&self, at: &str) -> PyResult<Op> {
        let (host, address) = (self.core.get()?.clone(), address(at)?);
        Ok(done(offload("join", move || host.join_at(&address))))
    }

    /// Joins a switch over two descriptors, which are duplicated.
    #[pyo3(signature = (reader, writer, /))]
    fn join_over(&self, reader: i32, writer: i32) -> PyResult<Op> {
        let host = self.core.get()?.clone();
        let (reader, writer) = (duplicate(reader)?, duplicate(writer)?);
        Ok(done(offload("join", move || host.join(reader, writer))))
    }

    #[pyo3(signature = (label, /))]
    fn retire(&self, label: &str) -> PyResult<bool> {
        Ok(self.core.get()?.retire(label))
    }

    #[getter]
    fn state(&self) -> PyResult<Option<Vec<u8>>> {
        Ok(self.core.get()?.state().map(|state| state.to_vec()))
    }

    #[getter]
    fn pids(&self) -> PyResult<Vec<u32>> {
        Ok(self.core.get()?.pids())
    }

    fn stats(&self) -> PyResult<String> {
        Ok(self.core.get()?.stats().to_string())
    }

    fn explain(&self) -> PyResult<Op> {
        let host = self.core.get()?.clone();
        Ok(report::explain(move || host.explain()))
    }

    /// Answers the next notice of what was lost, as JSON.
    fn next_loss(&self) -> PyResult<Op> {
        self.core.get()?;
        Ok(notices::next_loss(&self.losses))
    }

    #[pyo3(signature = (address, /))]
    fn serve_control(&self, address: Option<&str>) -> PyResult<Control> {
        report::serve(Arc::new(self.core.get()?.clone()), address)
    }

    /// Why it is no longer connected to its switch, None while it is or if it never was.
    #[getter]
    fn dead<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let reason = self.core.get()?.dead();
        reason.map(|reason| errors::exception(py, &reason)).transpose()
    }

    /// Answers why it is no longer connected to its switch.
    fn left(&self) -> PyResult<Op> {
        let left = self.core.get()?.left();
        Ok(Op::new(async move { Ok(left.await) }, |py, reason| {
            Ok(errors::exception(py, &reason)?.unbind())
        }))
    }

    /// Answers once it has left the switch and asked every cartridge to go.
    fn close(&self) -> PyResult<Op> {
        let host = self.core.get()?.clone();
        Ok(done(offload("close", move || {
            host.close();
            Ok(())
        })))
    }
}
