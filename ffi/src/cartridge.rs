//! `sluice_cartridge`, `sluice_session`: the plugin's runtime.

use std::collections::HashMap;
use std::ffi::c_void;
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;

use libc::{c_char, c_int};
use sluicegate::engine::Losses;
use sluicegate::{Error, ErrorKind};

use crate::border;
use crate::error::ErrorObject;
use crate::guard::{Fail, block, guard, guard_with};
use crate::handle::{self, object};
use crate::limits::{self, Limits};
use crate::manifest::Manifest;
use crate::notices;
use crate::op::{self, Op, Outcome};
use crate::request::Request;
use crate::status::{self, Status};
use crate::sync::Mutex;

/// A plugin: a manifest, limits, and handlers by cap.
pub struct Cartridge {
    manifest: sluicegate::Manifest,
    setup: Mutex<Setup>,
    losses: Losses,
}
object!(Cartridge = 13);

#[derive(Default)]
struct Setup {
    limits: sluicegate::Limits,
    quiet_losses: bool,
    handlers: HashMap<String, Arc<Callback>>,
}

/// A cartridge's connection to its host.
pub struct Session(sluicegate::Session);
object!(Session = 14);

impl Session {
    pub(crate) fn new(session: sluicegate::Session) -> Self {
        Session(session)
    }

    pub(crate) fn session(&self) -> &sluicegate::Session {
        &self.0
    }
}

/// What serves a cap. `run` is called on a thread of its own for each request, with no lock of the
/// library held; it may wait. SLUICE_OK finishes the request unless it was finished already; any
/// other answer fails it, with `*err` if it is set (which is the library's then), else with the
/// status. `request` is borrowed; retain it to keep it beyond the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Handler {
    /// Handed to both functions.
    pub ctx: *mut c_void,
    /// Not NULL.
    pub run: Option<
        unsafe extern "C" fn(
            ctx: *mut c_void,
            request: *const Request,
            err: *mut *mut ErrorObject,
        ) -> i32,
    >,
    /// Frees what `ctx` stands for, once, when the last user of the handler is gone. May be NULL.
    pub release: Option<unsafe extern "C" fn(ctx: *mut c_void)>,
}

struct Callback(Handler);

// SAFETY: the contract of `sluice_handler`: both functions may be called on any thread, `run` on
// several at once.
unsafe impl Send for Callback {}
// SAFETY: as above.
unsafe impl Sync for Callback {}

impl Drop for Callback {
    fn drop(&mut self) {
        if let Some(release) = self.0.release {
            // SAFETY: the contract of `sluice_handler`; a value is dropped once.
            unsafe { release(self.0.ctx) };
        }
    }
}

impl Callback {
    fn run(&self, request: &sluicegate::Request) -> Result<(), Error> {
        let run = self.0.run.expect("checked when it was registered");
        let request = handle::new(Request::new(request.clone())).map_err(detail)?;
        let mut err = std::ptr::null_mut();
        // SAFETY: the contract of `sluice_handler`; the handle is alive during the call.
        let answer = unsafe { run(self.0.ctx, request, &raw mut err) };
        let told = handle::get(err.cast_const()).ok().map(|told| told.error());
        // A handler that released what was not its own to release has said so to nobody.
        let _ = (handle::release(err.cast_const()), handle::release(request.cast_const()));
        match (answer, told) {
            (0, _) => Ok(()),
            (_, Some(told)) => Err(told),
            (number, None) => Err(match status::kind(number) {
                Some(kind) => kind.into(),
                None => Error::new(ErrorKind::Remote, format!("the handler answered {number}")),
            }),
        }
    }
}

fn detail(fail: Fail) -> Error {
    match fail {
        Fail::Error(error) => error,
        Fail::Status(status) => {
            status::kind(status as i32).map_or_else(|| ErrorKind::Remote.into(), Error::from)
        }
    }
}

impl Cartridge {
    pub(crate) fn bare(&self) -> sluicegate::Cartridge {
        let setup = self.setup.lock();
        sluicegate::Cartridge::new(self.manifest.clone())
            .limits(setup.limits)
            .on_loss(notices::on_loss(&self.losses, setup.quiet_losses))
    }

    pub(crate) fn losses(&self) -> &Losses {
        &self.losses
    }

    fn with_handlers(&self) -> sluicegate::Cartridge {
        let mut cartridge = self.bare();
        for (cap, callback) in &self.setup.lock().handlers {
            let callback = Arc::clone(callback);
            cartridge = cartridge.handler(cap, move |request| callback.run(request));
        }
        cartridge
    }
}

/// Makes a cartridge that declares a manifest, as it is now, and has no handlers yet.
///
/// out      the cartridge, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_cartridge_new(
    manifest: *const Manifest,
    out: *mut *mut Cartridge,
) -> Status {
    guard(|| {
        let manifest = handle::get(manifest)?.manifest();
        let (setup, losses) = (Mutex::default(), Losses::default());
        border::put_new(out, Cartridge { manifest, setup, losses })
    })
}

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_cartridge_retain(cartridge: *const Cartridge) -> Status {
    guard(|| handle::retain(cartridge))
}

/// Takes a reference away. Sessions that were made from it live on.
///
/// cartridge may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait; may run release functions of handlers
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_cartridge_release(cartridge: *mut Cartridge) -> Status {
    guard(|| handle::release(cartridge))
}

/// Sets what is proposed to the host; the smaller proposal of each limit wins. NULL: the defaults.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_cartridge_limits(
    cartridge: *const Cartridge,
    limits: *const Limits,
) -> Status {
    guard(|| {
        handle::get(cartridge)?.setup.lock().limits = limits::read(limits)?;
        Ok(())
    })
}

/// Keeps warnings of what is lost from stderr, in what is served from now on. sluice_cartridge_next_loss
/// has them all the same.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_cartridge_quiet_losses(
    cartridge: *const Cartridge,
    quiet: bool,
) -> Status {
    guard(|| {
        handle::get(cartridge)?.setup.lock().quiet_losses = quiet;
        Ok(())
    })
}

/// Sets what serves a cap when the cartridge is run.
///
/// handler  copied; its release function runs exactly once, also if this call fails
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_cartridge_handler(
    cartridge: *const Cartridge,
    cap: *const c_char,
    cap_len: usize,
    handler: *const Handler,
) -> Status {
    let callback = (!handler.is_null()).then(|| {
        // SAFETY: the caller's duty: a handler is NULL or points to a readable `sluice_handler`.
        Arc::new(Callback(unsafe { *handler }))
    });
    guard(|| {
        let callback = callback.ok_or(Status::SLUICE_INVALID_ARGUMENT)?;
        if callback.0.run.is_none() {
            return Err(Status::SLUICE_INVALID_ARGUMENT.into());
        }
        let cap = border::text(cap, cap_len)?.to_owned();
        let replaced = handle::get(cartridge)?.setup.lock().handlers.insert(cap, callback);
        drop(replaced); // its release function runs with no lock held
        Ok(())
    })
}

/// Speaks frames on stdin and stdout, and serves requests with the registered handlers, until the
/// host closes. What the program prints on stdout meanwhile goes to stderr.
///
/// err      may be NULL
/// returns  SLUICE_OK: the host has closed | SLUICE_HANDSHAKE | SLUICE_IO | what the host broke the
///          protocol with | SLUICE_INVALID_ARGUMENT: a handler's cap is not in the manifest |
///          SLUICE_FORKED
/// threads  one; waits
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_cartridge_run_stdio(
    cartridge: *const Cartridge,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let running = handle::get(cartridge)?.with_handlers();
        Ok(running.run_stdio()?)
    })
}

/// The same over two descriptors, which may be one socket.
///
/// read_fd, write_fd  taken over and closed, also if this call fails; may be equal
/// err                may be NULL
/// returns            as sluice_cartridge_run_stdio
/// threads            any number at once; waits
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_cartridge_run_fds(
    cartridge: *const Cartridge,
    read_fd: c_int,
    write_fd: c_int,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let (reader, writer) = files(read_fd, write_fd)?;
        let running = handle::get(cartridge)?.with_handlers();
        Ok(running.run(reader, writer)?)
    })
}

/// Makes the handshake on stdin and stdout and hands out a session to take requests from. Registered
/// handlers are not used.
///
/// out      the session, yours to release
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_HANDSHAKE | SLUICE_MALFORMED | SLUICE_IO | SLUICE_INVALID_ARGUMENT |
///          SLUICE_FORKED
/// threads  one; waits for the host
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_cartridge_serve_stdio(
    cartridge: *const Cartridge,
    out: *mut *mut Session,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        let cartridge = handle::get(cartridge)?.bare();
        border::put_new(out, Session(cartridge.serve_stdio()?))
    })
}

/// The same over two descriptors, which may be one socket.
///
/// read_fd, write_fd  taken over and closed, also if this call fails; may be equal
/// out                the session, yours to release
/// err                may be NULL
/// returns            as sluice_cartridge_serve_stdio
/// threads            any number at once; waits for the host
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_cartridge_serve_fds(
    cartridge: *const Cartridge,
    read_fd: c_int,
    write_fd: c_int,
    out: *mut *mut Session,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let (reader, writer) = files(read_fd, write_fd)?;
        border::need(out)?;
        let cartridge = handle::get(cartridge)?.bare();
        border::put_new(out, Session(cartridge.serve(reader, writer)?))
    })
}

/// The write end of a transport. A socket is shut down for writing when it goes, because its
/// descriptor may live on as the read end and the other side waits for the end of the stream.
pub(crate) struct WriteEnd(File);

impl Write for WriteEnd {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.write(data)
    }

    fn write_vectored(&mut self, data: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.write_vectored(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Drop for WriteEnd {
    fn drop(&mut self) {
        // SAFETY: the descriptor is this file's own. It fails on a pipe, which needs no shutdown.
        let _ = unsafe { libc::shutdown(self.0.as_raw_fd(), libc::SHUT_WR) };
    }
}

/// Takes two descriptors over.
pub(crate) fn files(read_fd: c_int, write_fd: c_int) -> Result<(File, WriteEnd), Fail> {
    let own = |fd: c_int| {
        // SAFETY: the caller's duty: a descriptor that is handed over is the library's from now on.
        (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
    };
    let reader = own(read_fd);
    let writer = if read_fd == write_fd {
        reader.as_ref().map(OwnedFd::try_clone)
    } else {
        own(write_fd).map(Ok)
    };
    match (reader, writer) {
        (Some(reader), Some(Ok(writer))) => Ok((reader.into(), WriteEnd(writer.into()))),
        (_, Some(Err(e))) => Err(Error::new(ErrorKind::Io, e.to_string()).into()),
        _ => Err(border::invalid("a descriptor is negative")),
    }
}

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_session_retain(session: *const Session) -> Status {
    guard(|| handle::retain(session))
}

/// Takes a reference away. The session lives on while one of its requests does.
///
/// session  may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_session_release(session: *mut Session) -> Status {
    guard(|| handle::release(session))
}

/// Takes the next request.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// out         the request, yours to release
/// err         may be NULL
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | SLUICE_END_OF_STREAM: the host has closed | what the host
///             broke the protocol with |
///             SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_session_next_request(
    session: *const Session,
    timeout_ms: i64,
    out: *mut *mut Request,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        let waiting = handle::get(session)?.0.next_request();
        let answer = block(waiting, timeout_ms)?.ok_or(Status::SLUICE_END_OF_STREAM)?;
        border::put_new(out, Request::new(answer))
    })
}

/// The same as an operation; sluice_op_take_request has the result.
///
/// out      the operation, yours to release; it answers as sluice_session_next_request
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_session_next_request_start(
    session: *const Session,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        let waiting = handle::get(session)?.0.next_request();
        op::start_opt(out, waiting, Outcome::Request)
    })
}

/// The agreed limits.
///
/// out      begin with SLUICE_LIMITS_INIT
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_session_limits(
    session: *const Session,
    out: *mut Limits,
) -> Status {
    guard(|| limits::put(out, handle::get(session)?.0.limits()))
}

/// Ends the connection: requests stop, waiters are released.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait; may run wakers of others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_session_close(session: *const Session) -> Status {
    guard(|| {
        handle::get(session)?.0.close();
        Ok(())
    })
}
