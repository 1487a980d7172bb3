//! Where an item of a sequence ends, while its fragments arrive.

use super::cbor::{CborError, Nesting, parse_head};

/// Longest head, in bytes.
const MAX_HEAD: usize = 9;

/// What one more fragment did to the item.
#[must_use = "whether the item is complete decides when its credit is given back (L10)"]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scan {
    /// All of the fragment belongs to an item that is not complete yet, or there is no item at all.
    Incomplete,
    /// The fragment's last byte completes the item.
    Complete,
    /// The item is complete, and others follow in the same fragment: push `fragment[used..]` next.
    Trailing {
        /// Bytes of the fragment that belong to the item.
        used: usize,
    },
}

/// Finds the end of CBOR items in a stream of fragments.
///
/// Each byte is looked at once at most, and the content of strings not at all: the cost is linear in what
/// is pushed, however it is cut. Nothing is kept but the open levels, which are at most
/// [`MAX_DEPTH`](super::MAX_DEPTH). After a complete item the next push begins another.
///
/// It checks that items are well-formed, not that their text is UTF-8: who decodes the item will.
///
/// ```
/// use sluicegate::frame::{ItemScanner, Scan};
///
/// let mut scanner = ItemScanner::new();
/// assert_eq!(scanner.push(&[0x82, 0x01]), Ok(Scan::Incomplete));
/// assert_eq!(scanner.push(&[0x02, 0x05]), Ok(Scan::Trailing { used: 1 }));
/// assert_eq!(scanner.push(&[0x05]), Ok(Scan::Complete));
/// assert!(scanner.is_between_items());
/// ```
#[derive(Debug, Clone, Default)]
pub struct ItemScanner {
    nesting: Nesting,
    /// A head of which not all bytes came yet: those that did.
    cut: Vec<u8>,
    /// String content that is still to come, in bytes.
    content: u64,
    /// The item is complete behind that content.
    last: bool,
    /// Bytes of the item so far.
    taken: u64,
    failed: Option<CborError>,
}

impl ItemScanner {
    /// Between items.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes, up to the end of an item at most.
    ///
    /// # Errors
    /// [`CborError`] when these bytes can't belong to an item, with offsets from the item's first byte. There
    /// is no way on from there: each later push answers the same.
    pub fn push(&mut self, fragment: &[u8]) -> Result<Scan, CborError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let scanned = self.scan(fragment);
        self.failed = scanned.err();
        scanned
    }

    /// Whether no item is begun: the only place where a stream may end.
    #[must_use]
    pub fn is_between_items(&self) -> bool {
        self.taken == 0
    }

    /// Bytes of the item that is begun; 0 between items.
    #[must_use]
    pub fn item_len(&self) -> u64 {
        self.taken
    }

    fn scan(&mut self, fragment: &[u8]) -> Result<Scan, CborError> {
        let mut rest = fragment;
        while !rest.is_empty() {
            let took = if self.content > 0 {
                let took =
                    usize::try_from(self.content).map_or(rest.len(), |all| all.min(rest.len()));
                self.content -= took as u64;
                took
            } else {
                self.head(rest)?
            };
            rest = &rest[took..];
            self.taken = self.taken.saturating_add(took as u64);
            if self.last && self.content == 0 {
                self.last = false;
                self.taken = 0;
                return Ok(match rest {
                    [] => Scan::Complete,
                    rest => Scan::Trailing { used: fragment.len() - rest.len() },
                });
            }
        }
        Ok(Scan::Incomplete)
    }

    /// Takes a head, or as much of it as `rest` (not empty) has: a whole one opens or closes levels.
    /// Answers how many bytes it took.
    fn head(&mut self, rest: &[u8]) -> Result<usize, CborError> {
        let had = self.cut.len();
        let at = usize::try_from(self.taken).unwrap_or(usize::MAX) - had;
        if had == 0
            && let Some((head, len)) = parse_head(rest, at)?
        {
            (self.content, self.last) = self.nesting.take(head, at)?;
            return Ok(len);
        }
        self.cut.extend_from_slice(&rest[..rest.len().min(MAX_HEAD - had)]);
        let Some((head, len)) = parse_head(&self.cut, at)? else {
            return Ok(rest.len());
        };
        self.cut.clear();
        (self.content, self.last) = self.nesting.take(head, at)?;
        Ok(len - had)
    }
}
