//! HELLO: two ends agree on version and limits before anything else.

use std::io::{Read, Write};

use bytes::Bytes;

use super::least::least_max_frame;
use super::{FrameReader, FrameWriter};
use crate::account::load::REQUESTS;
use crate::error::{Error, ErrorKind};
use crate::frame::{Frame, FrameType, Limits, Value, Version, Versions};
use crate::model::negotiate;
use crate::model::relay::noticed;

/// What the early form of version 4 has in place of pools.
const HANDLER_CAPACITY: &str = "handler_capacity";

/// What a cartridge says of itself in its HELLO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CartridgeHello {
    /// The agreed limits.
    pub limits: Limits,
    /// The version that it speaks: the one that was proposed, and of 4 the form that its hello shows.
    pub version: Version,
    /// Its manifest, JSON.
    pub manifest: Bytes,
    /// Its pools, JSON; an empty object from a version without them.
    pub pools: Bytes,
    /// How many requests it takes at once, 0 without a limit, from a version without pools.
    pub handler_capacity: Option<u64>,
}

/// The host's half: proposes `ours` in `version`, waits for the answer, and sets on both ends the limits
/// that were agreed on, and the version. A cartridge has to answer in the same.
///
/// # Errors
/// `Handshake`, naming both sides' values; `Malformed`, `FrameTooLarge` or `Io` from the wire.
pub fn propose<R: Read, W: Write>(
    reader: &mut FrameReader<R>,
    writer: &mut FrameWriter<W>,
    ours: Limits,
    version: Version,
) -> Result<CartridgeHello, Error> {
    let least = least_max_frame();
    if ours.max_frame < least {
        let ours = ours.max_frame;
        return Err(refused(format!("this end proposes {ours} for max_frame: {}", needed(least))));
    }
    speak(reader, writer, version);
    let sent = writer.write(&Frame::hello(&ours, version.number()));
    // Why it does not listen is best told by what it said.
    let hello = read_hello(reader, "cartridge")?;
    sent?;
    let declared = declared(&hello, "cartridge", Versions::only(version.number()))?;
    let limits = agree(&hello, ours, "cartridge")?;
    let manifest = byte_string(&hello, "manifest")?;
    let (version, pools, handler_capacity) = read_capacity(&hello, declared)?;
    speak(reader, writer, version);
    reader.set_max_frame(limits.max_frame);
    writer.set_max_frame(limits.max_frame);
    Ok(CartridgeHello { limits, version, manifest, pools, handler_capacity })
}

/// What a cartridge says of how much it takes at once, by which the forms of a version are told apart.
fn read_capacity(hello: &Frame, declared: Version) -> Result<(Version, Bytes, Option<u64>), Error> {
    if hello.meta_get("pools").is_none() && !declared.has_pools() {
        let capacity = hello.meta_u64(HANDLER_CAPACITY).ok_or_else(|| {
            refused(format!(
                "the cartridge's hello of version {declared} has neither pools nor {HANDLER_CAPACITY}"
            ))
        })?;
        return Ok((declared, Bytes::from_static(b"{}"), Some(capacity)));
    }
    let pools = byte_string(hello, "pools")?;
    match serde_json::from_slice::<serde_json::Value>(&pools) {
        Ok(serde_json::Value::Object(_)) => Ok((declared.late(), pools, None)),
        _ => Err(refused("the cartridge's pools are not a JSON object")),
    }
}

/// The cartridge's half: waits for the host's proposal, answers in its version with what both can keep,
/// and sets that on both ends.
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
    let version = declared(hello, "host", Versions::SPOKEN)?;
    let limits = agree(hello, ours, "host")?;
    let mut answer = Frame::hello(&limits, version.number()).with_manifest(manifest, pools);
    if !version.has_pools() {
        // Either form of the version finds what it looks for.
        answer.set_meta(HANDLER_CAPACITY, u64::try_from(REQUESTS).unwrap_or(u64::MAX));
    }
    speak(reader, writer, version);
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
            let version = frame.version;
            let Some(version) = Version::declared(version) else {
                return Err(refused(format!(
                    "the host's relay_notify is of protocol version {version}, this end speaks {}",
                    Versions::SPOKEN
                )));
            };
            let notice = read_notice(&frame)?;
            speak(reader, writer, version);
            let max_frame = large_enough(ours.max_frame, notice.limits.max_frame, "host")?;
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

/// From now on this link speaks `version`, in both directions.
fn speak<R: Read, W: Write>(
    reader: &mut FrameReader<R>,
    writer: &mut FrameWriter<W>,
    version: Version,
) {
    reader.set_version(version);
    writer.set_version(version);
}

/// The version that a HELLO declares, which it has to say in both places, and which has to be one of `ours`.
fn declared(hello: &Frame, who: &str, ours: Versions) -> Result<Version, Error> {
    let (told, stamped) = (hello.meta_u64("version"), hello.version);
    let agreed = told.filter(|&told| told == stamped && ours.contains(told));
    agreed.and_then(Version::declared).ok_or_else(|| {
        let theirs = match told {
            Some(told) if told == stamped => told.to_string(),
            Some(told) => format!("{told} by its hello and {stamped} by the frame"),
            None => format!("none by its hello and {stamped} by the frame"),
        };
        refused(format!("the {who} speaks protocol version {theirs}, this end {ours}"))
    })
}

/// Takes the smaller of each pair of limits.
fn agree(hello: &Frame, ours: Limits, who: &str) -> Result<Limits, Error> {
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
    limit("max_frame", ours.max_frame)?;
    let theirs = hello.meta_u64("max_frame").unwrap_or_default();
    Ok(Limits {
        max_frame: large_enough(ours.max_frame, theirs, who)?,
        max_chunk: limit("max_chunk", ours.max_chunk)?,
        max_reorder_buffer: limit("max_reorder_buffer", ours.max_reorder_buffer)?,
        initial_credit: limit("initial_credit", ours.initial_credit)?,
    })
}

/// The smaller `max_frame` of this end's and `theirs`, if requests can be answered with it.
fn large_enough(ours: u64, theirs: u64, who: &str) -> Result<u64, Error> {
    let (agreed, least) = (ours.min(theirs), least_max_frame());
    match agreed >= least {
        true => Ok(agreed),
        false => Err(refused(format!(
            "max_frame would be {agreed}: this end {ours}, the {who} {theirs}; {}",
            needed(least)
        ))),
    }
}

fn needed(least: u64) -> String {
    format!("an answer needs {least} bytes at least")
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
