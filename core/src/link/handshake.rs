//! HELLO: two ends agree on version and limits before anything else.

use std::io::{Read, Write};

use bytes::Bytes;

use super::{FrameReader, FrameWriter};
use crate::error::{Error, ErrorKind};
use crate::frame::{Frame, FrameType, Limits, PROTOCOL_VERSION, Value};
use crate::model::negotiate;

/// What a cartridge says of itself in its HELLO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CartridgeHello {
    /// The agreed limits.
    pub limits: Limits,
    /// Its manifest, JSON.
    pub manifest: Bytes,
    /// Its pools, JSON.
    pub pools: Bytes,
}

/// The host's half: proposes `ours`, waits for the answer, and sets the agreed limits on both ends.
///
/// # Errors
/// `Handshake`, naming both sides' values; `Malformed`, `FrameTooLarge` or `Io` from the wire.
pub fn propose<R: Read, W: Write>(
    reader: &mut FrameReader<R>,
    writer: &mut FrameWriter<W>,
    ours: Limits,
) -> Result<CartridgeHello, Error> {
    let sent = writer.write(&Frame::hello(&ours, PROTOCOL_VERSION));
    // Why it does not listen is best told by what it said.
    let hello = read_hello(reader, "cartridge")?;
    sent?;
    let limits = agree(&hello, ours, "cartridge")?;
    let manifest = byte_string(&hello, "manifest")?;
    let pools = byte_string(&hello, "pools")?;
    match serde_json::from_slice::<serde_json::Value>(&pools) {
        Ok(serde_json::Value::Object(_)) => {}
        _ => return Err(refused("the cartridge's pools are not a JSON object")),
    }
    reader.set_max_frame(limits.max_frame);
    writer.set_max_frame(limits.max_frame);
    Ok(CartridgeHello { limits, manifest, pools })
}

/// The cartridge's half: waits for the host's proposal, answers with what both can keep, and sets
/// it on both ends.
///
/// # Errors
/// As [`propose`].
pub fn accept<R: Read, W: Write>(
    reader: &mut FrameReader<R>,
    writer: &mut FrameWriter<W>,
    ours: Limits,
    manifest: Bytes,
    pools: Bytes,
) -> Result<Limits, Error> {
    let hello = read_hello(reader, "host")?;
    let limits = agree(&hello, ours, "host")?;
    let answer = Frame::hello(&limits, PROTOCOL_VERSION).with_manifest(manifest, pools);
    writer.write(&answer)?;
    reader.set_max_frame(limits.max_frame);
    writer.set_max_frame(limits.max_frame);
    Ok(limits)
}

fn read_hello<R: Read>(reader: &mut FrameReader<R>, who: &str) -> Result<Frame, Error> {
    match reader.read_any_version()? {
        Some(frame) if frame.frame_type == FrameType::Hello => Ok(frame),
        Some(frame) => Err(refused(format!(
            "the {who}'s first frame is {} and not hello",
            frame.frame_type.name()
        ))),
        None => Err(Error::new(
            ErrorKind::PeerDied,
            format!("the {who} closed the connection before its hello"),
        )),
    }
}

/// Takes the smaller of each pair of limits.
fn agree(hello: &Frame, ours: Limits, who: &str) -> Result<Limits, Error> {
    let theirs = match hello.meta_u64("version") {
        Some(PROTOCOL_VERSION) => Some(hello.version), // both places have to say it
        other => other,
    };
    if theirs != Some(PROTOCOL_VERSION) {
        let theirs = theirs.map_or_else(|| "none".to_owned(), |v| v.to_string());
        return Err(refused(format!(
            "the {who} speaks protocol version {theirs}, this end {PROTOCOL_VERSION}"
        )));
    }
    let limit = |name: &str, ours: u64| {
        let theirs = hello.meta_u64(name).filter(|&v| v > 0).ok_or_else(|| {
            let theirs = hello.meta.as_ref().and_then(|m| m.get(name));
            let theirs = theirs.map_or_else(|| "nothing".to_owned(), |v| format!("{v:?}"));
            refused(format!(
                "the {who} proposes {theirs} for {name}, this end {ours}; it must be positive"
            ))
        })?;
        negotiate(ours, theirs).ok_or_else(|| {
            refused(format!("{name} would be 0: this end {ours}, the {who} {theirs}"))
        })
    };
    Ok(Limits {
        max_frame: limit("max_frame", ours.max_frame)?,
        max_chunk: limit("max_chunk", ours.max_chunk)?,
        max_reorder_buffer: limit("max_reorder_buffer", ours.max_reorder_buffer)?,
        initial_credit: limit("initial_credit", ours.initial_credit)?,
    })
}

fn byte_string(hello: &Frame, name: &str) -> Result<Bytes, Error> {
    match hello.meta.as_ref().and_then(|meta| meta.get(name)) {
        Some(Value::Bytes(bytes)) => Ok(bytes.clone()),
        Some(other) => {
            Err(refused(format!("the cartridge's {name} is {}, not a byte string", other.kind())))
        }
        None => Err(refused(format!("the cartridge's hello has no {name}"))),
    }
}

fn refused(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Handshake, message)
}
