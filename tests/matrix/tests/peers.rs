//! The reference cartridge of each language behind a switch: its calls of other caps, which the switch
//! takes to whichever cartridge offers them, and a live feed that goes through it.

use std::thread;
use std::time::Duration;

use sluicegate::feed::{Feed, FeedMeta, FeedOptions};
use sluicegate::{ErrorKind, Mode, Value};
use sluicegate_matrix::relay::{Stack, command, host_of, quiet, stack, stack_with};
use sluicegate_matrix::{each_language, feed, languages};

const LIMIT: Duration = Duration::from_secs(180);
const PEER: &str = "cap:fc-peer;in=media:blob;out=media:blob";
const FEED: &str = "cap:fc-feed;in=media:feed-frames;out=media:items";

/// A language, the cap that it alone offers, and what that makes of a byte.
type Demo = (&'static str, &'static str, fn(u8) -> u8);

const DEMOS: [Demo; 5] = [
    ("c", "cap:count;in=media:blob;out=media:blob", |byte| byte),
    ("go", "cap:rot13;in=media:blob;out=media:blob", rot13),
    ("python", "cap:upper;in=media:blob;out=media:blob", |byte| byte.to_ascii_uppercase()),
    ("rust", "cap:checksum;in=media:blob;out=media:blob", |byte| byte),
    ("swift", "cap:xor;in=media:blob;out=media:blob", |byte| byte ^ 0x5a),
];

fn rot13(byte: u8) -> u8 {
    match byte {
        b'A'..=b'M' | b'a'..=b'm' => byte + 13,
        b'N'..=b'Z' | b'n'..=b'z' => byte - 13,
        other => other,
    }
}

/// The demo cap of the language that comes after this one.
fn next(language: &str) -> Demo {
    let all = languages();
    let at = all.iter().position(|other| *other == language).expect("a language");
    let next = all[(at + 1) % all.len()];
    DEMOS.into_iter().find(|demo| demo.0 == next).expect("each has one")
}

fn data() -> Vec<u8> {
    (0..300_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// What `fc-peer` answers to these bytes.
fn asked(stack: &Stack, bytes: &[u8]) -> Result<Vec<u8>, sluicegate::Error> {
    let call = stack.caller.call(PEER)?;
    let fed = feed(&call, "media:blob", vec![Value::Bytes(bytes.to_vec().into())]);
    let back = call.blocking_output()?.blocking_collect_bytes();
    call.blocking_wait()?;
    fed.join().expect("no panic")?;
    Ok(back?.to_vec())
}

#[test]
fn a_cartridge_that_calls_a_cap_of_its_own_is_asked_while_it_asks() {
    each_language(LIMIT, |language| {
        let stack = stack(language, 3, None);
        let data = data();
        let back = asked(&stack, &data).unwrap_or_else(|error| panic!("{language}: {error}"));
        assert!(back == data, "{language}");
        assert_eq!(stack.host.pids().len(), 1, "{language}: one process is both");
        let stats = quiet(&stack.switch);
        assert_eq!(stats["requests"]["terminated_by_kind"]["end"], 2, "{language}: {stats}");
        assert_eq!(stats["drops"]["total"], 0, "{language}: {stats}");
    });
}

#[test]
fn a_cartridge_calls_a_cap_that_another_one_offers() {
    each_language(LIMIT, |language| {
        let (other, cap, makes) = next(language);
        let stack = stack_with(&command(language).env("FC_PEER_CAP", cap), 3, None);
        let data = data();
        let call = stack.caller.call(PEER).expect("a call");
        let input = call.input("media:blob").expect("takes bytes");
        input.blocking_write(&data).expect("it is collected");
        // Only now: else the switch might take the first call to this one, which offers fc-peer too.
        let beside = host_of(other, 3, None, &stack.switch);
        call.blocking_finish_input().expect("all was taken");
        let back = call.blocking_output().expect("a result").blocking_collect_bytes();
        let wanted: Vec<u8> = data.iter().map(|byte| makes(*byte)).collect();
        assert!(back.expect("an answer") == wanted, "{language} asks {other}");
        call.blocking_wait().expect("done");
        assert_eq!(beside.pids().len(), 1, "{language}: {other} was started for it");
    });
}

#[test]
fn a_call_of_a_cap_that_nobody_offers_fails_with_the_reason() {
    each_language(LIMIT, |language| {
        let nobody = "cap:nobody;in=media:blob;out=media:blob";
        let stack = stack_with(&command(language).env("FC_PEER_CAP", nobody), 3, None);
        let error = asked(&stack, &data()).expect_err("nobody offers it");
        assert_eq!(error.kind(), ErrorKind::NoHandler, "{language}: {error}");
        assert!(error.message().contains("cap:nobody"), "{language}: {error}");
    });
}

/// A feed that nothing is lost of: each item comes through a cartridge with the metadata it left with.
#[test]
fn a_live_feed_comes_back_with_its_metadata() {
    each_language(LIMIT, |language| {
        let stack = stack(language, 4, None);
        let options = FeedOptions { capacity: 300, ..FeedOptions::default() };
        let (live, device) = Feed::open(options).expect("a ring");
        let call = stack.caller.call(FEED).expect("a call");
        let input = call.input("media:feed-frames").expect("takes a feed");
        let serving = call.clone();
        let served = thread::spawn(move || {
            live.blocking_serve(&input)?;
            serving.blocking_finish_input()
        });
        for n in 0..300_u64 {
            device.push_at(Value::Bytes(vec![n as u8; 50].into()), n * 40_000, 1_000_000 + n);
        }
        device.finish();
        let output = call.blocking_output().expect("a result");
        assert_eq!(output.info().mode, Mode::Sequence, "{language}");
        for n in 0..300_u64 {
            let item = output.blocking_recv().expect("an item").expect("no end yet");
            assert_eq!(item.value, Value::Bytes(vec![n as u8; 50].into()), "{language}, item {n}");
            let meta = item.meta.as_ref().and_then(FeedMeta::read);
            let (pts_us, capture_ts_us) = (n * 40_000, 1_000_000 + n);
            let wanted = FeedMeta { seq: n, pts_us, capture_ts_us, gap: None };
            assert_eq!(meta, Some(wanted), "{language}, item {n}");
        }
        assert!(output.blocking_recv().expect("the end").is_none(), "{language}");
        served.join().expect("no panic").expect("all was taken");
        call.blocking_wait().expect("done");
    });
}
