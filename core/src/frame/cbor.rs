//! What `value`, `codec` and `scan` share of CBOR: heads are read and written by minicbor, and here stand the
//! rules that it leaves to its user.
//!
//! | ours | because minicbor |
//! |---|---|
//! | [`CborError`] | says neither the kind nor the place of every error; asked afterwards, [`parse_head`] does |
//! | [`Nesting`], so [`Reader::skip`] | has tokens one by one; its `Decoder::skip` takes a stray break for a value, an odd number of values in an indefinite map, and any depth |
//! | two-byte simple values below 32 | takes them, though they are not well-formed |
//! | byte strings as slices of shared input | borrows |
//!
//! Everything here walks bytes with an explicit stack of at most [`MAX_DEPTH`] levels, so that hostile
//! nesting costs neither call stack nor memory.

use std::convert::Infallible;

use bytes::Bytes;
use minicbor::data::Token;
use minicbor::decode::info::Size;
use minicbor::{Decoder, Encoder, decode, encode};

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

/// Appends what minicbor's encoder is told to write: heads are the shortest.
pub(crate) fn put<'a>(
    out: &'a mut Vec<u8>,
    write: impl for<'b> FnOnce(
        &'b mut ToVec<'a>,
    ) -> Result<&'b mut ToVec<'a>, encode::Error<Infallible>>,
) {
    write(&mut Encoder::new(out)).expect("a Vec takes every byte");
}

type ToVec<'a> = Encoder<&'a mut Vec<u8>>;

/// What a reader of an error message calls the item that a token begins.
pub(crate) fn kind(token: Token<'_>) -> &'static str {
    match token {
        Token::U8(_) | Token::U16(_) | Token::U32(_) | Token::U64(_) => "unsigned integer",
        Token::I8(_) | Token::I16(_) | Token::I32(_) | Token::I64(_) | Token::Int(_) => {
            "negative integer"
        }
        Token::Bytes(_) | Token::BeginBytes => "byte string",
        Token::String(_) | Token::BeginString => "text",
        Token::Array(_) | Token::BeginArray => "array",
        Token::Map(_) | Token::BeginMap => "map",
        Token::Tag(_) => "tagged value",
        Token::Bool(_) => "boolean",
        Token::Null => "null",
        Token::Undefined => "undefined",
        Token::F16(_) | Token::F32(_) | Token::F64(_) => "float",
        Token::Simple(_) => "simple value",
        Token::Break => "break code",
    }
}

const ARRAY: u8 = 4;
const MAP: u8 = 5;
const TAG: u8 = 6;

const BREAK: u8 = 0xff;

/// A head's first byte, and what it says of the size of its item.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    initial: u8,
    size: Size,
}

/// The head at the start of `data`, and its length in bytes; `None` when not all of it is there. Errors say
/// that it was found at `at`.
pub(crate) fn parse_head(data: &[u8], at: usize) -> Result<Option<(Head, usize)>, CborError> {
    let Some(&initial) = data.first() else {
        return Ok(None);
    };
    let reserved = CborError::Reserved { byte: initial, at };
    let len = Size::head(initial).map_err(|_| reserved)?;
    match data.get(..len) {
        None => Ok(None),
        Some([0xf8, 0..=31]) => Err(reserved),
        Some(head) => {
            let size = Size::tail(head).map_err(|_| reserved)?;
            Ok(Some((Head { initial, size }, len)))
        }
    }
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
        let major = head.initial >> 5;
        if let Some(Level::Segments { major: of }) = self.levels.last() {
            return match head.size {
                Size::Bytes(len) if major == *of => Ok((len, false)),
                _ if head.initial == BREAK => {
                    self.levels.pop();
                    Ok((0, self.value_done()))
                }
                _ => Err(CborError::BadSegment { at }),
            };
        }
        let level = match (head.size, major) {
            (Size::Head, _) if head.initial == BREAK => match self.levels.pop() {
                Some(Level::Array | Level::Map { odd: false }) => {
                    return Ok((0, self.value_done()));
                }
                _ => return Err(CborError::UnexpectedBreak { at }),
            },
            (Size::Head, TAG) => Level::Definite { left: 1 },
            (Size::Head, _) => return Ok((0, self.value_done())),
            (Size::Bytes(len), _) => return Ok((len, self.value_done())),
            // A map of 2^63 pairs or more cannot end: saturating keeps it open for ever.
            (Size::Items(pairs), MAP) => Level::Definite { left: pairs.saturating_mul(2) },
            (Size::Items(left), _) => Level::Definite { left },
            (Size::Indef, ARRAY) => Level::Array,
            (Size::Indef, MAP) => Level::Map { odd: false },
            (Size::Indef, _) => Level::Segments { major },
        };
        if self.levels.len() >= MAX_DEPTH && !matches!(level, Level::Segments { .. }) {
            return Err(CborError::TooDeep);
        }
        if let Level::Definite { left: 0 } = level {
            return Ok((0, self.value_done()));
        }
        self.levels.push(level);
        Ok((0, false))
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
    decoder: Decoder<'a>,
    shared: Option<&'a Bytes>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Self { decoder: Decoder::new(data), shared: None }
    }

    pub(crate) fn shared(data: &'a Bytes) -> Self {
        Self { decoder: Decoder::new(data), shared: Some(data) }
    }

    pub(crate) fn position(&self) -> usize {
        self.decoder.position()
    }

    pub(crate) fn left(&self) -> usize {
        self.decoder.input().len() - self.position()
    }

    /// Moves back to a token that was read at `at`.
    pub(crate) fn go_back(&mut self, at: usize) {
        self.decoder.set_position(at);
    }

    /// The next token; moves behind it.
    pub(crate) fn token(&mut self) -> Result<Token<'a>, CborError> {
        let at = self.position();
        match self.decoder.decode() {
            Ok(Token::Simple(0..=31)) if self.position() - at == 2 => Err(self.refusal(at)),
            Ok(token) => Ok(token),
            Err(_) => Err(self.refusal(at)),
        }
    }

    /// Reads with one of the decoder's own methods, which is quicker where one type is expected. Answers the
    /// token when there is another.
    pub(crate) fn read<T>(
        &mut self,
        read: impl FnOnce(&mut Decoder<'a>) -> Result<T, decode::Error>,
    ) -> Result<Result<T, Token<'a>>, CborError> {
        let at = self.position();
        match read(&mut self.decoder) {
            Ok(read) => Ok(Ok(read)),
            Err(_) => {
                self.go_back(at);
                self.token().map(Err)
            }
        }
    }

    /// Why there is no token at `at`.
    #[cold]
    fn refusal(&self, at: usize) -> CborError {
        let data = &self.decoder.input()[at..];
        match parse_head(data, at) {
            Err(reserved) => reserved,
            Ok(None) => CborError::UnexpectedEnd { at },
            Ok(Some((head, len))) => {
                let (at, left) = (at + len, (data.len() - len) as u64);
                match head.size {
                    Size::Bytes(content) if content <= left => CborError::InvalidUtf8 { at },
                    _ => CborError::UnexpectedEnd { at },
                }
            }
        }
    }

    /// The content of a definite byte string: a slice of the shared input, else a copy.
    pub(crate) fn keep(&self, content: &'a [u8]) -> Bytes {
        match self.shared {
            Some(shared) => shared.slice_ref(content),
            None => Bytes::copy_from_slice(content),
        }
    }

    /// The segments of the indefinite byte string that was begun, joined.
    pub(crate) fn byte_segments(&mut self) -> Result<Vec<u8>, CborError> {
        let mut joined = Vec::new();
        loop {
            let at = self.position();
            match self.token()? {
                Token::Bytes(segment) => joined.extend_from_slice(segment),
                Token::Break => return Ok(joined),
                _ => return Err(CborError::BadSegment { at }),
            }
        }
    }

    /// The segments of the indefinite text that was begun, joined.
    pub(crate) fn text_segments(&mut self) -> Result<String, CborError> {
        let mut joined = String::new();
        loop {
            let at = self.position();
            match self.token()? {
                Token::String(segment) => joined.push_str(segment),
                Token::Break => return Ok(joined),
                _ => return Err(CborError::BadSegment { at }),
            }
        }
    }

    /// Moves behind one item of any kind, checking that it is well-formed and its text UTF-8.
    pub(crate) fn skip(&mut self) -> Result<(), CborError> {
        let mut nesting = Nesting::default();
        loop {
            let at = self.position();
            let head = parse_head(&self.decoder.input()[at..], at)?;
            let (head, _) = head.ok_or(CborError::UnexpectedEnd { at })?;
            let (_, complete) = nesting.take(head, at)?;
            self.token()?;
            if complete {
                return Ok(());
            }
        }
    }
}
