//! `sluice_control`, statistics and explanations: what a process says of itself.

use std::sync::Arc;

use libc::c_char;
use sluicegate::account::Explanation;
use sluicegate::control::{self, Question, Report};
use sluicegate::link::TraceFormat;

use crate::border::{self, Text};
use crate::cartridge::Session;
use crate::engine::Engine;
use crate::error::ErrorObject;
use crate::guard::{Fail, guard, guard_with};
use crate::handle::{self, object};
use crate::item::{Item, put_text};
use crate::peer::Peer;
use crate::relay::{Host, Switch};
use crate::status::Status;
use crate::sync::Mutex;

/// An open control socket.
pub struct Control {
    socket: Mutex<Option<control::Control>>,
    address: Text,
}
object!(Control = 40);

/// What was lost and what is live, as JSON: {"cartridges": [...]}, each as sluice_peer_stats has it.
///
/// out      an item of kind SLUICE_ITEM_TEXT, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_engine_stats(engine: *const Engine, out: *mut *mut Item) -> Status {
    guard(|| put_text(out, handle::get(engine)?.engine().stats().to_string()))
}

/// What was lost and what is live on one connection, as JSON: name, pid, memory, held, requests,
/// drops, stragglers, overruns_total.
///
/// out      an item of kind SLUICE_ITEM_TEXT, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_peer_stats(peer: *const Peer, out: *mut *mut Item) -> Status {
    guard(|| put_text(out, handle::get(peer)?.peer().stats().to_string()))
}

/// The same of a cartridge's own end, without pid and memory.
///
/// out      an item of kind SLUICE_ITEM_TEXT, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_session_stats(
    session: *const Session,
    out: *mut *mut Item,
) -> Status {
    guard(|| put_text(out, handle::get(session)?.session().stats().to_string()))
}

/// Says who waits for whom: what stands still here and in the cartridges, which are asked. An
/// explanation is JSON: standing, silent, culprits; sluice_explanation_text says it in words.
///
/// out      an item of kind SLUICE_ITEM_TEXT, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; waits, a second at most; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_engine_explain(
    engine: *const Engine,
    out: *mut *mut Item,
) -> Status {
    guard(|| {
        border::need(out)?;
        let engine = handle::get(engine)?.engine().clone();
        put_text(out, engine.explain().to_json().to_string())
    })
}

/// Says what stands still in this cartridge. Asks nobody.
///
/// out      an item of kind SLUICE_ITEM_TEXT, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_session_explain(
    session: *const Session,
    out: *mut *mut Item,
) -> Status {
    guard(|| put_text(out, handle::get(session)?.session().explain().to_json().to_string()))
}

fn explanation(json: *const c_char, len: usize) -> Result<Explanation, Fail> {
    Ok(border::text(json, len)?.parse()?)
}

/// An explanation in words, the culprits first.
///
/// json     an explanation
/// out      an item of kind SLUICE_ITEM_TEXT, yours to release
/// returns  SLUICE_OK | SLUICE_MALFORMED: not JSON | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_explanation_text(
    json: *const c_char,
    json_len: usize,
    out: *mut *mut Item,
) -> Status {
    guard(|| put_text(out, explanation(json, json_len)?.to_string()))
}

/// What of an explanation is about one request.
///
/// json     an explanation
/// request  its id: sluice_call_id, sluice_request_id
/// out      an explanation: an item of kind SLUICE_ITEM_TEXT, yours to release
/// returns  SLUICE_OK | SLUICE_MALFORMED: not JSON | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_explanation_of(
    json: *const c_char,
    json_len: usize,
    request: *const c_char,
    request_len: usize,
    out: *mut *mut Item,
) -> Status {
    guard(|| {
        let request = border::text(request, request_len)?;
        let told = explanation(json, json_len)?.of_request(request);
        put_text(out, told.to_json().to_string())
    })
}

fn serve(
    address: *const c_char,
    len: usize,
    report: Arc<dyn Report>,
    out: *mut *mut Control,
) -> Result<(), Fail> {
    border::need(out)?;
    let socket = match border::text_opt(address, len)? {
        Some(address) => control::Control::serve(&address.parse()?, report)?,
        None => control::Control::serve_here(report)?,
    };
    let address = Text::new(&socket.address().to_string());
    border::put_new(out, Control { socket: Mutex::new(Some(socket)), address })
}

/// Opens a control socket, by which others of the same user ask what an engine does.
///
/// address  unix:PATH or a path with a /; NULL: where `sluicegate explain PID` looks for this process
/// out      the socket, yours to release; the last release closes it
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_IO | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_engine_serve_control(
    engine: *const Engine,
    address: *const c_char,
    address_len: usize,
    out: *mut *mut Control,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let report = Arc::new(handle::get(engine)?.engine().clone());
        serve(address, address_len, report, out)
    })
}

/// The same for a cartridge.
///
/// address  as for an engine
/// out      the socket, yours to release; the last release closes it
/// err      may be NULL
/// returns  as sluice_engine_serve_control
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_session_serve_control(
    session: *const Session,
    address: *const c_char,
    address_len: usize,
    out: *mut *mut Control,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let report = Arc::new(handle::get(session)?.session().clone());
        serve(address, address_len, report, out)
    })
}

/// The same for a switch.
///
/// address  as for an engine
/// out      the socket, yours to release; the last release closes it
/// err      may be NULL
/// returns  as sluice_engine_serve_control
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_switch_serve_control(
    relay: *const Switch,
    address: *const c_char,
    address_len: usize,
    out: *mut *mut Control,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let report = Arc::new(handle::get(relay)?.relay().clone());
        serve(address, address_len, report, out)
    })
}

/// The same for a host.
///
/// address  as for an engine
/// out      the socket, yours to release; the last release closes it
/// err      may be NULL
/// returns  as sluice_engine_serve_control
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_host_serve_control(
    host: *const Host,
    address: *const c_char,
    address_len: usize,
    out: *mut *mut Control,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let report = Arc::new(handle::get(host)?.host().clone());
        serve(address, address_len, report, out)
    })
}

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_control_retain(control: *const Control) -> Status {
    guard(|| handle::retain(control))
}

/// Takes a reference away. The last one closes the socket.
///
/// control  may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_control_release(control: *mut Control) -> Status {
    guard(|| handle::release(control))
}

/// Where it listens: unix:PATH.
///
/// out, out_len  borrowed from the socket, NUL-terminated; out_len may be NULL
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_control_address(
    control: *const Control,
    out: *mut *const c_char,
    out_len: *mut usize,
) -> Status {
    guard(|| handle::get(control)?.address.lend(out, out_len))
}

/// Closes it now. Closing it again is harmless.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_control_close(control: *const Control) -> Status {
    guard(|| {
        let socket = handle::get(control)?.socket.lock().take();
        drop(socket); // with the lock released
        Ok(())
    })
}

/// Asks a running process by its control socket.
///
/// target    a process number in digits, unix:PATH, or a path with a /
/// question  "explain" or "stats"
/// out       the answer, JSON: an item of kind SLUICE_ITEM_TEXT, yours to release
/// err       may be NULL
/// returns   SLUICE_OK | SLUICE_IO: nobody listens there | SLUICE_MALFORMED: the answer is not JSON |
///           SLUICE_INVALID_ARGUMENT
/// threads   any number at once; waits for the answer; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_control_ask(
    target: *const c_char,
    target_len: usize,
    question: *const c_char,
    question_len: usize,
    out: *mut *mut Item,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        let address = control::address_of(border::text(target, target_len)?)?;
        let question: Question = border::text(question, question_len)?.parse()?;
        put_text(out, control::ask(&address, question)?.to_string())
    })
}

/// Writes down every frame that this process sends and receives, as SLUICEGATE_TRACE in the environment
/// does: lengths and keys, no payloads. A link never waits for it; what finds no room among 4096
/// lines that wait is left out, and counted in the next line.
///
/// place    a file, which is appended to, or "stderr"
/// json     a JSON object a line; otherwise lines for people
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_IO | SLUICE_INVALID_ARGUMENT: a frame has gone over a link already, or it is
///          traced already
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_trace(
    place: *const c_char,
    place_len: usize,
    json: bool,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let format = if json { TraceFormat::Json } else { TraceFormat::Text };
        Ok(sluicegate::link::trace(border::text(place, place_len)?, format)?)
    })
}
