//! `sluice_switch`, `sluice_host`: relays.

use std::sync::Arc;
use std::time::Duration;

use libc::{c_char, c_int};
use sluicegate::engine::Losses;
use sluicegate::{Address, Value};

use crate::border::{self, Growing};
use crate::cartridge::files;
use crate::engine::{self, Command, Engine, EngineOptions, Policy, millis};
use crate::error::{self, ErrorObject};
use crate::guard::{guard, guard_with};
use crate::handle::{self, object};
use crate::item::Item;
use crate::item::put_text;
use crate::limits::Limits;
use crate::manifest::Manifest;
use crate::matcher::{Matcher, Matching};
use crate::notices::{self, Notices};
use crate::op::{self, Op, Outcome};
use crate::peer::Peer;
use crate::status::Status;

/// A relay between hosts, which offer caps, and callers.
pub struct Switch {
    relay: sluicegate::Switch,
    losses: Losses,
}
object!(Switch = 41);

impl Switch {
    pub(crate) fn relay(&self) -> &sluicegate::Switch {
        &self.relay
    }

    pub(crate) fn losses(&self) -> &Losses {
        &self.losses
    }
}

/// Cartridges that are offered to a switch.
pub struct Host {
    host: sluicegate::Host,
    losses: Losses,
}
object!(Host = 42);

impl Host {
    pub(crate) fn host(&self) -> &sluicegate::Host {
        &self.host
    }

    pub(crate) fn losses(&self) -> &Losses {
        &self.losses
    }
}

/// How a switch works. Begin with SLUICE_SWITCH_OPTIONS_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct SwitchOptions {
    /// Set by SLUICE_SWITCH_OPTIONS_INIT.
    pub struct_size: u32,
    /// A sluice_policy: what hosts and their cartridges may do on the network.
    pub policy: i32,
    /// What is proposed to callers. The windows at both ends of a request must be equal (L10, L11).
    pub limits: Limits,
    /// Milliseconds that a newcomer may take until it has proved who it is; 0: 10 000, negative: no
    /// limit.
    pub join_timeout_ms: i64,
    /// Which offered cap serves a cap that is asked for; copied. NULL: one with the same tags, in any
    /// order.
    pub matcher: *const Matcher,
    /// Warnings of what was lost are not written to stderr. sluice_switch_next_loss has them all the same.
    pub quiet_losses: bool,
}

// SAFETY: a C struct of plain fields that begins with its size; all zero is a value of it.
unsafe impl Growing for SwitchOptions {}

/// How a host runs its cartridges. Begin with SLUICE_HOST_OPTIONS_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct HostOptions {
    /// Set by SLUICE_HOST_OPTIONS_INIT.
    pub struct_size: u32,
    /// As for an engine; NULL: the defaults. Stall notices are not looked for. Its initial_credit is
    /// what the switch is told.
    pub engine: *const EngineOptions,
    /// Milliseconds without a request after which a cartridge is stopped, to be started again when it
    /// is needed; 0 or negative: never.
    pub idle_ms: i64,
}

// SAFETY: a C struct of plain fields that begins with its size; all zero is a value of it.
unsafe impl Growing for HostOptions {}

/// Makes a switch that nobody is connected to. Callers take it for one large cartridge: they attach
/// an engine to a connection of it. Credit is end to end (L11).
///
/// options  NULL: the defaults; begin with SLUICE_SWITCH_OPTIONS_INIT. The release function of its
///          matcher runs exactly once, also if this call fails
/// out      the switch, yours to release
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT: also for options whose size is not set, of which nothing
///          is read, and for a matcher without a function
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_switch_new(
    options: *const SwitchOptions,
    out: *mut *mut Switch,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let mut ours = sluicegate::SwitchOptions::default();
        let theirs = border::sized(options)?;
        if let Some(matcher) = theirs.and_then(|theirs| Matching::take(theirs.matcher)) {
            ours.matcher = Arc::new(matcher.checked()?);
        }
        let losses = Losses::default();
        let quiet = theirs.is_some_and(|theirs| theirs.quiet_losses);
        ours.on_loss = notices::on_loss(&losses, quiet);
        if let Some(theirs) = theirs {
            ours.limits = theirs.limits.limits();
            ours.policy = Policy::policy(theirs.policy)?;
            ours.join_timeout = millis(theirs.join_timeout_ms, ours.join_timeout);
        }
        border::put_new(out, Switch { relay: sluicegate::Switch::new(ours), losses })
    })
}

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_switch_retain(relay: *const Switch) -> Status {
    guard(|| handle::retain(relay))
}

/// Takes a reference away. The last one closes the switch.
///
/// relay    may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait; may run wakers of others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_switch_release(relay: *mut Switch) -> Status {
    guard(|| handle::release(relay))
}

/// Lets whoever connects join, until the switch is closed.
///
/// address  unix:PATH, tcp:HOST:PORT or a path with a /; port 0 takes a free port
/// out      where it listens: an item of kind SLUICE_ITEM_TEXT, yours to release; may be NULL
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_IO | SLUICE_CLOSED | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_switch_listen(
    relay: *const Switch,
    address: *const c_char,
    address_len: usize,
    out: *mut *mut Item,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let address: Address = border::text(address, address_len)?.parse()?;
        let place = handle::get(relay)?.relay.listen(&address)?;
        if out.is_null() { Ok(()) } else { put_text(out, place.to_string()) }
    })
}

/// Lets one newcomer, host or caller, join over two descriptors, which may be one socket.
///
/// name               for people
/// read_fd, write_fd  taken over and closed, also if this call fails; may be equal
/// err                may be NULL
/// returns            SLUICE_OK: it has joined | SLUICE_HANDSHAKE | SLUICE_PEER_DIED |
///                    SLUICE_MALFORMED | SLUICE_FRAME_TOO_LARGE | SLUICE_CLOSED |
///                    SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads            any number at once; waits, at most join_timeout_ms; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_switch_attach(
    relay: *const Switch,
    name: *const c_char,
    name_len: usize,
    read_fd: c_int,
    write_fd: c_int,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let (reader, writer) = files(read_fd, write_fd)?;
        let name = border::text(name, name_len)?;
        let relay = handle::get(relay)?.relay.clone();
        Ok(relay.attach(name, reader, writer)?)
    })
}

/// Makes a caller in this process: calls of the peer go through the switch to whatever host offers
/// the cap.
///
/// engine   has the peer
/// out      the peer, yours to release
/// err      may be NULL
/// returns  as sluice_engine_attach
/// threads  any number at once; waits, at most handshake_timeout_ms; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_switch_caller(
    relay: *const Switch,
    engine: *const Engine,
    out: *mut *mut Peer,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        let relay = handle::get(relay)?.relay.clone();
        let engine = handle::get(engine)?.engine().clone();
        border::put_new(out, Peer::new(relay.caller(&engine)?))
    })
}

/// Connects to a switch that listens somewhere, as its caller: the peer stands for all its hosts.
///
/// engine   has the peer
/// address  unix:PATH, tcp:HOST:PORT or a path with a /
/// out      the peer, yours to release
/// err      may be NULL
/// returns  SLUICE_IO, or as sluice_engine_attach
/// threads  any number at once; waits, at most handshake_timeout_ms; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_engine_connect(
    engine: *const Engine,
    address: *const c_char,
    address_len: usize,
    out: *mut *mut Peer,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        let address: Address = border::text(address, address_len)?.parse()?;
        let engine = handle::get(engine)?.engine().clone();
        let (reader, writer) = sluicegate::link::connect(&address)?;
        border::put_new(out, Peer::new(engine.attach(reader, writer)?))
    })
}

/// The caps that hosts offer now, sorted: a JSON array of texts.
///
/// out      an item of kind SLUICE_ITEM_TEXT, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_switch_caps(relay: *const Switch, out: *mut *mut Item) -> Status {
    guard(|| put_text(out, serde_json::json!(handle::get(relay)?.relay.caps()).to_string()))
}

/// Gives every host something to keep. The switch does not look into it.
///
/// err      may be NULL
/// returns  SLUICE_OK | why the last of the hosts that failed is gone | SLUICE_INVALID_ARGUMENT |
///          SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_switch_set_state(
    relay: *const Switch,
    state: *const u8,
    state_len: usize,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || Ok(handle::get(relay)?.relay.set_state(border::bytes(state, state_len)?)?))
}

/// What goes through it, and what was lost, as JSON.
///
/// out      an item of kind SLUICE_ITEM_TEXT, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_switch_stats(relay: *const Switch, out: *mut *mut Item) -> Status {
    guard(|| put_text(out, handle::get(relay)?.relay.stats().to_string()))
}

/// Says who waits for whom in the hosts, their cartridges and the callers, which are asked.
///
/// out      an explanation: an item of kind SLUICE_ITEM_TEXT, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; waits, a second at most; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_switch_explain(
    relay: *const Switch,
    out: *mut *mut Item,
) -> Status {
    guard(|| {
        border::need(out)?;
        let relay = handle::get(relay)?.relay.clone();
        put_text(out, relay.explain().to_json().to_string())
    })
}

/// Ends it: every connection ends, every request fails with SLUICE_CLOSED.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait; may run wakers of others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_switch_close(relay: *const Switch) -> Status {
    guard(|| {
        handle::get(relay)?.relay.close();
        Ok(())
    })
}

/// Makes a host without cartridges.
///
/// options  NULL: the defaults; begin with SLUICE_HOST_OPTIONS_INIT
/// out      the host, yours to release
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_IO: no thread is to be had | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_host_new(
    options: *const HostOptions,
    out: *mut *mut Host,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let mut ours = sluicegate::HostOptions::default();
        let notices = Notices::default();
        let theirs = border::sized(options)?;
        let engine = theirs.map_or(std::ptr::null(), |theirs| theirs.engine);
        ours.engine = engine::options(engine, &notices)?;
        if let Some(theirs) = theirs {
            ours.idle = (theirs.idle_ms > 0).then(|| millis(theirs.idle_ms, Duration::MAX));
        }
        let Notices { losses, .. } = notices;
        border::put_new(out, Host { host: sluicegate::Host::new(ours)?, losses })
    })
}

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_host_retain(host: *const Host) -> Status {
    guard(|| handle::retain(host))
}

/// Takes a reference away. The last one closes the host.
///
/// host     may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait; may run wakers of others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_host_release(host: *mut Host) -> Status {
    guard(|| handle::release(host))
}

/// Offers a cartridge, which is started now to learn what it can do.
///
/// command  borrowed, as it is now
/// err      may be NULL
/// returns  as sluice_engine_spawn; SLUICE_HANDSHAKE with the code WINDOW_MISMATCH if it takes smaller
///          windows than this host promises
/// threads  any number at once; waits, at most handshake_timeout_ms; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_host_add(
    host: *const Host,
    command: *const Command,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let command = handle::get(command)?.command();
        let host = handle::get(host)?.host.clone();
        Ok(host.add(&command)?)
    })
}

/// Offers a cartridge that is started by the first request for it.
///
/// command   borrowed, as it is now
/// manifest  says what it can do; borrowed, as it is now
/// returns   SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads   any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_host_add_lazy(
    host: *const Host,
    command: *const Command,
    manifest: *const Manifest,
) -> Status {
    guard(|| {
        let (command, manifest) =
            (handle::get(command)?.command(), handle::get(manifest)?.manifest());
        handle::get(host)?.host.add_lazy(&command, &manifest);
        Ok(())
    })
}

/// Offers a cartridge that runs already, over two descriptors, which may be one socket.
///
/// label              for people, and for sluice_host_retire
/// read_fd, write_fd  taken over and closed, also if this call fails; may be equal
/// err                may be NULL
/// returns            as sluice_host_add
/// threads            any number at once; waits, at most handshake_timeout_ms; not from inside a
///                    waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_host_attach(
    host: *const Host,
    label: *const c_char,
    label_len: usize,
    read_fd: c_int,
    write_fd: c_int,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let (reader, writer) = files(read_fd, write_fd)?;
        let label = border::text(label, label_len)?;
        let host = handle::get(host)?.host.clone();
        Ok(host.attach(label, reader, writer)?)
    })
}

/// Joins a switch over two descriptors, which may be one socket.
///
/// read_fd, write_fd  taken over and closed, also if this call fails; may be equal
/// err                may be NULL
/// returns            SLUICE_OK: the switch has taken it in | SLUICE_PEER_DIED: it has turned it away |
///                    SLUICE_INVALID_ARGUMENT: it has joined one already | SLUICE_FORKED
/// threads            one at a time on one host; waits for the switch; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_host_join(
    host: *const Host,
    read_fd: c_int,
    write_fd: c_int,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let (reader, writer) = files(read_fd, write_fd)?;
        let host = handle::get(host)?.host.clone();
        Ok(host.join(reader, writer)?)
    })
}

/// Joins the switch that listens somewhere.
///
/// address  unix:PATH, tcp:HOST:PORT or a path with a /
/// err      may be NULL
/// returns  SLUICE_IO, or as sluice_host_join
/// threads  one at a time on one host; waits for the switch; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_host_join_at(
    host: *const Host,
    address: *const c_char,
    address_len: usize,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let address: Address = border::text(address, address_len)?.parse()?;
        let host = handle::get(host)?.host.clone();
        Ok(host.join_at(&address)?)
    })
}

/// Takes no new requests for the cartridge of this label, and stops it once it has answered the old
/// ones.
///
/// found    whether there is one; may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_host_retire(
    host: *const Host,
    label: *const c_char,
    label_len: usize,
    found: *mut bool,
) -> Status {
    guard(|| {
        let label = border::text(label, label_len)?;
        border::put_opt(found, handle::get(host)?.host.retire(label));
        Ok(())
    })
}

/// What the switch gave this host to keep.
///
/// out      an item of kind SLUICE_ITEM_BYTES, yours to release; NULL: nothing yet
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_host_state(host: *const Host, out: *mut *mut Item) -> Status {
    guard(|| match handle::get(host)?.host.state() {
        Some(state) => border::put_new(out, Item::of(Value::Bytes(state))),
        None => border::put(out, std::ptr::null_mut()),
    })
}

/// What goes through it, and what was lost, as JSON.
///
/// out      an item of kind SLUICE_ITEM_TEXT, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_host_stats(host: *const Host, out: *mut *mut Item) -> Status {
    guard(|| put_text(out, handle::get(host)?.host.stats().to_string()))
}

/// Says who waits for whom in the cartridges, which are asked.
///
/// out      an explanation: an item of kind SLUICE_ITEM_TEXT, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; waits, a second at most; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_host_explain(host: *const Host, out: *mut *mut Item) -> Status {
    guard(|| {
        border::need(out)?;
        let host = handle::get(host)?.host.clone();
        put_text(out, host.explain().to_json().to_string())
    })
}

/// Why it is no longer connected to its switch.
///
/// out      the reason, yours to release; NULL: it is connected, or never was
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_host_dead(host: *const Host, out: *mut *mut ErrorObject) -> Status {
    guard(|| error::put_reason(out, handle::get(host)?.host.dead()))
}

/// Waits until it is no longer connected to its switch; at once if it never was.
///
/// out      the operation, yours to release; sluice_op_take_reason has why
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_host_left_start(host: *const Host, out: *mut *mut Op) -> Status {
    guard(|| {
        border::need(out)?;
        let left = handle::get(host)?.host.left();
        op::start_with(out, async move { Ok(left.await) }, Outcome::Reason)
    })
}

/// Leaves the switch and closes every cartridge.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait; may run wakers of others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_host_close(host: *const Host) -> Status {
    guard(|| {
        handle::get(host)?.host.close();
        Ok(())
    })
}
