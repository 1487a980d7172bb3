//! CBOR values, and the scanner that finds where one ends.

use bytes::Bytes;
use sluicegate::frame::{
    CborError, Fnv1a, ItemScanner, MAX_DEPTH, Scan, Value, encode_bytes, encode_text, fnv1a64,
};

fn uint(number: u64) -> Value {
    Value::Uint(number)
}

/// Decodes by every entry, and has the scanner agree on where the value ends.
#[track_caller]
fn decode(data: &[u8]) -> Result<Value, CborError> {
    let value = Value::decode(data);
    let shared = Value::decode_shared(&Bytes::copy_from_slice(data));
    assert_eq!(format!("{value:?}"), format!("{shared:?}"));
    if let Ok(value) = &value {
        assert_eq!(Value::decode_prefix(data).map(|(_, used)| used), Ok(data.len()));
        assert_eq!(ItemScanner::new().push(data), Ok(Scan::Complete), "{value:?}");
    }
    value
}

#[track_caller]
fn both_ways(value: Value, bytes: &[u8]) {
    assert_eq!(value.encode(), bytes, "{value:?}");
    assert_eq!(decode(bytes), Ok(value));
}

#[test]
fn values_have_the_shortest_encoding() {
    both_ways(uint(0), &[0x00]);
    both_ways(uint(23), &[0x17]);
    both_ways(uint(24), &[0x18, 24]);
    both_ways(uint(255), &[0x18, 255]);
    both_ways(uint(256), &[0x19, 1, 0]);
    both_ways(uint(65_536), &[0x1a, 0, 1, 0, 0]);
    both_ways(uint(1 << 32), &[0x1b, 0, 0, 0, 1, 0, 0, 0, 0]);
    both_ways(uint(u64::MAX), &[0x1b, 255, 255, 255, 255, 255, 255, 255, 255]);
    both_ways(Value::Nint(0), &[0x20]);
    both_ways(Value::Nint(u64::MAX), &[0x3b, 255, 255, 255, 255, 255, 255, 255, 255]);
    both_ways(Value::Bytes(Bytes::from_static(b"ab")), b"\x42ab");
    both_ways("h\u{e9}".into(), b"\x63h\xc3\xa9");
    both_ways(Value::Array(vec![]), &[0x80]);
    both_ways(Value::Map(vec![]), &[0xa0]);
    both_ways(vec![uint(1), Value::Array(vec![uint(2)])].into(), &[0x82, 1, 0x81, 2]);
    both_ways(Value::text_map([("b", uint(1)), ("a", uint(2))]), b"\xa2\x61b\x01\x61a\x02");
    both_ways(false.into(), &[0xf4]);
    both_ways(true.into(), &[0xf5]);
    both_ways(Value::Null, &[0xf6]);
    both_ways(Value::Undefined, &[0xf7]);
    both_ways(Value::Simple(19), &[0xf3]);
    both_ways(Value::Simple(32), &[0xf8, 32]);
    both_ways(Value::Simple(255), &[0xf8, 255]);
    both_ways(1.5.into(), &[0xfb, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0]);
    both_ways(f64::NEG_INFINITY.into(), &[0xfb, 0xff, 0xf0, 0, 0, 0, 0, 0, 0]);
    let bignum = Value::Bytes(Bytes::from_static(&[1, 0, 0, 0, 0, 0, 0, 0, 0]));
    both_ways(Value::Tag(2, Box::new(bignum)), b"\xc2\x49\x01\0\0\0\0\0\0\0\0");
    both_ways(Value::Tag(55_799, Box::new(uint(1))), &[0xd9, 0xd9, 0xf7, 1]);
}

#[test]
fn decoding_takes_every_well_formed_form() {
    assert_eq!(decode(&[0x1b, 0, 0, 0, 0, 0, 0, 0, 7]), Ok(uint(7)));
    assert_eq!(
        decode(&[0x9f, 1, 0x9f, 0xff, 0xff]),
        Ok(vec![uint(1), Value::Array(vec![])].into())
    );
    let map = Value::Map(vec![(uint(1), uint(2)), (uint(3), Value::Map(vec![]))]);
    assert_eq!(decode(&[0xbf, 1, 2, 3, 0xa0, 0xff]), Ok(map));
    assert_eq!(decode(b"\x5f\x41a\x40\x42bc\xff"), Ok(Bytes::from_static(b"abc").into()));
    assert_eq!(decode(b"\x5f\xff"), Ok(Bytes::new().into()));
    assert_eq!(decode(b"\x7f\x61h\x62\xc3\xa9\xff"), Ok("h\u{e9}".into()));
    // Keys of a map may be containers, and may repeat.
    let odd = Value::Map(vec![(vec![uint(1)].into(), uint(2)), (vec![uint(1)].into(), uint(3))]);
    assert_eq!(decode(&[0xa2, 0x81, 1, 2, 0x81, 1, 3]), Ok(odd));
}

#[test]
fn floats_of_every_width_are_numbers() {
    let half =
        |bits: u16| decode(&[0xf9, (bits >> 8) as u8, bits as u8]).unwrap().as_f64().unwrap();
    assert_eq!(half(0x0000), 0.0);
    assert!(half(0x8000).is_sign_negative());
    assert_eq!(half(0x3c00), 1.0);
    assert_eq!(half(0xc400), -4.0);
    assert_eq!(half(0x7bff), 65_504.0);
    assert_eq!(half(0x0001), 5.960_464_477_539_063e-8);
    assert_eq!(half(0x03ff), 1023.0 * 2f64.powi(-24));
    assert_eq!(half(0x0400), 2f64.powi(-14));
    assert_eq!(half(0x7c00), f64::INFINITY);
    assert_eq!(half(0xfc00), f64::NEG_INFINITY);
    assert!(half(0x7e00).is_nan());
    assert_eq!(decode(&[0xfa, 0x47, 0xc3, 0x50, 0]), Ok(100_000.0.into()));
    assert_eq!(decode(&[0xfa, 0x7f, 0x80, 0, 0]), Ok(f64::INFINITY.into()));
}

#[test]
fn malformed_input_is_refused_by_name() {
    let end = |at| Err(CborError::UnexpectedEnd { at });
    assert_eq!(decode(&[]), end(0));
    assert_eq!(decode(&[0x18]), end(0));
    assert_eq!(decode(&[0x82, 1]), end(0));
    assert_eq!(decode(&[0x9f, 1]), end(2));
    assert_eq!(decode(&[0x43, 1, 2]), end(1));
    assert_eq!(decode(&[0x5f, 0x41]), end(2));
    // Declared sizes beyond any memory are refused at the head, without reserving a byte.
    for major in [0x5b, 0x7b, 0x9b, 0xbb] {
        let huge = [major, 255, 255, 255, 255, 255, 255, 255, 255, 0];
        assert!(matches!(decode(&huge), Err(CborError::UnexpectedEnd { .. })), "{major:#x}");
    }
    for byte in [0x1c, 0x1e, 0x1f, 0x3f, 0x5c, 0xdf, 0xfc, 0xfe] {
        assert_eq!(decode(&[byte]), Err(CborError::Reserved { byte, at: 0 }));
    }
    assert_eq!(decode(&[0xf8, 31]), Err(CborError::Reserved { byte: 0xf8, at: 0 }));
    assert_eq!(decode(&[0xff]), Err(CborError::UnexpectedBreak { at: 0 }));
    assert_eq!(decode(&[0x82, 1, 0xff]), Err(CborError::UnexpectedBreak { at: 2 }));
    assert_eq!(decode(&[0xbf, 1, 0xff]), Err(CborError::UnexpectedBreak { at: 2 }));
    assert_eq!(decode(&[0xc1, 0xff]), Err(CborError::UnexpectedBreak { at: 1 }));
    assert_eq!(decode(b"\x5f\x61a\xff"), Err(CborError::BadSegment { at: 1 }));
    assert_eq!(decode(b"\x5f\x5f\xff\xff"), Err(CborError::BadSegment { at: 1 }));
    assert_eq!(decode(b"\x7f\x41a\xff"), Err(CborError::BadSegment { at: 1 }));
    assert_eq!(decode(b"\x62\xc3\x28"), Err(CborError::InvalidUtf8 { at: 1 }));
    // A character may not be spread over segments.
    assert_eq!(decode(b"\x7f\x61\xc3\x61\xa9\xff"), Err(CborError::InvalidUtf8 { at: 2 }));
    assert_eq!(decode(&[1, 2, 3]), Err(CborError::Trailing { extra: 2 }));
    assert_eq!(Value::decode_prefix(&[1, 2, 3]), Ok((uint(1), 1)));
}

/// Runs on a thread with a stack of so many KiB.
fn on_a_stack_of(kib: usize, work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(kib * 1024);
    thread.spawn(work).unwrap().join().unwrap();
}

fn nested(head: &[u8], depth: usize, tail: &[u8]) -> Vec<u8> {
    [head.repeat(depth), vec![0], tail.repeat(depth)].concat()
}

const NESTING: [(&[u8], &[u8]); 4] =
    [(&[0x81], &[]), (&[0x9f], &[0xff]), (&[0xc1], &[]), (&[0xa1, 0], &[])];

#[test]
fn nesting_is_bounded_on_a_small_stack() {
    // A build without optimisation needs several times the stack of a release build.
    on_a_stack_of(256, || {
        for (head, tail) in NESTING {
            let value = Value::decode(&nested(head, MAX_DEPTH, tail)).expect("as deep as allowed");
            let again = value.encode();
            drop(value);
            assert_eq!(ItemScanner::new().push(&again), Ok(Scan::Complete));
            for depth in [MAX_DEPTH + 1, 100_000] {
                let too_deep = nested(head, depth, tail);
                assert_eq!(Value::decode(&too_deep).err(), Some(CborError::TooDeep));
                assert_eq!(ItemScanner::new().push(&too_deep), Err(CborError::TooDeep));
            }
        }
    });
}

#[test]
fn the_deepest_value_is_a_value_like_any_other() {
    on_a_stack_of(2048, || {
        for (head, tail) in NESTING {
            let value = decode(&nested(head, MAX_DEPTH, tail)).expect("as deep as allowed");
            assert_eq!(Value::decode(&value.encode()), Ok(value.clone()));
        }
    });
}

#[test]
fn shared_decoding_copies_no_definite_byte_string() {
    let data: Bytes =
        Value::Array(vec![Bytes::from_static(b"abc").into(), "t".into()]).encode().into();
    let value = Value::decode_shared(&data).unwrap();
    let inner = value.as_array().unwrap()[0].as_bytes().unwrap();
    assert!(data.as_ptr_range().contains(&inner.as_ptr()));
    let copied = Value::decode(&data).unwrap();
    assert!(
        !data.as_ptr_range().contains(&copied.as_array().unwrap()[0].as_bytes().unwrap().as_ptr())
    );
}

#[test]
fn accessors_answer_their_own_type_only() {
    assert_eq!(Value::from(-1i64), Value::Nint(0));
    assert_eq!(Value::from(i64::MIN), Value::Nint(i64::MAX as u64));
    assert_eq!(Value::from(i64::MIN).as_i64(), Some(i64::MIN));
    assert_eq!(Value::Nint(u64::MAX).as_i64(), None);
    assert_eq!(uint(u64::MAX).as_i64(), None);
    assert_eq!(Value::from(7i64).as_u64(), Some(7));
    assert_eq!(Value::from(-7i64).as_u64(), None);
    assert_eq!(Value::from(-7i64).as_f64(), Some(-7.0));
    assert_eq!(Value::from(7.0).as_u64(), None);
    assert_eq!(Value::from(true).as_u64(), None);
    assert_eq!(uint(1).as_bool(), None);
    assert!(Value::Null.is_null() && !Value::Undefined.is_null());
    let map = Value::text_map([("a", uint(1)), ("a", uint(2))]);
    assert_eq!(map.get("a"), Some(&uint(1)));
    assert_eq!(map.get("b"), None);
    assert_eq!(uint(1).get("a"), None);
    assert_eq!(map.kind(), "map");
    // Numbers that are no simple value of their own can't be smuggled in as another type.
    assert_eq!(Value::Simple(20).encode(), [0xf7]);
    assert_eq!(Value::Simple(31).encode(), [0xf7]);
}

#[test]
fn chunk_payloads_are_one_string() {
    for len in [0, 1, 23, 24, 255, 256, 65_536] {
        let content = vec![7u8; len];
        let value = Value::decode_shared(&encode_bytes(&content)).unwrap();
        assert_eq!(value.as_bytes().unwrap(), &content);
    }
    assert_eq!(Value::decode(&encode_text("h\u{e9}")), Ok("h\u{e9}".into()));
}

#[test]
fn checksums_of_the_specification() {
    assert_eq!(fnv1a64(b""), 14_695_981_039_346_656_037);
    assert_eq!(fnv1a64(b"a"), 12_638_187_200_555_641_996);
    assert_eq!(fnv1a64(b"foobar"), 9_625_390_261_332_436_968);
    assert_eq!(Fnv1a::default().finish(), fnv1a64(b""));
    let data: Vec<u8> = (0..=255).collect();
    for cut in 0..data.len() {
        let mut sum = Fnv1a::new();
        sum.update(&data[..cut]);
        sum.update(&data[cut..]);
        assert_eq!(sum.finish(), fnv1a64(&data));
    }
}

/// A small generator (splitmix64): the same values on every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Numbers of every width.
    fn number(&mut self) -> u64 {
        let bits = self.below(64);
        self.next() >> bits
    }

    fn value(&mut self, depth: u64) -> Value {
        let kinds = if depth == 0 { 9 } else { 13 };
        match self.below(kinds) {
            0 => Value::Uint(self.number()),
            1 => Value::Nint(self.number()),
            2 | 3 => {
                let len = self.below(40);
                (0..len).map(|_| self.next() as u8).collect::<Vec<u8>>().into()
            }
            4 | 5 => {
                let len = self.below(30);
                let letter = |random: &mut Self| {
                    ['a', '\u{e9}', '\u{20ac}', '\u{1f600}'][random.below(4) as usize]
                };
                (0..len).map(|_| letter(self)).collect::<String>().into()
            }
            6 => Value::Float(self.number() as f64 / 3.0),
            7 => [Value::Bool(true), Value::Bool(false), Value::Null, Value::Undefined]
                [self.below(4) as usize]
                .clone(),
            8 => Value::Simple([0, 19, 32, 255][self.below(4) as usize]),
            9 | 10 => {
                let len = self.below(5);
                (0..len).map(|_| self.value(depth - 1)).collect::<Vec<_>>().into()
            }
            11 => {
                let len = self.below(5);
                Value::Map(
                    (0..len).map(|_| (self.value(depth - 1), self.value(depth - 1))).collect(),
                )
            }
            _ => Value::Tag(self.number(), Box::new(self.value(depth - 1))),
        }
    }

    /// Another well-formed encoding of the same value: longer heads, indefinite lengths, strings in
    /// segments.
    fn encode_oddly(&mut self, value: &Value, out: &mut Vec<u8>) {
        let indefinite = self.below(2) == 0;
        match value {
            Value::Uint(number) => self.odd_head(0, *number, out),
            Value::Nint(number) => self.odd_head(1, *number, out),
            Value::Bytes(bytes) if indefinite => {
                out.push(0x5f);
                for piece in bytes.chunks(7) {
                    self.odd_head(2, piece.len() as u64, out);
                    out.extend_from_slice(piece);
                }
                out.push(0xff);
            }
            Value::Text(text) if indefinite => {
                out.push(0x7f);
                for letter in text.chars().map(String::from) {
                    self.odd_head(3, letter.len() as u64, out);
                    out.extend_from_slice(letter.as_bytes());
                }
                out.push(0xff);
            }
            Value::Array(items) => {
                if indefinite {
                    out.push(0x9f)
                } else {
                    self.odd_head(4, items.len() as u64, out)
                }
                items.iter().for_each(|item| self.encode_oddly(item, out));
                out.extend(indefinite.then_some(0xff));
            }
            Value::Map(entries) => {
                if indefinite {
                    out.push(0xbf)
                } else {
                    self.odd_head(5, entries.len() as u64, out)
                }
                for (key, value) in entries {
                    self.encode_oddly(key, out);
                    self.encode_oddly(value, out);
                }
                out.extend(indefinite.then_some(0xff));
            }
            Value::Tag(tag, inner) => {
                self.odd_head(6, *tag, out);
                self.encode_oddly(inner, out);
            }
            value => value.encode_into(out),
        }
    }

    fn odd_head(&mut self, major: u8, number: u64, out: &mut Vec<u8>) {
        let widths: [(u8, usize, u64); 4] =
            [(24, 1, 0xff), (25, 2, 0xffff), (26, 4, 0xffff_ffff), (27, 8, u64::MAX)];
        let fitting: Vec<_> = widths.iter().filter(|(_, _, max)| number <= *max).collect();
        let (info, len, _) = fitting[self.below(fitting.len() as u64) as usize];
        out.push((major << 5) | info);
        out.extend_from_slice(&number.to_be_bytes()[8 - len..]);
    }
}

#[test]
fn random_values_come_back_from_any_encoding() {
    let mut random = Random(1);
    for _ in 0..4000 {
        let value = random.value(5);
        assert_eq!(decode(&value.encode()), Ok(value.clone()));
        let mut odd = Vec::new();
        random.encode_oddly(&value, &mut odd);
        assert_eq!(decode(&odd), Ok(value));
    }
}

#[test]
fn random_bytes_are_answered_alike() {
    let mut random = Random(2);
    let (mut whole, mut refused) = (0, 0);
    for _ in 0..200_000 {
        let len = random.below(12);
        let data: Vec<u8> = (0..len).map(|_| random.next() as u8).collect();
        let scanned = ItemScanner::new().push(&data);
        match Value::decode_prefix(&data) {
            Ok((_, used)) if used == data.len() => {
                assert_eq!(scanned, Ok(Scan::Complete), "{data:x?}");
                whole += 1;
            }
            Ok((_, used)) => assert_eq!(scanned, Ok(Scan::Trailing { used }), "{data:x?}"),
            Err(CborError::UnexpectedEnd { .. }) => {
                // A decoder may see from a declared size that the end is missing, before anything else.
                assert!(!matches!(scanned, Ok(Scan::Complete)), "{data:x?}");
                refused += 1;
            }
            Err(CborError::InvalidUtf8 { .. }) => {}
            Err(error) => {
                assert_eq!(scanned, Err(error), "{data:x?}");
                refused += 1;
            }
        }
    }
    assert!(whole > 1000 && refused > 1000, "{whole} whole, {refused} refused");
}

#[test]
fn scanner_finds_the_end_however_items_are_cut() {
    let mut random = Random(3);
    for _ in 0..400 {
        let mut item = Vec::new();
        let value = random.value(4);
        random.encode_oddly(&value, &mut item);
        for cut in 0..item.len() {
            let mut scanner = ItemScanner::new();
            assert_eq!(scanner.push(&item[..cut]), Ok(Scan::Incomplete), "{value:?} at {cut}");
            assert_eq!(scanner.item_len(), cut as u64);
            assert_eq!(scanner.is_between_items(), cut == 0);
            assert_eq!(scanner.push(&item[cut..]), Ok(Scan::Complete), "{value:?} at {cut}");
            assert!(scanner.is_between_items());
        }
    }
}

#[test]
fn scanner_takes_a_stream_of_items_in_any_fragments() {
    let mut random = Random(4);
    for max in [1, 2, 3, 7, 64] {
        let items: Vec<Vec<u8>> = (0..200).map(|_| random.value(4).encode()).collect();
        let stream = items.concat();
        let mut ends = Vec::new();
        let mut scanner = ItemScanner::new();
        let mut at = 0;
        while at < stream.len() {
            let fragment = 1 + random.below(max) as usize;
            let mut rest = &stream[at..(at + fragment).min(stream.len())];
            at += rest.len();
            loop {
                match scanner.push(rest).unwrap() {
                    Scan::Incomplete => break,
                    Scan::Complete => {
                        ends.push(at);
                        break;
                    }
                    Scan::Trailing { used } => {
                        rest = &rest[used..];
                        ends.push(at - rest.len());
                    }
                }
            }
        }
        let mut expected = 0;
        let expected: Vec<usize> = items
            .iter()
            .map(|item| {
                expected += item.len();
                expected
            })
            .collect();
        assert_eq!(ends, expected);
        assert!(scanner.is_between_items());
    }
}

#[test]
fn scanner_stays_where_it_failed() {
    let mut scanner = ItemScanner::new();
    assert_eq!(scanner.push(&[]), Ok(Scan::Incomplete));
    assert_eq!(scanner.push(&[0x82, 0x01]), Ok(Scan::Incomplete));
    let error = CborError::UnexpectedBreak { at: 2 };
    assert_eq!(scanner.push(&[0xff, 0x01]), Err(error));
    assert_eq!(scanner.push(&[0x01]), Err(error));
    assert!(!scanner.is_between_items());
}

#[test]
fn scanner_passes_over_content_without_looking() {
    // A byte string that declares more than there can be is only ever incomplete.
    let mut scanner = ItemScanner::new();
    assert_eq!(scanner.push(&[0x5b, 255, 255, 255, 255, 255, 255, 255, 255]), Ok(Scan::Incomplete));
    let filler = vec![0xffu8; 1 << 20];
    for _ in 0..1000 {
        assert_eq!(scanner.push(&filler), Ok(Scan::Incomplete));
    }
    assert_eq!(scanner.item_len(), 9 + 1000 * (1 << 20));
    let mut scanner = ItemScanner::new();
    assert_eq!(scanner.push(&[0xbb, 255, 255, 255, 255, 255, 255, 255, 255]), Ok(Scan::Incomplete));
    assert_eq!(scanner.push(&filler[..0]), Ok(Scan::Incomplete));
    assert_eq!(scanner.push(&[0; 4096]), Ok(Scan::Incomplete));
}
