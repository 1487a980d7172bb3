//! An owned CBOR value: frame metadata, scalar chunk payloads, sequence items.

use bytes::Bytes;
use minicbor::data::{Int, Tag, Token};

use super::cbor::{self, CborError, MAX_DEPTH, Reader};

/// One CBOR value (RFC 8949), kept close enough to its encoding that an echo keeps every type.
///
/// Integers cover the whole range of CBOR, -2^64 to 2^64-1; a bignum stays a [`Value::Tag`] of a byte
/// string. Maps keep the order of their entries, and do not look for duplicate keys. Equality is
/// structural: `Uint(1)` is not `Float(1.0)`, and NaN is not itself.
///
/// Decoding and encoding keep a stack of their own. Cloning, comparing and printing recurse: on the deepest
/// value that a decoder takes ([`MAX_DEPTH`]) a release build needs at most 256 KiB of stack for it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// An integer from 0 to 2^64-1.
    Uint(u64),
    /// A negative integer: `Nint(n)` means `-1 - n`.
    Nint(u64),
    /// A byte string.
    Bytes(Bytes),
    /// A text string.
    Text(String),
    /// An array.
    Array(Vec<Value>),
    /// A map, as its entries in their order on the wire.
    Map(Vec<(Value, Value)>),
    /// `false` or `true`.
    Bool(bool),
    /// `null`.
    Null,
    /// `undefined`.
    Undefined,
    /// A number decoded from any float width; always encoded with 64 bits.
    Float(f64),
    /// A tagged value. Tag 2 and 3 round a byte string are big integers.
    Tag(u64, Box<Value>),
    /// An unassigned simple value: 0 to 19, or 32 to 255. Encoding another number writes `undefined`.
    Simple(u8),
}

impl Value {
    /// A map with text keys, in the order given.
    ///
    /// ```
    /// # use sluicegate::frame::Value;
    /// let meta = Value::text_map([("exit_code", Value::from(0u64)), ("message", "done".into())]);
    /// assert_eq!(meta.get("message").and_then(Value::as_text), Some("done"));
    /// ```
    pub fn text_map<K: Into<String>>(entries: impl IntoIterator<Item = (K, Value)>) -> Self {
        Self::Map(entries.into_iter().map(|(key, value)| (Self::Text(key.into()), value)).collect())
    }

    /// Encodes the value: definite lengths, shortest heads, 64-bit floats, map entries as they stand.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode_into(&mut out);
        out
    }

    /// Appends the encoded value to `out`, as [`encode`](Self::encode) writes it.
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        write_value(out, self);
    }

    /// Decodes exactly one value. Byte strings are copied.
    ///
    /// # Errors
    /// Any [`CborError`]: not well-formed, text that is not UTF-8, nesting beyond [`MAX_DEPTH`], or bytes
    /// behind the value ([`CborError::Trailing`]).
    pub fn decode(data: &[u8]) -> Result<Self, CborError> {
        whole(Reader::new(data))
    }

    /// Decodes exactly one value; definite byte strings are slices of `data`, which they keep alive.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    pub fn decode_shared(data: &Bytes) -> Result<Self, CborError> {
        whole(Reader::shared(data))
    }

    /// Decodes the value at the start of `data` and says how many bytes it took. Byte strings are copied.
    ///
    /// # Errors
    /// As [`decode`](Self::decode), but bytes behind the value are not an error.
    pub fn decode_prefix(data: &[u8]) -> Result<(Self, usize), CborError> {
        let mut reader = Reader::new(data);
        let value = read_value(&mut reader, 0, u64::MAX)?;
        Ok((value, reader.position()))
    }

    /// The value of the text key `name`, if this is a map that holds it. The first such entry counts.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.as_map()?.iter().find(|(key, _)| key.as_text() == Some(name)).map(|(_, value)| value)
    }

    /// The number, if this is an integer from 0 to 2^64-1.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Uint(number) => Some(*number),
            _ => None,
        }
    }

    /// The number, if this is an integer that fits an `i64`.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Uint(number) => i64::try_from(*number).ok(),
            Self::Nint(number) => i64::try_from(*number).ok().map(|number| -1 - number),
            _ => None,
        }
    }

    /// The number, if this is a float of any width or an integer. Integers beyond 2^53 are rounded.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Float(number) => Some(*number),
            Self::Uint(number) => Some(*number as f64),
            Self::Nint(number) => Some(-1.0 - *number as f64),
            _ => None,
        }
    }

    /// The text, if this is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The byte string, if this is one.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&Bytes> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The elements, if this is an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The entries, if this is a map.
    #[must_use]
    pub fn as_map(&self) -> Option<&[(Value, Value)]> {
        match self {
            Self::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The truth value, if this is a boolean. Numbers have none.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// Whether this is `null`. `undefined` is not.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// What an error message calls this kind of value.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        cbor::kind(self.token())
    }

    /// The token that begins the encoding. The elements of an array or map and what a tag tags come behind.
    fn token(&self) -> Token<'_> {
        match self {
            Self::Uint(number) => Token::U64(*number),
            Self::Nint(number) => {
                let number = Int::try_from(-1 - i128::from(*number));
                Token::Int(number.expect("no negative integer of CBOR is below -2^64"))
            }
            Self::Bytes(bytes) => Token::Bytes(bytes),
            Self::Text(text) => Token::String(text),
            Self::Array(items) => Token::Array(items.len() as u64),
            Self::Map(entries) => Token::Map(entries.len() as u64),
            Self::Tag(tag, _) => Token::Tag(Tag::new(*tag)),
            Self::Bool(truth) => Token::Bool(*truth),
            Self::Null => Token::Null,
            // 24 to 31 can't be written as simple values, 20 to 23 have a token of their own.
            Self::Undefined | Self::Simple(20..=31) => Token::Undefined,
            Self::Simple(number) => Token::Simple(*number),
            Self::Float(number) => Token::F64(*number),
        }
    }
}

/// The CBOR byte string that holds `content`: the payload of a scalar CHUNK, in one allocation.
#[must_use]
pub fn encode_bytes(content: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(content.len() + 9);
    cbor::put(&mut out, |to| to.bytes(content));
    out.into()
}

/// The CBOR text that holds `content`, in one allocation.
#[must_use]
pub fn encode_text(content: &str) -> Bytes {
    let mut out = Vec::with_capacity(content.len() + 9);
    cbor::put(&mut out, |to| to.str(content));
    out.into()
}

fn whole(mut reader: Reader<'_>) -> Result<Value, CborError> {
    let value = read_value(&mut reader, 0, u64::MAX)?;
    match reader.left() {
        0 => Ok(value),
        extra => Err(CborError::Trailing { extra }),
    }
}

/// A container that is being filled. `left` counts what is still to come, `None` until a break.
enum Open {
    Array { items: Vec<Value>, left: Option<u64> },
    Map { entries: Vec<(Value, Value)>, key: Option<Value>, left: Option<u64> },
    Tag(u64),
}

/// What one token is, or begins.
enum Begun {
    Whole(Value),
    Level(Open),
    Break,
}

/// Reads one value. `depth` levels are open round it already; at most `limit` values are built.
pub(crate) fn read_value(
    reader: &mut Reader<'_>,
    depth: usize,
    limit: u64,
) -> Result<Value, CborError> {
    let mut open: Vec<Open> = Vec::new();
    let mut built = 0u64;
    loop {
        let at = reader.position();
        let begun = begin(reader)?;
        built += 1;
        if built > limit {
            return Err(CborError::TooManyValues { limit });
        }
        let done = match begun {
            Begun::Whole(value) => value,
            Begun::Break => match open.pop() {
                Some(Open::Array { items, left: None }) => Value::Array(items),
                Some(Open::Map { entries, key: None, left: None }) => Value::Map(entries),
                _ => return Err(CborError::UnexpectedBreak { at }),
            },
            Begun::Level(_) if depth + open.len() >= MAX_DEPTH => return Err(CborError::TooDeep),
            Begun::Level(Open::Array { items, left: Some(0) }) => Value::Array(items),
            Begun::Level(Open::Map { entries, left: Some(0), .. }) => Value::Map(entries),
            Begun::Level(level) => {
                open.push(level);
                continue;
            }
        };
        if let Some(value) = place(&mut open, done) {
            return Ok(value);
        }
    }
}

/// Reads a scalar or a whole string, or where a level begins or ends.
fn begin(reader: &mut Reader<'_>) -> Result<Begun, CborError> {
    let at = reader.position();
    let token = reader.token()?;
    // Room for a container of a declared size: never more than a little, whatever was declared; and none
    // for what the input can't hold, as each element takes at least one byte.
    let room = |declared: u64, each: u64| match declared.saturating_mul(each) {
        bytes if bytes <= reader.left() as u64 => Ok(declared.min(32) as usize),
        _ => Err(CborError::UnexpectedEnd { at }),
    };
    let level = |level| Ok(Begun::Level(level));
    Ok(Begun::Whole(match token {
        Token::U8(number) => Value::Uint(number.into()),
        Token::U16(number) => Value::Uint(number.into()),
        Token::U32(number) => Value::Uint(number.into()),
        Token::U64(number) => Value::Uint(number),
        Token::I8(number) => i64::from(number).into(),
        Token::I16(number) => i64::from(number).into(),
        Token::I32(number) => i64::from(number).into(),
        Token::I64(number) => number.into(),
        Token::Int(number) => Value::Nint((-1 - i128::from(number)) as u64),
        Token::F16(number) | Token::F32(number) => Value::Float(number.into()),
        Token::F64(number) => Value::Float(number),
        Token::Bytes(content) => Value::Bytes(reader.keep(content)),
        Token::BeginBytes => reader.byte_segments()?.into(),
        Token::String(text) => text.into(),
        Token::BeginString => reader.text_segments()?.into(),
        Token::Bool(truth) => truth.into(),
        Token::Null => Value::Null,
        Token::Undefined => Value::Undefined,
        Token::Simple(number) => Value::Simple(number),
        Token::Array(len) => {
            let items = Vec::with_capacity(room(len, 1)?);
            return level(Open::Array { items, left: Some(len) });
        }
        Token::Map(len) => {
            let entries = Vec::with_capacity(room(len, 2)?);
            return level(Open::Map { entries, key: None, left: Some(len) });
        }
        Token::BeginArray => return level(Open::Array { items: Vec::new(), left: None }),
        Token::BeginMap => {
            return level(Open::Map { entries: Vec::new(), key: None, left: None });
        }
        Token::Tag(tag) => return level(Open::Tag(tag.as_u64())),
        Token::Break => return Ok(Begun::Break),
    }))
}

/// Puts a finished value where it belongs, closing each container that it fills. Answers the outermost
/// value once nothing is open.
fn place(open: &mut Vec<Open>, mut value: Value) -> Option<Value> {
    loop {
        value = match open.last_mut() {
            None => return Some(value),
            Some(Open::Array { items, left }) => {
                items.push(value);
                if !filled(left) {
                    return None;
                }
                Value::Array(std::mem::take(items))
            }
            Some(Open::Map { entries, key, left }) => {
                let Some(complete) = key.take() else {
                    *key = Some(value);
                    return None;
                };
                entries.push((complete, value));
                if !filled(left) {
                    return None;
                }
                Value::Map(std::mem::take(entries))
            }
            Some(Open::Tag(tag)) => Value::Tag(*tag, Box::new(value)),
        };
        open.pop();
    }
}

/// Counts one element of a container down; true when it was the last one.
fn filled(left: &mut Option<u64>) -> bool {
    match left {
        Some(left) => {
            *left -= 1;
            *left == 0
        }
        None => false,
    }
}

/// What is still to be written of an open level.
enum Rest<'a> {
    Items(std::slice::Iter<'a, Value>),
    /// `value` belongs to the key that was written last.
    Entries {
        entries: std::slice::Iter<'a, (Value, Value)>,
        value: Option<&'a Value>,
    },
    Tagged(Option<&'a Value>),
}

impl<'a> Rest<'a> {
    fn next(&mut self) -> Option<&'a Value> {
        match self {
            Self::Items(items) => items.next(),
            Self::Entries { entries, value } => value.take().or_else(|| {
                let (key, its_value) = entries.next()?;
                *value = Some(its_value);
                Some(key)
            }),
            Self::Tagged(value) => value.take(),
        }
    }
}

/// The measure of a value that was written, in a decoder's terms.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Extent {
    /// Levels of arrays, maps and tags.
    pub(crate) depth: usize,
    /// Values of any kind.
    pub(crate) values: u64,
}

/// Appends a value. Keeps its own stack, so no value is too deep to be written.
pub(crate) fn write_value(out: &mut Vec<u8>, value: &Value) -> Extent {
    let mut stack: Vec<Rest<'_>> = Vec::new();
    let mut extent = Extent::default();
    let mut next = Some(value);
    loop {
        match next {
            Some(value) => {
                stack.extend(write_one(out, value));
                extent.depth = extent.depth.max(stack.len());
                extent.values += 1;
            }
            None => {
                stack.pop();
            }
        }
        match stack.last_mut() {
            Some(level) => next = level.next(),
            None => return extent,
        }
    }
}

/// Appends a whole scalar or string, or the head of a level and what it still needs.
fn write_one<'a>(out: &mut Vec<u8>, value: &'a Value) -> Option<Rest<'a>> {
    cbor::put(out, |to| to.encode(value.token()));
    match value {
        Value::Array(items) => Some(Rest::Items(items.iter())),
        Value::Map(entries) => Some(Rest::Entries { entries: entries.iter(), value: None }),
        Value::Tag(_, inner) => Some(Rest::Tagged(Some(inner))),
        _ => None,
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Uint(number)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Uint(u64::from(number))
    }
}

impl From<i64> for Value {
    /// Chooses `Uint` or `Nint` by the sign.
    fn from(number: i64) -> Self {
        match u64::try_from(number) {
            Ok(number) => Self::Uint(number),
            // -1 - number, without leaving i64: the complement of a negative number is not negative.
            Err(_) => Self::Nint(!number as u64),
        }
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Bytes> for Value {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes.into())
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Self::Array(items)
    }
}
