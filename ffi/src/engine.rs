//! `sluice_engine`, `sluice_command`: the host.

use std::time::Duration;

use libc::{c_char, c_int};
use sluicegate::{NetworkPolicy, Version};

use crate::border::{self, Growing};
use crate::cartridge::files;
use crate::error::ErrorObject;
use crate::guard::{Fail, guard, guard_with};
use crate::handle::{self, object};
use crate::limits::Limits;
use crate::notices::{self, Notices};
use crate::op::{self, Op, Outcome};
use crate::peer::Peer;
use crate::status::Status;
use crate::sync::Mutex;

/// A host of cartridges.
pub struct Engine {
    engine: sluicegate::Engine,
    notices: Notices,
}
object!(Engine = 19);

impl Engine {
    pub(crate) fn engine(&self) -> &sluicegate::Engine {
        &self.engine
    }

    pub(crate) fn notices(&self) -> &Notices {
        &self.notices
    }
}

/// A command to start a cartridge or a live source with.
pub struct Command(Mutex<sluicegate::Command>);
object!(Command = 20);

impl Command {
    pub(crate) fn command(&self) -> sluicegate::Command {
        self.0.lock().clone()
    }
}

/// What cartridges may do on the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Policy {
    /// Anything.
    Default = 0,
    /// Nothing.
    Offline = 1,
    /// Anything but telemetry.
    NoTelemetry = 2,
    /// Anything.
    Full = 3,
}

impl Policy {
    const ALL: [(Policy, NetworkPolicy); 4] = [
        (Policy::Default, NetworkPolicy::Full),
        (Policy::Offline, NetworkPolicy::Offline),
        (Policy::NoTelemetry, NetworkPolicy::NoTelemetry),
        (Policy::Full, NetworkPolicy::Full),
    ];
}

/// How an engine runs its cartridges. Begin with SLUICE_ENGINE_OPTIONS_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct EngineOptions {
    /// Set by SLUICE_ENGINE_OPTIONS_INIT.
    pub struct_size: u32,
    /// A sluice_policy.
    pub policy: i32,
    /// What is proposed to each cartridge.
    pub limits: Limits,
    /// Milliseconds that a cartridge may take from its start until it has proved its identity; 0:
    /// 10 000, negative: no limit.
    pub handshake_timeout_ms: i64,
    /// Largest item of a sequence stream, in bytes; 0: 64 MiB.
    pub max_item: u64,
    /// Milliseconds between two heartbeats of a cartridge; 0: 30 000, negative: none are sent.
    pub heartbeat_ms: i64,
    /// Milliseconds that a cartridge may take to answer a heartbeat before it is taken for dead and
    /// killed; 0: 10 000, negative: no limit.
    pub patience_ms: i64,
    /// Milliseconds that a stream may stand still before there is a notice of it: a sender without
    /// credit or room, or values that nobody reads; 0 or negative: there are none.
    pub stall_ms: i64,
    /// Notices of stalls are written to stderr. Otherwise they are kept for sluice_engine_next_stall.
    pub stalls_to_stderr: bool,
    /// A cartridge may call the caps of the cartridges of this engine, its own included. Otherwise such
    /// calls are refused with SLUICE_NO_HANDLER.
    pub peer_calls: bool,
    /// The version of the protocol that cartridges are spoken to in: 4, 5 or 6; 0: 6.
    pub protocol: u32,
    /// Warnings of what was lost are not written to stderr. sluice_engine_next_loss has them all the same.
    pub quiet_losses: bool,
}

// SAFETY: a C struct of plain fields that begins with its size; all zero is a value of it.
unsafe impl Growing for EngineOptions {}

impl Policy {
    /// What a number from C, which may be any, stands for.
    pub(crate) fn policy(number: i32) -> Result<NetworkPolicy, Fail> {
        let mut all = Policy::ALL.iter().filter(|(policy, _)| *policy as i32 == number);
        all.next()
            .map(|(_, policy)| *policy)
            .ok_or_else(|| border::invalid("there is no such policy"))
    }
}

/// Milliseconds as C gives them: 0 is `default`, a negative number is no limit.
pub(crate) fn millis(millis: i64, default: Duration) -> Duration {
    match u64::try_from(millis) {
        Ok(0) => default,
        Ok(millis) => Duration::from_millis(millis),
        Err(_) => Duration::MAX,
    }
}

/// Options handed in; `notices` collects what they ask for.
pub(crate) fn options(
    options: *const EngineOptions,
    notices: &Notices,
) -> Result<sluicegate::EngineOptions, Fail> {
    let mut ours = sluicegate::EngineOptions::default();
    let theirs = border::sized(options)?;
    let quiet = theirs.is_some_and(|theirs| theirs.quiet_losses);
    ours.health.on_loss = notices::on_loss(&notices.losses, quiet);
    let Some(theirs) = theirs else {
        return Ok(ours);
    };
    ours.limits = theirs.limits.limits();
    ours.policy = Policy::policy(theirs.policy)?;
    ours.handshake_timeout = millis(theirs.handshake_timeout_ms, ours.handshake_timeout);
    let health = &mut ours.health;
    health.heartbeat = match theirs.heartbeat_ms {
        ..0 => None,
        given => health.heartbeat.map(|default| millis(given, default)),
    };
    health.patience = millis(theirs.patience_ms, health.patience);
    if theirs.stall_ms > 0 {
        health.stall = Some(millis(theirs.stall_ms, Duration::MAX));
    }
    if !theirs.stalls_to_stderr {
        health.on_stall = notices.stalls.hears();
    }
    ours.peer_calls = theirs.peer_calls;
    if theirs.protocol > 0 {
        ours.version = Version::proposed(theirs.protocol.into())?;
    }
    if theirs.max_item > 0 {
        ours.max_item = theirs.max_item;
    }
    Ok(ours)
}

/// Makes an engine without cartridges.
///
/// options  NULL: the defaults; begin with SLUICE_ENGINE_OPTIONS_INIT
/// out      the engine, yours to release
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_engine_new(
    options: *const EngineOptions,
    out: *mut *mut Engine,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let notices = Notices::default();
        let engine = sluicegate::Engine::new(self::options(options, &notices)?);
        border::put_new(out, Engine { engine, notices })
    })
}

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_engine_retain(engine: *const Engine) -> Status {
    guard(|| handle::retain(engine))
}

/// Takes a reference away. Peers live on.
///
/// engine   may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_engine_release(engine: *mut Engine) -> Status {
    guard(|| handle::release(engine))
}

/// Starts a cartridge and waits until it has proved its identity. It gets stdin and stdout of its
/// own; what it writes to stderr is kept for error messages.
///
/// command  borrowed, as it is now
/// out      the peer, yours to release
/// err      may be NULL; names the cartridge and gives the end of its stderr
/// returns  SLUICE_OK | SLUICE_SPAWN | SLUICE_HANDSHAKE: they do not agree, or it is too slow |
///          SLUICE_PEER_DIED | SLUICE_MALFORMED | SLUICE_FRAME_TOO_LARGE | SLUICE_INVALID_ARGUMENT |
///          SLUICE_FORKED
/// threads  any number at once; waits, at most handshake_timeout_ms; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_engine_spawn(
    engine: *const Engine,
    command: *const Command,
    out: *mut *mut Peer,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        let command = handle::get(command)?.command();
        let engine = handle::get(engine)?.engine.clone();
        border::put_new(out, Peer::new(engine.spawn(&command)?))
    })
}

/// Attaches to a cartridge over two descriptors, which may be one socket.
///
/// read_fd, write_fd  taken over and closed, also if this call fails; may be equal
/// out                the peer, yours to release
/// err                may be NULL
/// returns            as sluice_engine_spawn
/// threads            any number at once; waits, at most handshake_timeout_ms; not from inside a
///                    waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_engine_attach(
    engine: *const Engine,
    read_fd: c_int,
    write_fd: c_int,
    out: *mut *mut Peer,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let (reader, writer) = files(read_fd, write_fd)?;
        border::need(out)?;
        let engine = handle::get(engine)?.engine.clone();
        border::put_new(out, Peer::new(engine.attach(reader, writer)?))
    })
}

/// Closes every cartridge: calls end with an error, processes get 2 s to exit and are killed then.
/// Returns when all are gone.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; waits, a little over 2 s at most; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_engine_close(engine: *const Engine) -> Status {
    guard(|| {
        let close = handle::get(engine)?.engine.close();
        let closed = async move {
            close.await;
            Ok(())
        };
        crate::guard::block(closed, -1)
    })
}

/// The same as an operation.
///
/// out      the operation, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_engine_close_start(
    engine: *const Engine,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        border::need(out)?;
        let close = handle::get(engine)?.engine.close();
        op::start(out, async move {
            close.await;
            Ok(Outcome::Done)
        })
    })
}

/// Makes a command.
///
/// program  looked up on the PATH if it is a bare name
/// out      the command, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_command_new(
    program: *const c_char,
    program_len: usize,
    out: *mut *mut Command,
) -> Status {
    guard(|| {
        let command = sluicegate::Command::new(border::text(program, program_len)?);
        border::put_new(out, Command(Mutex::new(command)))
    })
}

fn build(
    command: *const Command,
    step: impl FnOnce(sluicegate::Command) -> sluicegate::Command,
) -> Result<(), Fail> {
    let command = handle::get(command)?;
    let mut command = command.0.lock();
    *command = step(command.clone());
    Ok(())
}

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_command_retain(command: *const Command) -> Status {
    guard(|| handle::retain(command))
}

/// Takes a reference away.
///
/// command  may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_command_release(command: *mut Command) -> Status {
    guard(|| handle::release(command))
}

/// Adds an argument.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_command_arg(
    command: *const Command,
    text: *const c_char,
    len: usize,
) -> Status {
    guard(|| {
        let text = border::text(text, len)?;
        build(command, |command| command.arg(text))
    })
}

/// Sets a variable of its environment.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_command_env(
    command: *const Command,
    name: *const c_char,
    name_len: usize,
    value: *const c_char,
    value_len: usize,
) -> Status {
    guard(|| {
        let (name, value) = (border::text(name, name_len)?, border::text(value, value_len)?);
        build(command, |command| command.env(name, value))
    })
}

/// Takes a variable out of its environment.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_command_env_remove(
    command: *const Command,
    name: *const c_char,
    name_len: usize,
) -> Status {
    guard(|| {
        let name = border::text(name, name_len)?;
        build(command, |command| command.env_remove(name))
    })
}

/// Sets its working directory.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_command_cwd(
    command: *const Command,
    path: *const c_char,
    path_len: usize,
) -> Status {
    guard(|| {
        let path = border::text(path, path_len)?;
        build(command, |command| command.cwd(path))
    })
}
