//! How values become chunk payloads, and chunk payloads items again. Pure.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use super::Mode;
use crate::account::load::{CHUNKS_PER_ITEM, ENTRY, ITEMS_PER_CHUNK};
use crate::error::{Error, ErrorKind};
use crate::frame::{CborError, ItemScanner, Scan, Value, fnv1a64};

/// The payload of one chunk and the checksum it came with.
#[derive(Clone, Debug)]
pub(crate) struct Fragment {
    pub(crate) payload: Bytes,
    pub(crate) checksum: u64,
}

impl Fragment {
    fn verify(&self) -> Result<(), Error> {
        let actual = fnv1a64(&self.payload);
        if actual == self.checksum {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Checksum,
            format!(
                "a chunk of {} bytes has checksum {actual:016x}, its frame says {:016x}",
                self.payload.len(),
                self.checksum
            ),
        ))
    }
}

/// One value or item as it arrived, not yet verified or decoded.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub(crate) fragments: Vec<Fragment>,
    pub(crate) meta: Option<Value>,
    /// A chunk's credit is held by this item and is given back when it is consumed.
    pub(crate) holds_credit: bool,
}

impl Arrived {
    /// A chunk of a scalar stream.
    pub(crate) fn scalar(fragment: Fragment, meta: Option<Value>) -> Self {
        Arrived { fragments: vec![fragment], meta, holds_credit: true }
    }

    /// The bytes that it holds, with what it costs to hold them.
    pub(crate) fn held(&self) -> u64 {
        cost_of(&self.fragments, self.meta.as_ref()).max(ENTRY)
    }

    /// Verifies the checksums and decodes the value; `None` for a chunk that carries none.
    pub(crate) fn open(self) -> Result<Option<(Value, Option<Value>)>, Error> {
        for fragment in &self.fragments {
            fragment.verify()?;
        }
        let payload = join(self.fragments);
        if payload.is_empty() {
            return Ok(None);
        }
        let value = Value::decode_shared(&payload).map_err(|e| undecodable(&e))?;
        Ok(Some((value, self.meta)))
    }
}

/// The bytes that the chunks of an item hold, with what each costs to hold.
fn cost_of(fragments: &[Fragment], meta: Option<&Value>) -> u64 {
    let each = fragments.iter().map(|fragment| {
        ENTRY.saturating_add(u64::try_from(fragment.payload.len()).unwrap_or(u64::MAX))
    });
    each.fold(meta.map_or(0, Value::held), u64::saturating_add)
}

fn undecodable(error: &CborError) -> Error {
    Error::new(ErrorKind::Malformed, format!("a chunk's payload is not a CBOR value: {error}"))
}

fn join(mut fragments: Vec<Fragment>) -> Bytes {
    if fragments.len() == 1 {
        return fragments.swap_remove(0).payload;
    }
    let total = fragments.iter().map(|f| f.payload.len()).sum();
    let mut whole = BytesMut::with_capacity(total);
    for fragment in fragments {
        whole.extend_from_slice(&fragment.payload);
    }
    whole.freeze()
}

/// Joins the chunks of a sequence stream to items.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    scanner: ItemScanner,
    fragments: Vec<Fragment>,
    meta: Option<Value>,
    bytes: u64,
}

impl Assembler {
    /// A chunk arrives. Completed items go to `items`; true if it completed one, which then holds
    /// its credit. False: it only continues an item and is given back at once (L10). A chunk of
    /// nothing continues nothing: it is queued, and given back when a consumer passes it.
    pub(crate) fn push(
        &mut self,
        mut fragment: Fragment,
        mut meta: Option<Value>,
        max_item: u64,
        items: &mut VecDeque<Arrived>,
    ) -> Result<bool, Error> {
        if fragment.payload.is_empty() {
            items.push_back(Arrived { fragments: Vec::new(), meta: None, holds_credit: true });
            return Ok(true);
        }
        let mut completed = 0;
        loop {
            if self.fragments.is_empty() {
                self.meta = meta.take();
            }
            let scan = self.scanner.push(&fragment.payload).map_err(|e| undecodable(&e))?;
            let rest = match scan {
                Scan::Trailing { used } if used < fragment.payload.len() => {
                    fragment.verify()?; // it is about to be cut, and its checksum with it
                    let rest = fragment.payload.split_off(used);
                    fragment.checksum = fnv1a64(&fragment.payload);
                    Some(rest)
                }
                _ => None,
            };
            let more = u64::try_from(fragment.payload.len()).unwrap_or(u64::MAX);
            self.bytes = self.bytes.saturating_add(more);
            if self.fragments.len() == CHUNKS_PER_ITEM {
                let message = format!("an item comes in more than {CHUNKS_PER_ITEM} chunks");
                return Err(Error::new(ErrorKind::LimitReached, message));
            }
            if self.bytes > max_item {
                return Err(Error::new(
                    ErrorKind::LimitReached,
                    format!("an item is larger than the limit of {max_item} bytes"),
                ));
            }
            self.fragments.push(fragment);
            if matches!(scan, Scan::Incomplete) {
                return Ok(completed > 0);
            }
            if completed == ITEMS_PER_CHUNK {
                let message = format!("a chunk holds more than {ITEMS_PER_CHUNK} items");
                return Err(Error::new(ErrorKind::LimitReached, message));
            }
            items.push_back(Arrived {
                fragments: std::mem::take(&mut self.fragments),
                meta: self.meta.take(),
                holds_credit: completed == 0,
            });
            completed += 1;
            self.bytes = 0;
            self.scanner = ItemScanner::new();
            let Some(rest) = rest else { return Ok(true) };
            fragment = Fragment { checksum: fnv1a64(&rest), payload: rest };
        }
    }

    /// The bytes that an item which is not complete holds, with what it costs to hold them.
    pub(crate) fn cost(&self) -> u64 {
        cost_of(&self.fragments, self.meta.as_ref())
    }

    /// Bytes of an item that is not complete.
    pub(crate) fn held(&self) -> u64 {
        self.bytes
    }
}

/// What a chunk adds to the payload bytes of a stream: of a byte string or a text its content, without
/// the head that says how long it is.
pub(crate) fn content_length(payload: &[u8], mode: Mode) -> u64 {
    let head = match payload.first() {
        Some(first) if mode == Mode::Scalar && matches!(first >> 5, 2 | 3) => match first & 0x1f {
            0..24 => 1,
            24 => 2,
            25 => 3,
            26 => 5,
            27 => 9,
            _ => 0, // of no definite length: counted as it is
        },
        _ => 0,
    };
    u64::try_from(payload.len().saturating_sub(head)).unwrap_or(u64::MAX)
}

/// Cuts `text` into pieces of at most `max` bytes, between characters, with at least one character
/// in each. The empty text is one piece.
pub(crate) fn split_text(mut text: &str, max: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    if text.is_empty() {
        pieces.push(text);
    }
    while !text.is_empty() {
        let fits = (1..=max.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
        let first = text.chars().next().map_or(1, char::len_utf8);
        let (piece, rest) = text.split_at(fits.unwrap_or(first));
        pieces.push(piece);
        text = rest;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_byte_string_or_text_is_no_content() {
        for length in [0, 12, 23, 24, 255, 256, 65_535, 65_536] {
            let bytes = Value::Bytes(vec![7; length].into()).encode();
            assert_eq!(content_length(&bytes, Mode::Scalar), length as u64);
            let text = Value::Text("x".repeat(length)).encode();
            assert_eq!(content_length(&text, Mode::Scalar), length as u64);
        }
        let number = Value::from(300_u64).encode();
        assert_eq!(content_length(&number, Mode::Scalar), number.len() as u64);
        assert_eq!(content_length(&[0x43, 1, 2], Mode::Sequence), 3);
        assert_eq!(content_length(&[], Mode::Scalar), 0);
    }

    fn fragment(bytes: &[u8]) -> Fragment {
        let payload = Bytes::copy_from_slice(bytes);
        Fragment { checksum: fnv1a64(&payload), payload }
    }

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(split_text("héllo", 2), ["h", "é", "ll", "o"]);
        assert_eq!(split_text("", 2), [""]);
        assert_eq!(split_text("é", 1), ["é"], "a character is never cut");
        assert_eq!(split_text("ab", 2), ["ab"]);
    }

    #[test]
    fn an_item_is_complete_with_its_last_fragment_and_only_then() {
        let item = Value::Bytes(Bytes::from(vec![7; 50])).encode();
        let mut assembler = Assembler::default();
        let mut items = VecDeque::new();
        let parts: Vec<_> = item.chunks(16).collect();
        for (n, part) in parts.iter().enumerate() {
            let done = assembler.push(fragment(part), None, 1000, &mut items).expect("well formed");
            assert_eq!(done, n + 1 == parts.len());
        }
        let arrived = items.pop_front().expect("complete");
        assert!(arrived.holds_credit);
        let (value, _) = arrived.open().expect("decodes").expect("a value");
        assert_eq!(value.encode(), item);
        assert_eq!(assembler.held(), 0);
    }

    #[test]
    fn several_items_in_one_chunk_hold_one_credit() {
        let mut assembler = Assembler::default();
        let mut items = VecDeque::new();
        assert!(assembler.push(fragment(&[1, 2, 0x42, 9]), None, 100, &mut items).expect("fine"));
        assert_eq!(items.iter().map(|i| i.holds_credit).collect::<Vec<_>>(), [true, false]);
        assert_eq!(assembler.held(), 2);
    }

    #[test]
    fn a_chunk_of_nothing_holds_its_credit_and_no_memory() {
        let mut assembler = Assembler::default();
        let mut items = VecDeque::new();
        assert!(!assembler.push(fragment(&[0x42, 9]), None, 100, &mut items).expect("begun"));
        assert!(assembler.push(fragment(&[]), None, 100, &mut items).expect("nothing"));
        assert!(assembler.push(fragment(&[9]), None, 100, &mut items).expect("complete"));
        let nothing = items.pop_front().expect("queued");
        assert!(nothing.holds_credit && nothing.open().expect("fine").is_none());
        let (value, _) = items.pop_front().expect("queued").open().expect("fine").expect("a value");
        assert_eq!(value, Value::Bytes(Bytes::from_static(&[9, 9])));
    }

    #[test]
    fn many_fragments_or_items_are_bounded_by_what_they_cost() {
        let mut assembler = Assembler::default();
        let mut items = VecDeque::new();
        let (head, byte) = (fragment(&[0x5a, 1, 0, 0, 0]), fragment(&[0]));
        assert!(!assembler.push(head, None, u64::MAX, &mut items).expect("begun"));
        let refused = (0..=CHUNKS_PER_ITEM)
            .find_map(|_| assembler.push(byte.clone(), None, u64::MAX, &mut items).err());
        assert_eq!(refused.expect("refused").kind(), ErrorKind::LimitReached);
        let mut assembler = Assembler::default();
        let error = assembler.push(fragment(&vec![0; 5000]), None, 100_000, &mut items);
        assert_eq!(error.expect_err("refused").kind(), ErrorKind::LimitReached);
    }

    #[test]
    fn an_item_above_the_limit_is_refused() {
        let mut assembler = Assembler::default();
        let head = [0x5a, 0xff, 0xff, 0xff, 0xff, 0, 0, 0];
        let error = assembler.push(fragment(&head), None, 7, &mut VecDeque::new());
        assert_eq!(error.expect_err("refused").kind(), ErrorKind::LimitReached);
    }

    #[test]
    fn a_wrong_checksum_is_named() {
        let bad = Fragment { checksum: 1, payload: Bytes::from_static(&[7]) };
        let error = Arrived::scalar(bad, None).open().expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::Checksum);
    }
}
