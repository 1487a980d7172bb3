//! `sluice_cap`, `sluice_manifest`: what a cartridge says of itself.

use libc::c_char;

use crate::border;
use crate::error::ErrorObject;
use crate::guard::{guard, guard_with};
use crate::handle::{self, object};
use crate::item::Item;
use crate::status::Status;
use crate::sync::Mutex;

/// One cap of a manifest. Its main input and output are the in= and out= of its URN.
pub struct Cap(Mutex<sluicegate::Cap>);
object!(Cap = 11);

/// What a cartridge is called and which caps it serves. The identity cap is always among them.
pub struct Manifest(Mutex<sluicegate::Manifest>);
object!(Manifest = 12);

/// Replaces a value by what a builder makes of it.
fn build<T: Clone>(place: &Mutex<T>, step: impl FnOnce(T) -> T) {
    let mut value = place.lock();
    *value = step(value.clone());
}

impl Manifest {
    pub(crate) fn manifest(&self) -> sluicegate::Manifest {
        self.0.lock().clone()
    }
}

/// Makes a cap.
///
/// urn      for example "cap:upper;in=media:blob;out=media:blob"
/// out      the cap, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_cap_new(
    urn: *const c_char,
    urn_len: usize,
    out: *mut *mut Cap,
) -> Status {
    guard(|| {
        let cap = sluicegate::Cap::new(border::text(urn, urn_len)?);
        border::put_new(out, Cap(Mutex::new(cap)))
    })
}

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_cap_retain(cap: *const Cap) -> Status {
    guard(|| handle::retain(cap))
}

/// Takes a reference away.
///
/// cap      may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_cap_release(cap: *mut Cap) -> Status {
    guard(|| handle::release(cap))
}

/// Sets a title for people; the URN's first tag by default.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_cap_title(
    cap: *const Cap,
    text: *const c_char,
    len: usize,
) -> Status {
    guard(|| {
        let text = border::text(text, len)?;
        build(&handle::get(cap)?.0, |cap| cap.title(text));
        Ok(())
    })
}

/// Says whether the main input is a sequence of items; it is scalar by default.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_cap_input_sequence(cap: *const Cap, sequence: bool) -> Status {
    guard(|| {
        build(&handle::get(cap)?.0, |cap| cap.input_sequence(sequence));
        Ok(())
    })
}

/// Says whether the main output is a sequence of items; it is scalar by default.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_cap_output_sequence(cap: *const Cap, sequence: bool) -> Status {
    guard(|| {
        build(&handle::get(cap)?.0, |cap| cap.output_sequence(sequence));
        Ok(())
    })
}

/// Adds one more output beside the main one, named by its media.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_cap_add_output(
    cap: *const Cap,
    media: *const c_char,
    media_len: usize,
    sequence: bool,
) -> Status {
    guard(|| {
        let media = border::text(media, media_len)?;
        build(&handle::get(cap)?.0, |cap| cap.output(media, sequence));
        Ok(())
    })
}

/// Says whether the main output may have no end; it has one by default.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_cap_streaming(cap: *const Cap, streaming: bool) -> Status {
    guard(|| {
        build(&handle::get(cap)?.0, |cap| cap.streaming(streaming));
        Ok(())
    })
}

/// Makes a manifest without caps of its own.
///
/// out      the manifest, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_manifest_new(
    name: *const c_char,
    name_len: usize,
    version: *const c_char,
    version_len: usize,
    out: *mut *mut Manifest,
) -> Status {
    guard(|| {
        let (name, version) = (border::text(name, name_len)?, border::text(version, version_len)?);
        border::put_new(out, Manifest(Mutex::new(sluicegate::Manifest::new(name, version))))
    })
}

/// Reads a manifest that was written elsewhere. The identity cap is added if it is missing.
///
/// out      the manifest, yours to release
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT: not JSON, or without name, version or caps
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_manifest_from_json(
    json: *const c_char,
    json_len: usize,
    out: *mut *mut Manifest,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let manifest = sluicegate::Manifest::from_json(border::text(json, json_len)?)?;
        border::put_new(out, Manifest(Mutex::new(manifest)))
    })
}

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_manifest_retain(manifest: *const Manifest) -> Status {
    guard(|| handle::retain(manifest))
}

/// Takes a reference away.
///
/// manifest may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_manifest_release(manifest: *mut Manifest) -> Status {
    guard(|| handle::release(manifest))
}

/// Sets a sentence about the cartridge.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_manifest_description(
    manifest: *const Manifest,
    text: *const c_char,
    len: usize,
) -> Status {
    guard(|| {
        let text = border::text(text, len)?;
        build(&handle::get(manifest)?.0, |manifest| manifest.description(text));
        Ok(())
    })
}

/// Adds a cap, as it is now; the cap stays yours.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_manifest_add_cap(
    manifest: *const Manifest,
    cap: *const Cap,
) -> Status {
    guard(|| {
        let cap = handle::get(cap)?.0.lock().clone();
        build(&handle::get(manifest)?.0, |manifest| manifest.cap(cap));
        Ok(())
    })
}

/// The manifest as JSON: an item of kind SLUICE_ITEM_TEXT.
///
/// out      the item, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_manifest_json(
    manifest: *const Manifest,
    out: *mut *mut Item,
) -> Status {
    guard(|| {
        let json = handle::get(manifest)?.manifest().to_json();
        border::put_new(out, Item::of(sluicegate::Value::Text(json)))
    })
}
