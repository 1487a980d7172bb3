//! `sluice_item`: one value with its metadata; also how the library hands out bytes and texts that
//! are the caller's own.

use std::sync::OnceLock;

use bytes::Bytes;
use libc::c_char;
use sluicegate::{Error, ErrorKind, Value};

use crate::border;
use crate::error::ErrorObject;
use crate::guard::{Fail, guard, guard_with};
use crate::handle::{self, object};
use crate::status::Status;

/// What a value is.
///
/// cbindgen:prefix-with-name=false
/// cbindgen:rename-all=None
#[allow(non_camel_case_types, reason = "spelled as in the header")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum ItemKind {
    /// An array, a map, a tagged or a simple value: read its CBOR.
    SLUICE_ITEM_OTHER = 0,
    /// A byte string.
    SLUICE_ITEM_BYTES = 1,
    /// A text.
    SLUICE_ITEM_TEXT = 2,
    /// An integer from 0 to 2^64 - 1.
    SLUICE_ITEM_UINT = 3,
    /// A negative integer.
    SLUICE_ITEM_INT = 4,
    /// A float.
    SLUICE_ITEM_FLOAT = 5,
    /// true or false.
    SLUICE_ITEM_BOOL = 6,
    /// null.
    SLUICE_ITEM_NULL = 7,
}

/// One value, with optional metadata. Immutable.
pub struct Item {
    item: sluicegate::Item,
    cbor: OnceLock<Vec<u8>>,
    meta: OnceLock<Vec<u8>>,
}
object!(Item = 6);

/// Several items.
pub struct Items(pub(crate) Vec<sluicegate::Item>);
object!(Items = 7);

impl Item {
    pub(crate) fn new(item: sluicegate::Item) -> Self {
        Item { item, cbor: OnceLock::new(), meta: OnceLock::new() }
    }

    pub(crate) fn of(value: Value) -> Self {
        Item::new(sluicegate::Item { value, meta: None })
    }

    pub(crate) fn item(&self) -> sluicegate::Item {
        self.item.clone()
    }

    /// Bytes of its byte string or text, or of its CBOR.
    pub(crate) fn size(&self) -> u64 {
        let size = match &self.item.value {
            Value::Bytes(bytes) => bytes.len(),
            Value::Text(text) => text.len(),
            other => self.cbor.get_or_init(|| other.encode()).len(),
        };
        size as u64
    }
}

/// Writes a text as a new item.
pub(crate) fn put_text(out: *mut *mut Item, text: String) -> Result<(), Fail> {
    border::put_new(out, Item::of(Value::Text(text)))
}

/// One CBOR value handed in.
pub(crate) fn cbor(data: *const u8, len: usize) -> Result<Value, Fail> {
    let data = border::bytes(data, len)?;
    Ok(Value::decode(data).map_err(|e| Error::new(ErrorKind::Malformed, e.to_string()))?)
}

/// Metadata handed in as CBOR; NULL is none.
pub(crate) fn meta(data: *const u8, len: usize) -> Result<Option<Value>, Fail> {
    if data.is_null() && len == 0 {
        return Ok(None);
    }
    match cbor(data, len)? {
        map @ Value::Map(_) => Ok(Some(map)),
        other => {
            let message = format!("metadata is a map, this is a {}", other.kind());
            Err(Error::new(ErrorKind::InvalidArgument, message).into())
        }
    }
}

/// Makes an item of a byte string, which is copied.
///
/// out      the item, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_item_new_bytes(
    data: *const u8,
    len: usize,
    out: *mut *mut Item,
) -> Status {
    guard(|| {
        let data = Bytes::copy_from_slice(border::bytes(data, len)?);
        border::put_new(out, Item::of(Value::Bytes(data)))
    })
}

/// Makes an item of a text, which is copied.
///
/// out      the item, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_item_new_text(
    text: *const c_char,
    len: usize,
    out: *mut *mut Item,
) -> Status {
    guard(|| border::put_new(out, Item::of(Value::Text(border::text(text, len)?.to_owned()))))
}

/// Makes an item of an unsigned integer.
///
/// out      the item, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_item_new_u64(value: u64, out: *mut *mut Item) -> Status {
    guard(|| border::put_new(out, Item::of(Value::Uint(value))))
}

/// Makes an item of an integer.
///
/// out      the item, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_item_new_i64(value: i64, out: *mut *mut Item) -> Status {
    guard(|| border::put_new(out, Item::of(int(value))))
}

/// Makes an item of a float.
///
/// out      the item, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_item_new_f64(value: f64, out: *mut *mut Item) -> Status {
    guard(|| border::put_new(out, Item::of(Value::Float(value))))
}

/// Makes an item of a truth value.
///
/// out      the item, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_item_new_bool(value: bool, out: *mut *mut Item) -> Status {
    guard(|| border::put_new(out, Item::of(Value::Bool(value))))
}

/// Makes an item of null.
///
/// out      the item, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_item_new_null(out: *mut *mut Item) -> Status {
    guard(|| border::put_new(out, Item::of(Value::Null)))
}

/// An item whose value and metadata come as CBOR.
pub(crate) fn from_cbor(
    (value, value_len): (*const u8, usize),
    (meta, meta_len): (*const u8, usize),
) -> Result<sluicegate::Item, Fail> {
    Ok(sluicegate::Item { value: cbor(value, value_len)?, meta: self::meta(meta, meta_len)? })
}

/// An integer as CBOR has it.
pub(crate) fn int(value: i64) -> Value {
    match u64::try_from(value) {
        Ok(value) => Value::Uint(value),
        Err(_) => Value::Nint((-1 - value).unsigned_abs()),
    }
}

/// Makes an item of exactly one CBOR value.
///
/// out      the item, yours to release
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_MALFORMED: not one well-formed value | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_item_new_cbor(
    data: *const u8,
    len: usize,
    out: *mut *mut Item,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || border::put_new(out, Item::of(cbor(data, len)?)))
}

/// Makes an item with the same value and other metadata.
///
/// meta_cbor  a CBOR map; NULL: none
/// out      the new item, yours to release
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_MALFORMED | SLUICE_INVALID_ARGUMENT: not a map | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_item_with_meta(
    item: *const Item,
    meta_cbor: *const u8,
    meta_len: usize,
    out: *mut *mut Item,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let value = handle::get(item)?.item.value.clone();
        let meta = meta(meta_cbor, meta_len)?;
        border::put_new(out, Item::new(sluicegate::Item { value, meta }))
    })
}

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_item_retain(item: *const Item) -> Status {
    guard(|| handle::retain(item))
}

/// Takes a reference away; with the last one the bytes and texts that it lent go too.
///
/// item     may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_item_release(item: *mut Item) -> Status {
    guard(|| handle::release(item))
}

/// What the value is.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_item_kind(item: *const Item, out: *mut ItemKind) -> Status {
    guard(|| {
        let kind = match &handle::get(item)?.item.value {
            Value::Bytes(_) => ItemKind::SLUICE_ITEM_BYTES,
            Value::Text(_) => ItemKind::SLUICE_ITEM_TEXT,
            Value::Uint(_) => ItemKind::SLUICE_ITEM_UINT,
            Value::Nint(_) => ItemKind::SLUICE_ITEM_INT,
            Value::Float(_) => ItemKind::SLUICE_ITEM_FLOAT,
            Value::Bool(_) => ItemKind::SLUICE_ITEM_BOOL,
            Value::Null => ItemKind::SLUICE_ITEM_NULL,
            _ => ItemKind::SLUICE_ITEM_OTHER,
        };
        border::put(out, kind)
    })
}

/// The bytes of a byte string, or the UTF-8 of a text.
///
/// out, out_len  borrowed from the item, without a NUL behind; neither may be NULL
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT, also for a value of another kind |
///               SLUICE_FORKED
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_item_bytes(
    item: *const Item,
    out: *mut *const u8,
    out_len: *mut usize,
) -> Status {
    guard(|| {
        let item = handle::get(item)?;
        let bytes: &[u8] = match &item.item.value {
            Value::Bytes(bytes) => bytes,
            Value::Text(text) => text.as_bytes(),
            _ => return Err(Status::SLUICE_INVALID_ARGUMENT.into()),
        };
        border::lend_bytes(Some(bytes), out, out_len)
    })
}

/// A text.
///
/// out, out_len  borrowed from the item, without a NUL behind; neither may be NULL
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT, also for a value of another kind |
///               SLUICE_FORKED
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_item_text(
    item: *const Item,
    out: *mut *const c_char,
    out_len: *mut usize,
) -> Status {
    guard(|| {
        let item = handle::get(item)?;
        let text = item.item.value.as_text().ok_or(Status::SLUICE_INVALID_ARGUMENT)?;
        border::lend_bytes(Some(text.as_bytes()), out.cast(), out_len)
    })
}

/// An integer from 0 to 2^64 - 1.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also for a value that is none | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_item_u64(item: *const Item, out: *mut u64) -> Status {
    guard(|| {
        let value = handle::get(item)?.item.value.as_u64();
        border::put(out, value.ok_or(Status::SLUICE_INVALID_ARGUMENT)?)
    })
}

/// An integer that fits.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also for a value that is none | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_item_i64(item: *const Item, out: *mut i64) -> Status {
    guard(|| {
        let value = handle::get(item)?.item.value.as_i64();
        border::put(out, value.ok_or(Status::SLUICE_INVALID_ARGUMENT)?)
    })
}

/// A float, or an integer rounded to one.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also for a value that is none | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_item_f64(item: *const Item, out: *mut f64) -> Status {
    guard(|| {
        let value = handle::get(item)?.item.value.as_f64();
        border::put(out, value.ok_or(Status::SLUICE_INVALID_ARGUMENT)?)
    })
}

/// A truth value.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also for a value that is none | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_item_bool(item: *const Item, out: *mut bool) -> Status {
    guard(|| {
        let value = handle::get(item)?.item.value.as_bool();
        border::put(out, value.ok_or(Status::SLUICE_INVALID_ARGUMENT)?)
    })
}

/// The value as CBOR.
///
/// out, out_len  borrowed from the item; neither may be NULL
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_item_cbor(
    item: *const Item,
    out: *mut *const u8,
    out_len: *mut usize,
) -> Status {
    guard(|| {
        let item = handle::get(item)?;
        border::lend_bytes(Some(item.cbor.get_or_init(|| item.item.value.encode())), out, out_len)
    })
}

/// The metadata as CBOR: a map.
///
/// out, out_len  borrowed from the item; NULL and 0: there is none; neither may be NULL
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_item_meta(
    item: *const Item,
    out: *mut *const u8,
    out_len: *mut usize,
) -> Status {
    guard(|| {
        let item = handle::get(item)?;
        let meta = item.item.meta.as_ref();
        let encoded = meta.map(|meta| item.meta.get_or_init(|| meta.encode()).as_slice());
        border::lend_bytes(encoded, out, out_len)
    })
}

/// How many items there are.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_items_len(items: *const Items, out: *mut usize) -> Status {
    guard(|| border::put(out, handle::get(items)?.0.len()))
}

/// One of the items.
///
/// index    from 0
/// out      the item, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also for an index beyond the last | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_items_get(
    items: *const Items,
    index: usize,
    out: *mut *mut Item,
) -> Status {
    guard(|| {
        let items = handle::get(items)?;
        let item = items.0.get(index).ok_or(Status::SLUICE_INVALID_ARGUMENT)?;
        border::put_new(out, Item::new(item.clone()))
    })
}

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_items_retain(items: *const Items) -> Status {
    guard(|| handle::retain(items))
}

/// Takes a reference away.
///
/// items    may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_items_release(items: *mut Items) -> Status {
    guard(|| handle::release(items))
}
