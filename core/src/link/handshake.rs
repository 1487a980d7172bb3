//! HELLO: two ends agree on version and limits before anything else.

use std::io::{Read, Write};

use bytes::Bytes;

use super::{FrameReader, FrameWriter};
use crate::error::{Error, ErrorKind};
use crate::frame::{Frame, FrameType, Limits, PROTOCOL_VERSION, Value};
use crate::model::negotiate;
use crate::model::relay::noticed;

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
    answer_hello(reader, writer, &hello, ours, manifest, pools)
}

fn answer_hello<R: Read, W: Write>(
    reader: &mut FrameReader<R>,
    writer: &mut FrameWriter<W>,
    hello: &Frame,
    ours: Limits,
    manifest: Bytes,
    pools: Bytes,
) -> Result<Limits, Error> {
    let limits = agree(hello, ours, "host")?;
    let answer = Frame::hello(&limits, PROTOCOL_VERSION).with_manifest(manifest, pools);
    writer.write(&answer)?;
    reader.set_max_frame(limits.max_frame);
    writer.set_max_frame(limits.max_frame);
    Ok(limits)
}

/// Who came to a relay.
pub(crate) enum Newcomer {
    /// Somebody who calls caps, by HELLO. Answered.
    Caller(Limits),
    /// Somebody who offers caps, by RELAY_NOTIFY.
    Host(Notice),
}

/// What a host says of itself in a RELAY_NOTIFY.
pub(crate) struct Notice {
    pub(crate) limits: Limits,
    /// What it offers, JSON.
    pub(crate) manifest: Bytes,
}

/// A relay's half: waits for the first frame, and answers a caller's HELLO as a cartridge would.
pub(crate) fn welcome<R: Read, W: Write>(
    reader: &mut FrameReader<R>,
    writer: &mut FrameWriter<W>,
    ours: Limits,
    manifest: Bytes,
    pools: Bytes,
) -> Result<Newcomer, Error> {
    match reader.read_any_version()? {
        Some(frame) if frame.frame_type == FrameType::Hello => {
            answer_hello(reader, writer, &frame, ours, manifest, pools).map(Newcomer::Caller)
        }
        Some(frame) if frame.frame_type == FrameType::RelayNotify => {
            let notice = read_notice(&frame)?;
            let max_frame = notice.limits.max_frame.min(ours.max_frame);
            reader.set_max_frame(max_frame);
            writer.set_max_frame(max_frame);
            Ok(Newcomer::Host(notice))
        }
        Some(frame) => Err(refused(format!(
            "the first frame is {}, and neither hello nor relay_notify",
            frame.frame_type.name()
        ))),
        None => Err(Error::new(ErrorKind::PeerDied, "the connection was closed before its hello")),
    }
}

/// Reads a RELAY_NOTIFY. The two limits that a host may leave out, or give as nothing, read as the
/// defaults.
pub(crate) fn read_notice(frame: &Frame) -> Result<Notice, Error> {
    let needed = |name: &str| {
        frame
            .meta_u64(name)
            .filter(|&v| v > 0)
            .ok_or_else(|| refused(format!("the host's relay_notify needs a positive {name}")))
    };
    let optional =
        |name: &str, default: u64| frame.meta_u64(name).filter(|&v| v > 0).unwrap_or(default);
    let Some(manifest) = frame.meta_bytes("manifest").cloned() else {
        return Err(refused("the host's relay_notify has no manifest as a byte string"));
    };
    let limits = Limits {
        max_frame: needed("max_frame")?,
        max_chunk: needed("max_chunk")?,
        max_reorder_buffer: optional("max_reorder_buffer", Limits::DEFAULT.max_reorder_buffer),
        initial_credit: noticed(frame.meta_u64("initial_credit")),
    };
    Ok(Notice { limits, manifest })
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
