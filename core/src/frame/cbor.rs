//! CBOR heads and well-formedness: what `value`, `codec` and `scan` share.
//!
//! Everything here walks bytes with an explicit stack of at most [`MAX_DEPTH`] levels, so that hostile
//! nesting costs neither call stack nor memory.

use std::borrow::Cow;

use bytes::Bytes;

/// Deepest nesting of arrays, maps and tags that a decoder takes, in levels. The public Python peer stops
/// at the same figure.
pub const MAX_DEPTH: usize = 400;

/// Why bytes are not a CBOR value. Offsets are bytes from the start of the decoded input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CborError {
    /// The input ends inside an item, or a declared length is larger than what is left of the input.
    #[error("CBOR item at byte {at} runs past the end of the input")]
    UnexpectedEnd {
        /// Offset of the head or string that could not be read whole.
        at: usize,
    },
    /// A head with reserved additional information (28 to 30, or 31 where no indefinite form exists), or
    /// a two-byte simple value below 32.
    #[error("reserved CBOR head {byte:#04x} at byte {at}")]
    Reserved {
        /// The head's first byte.
        byte: u8,
        /// Offset of that byte.
        at: usize,
    },
    /// A break code where no indefinite-length item can end.
    #[error("CBOR break code at byte {at} ends nothing")]
    UnexpectedBreak {
        /// Offset of the break code.
        at: usize,
    },
    /// A segment of an indefinite-length string is not a definite string of the same kind.
    #[error("segment at byte {at} does not belong to its indefinite-length string")]
    BadSegment {
        /// Offset of the segment's head.
        at: usize,
    },
    /// A text string, or one segment of an indefinite-length one, is not UTF-8.
    #[error("text at byte {at} is not UTF-8")]
    InvalidUtf8 {
        /// Offset of the first byte of the text's content.
        at: usize,
    },
    /// Arrays, maps and tags nest deeper than [`MAX_DEPTH`].
    #[error("CBOR nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// More values than the caller allows in one item.
    #[error("CBOR item holds more than {limit} values")]
    TooManyValues {
        /// Largest number of values allowed.
        limit: u64,
    },
    /// Bytes follow a complete item where only one was expected.
    #[error("{extra} bytes follow the CBOR item")]
    Trailing {
        /// Number of bytes behind the item.
        extra: usize,
    },
}

pub(crate) const UINT: u8 = 0;
pub(crate) const NINT: u8 = 1;
pub(crate) const BYTES: u8 = 2;
pub(crate) const TEXT: u8 = 3;
pub(crate) const ARRAY: u8 = 4;
pub(crate) const MAP: u8 = 5;
pub(crate) const TAG: u8 = 6;
pub(crate) const SIMPLE: u8 = 7;

pub(crate) const FALSE: u64 = 20;
pub(crate) const TRUE: u64 = 21;
pub(crate) const NULL: u64 = 22;
pub(crate) const UNDEFINED: u64 = 23;

const INDEFINITE: u8 = 31;
const BREAK: u8 = 0xff;

/// Number of argument bytes that follow a head's first byte, or `None` when it is reserved there.
/// Additional information 31 counts as none: it is an indefinite length or a break.
pub(crate) fn argument_len(initial: u8) -> Option<usize> {
    match (initial >> 5, initial & 0x1f) {
        (_, 0..=23) => Some(0),
        (_, 24) => Some(1),
        (_, 25) => Some(2),
        (_, 26) => Some(4),
        (_, 27) => Some(8),
        (BYTES | TEXT | ARRAY | MAP | SIMPLE, INDEFINITE) => Some(0),
        _ => None,
    }
}

/// One head: major type, additional information, argument.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    pub(crate) major: u8,
    pub(crate) info: u8,
    pub(crate) arg: u64,
}

impl Head {
    /// Puts a head together from its first byte and its argument bytes' value. Refuses reserved heads and
    /// two-byte simple values below 32, which are not well-formed.
    pub(crate) fn new(initial: u8, argument: u64, at: usize) -> Result<Self, CborError> {
        let (major, info) = (initial >> 5, initial & 0x1f);
        if argument_len(initial).is_none() || (major == SIMPLE && info == 24 && argument < 32) {
            return Err(CborError::Reserved { byte: initial, at });
        }
        let arg = if info < 24 { u64::from(info) } else { argument };
        Ok(Self { major, info, arg })
    }

    pub(crate) fn is_break(self) -> bool {
        self.major == SIMPLE && self.info == INDEFINITE
    }

    pub(crate) fn is_indefinite(self) -> bool {
        self.info == INDEFINITE && !self.is_break()
    }

    /// The length of a string or container in its own unit; `None` for an indefinite one.
    pub(crate) fn length(self) -> Option<u64> {
        (!self.is_indefinite()).then_some(self.arg)
    }

    /// What a reader of an error message calls this item.
    pub(crate) fn kind(self) -> &'static str {
        match (self.major, self.info) {
            (UINT, _) => "unsigned integer",
            (NINT, _) => "negative integer",
            (BYTES, _) => "byte string",
            (TEXT, _) => "text",
            (ARRAY, _) => "array",
            (MAP, _) => "map",
            (TAG, _) => "tagged value",
            (_, 20 | 21) => "boolean",
            (_, 22) => "null",
            (_, 23) => "undefined",
            (_, 25..=27) => "float",
            (_, INDEFINITE) => "break code",
            _ => "simple value",
        }
    }

    /// The value of a float head of any width.
    pub(crate) fn float(self) -> Option<f64> {
        match (self.major, self.info) {
            (SIMPLE, 25) => Some(half_to_f64(self.arg)),
            (SIMPLE, 26) => Some(f64::from(f32::from_bits(self.arg as u32))),
            (SIMPLE, 27) => Some(f64::from_bits(self.arg)),
            _ => None,
        }
    }
}

/// A number whose first bytes were `begun`, continued by `bytes`.
pub(crate) fn big_endian(begun: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(begun, |sum, &byte| (sum << 8) | u64::from(byte))
}

/// The head at the start of `data`, and its length in bytes; `None` when not all of it is there. Errors say
/// that it was found at `at`.
pub(crate) fn parse_head(data: &[u8], at: usize) -> Result<Option<(Head, usize)>, CborError> {
    let Some((&initial, behind)) = data.split_first() else {
        return Ok(None);
    };
    let Some(len) = argument_len(initial) else {
        return Err(CborError::Reserved { byte: initial, at });
    };
    let Some(bytes) = behind.get(..len) else {
        return Ok(None);
    };
    let argument = big_endian(0, bytes);
    Ok(Some((Head::new(initial, argument, at)?, 1 + len)))
}

/// IEEE 754 binary16, in the low 16 bits of `bits`, as the equal 64-bit number.
fn half_to_f64(bits: u64) -> f64 {
    let sign = (bits & 0x8000) << 48;
    let exponent = (bits >> 10) & 0x1f;
    let fraction = bits & 0x3ff;
    let magnitude = match exponent {
        0 => return f64::from_bits(sign | (fraction as f64 * 2f64.powi(-24)).to_bits()),
        31 => 0x7ff0_0000_0000_0000 | (fraction << 42),
        _ => ((exponent + 1008) << 52) | (fraction << 42),
    };
    f64::from_bits(sign | magnitude)
}

/// Appends the shortest head of `major` with argument `arg`.
pub(crate) fn write_head(out: &mut Vec<u8>, major: u8, arg: u64) {
    let top = major << 5;
    if arg < 24 {
        out.push(top | arg as u8);
    } else if let Ok(arg) = u8::try_from(arg) {
        out.extend_from_slice(&[top | 24, arg]);
    } else if let Ok(arg) = u16::try_from(arg) {
        out.push(top | 25);
        out.extend_from_slice(&arg.to_be_bytes());
    } else if let Ok(arg) = u32::try_from(arg) {
        out.push(top | 26);
        out.extend_from_slice(&arg.to_be_bytes());
    } else {
        out.push(top | 27);
        out.extend_from_slice(&arg.to_be_bytes());
    }
}

/// Appends a 64-bit float.
pub(crate) fn write_f64(out: &mut Vec<u8>, number: f64) {
    out.push((SIMPLE << 5) | 27);
    out.extend_from_slice(&number.to_bits().to_be_bytes());
}

/// The levels that are open while an item is walked, without the values in them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Nesting {
    levels: Vec<Level>,
}

#[derive(Debug, Clone, Copy)]
enum Level {
    /// A definite array or map, or a tag: so many values are still to come.
    Definite { left: u64 },
    /// An indefinite array, ended by a break.
    Array,
    /// An indefinite map; `odd` while a key waits for its value.
    Map { odd: bool },
    /// An indefinite string of this major type.
    Segments { major: u8 },
}

impl Nesting {
    /// Takes a head that was read at `at`. Answers how many content bytes follow it (strings only) and
    /// whether the whole item is complete once these have passed.
    pub(crate) fn take(&mut self, head: Head, at: usize) -> Result<(u64, bool), CborError> {
        if let Some(Level::Segments { major }) = self.levels.last() {
            return match head {
                _ if head.is_break() => {
                    self.levels.pop();
                    Ok((0, self.value_done()))
                }
                Head { arg, .. } if head.major == *major && !head.is_indefinite() => {
                    Ok((arg, false))
                }
                _ => Err(CborError::BadSegment { at }),
            };
        }
        match head.major {
            SIMPLE if head.is_break() => match self.levels.pop() {
                Some(Level::Array | Level::Map { odd: false }) => Ok((0, self.value_done())),
                _ => Err(CborError::UnexpectedBreak { at }),
            },
            BYTES | TEXT => match head.length() {
                Some(length) => Ok((length, self.value_done())),
                None => {
                    self.levels.push(Level::Segments { major: head.major });
                    Ok((0, false))
                }
            },
            ARRAY | MAP | TAG => {
                let level = match (head.major, head.length()) {
                    (ARRAY, Some(left)) => Level::Definite { left },
                    // A map of 2^63 pairs or more cannot end: saturating keeps it open for ever.
                    (MAP, Some(pairs)) => Level::Definite { left: pairs.saturating_mul(2) },
                    (ARRAY, None) => Level::Array,
                    (MAP, None) => Level::Map { odd: false },
                    _ => Level::Definite { left: 1 },
                };
                if self.levels.len() >= MAX_DEPTH {
                    return Err(CborError::TooDeep);
                }
                if let Level::Definite { left: 0 } = level {
                    return Ok((0, self.value_done()));
                }
                self.levels.push(level);
                Ok((0, false))
            }
            _ => Ok((0, self.value_done())),
        }
    }

    /// One value ended: closes every level that it completes. True when no level is left.
    fn value_done(&mut self) -> bool {
        loop {
            match self.levels.last_mut() {
                None => return true,
                Some(Level::Definite { left }) if *left <= 1 => {
                    self.levels.pop();
                }
                Some(Level::Definite { left }) => {
                    *left -= 1;
                    return false;
                }
                Some(Level::Map { odd }) => {
                    *odd = !*odd;
                    return false;
                }
                Some(Level::Array | Level::Segments { .. }) => return false,
            }
        }
    }
}

/// A cursor over complete input. With `shared`, byte strings come out as slices of it.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    data: &'a [u8],
    pos: usize,
    shared: Option<&'a Bytes>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Self { data, pos: 0, shared: None }
    }

    pub(crate) fn shared(data: &'a Bytes) -> Self {
        Self { data, pos: 0, shared: Some(data) }
    }

    pub(crate) fn position(&self) -> usize {
        self.pos
    }

    pub(crate) fn left(&self) -> usize {
        self.data.len() - self.pos
    }

    /// The next head, without moving.
    pub(crate) fn peek(&self) -> Result<Head, CborError> {
        self.parse().map(|(head, _)| head)
    }

    /// The next head; moves behind it.
    pub(crate) fn head(&mut self) -> Result<Head, CborError> {
        let (head, next) = self.parse()?;
        self.pos = next;
        Ok(head)
    }

    /// Moves behind a break code, if one is next.
    pub(crate) fn take_break(&mut self) -> bool {
        let found = self.data.get(self.pos) == Some(&BREAK);
        self.pos += usize::from(found);
        found
    }

    fn parse(&self) -> Result<(Head, usize), CborError> {
        let at = self.pos;
        match parse_head(&self.data[at..], at)? {
            Some((head, len)) => Ok((head, at + len)),
            None => Err(CborError::UnexpectedEnd { at }),
        }
    }

    /// The next `len` bytes of content; moves behind them.
    fn content(&mut self, len: u64) -> Result<&'a [u8], CborError> {
        let at = self.pos;
        let short = CborError::UnexpectedEnd { at };
        let len = usize::try_from(len).map_err(|_| short)?;
        let found = self.data[at..].get(..len).ok_or(short)?;
        self.pos += len;
        Ok(found)
    }

    /// Content of the byte string whose head was just read: a slice of the shared input when definite,
    /// else a copy.
    pub(crate) fn bytes_after(&mut self, head: Head) -> Result<Bytes, CborError> {
        match (head.length(), self.shared) {
            (Some(len), Some(shared)) => {
                let from = self.pos;
                self.content(len)?;
                Ok(shared.slice(from..self.pos))
            }
            _ => self.content_after(head).map(|content| content.into_owned().into()),
        }
    }

    /// Content of the byte string whose head was just read, borrowed when definite.
    pub(crate) fn content_after(&mut self, head: Head) -> Result<Cow<'a, [u8]>, CborError> {
        if let Some(len) = head.length() {
            return self.content(len).map(Cow::Borrowed);
        }
        let mut joined = Vec::new();
        while let Some(len) = self.segment(BYTES)? {
            joined.extend_from_slice(self.content(len)?);
        }
        Ok(Cow::Owned(joined))
    }

    /// Content of the text whose head was just read.
    pub(crate) fn text_after(&mut self, head: Head) -> Result<String, CborError> {
        match head.length() {
            Some(len) => Ok(self.utf8(len)?.to_owned()),
            None => {
                let mut joined = String::new();
                while let Some(len) = self.segment(TEXT)? {
                    joined.push_str(self.utf8(len)?);
                }
                Ok(joined)
            }
        }
    }

    /// Length of the next segment of an indefinite string, or `None` at its break.
    fn segment(&mut self, major: u8) -> Result<Option<u64>, CborError> {
        if self.take_break() {
            return Ok(None);
        }
        let at = self.pos;
        let head = self.head()?;
        match head.length() {
            Some(len) if head.major == major => Ok(Some(len)),
            _ => Err(CborError::BadSegment { at }),
        }
    }

    fn utf8(&mut self, len: u64) -> Result<&'a str, CborError> {
        let at = self.pos;
        let content = self.content(len)?;
        std::str::from_utf8(content).map_err(|_| CborError::InvalidUtf8 { at })
    }

    /// Moves behind one item of any kind, checking that it is well-formed and its text UTF-8.
    pub(crate) fn skip(&mut self) -> Result<(), CborError> {
        let mut nesting = Nesting::default();
        loop {
            let at = self.pos;
            let head = self.head()?;
            let (content, complete) = nesting.take(head, at)?;
            if head.major == TEXT {
                self.utf8(content)?;
            } else {
                self.content(content)?;
            }
            if complete {
                return Ok(());
            }
        }
    }
}
