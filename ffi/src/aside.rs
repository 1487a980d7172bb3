//! What waits for a handshake or for the answers of others, as operations: each runs on a thread of its
//! own from its first poll on, and in a bounded time if a limit is given for it. One that is released goes on, and what it makes is
//! closed.

use libc::{c_char, c_int};
use sluicegate::account::Explanation;
use sluicegate::control::{self, Question};
use sluicegate::link::{connect, offload};
use sluicegate::{Address, Value};

use crate::border;
use crate::cartridge::{Cartridge, files};
use crate::engine::{Command, Engine};
use crate::guard::{Fail, guard};
use crate::handle;
use crate::op::{self, Op, Outcome};
use crate::relay::{Host, Switch};
use crate::served::Served;
use crate::status::Status;

/// An operation that answers a peer.
fn peer(
    out: *mut *mut Op,
    work: impl FnOnce() -> Result<sluicegate::Peer, sluicegate::Error> + Send + 'static,
) -> Result<(), Fail> {
    op::start_with(out, offload("attach", work), Outcome::Peer)
}

/// An operation that answers a text.
fn text(
    out: *mut *mut Op,
    work: impl FnOnce() -> Result<String, sluicegate::Error> + Send + 'static,
) -> Result<(), Fail> {
    op::start_with(out, offload("ask", work), |text| Outcome::item(Value::Text(text)))
}

/// An operation that answers an explanation.
fn explanation(
    out: *mut *mut Op,
    work: impl FnOnce() -> Explanation + Send + 'static,
) -> Result<(), Fail> {
    text(out, move || Ok(work().to_json().to_string()))
}

/// An operation that answers nothing.
fn unit(
    out: *mut *mut Op,
    work: impl FnOnce() -> Result<(), sluicegate::Error> + Send + 'static,
) -> Result<(), Fail> {
    op::start_unit(out, offload("join", work))
}

/// An operation that answers a session.
fn session(
    out: *mut *mut Op,
    work: impl FnOnce() -> Result<sluicegate::Session, sluicegate::Error> + Send + 'static,
) -> Result<(), Fail> {
    let served = move || Ok(Served::new(work()?));
    op::start_with(out, offload("handshake", served), Outcome::Session)
}

/// sluice_cartridge_serve_stdio as an operation; sluice_op_take_session has the result. It takes stdin and
/// stdout over at its first poll. One that is released while it waits goes on aside until the host says
/// something or closes, and the session that it makes is closed.
///
/// out      the operation, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  one; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_cartridge_serve_stdio_start(
    cartridge: *const Cartridge,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        border::need(out)?;
        let cartridge = handle::get(cartridge)?.bare();
        session(out, move || cartridge.serve_stdio())
    })
}

/// sluice_cartridge_serve_fds as an operation; sluice_op_take_session has the result. One that is released
/// while it waits goes on aside until the host says something or closes, and the session that it makes is
/// closed.
///
/// read_fd, write_fd  taken over and closed, also if this call fails; may be equal
/// out                the operation, yours to release
/// returns            SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads            any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_cartridge_serve_fds_start(
    cartridge: *const Cartridge,
    read_fd: c_int,
    write_fd: c_int,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        let (reader, writer) = files(read_fd, write_fd)?;
        border::need(out)?;
        let cartridge = handle::get(cartridge)?.bare();
        session(out, move || cartridge.serve(reader, writer))
    })
}

/// sluice_engine_spawn as an operation; sluice_op_take_peer has the result. One that is released while it waits
/// goes on aside, and the peer that it makes is closed.
///
/// command  borrowed, as it is now
/// out      the operation, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_engine_spawn_start(
    engine: *const Engine,
    command: *const Command,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        border::need(out)?;
        let command = handle::get(command)?.command();
        let engine = handle::get(engine)?.engine().clone();
        peer(out, move || engine.spawn(&command))
    })
}

/// sluice_engine_attach as an operation; sluice_op_take_peer has the result. One that is released while it waits
/// goes on aside, and the peer that it makes is closed.
///
/// read_fd, write_fd  taken over and closed, also if this call fails; may be equal
/// out                the operation, yours to release
/// returns            SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads            any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_engine_attach_start(
    engine: *const Engine,
    read_fd: c_int,
    write_fd: c_int,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        let (reader, writer) = files(read_fd, write_fd)?;
        border::need(out)?;
        let engine = handle::get(engine)?.engine().clone();
        peer(out, move || engine.attach(reader, writer))
    })
}

/// sluice_engine_connect as an operation; sluice_op_take_peer has the result. One that is released while it waits
/// goes on aside, and the peer that it makes is closed.
///
/// address  unix:PATH, tcp:HOST:PORT or a path with a /
/// out      the operation, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_engine_connect_start(
    engine: *const Engine,
    address: *const c_char,
    address_len: usize,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        border::need(out)?;
        let address: Address = border::text(address, address_len)?.parse()?;
        let engine = handle::get(engine)?.engine().clone();
        peer(out, move || {
            let (reader, writer) = connect(&address)?;
            engine.attach(reader, writer)
        })
    })
}

/// sluice_engine_explain as an operation; sluice_op_take_item has the result.
///
/// out      the operation, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_engine_explain_start(
    engine: *const Engine,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        border::need(out)?;
        let engine = handle::get(engine)?.engine().clone();
        explanation(out, move || engine.explain())
    })
}

/// sluice_switch_attach as an operation. One that is released while it waits goes on aside: the newcomer may join yet.
///
/// name               for people
/// read_fd, write_fd  taken over and closed, also if this call fails; may be equal
/// out                the operation, yours to release
/// returns            SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads            any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_switch_attach_start(
    relay: *const Switch,
    name: *const c_char,
    name_len: usize,
    read_fd: c_int,
    write_fd: c_int,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        let (reader, writer) = files(read_fd, write_fd)?;
        border::need(out)?;
        let name = border::text(name, name_len)?.to_owned();
        let relay = handle::get(relay)?.relay().clone();
        unit(out, move || relay.attach(&name, reader, writer))
    })
}

/// sluice_switch_caller as an operation; sluice_op_take_peer has the result. One that is released while it waits
/// goes on aside, and the peer that it makes is closed.
///
/// engine   has the peer
/// out      the operation, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_switch_caller_start(
    relay: *const Switch,
    engine: *const Engine,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        border::need(out)?;
        let relay = handle::get(relay)?.relay().clone();
        let engine = handle::get(engine)?.engine().clone();
        peer(out, move || relay.caller(&engine))
    })
}

/// sluice_switch_explain as an operation; sluice_op_take_item has the result.
///
/// out      the operation, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_switch_explain_start(
    relay: *const Switch,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        border::need(out)?;
        let relay = handle::get(relay)?.relay().clone();
        explanation(out, move || relay.explain())
    })
}

/// sluice_host_add as an operation. One that is released while it waits goes on aside: the cartridge may be offered yet.
///
/// command  borrowed, as it is now
/// out      the operation, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_host_add_start(
    host: *const Host,
    command: *const Command,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        border::need(out)?;
        let command = handle::get(command)?.command();
        let host = handle::get(host)?.host().clone();
        unit(out, move || host.add(&command))
    })
}

/// sluice_host_attach as an operation. One that is released while it waits goes on aside: the cartridge may be offered yet.
///
/// label              for people, and for sluice_host_retire
/// read_fd, write_fd  taken over and closed, also if this call fails; may be equal
/// out                the operation, yours to release
/// returns            SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads            any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_host_attach_start(
    host: *const Host,
    label: *const c_char,
    label_len: usize,
    read_fd: c_int,
    write_fd: c_int,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        let (reader, writer) = files(read_fd, write_fd)?;
        border::need(out)?;
        let label = border::text(label, label_len)?.to_owned();
        let host = handle::get(host)?.host().clone();
        unit(out, move || host.attach(&label, reader, writer))
    })
}

/// sluice_host_join as an operation. One at a time on one host. One that is released while it waits goes on
/// aside: the host may join yet.
///
/// read_fd, write_fd  taken over and closed, also if this call fails; may be equal
/// out                the operation, yours to release
/// returns            SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads            any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_host_join_start(
    host: *const Host,
    read_fd: c_int,
    write_fd: c_int,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        let (reader, writer) = files(read_fd, write_fd)?;
        border::need(out)?;
        let host = handle::get(host)?.host().clone();
        unit(out, move || host.join(reader, writer))
    })
}

/// sluice_host_join_at as an operation. One at a time on one host. One that is released while it waits goes on
/// aside: the host may join yet.
///
/// address  unix:PATH, tcp:HOST:PORT or a path with a /
/// out      the operation, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_host_join_at_start(
    host: *const Host,
    address: *const c_char,
    address_len: usize,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        border::need(out)?;
        let address: Address = border::text(address, address_len)?.parse()?;
        let host = handle::get(host)?.host().clone();
        unit(out, move || host.join_at(&address))
    })
}

/// sluice_host_explain as an operation; sluice_op_take_item has the result.
///
/// out      the operation, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_host_explain_start(host: *const Host, out: *mut *mut Op) -> Status {
    guard(|| {
        border::need(out)?;
        let host = handle::get(host)?.host().clone();
        explanation(out, move || host.explain())
    })
}

/// sluice_control_ask as an operation; sluice_op_take_item has the result.
///
/// target    a process number in digits, unix:PATH, or a path with a /
/// question  "explain" or "stats"
/// out       the operation, yours to release
/// returns   SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_IO: there is no folder of this user's own
/// threads   any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_control_ask_start(
    target: *const c_char,
    target_len: usize,
    question: *const c_char,
    question_len: usize,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        border::need(out)?;
        let address = control::address_of(border::text(target, target_len)?)?;
        let question: Question = border::text(question, question_len)?.parse()?;
        text(out, move || Ok(control::ask(&address, question)?.to_string()))
    })
}
