//! The plugin's runtime: a process that serves caps to a host.
//!
//! ```no_run
//! use sluicegate::{Cap, Cartridge, Manifest};
//!
//! let cap = "cap:upper;in=media:blob;out=media:blob";
//! Cartridge::new(Manifest::new("upper", "1.0.0").cap(Cap::new(cap)))
//!     .handler(cap, |request| {
//!         let output = request.output();
//!         for item in &request.blocking_input()? {
//!             let bytes = item?.value.as_bytes().cloned().unwrap_or_default();
//!             output.blocking_write(&bytes.to_ascii_uppercase())?;
//!         }
//!         Ok(())
//!     })
//!     .run_stdio()
//! # ;
//! ```

mod manifest;
mod request;
mod serve;

use std::collections::HashMap;
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

pub use manifest::CapInfo;
pub use manifest::{Cap, Manifest};
pub(crate) use manifest::{IDENTITY, caps_of, parse_caps, pools_of, same_cap};
pub use request::Request;
pub use serve::Session;
pub(crate) use serve::serve_identity;

use crate::account::OnLoss;
use crate::error::{AttributionClass, Error, ErrorKind};
use crate::frame::Limits;
use crate::link::{claim_stdio, losses_to_stderr, spawn_quiet};
use crate::sync::Arc;
use crate::time::Deadline;
use crate::wait::block_on;
use crate::wait::watched::{Watched, until};

type Handler = Arc<dyn Fn(&Request) -> Result<(), Error> + Send + Sync>;

/// A plugin: a manifest, limits, and handlers by cap.
#[must_use = "a cartridge does nothing until it is run"]
pub struct Cartridge {
    manifest: Manifest,
    limits: Limits,
    on_loss: OnLoss,
    handlers: HashMap<String, Handler>,
}

impl Cartridge {
    /// A cartridge that declares `manifest` and has no handlers yet.
    pub fn new(manifest: Manifest) -> Self {
        Cartridge {
            manifest,
            limits: Limits::default(),
            on_loss: losses_to_stderr(),
            handlers: HashMap::new(),
        }
    }

    /// Proposes `limits` to the host; the smaller proposal of each wins.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Has `on_loss` hear of what was lost, as [`Health::on_loss`](crate::engine::Health::on_loss) of an
    /// engine. By default warnings are written to stderr.
    pub fn on_loss(mut self, on_loss: OnLoss) -> Self {
        self.on_loss = on_loss;
        self
    }

    /// Serves `cap` with `handler`: each request runs on a thread of its own. `Ok` finishes the
    /// request, `Err` and a panic fail it, and nothing else.
    pub fn handler(
        mut self,
        cap: &str,
        handler: impl Fn(&Request) -> Result<(), Error> + Send + Sync + 'static,
    ) -> Self {
        self.handlers.insert(cap.to_owned(), Arc::new(handler));
        self
    }

    /// Speaks frames on stdin and stdout until the host closes them. What the program prints on
    /// stdout meanwhile goes to stderr.
    ///
    /// # Errors
    /// `InvalidArgument` if a handler's cap is not in the manifest; `Handshake`; `Malformed` and
    /// the like if the host breaks the protocol. A host that closes is not an error.
    pub fn run_stdio(self) -> Result<(), Error> {
        let (input, output) = stdio()?;
        self.run(input, output)
    }

    /// As [`run_stdio`](Self::run_stdio), over any transport.
    ///
    /// # Errors
    /// As there.
    pub fn run(
        mut self,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
    ) -> Result<(), Error> {
        let handlers = std::mem::take(&mut self.handlers);
        if let Some(cap) = handlers.keys().find(|cap| !self.manifest.declares(cap)) {
            let message =
                format!("there is a handler for {cap}, which the manifest does not declare");
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let session = self.serve(reader, writer)?;
        let running = Arc::new(Running { count: Watched::new(0) });
        // A host that breaks the protocol ends this loop as one that goes away does.
        while let Ok(Ok(Some(request))) = block_on(session.next_request(), Deadline::NEVER) {
            let Some(handler) = handlers.get(request.cap()).cloned() else {
                let message = format!("no handler for {}", request.cap());
                request.fail(&Error::new(ErrorKind::NoHandler, message));
                continue;
            };
            running.count.update(|n| *n += 1);
            let done = Arc::clone(&running);
            let failed = request.clone();
            let spawned = spawn_quiet("handler", move || {
                handle(&request, &*handler);
                drop(request);
                done.count.update(|n| *n -= 1);
            });
            if let Err(error) = spawned {
                running.count.update(|n| *n -= 1);
                let message = format!("no thread for the handler: {error}");
                failed.fail(&Error::new(ErrorKind::LimitReached, message));
            }
        }
        // The host is gone: handlers were told to stop. They get a bounded time to notice.
        let idle = until(running, |r| &r.count, |n| (*n == 0).then_some(()));
        let _ = block_on(idle, Deadline::after(HANDLER_GRACE));
        let _ = block_on(session.written(), Deadline::after(WRITE_GRACE));
        session.result()
    }

    /// Makes the handshake on stdin and stdout and answers a session to take requests from, for a
    /// runtime that schedules its handlers itself. Registered handlers are not used.
    ///
    /// # Errors
    /// `Handshake`, `Malformed`, `Io`.
    pub fn serve_stdio(self) -> Result<Session, Error> {
        let (input, output) = stdio()?;
        self.serve(input, output)
    }

    /// As [`serve_stdio`](Self::serve_stdio), over any transport.
    ///
    /// # Errors
    /// As there.
    pub fn serve(
        self,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
    ) -> Result<Session, Error> {
        Session::open(&self.manifest, self.limits, &self.on_loss, reader, writer)
    }
}

/// How long what is queued may take to be written after the host has stopped to speak.
const WRITE_GRACE: std::time::Duration = std::time::Duration::from_secs(2);
/// How long handlers may run on after the host is gone.
const HANDLER_GRACE: std::time::Duration = std::time::Duration::from_secs(5);

struct Running {
    count: Watched<usize>,
}

fn stdio() -> Result<(std::fs::File, std::fs::File), Error> {
    use std::io::IsTerminal;
    if std::io::stdin().is_terminal() || std::io::stdout().is_terminal() {
        let message = "this is a cartridge, which speaks to a host over stdin and stdout, not to a \
                       terminal; start it through one: sluicegate pipe --in FILE -- COMMAND, or \
                       sluicegate caps COMMAND to see what it serves";
        return Err(Error::new(ErrorKind::Handshake, message));
    }
    claim_stdio()
        .map_err(|e| Error::new(ErrorKind::Io, format!("stdin or stdout is unusable: {e}")))
}

fn handle(request: &Request, handler: &(dyn Fn(&Request) -> Result<(), Error> + Send + Sync)) {
    let outcome = catch_unwind(AssertUnwindSafe(|| handler(request))).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<&str>()
            .map(|s| (*s).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "the handler panicked".to_owned());
        Err(Error::with_code(ErrorKind::Panic, "HANDLER_ERROR", AttributionClass::Internal, text))
    });
    match outcome {
        // A request that had to stop answers so itself.
        Ok(()) => drop(block_on(request.finish(None, None), Deadline::NEVER)),
        Err(error) => request.fail(&error),
    }
}
