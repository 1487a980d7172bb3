//! The plugin's runtime.

use std::sync::Arc;

use sluicegate::link::offload;
use sluicegate::{Cap, Cartridge, Error, Manifest, Session};

use crate::engine::PolicyFacts;
use crate::error::Failure;
use crate::guard::quiet;
use crate::limits::LimitFacts;
use crate::notices::{self, LossesCore};
use crate::op::taking;
use crate::report::{self, ControlCore};
use crate::request::{RequestCore, RequestOp};
use crate::transport::files;

/// One more output of a cap.
#[derive(Clone, Debug, uniffi::Record)]
pub struct OutputDeclaration {
    /// Its media.
    pub media: String,
    /// A sequence of items.
    pub sequence: bool,
}

/// A cap of a manifest.
#[derive(Clone, Debug, uniffi::Record)]
pub struct CapDeclaration {
    /// Its URN; main input and output are read from it.
    pub urn: String,
    /// For people.
    pub title: Option<String>,
    /// The main input is a sequence.
    pub input_sequence: bool,
    /// The main output is a sequence.
    pub output_sequence: bool,
    /// Outputs beside the main one.
    pub outputs: Vec<OutputDeclaration>,
    /// The main output may have no end.
    pub streaming: bool,
}

impl From<CapDeclaration> for Cap {
    fn from(declared: CapDeclaration) -> Self {
        let mut cap = Cap::new(&declared.urn)
            .input_sequence(declared.input_sequence)
            .output_sequence(declared.output_sequence)
            .streaming(declared.streaming);
        if let Some(title) = &declared.title {
            cap = cap.title(title);
        }
        for output in &declared.outputs {
            cap = cap.output(&output.media, output.sequence);
        }
        cap
    }
}

/// What a cartridge says of itself.
#[derive(Clone, Debug, uniffi::Record)]
pub struct CartridgeDeclaration {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// A sentence about it.
    pub description: Option<String>,
    /// Its caps.
    pub caps: Vec<CapDeclaration>,
    /// The limits it proposes.
    pub limits: LimitFacts,
}

impl From<CartridgeDeclaration> for Cartridge {
    fn from(declared: CartridgeDeclaration) -> Self {
        let mut manifest = Manifest::new(&declared.name, &declared.version);
        if let Some(text) = &declared.description {
            manifest = manifest.description(text);
        }
        for cap in declared.caps {
            manifest = manifest.cap(cap.into());
        }
        Cartridge::new(manifest).limits(declared.limits.into())
    }
}

/// The manifest of a cartridge, JSON.
#[uniffi::export]
pub fn manifest_json(declared: CartridgeDeclaration) -> String {
    let mut manifest = Manifest::new(&declared.name, &declared.version);
    if let Some(text) = &declared.description {
        manifest = manifest.description(text);
    }
    declared.caps.into_iter().fold(manifest, |manifest, cap| manifest.cap(cap.into())).to_json()
}

/// Core's session of a cartridge.
#[derive(uniffi::Object)]
pub struct SessionCore(Session);

#[uniffi::export]
impl SessionCore {
    /// The next request; none when the host has closed the connection.
    pub fn next_request(&self) -> Arc<RequestOp> {
        let next = self.0.next_request();
        RequestOp::start(async move {
            next.await.map(|request| request.map(|r| Arc::new(RequestCore(r))))
        })
    }

    /// The agreed limits.
    pub fn limits(&self) -> LimitFacts {
        self.0.limits().into()
    }

    /// What the host allows on the network, once it has said so.
    pub fn policy(&self) -> Option<PolicyFacts> {
        quiet(None, || self.0.policy()).map(PolicyFacts::from)
    }

    /// What is live and what was lost, JSON.
    pub fn stats_json(&self) -> String {
        quiet(String::new(), || self.0.stats().to_string())
    }

    /// What stands still here, JSON. Asks nobody.
    pub fn explain_json(&self) -> String {
        quiet(String::new(), || self.0.explain().to_json().to_string())
    }

    /// Opens a control socket; no address is this process's own place.
    ///
    /// # Errors
    /// `Io`, `InvalidArgument`.
    pub fn serve_control(&self, address: Option<String>) -> Result<Arc<ControlCore>, Failure> {
        report::serve(address, Arc::new(self.0.clone()))
    }

    /// Ends the connection.
    pub fn close(&self) {
        quiet((), || self.0.close());
    }
}

taking! {
    /// An operation that answers a session once the handshake is made.
    SessionOp -> Arc<SessionCore>
}

/// Makes the handshake on stdin and stdout. `losses` collects what is lost.
#[uniffi::export]
pub fn serve_stdio(
    declared: CartridgeDeclaration,
    losses: Arc<LossesCore>,
    quiet_losses: bool,
) -> Arc<SessionOp> {
    let heard = notices::on_loss(&losses.0, quiet_losses);
    let cartridge = Cartridge::from(declared).on_loss(heard);
    SessionOp::start(offload("handshake", move || {
        cartridge.serve_stdio().map(|session| Arc::new(SessionCore(session)))
    }))
}

/// Makes the handshake on two file descriptors, which are closed when the session ends. `losses`
/// collects what is lost.
#[uniffi::export]
pub fn serve_descriptors(
    declared: CartridgeDeclaration,
    losses: Arc<LossesCore>,
    quiet_losses: bool,
    reading: i32,
    writing: i32,
) -> Arc<SessionOp> {
    let heard = notices::on_loss(&losses.0, quiet_losses);
    let cartridge = Cartridge::from(declared).on_loss(heard);
    let (reader, writer) = files(reading, writing);
    SessionOp::start::<Error>(offload("handshake", move || {
        cartridge.serve(reader, writer).map(|session| Arc::new(SessionCore(session)))
    }))
}
