//! Every cap of `tests/cartridges/README.md`, in every language, over real pipes.

use std::time::Duration;

use sha2::{Digest, Sha256};
use sluicegate::{AttributionClass, Error, ErrorKind, Event, Mode, Value};
use sluicegate_matrix::{ask, close, each_language, engine, feed, integers, start, taken};

const LIMIT: Duration = Duration::from_secs(180);

const ECHO: &str = "cap:fc-echo;in=media:blob;out=media:blob";
const ITEMS: &str = "cap:fc-items;in=media:items;out=media:items";
const PRODUCE: &str = "cap:fc-produce;in=media:json;out=media:blob";
const SINK: &str = "cap:fc-sink;in=media:blob;out=media:json";
const SLOW: &str = "cap:fc-slow;in=media:blob;out=media:json";
const DIGEST: &str = "cap:fc-digest;in=media:blob;out=media:json";
const FOREVER: &str = "cap:fc-forever;in=media:blob;out=media:blob";
const TWO: &str = "cap:fc-two;in=media:json;out=media:blob";
const MULTI: &str = "cap:fc-multi;in=media:blob;out=media:text";
const STDERR: &str = "cap:fc-stderr;in=media:blob;out=media:text";

#[test]
fn echo_keeps_types_with_every_window() {
    each_language(LIMIT, |language| {
        for window in [1, 2, 3, 32] {
            let engine = engine(window, 64);
            let peer = start(&engine, language);
            let values = vec![
                Value::Uint(u64::MAX),
                Value::from(-5_i64),
                Value::Text("grüße, 世界".into()),
                Value::Null,
                Value::Bool(false),
                Value::Float(-0.5),
                Value::Bytes((0..50).collect::<Vec<u8>>().into()),
                Value::Array(vec![Value::Uint(1), Value::Text("two".into())]),
                Value::text_map([("k", Value::Bool(true))]),
            ];
            let call = peer.call(ECHO).expect("live");
            let fed = feed(&call, "media:blob", values.clone());
            let items = call.blocking_output().expect("a result").blocking_collect_items();
            let back: Vec<Value> =
                items.expect("every value").into_iter().map(|item| item.value).collect();
            assert_eq!(back, values, "{language}, window {window}");
            fed.join().expect("no panic").expect("sent");
            assert_eq!(call.blocking_wait().expect("success").progress, 1.0, "{language}");
            close(&engine);
        }
    });
}

/// HZ-W03 across languages: items of many chunks, each with its meta, down to a window of one.
#[test]
fn items_wider_than_the_window_keep_their_meta() {
    each_language(LIMIT, |language| {
        for window in [1, 4] {
            let engine = engine(window, 16);
            let peer = start(&engine, language);
            let call = peer.call(ITEMS).expect("live");
            let input = call.input("media:items").expect("takes items");
            let feeding = call.clone();
            let fed = std::thread::spawn(move || {
                for n in 0..40_u64 {
                    let item = Value::text_map([
                        ("n", Value::Uint(n)),
                        ("data", Value::Bytes(vec![n as u8; 100].into())),
                    ]);
                    let meta =
                        n.is_multiple_of(2).then(|| Value::text_map([("even", Value::Uint(n))]));
                    input.blocking_emit_list_item(item, meta)?;
                }
                feeding.blocking_finish_input()
            });
            let output = call.blocking_output().expect("a result");
            assert_eq!(output.info().mode, Mode::Sequence, "{language}");
            let items = output.blocking_collect_items().expect("all items");
            assert_eq!(items.len(), 40, "{language}, window {window}");
            for (n, item) in items.iter().enumerate() {
                let n = n as u64;
                assert_eq!(item.value.get("n").and_then(Value::as_u64), Some(n), "{language}");
                let meta =
                    item.meta.as_ref().and_then(|meta| meta.get("even")).and_then(Value::as_u64);
                assert_eq!(meta, n.is_multiple_of(2).then_some(n), "{language}");
            }
            fed.join().expect("no panic").expect("sent");
            close(&engine);
        }
    });
}

#[test]
fn produce_makes_what_was_asked_for() {
    each_language(LIMIT, |language| {
        let engine = engine(3, 1000);
        let peer = start(&engine, language);
        let (_, output) = ask(&peer, PRODUCE, "media:json", r#"{"chunks":500}"#);
        let items = output.blocking_collect_items().expect("integers");
        assert_eq!(integers(&items), (0..500).collect::<Vec<_>>(), "{language}");
        let (_, output) = ask(&peer, PRODUCE, "media:json", r#"{"chunks":20,"size":7777}"#);
        let bytes = output.blocking_collect_bytes().expect("bytes");
        let wanted: Vec<u8> = (0..20 * 7777_u64).map(|i| ((i * 31 + 7) % 251) as u8).collect();
        assert!(bytes == wanted, "{language}: {} bytes", bytes.len());
        close(&engine);
    });
}

#[test]
fn sink_slow_and_digest_count_everything() {
    each_language(LIMIT, |language| {
        let engine = engine(4, 4096);
        let peer = start(&engine, language);
        for (cap, count) in [(SINK, 300), (SLOW, 60)] {
            let call = peer.call(cap).expect("live");
            let fed = feed(&call, "media:blob", (0..count).map(Value::Uint).collect());
            let answer = call.blocking_output().expect("a result").blocking_collect_bytes();
            assert_eq!(
                answer.expect("a number"),
                count.to_string().into_bytes(),
                "{language} {cap}"
            );
            fed.join().expect("no panic").expect("sent");
        }
        let data: Vec<u8> = (0..100_000_u32).map(|n| (n * 7 % 256) as u8).collect();
        let call = peer.call(DIGEST).expect("live");
        let fed = feed(&call, "media:blob", vec![Value::Bytes(data.clone().into())]);
        let answer = call.blocking_output().expect("a result").blocking_collect_bytes();
        let answer: serde_json::Value =
            serde_json::from_slice(&answer.expect("an answer")).expect("JSON");
        let sha: String = Sha256::digest(&data).iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(answer["bytes"], 100_000, "{language}");
        assert_eq!(answer["chunks"], 25, "{language}"); // 24 of 4096 and the rest
        assert_eq!(answer["sha256"], sha, "{language}");
        fed.join().expect("no panic").expect("sent");
        close(&engine);
    });
}

/// L13, L16, L17: an endless stream is read as far as one likes, refuses to be collected, and stops
/// at a cancel.
#[test]
fn l16_l17_forever_ends_at_a_cancel() {
    each_language(LIMIT, |language| {
        let engine = engine(8, 64);
        let peer = start(&engine, language);
        let (call, output) = ask(&peer, FOREVER, "media:blob", "go");
        assert!(output.info().unbounded, "{language}");
        let refused = output.blocking_collect_items().expect_err("no end to collect up to");
        assert_eq!(refused.kind(), ErrorKind::Unbounded, "{language}");
        for n in 0..1000 {
            let item = output.blocking_recv().expect("a value").expect("no end");
            assert_eq!(item.value, Value::Uint(n), "{language}");
        }
        call.cancel(&Error::new(ErrorKind::Cancelled, "enough"));
        assert_eq!(call.blocking_wait().expect_err("cancelled").kind(), ErrorKind::Cancelled);
        // The cartridge lives on and serves.
        let (_, output) = ask(&peer, PRODUCE, "media:json", r#"{"chunks":3}"#);
        let items = output.blocking_collect_items().expect("integers");
        assert_eq!(integers(&items), [0, 1, 2], "{language}");
        close(&engine);
    });
}

/// Two outputs of one request, written at once, each with a window of its own.
#[test]
fn two_outputs_do_not_hold_each_other_up() {
    each_language(LIMIT, |language| {
        let engine = engine(2, 64);
        let peer = start(&engine, language);
        let call = peer.call(TWO).expect("live");
        let plan = Value::Bytes(br#"{"chunks":200}"#.to_vec().into());
        let fed = feed(&call, "media:json", vec![plan]);
        let first = call.blocking_output().expect("one");
        let second = call.blocking_output().expect("another");
        // All of the one that opened last is read before the other is touched; both end with the
        // request.
        for n in 0..200 {
            let item = second.blocking_recv().expect("a value").expect("no end yet");
            assert_eq!(item.value, Value::Uint(n), "{language}");
        }
        let items = first.blocking_collect_items().expect("integers");
        assert_eq!(integers(&items), (0..200).collect::<Vec<_>>(), "{language}");
        assert_eq!(second.blocking_recv().expect("the end"), None, "{language}");
        let mut names = [first.info().output.clone(), second.info().output.clone()];
        names.sort();
        assert_eq!(names, [None, Some("media:second".to_owned())], "{language}");
        taken(fed);
        call.blocking_wait().expect("success");
        close(&engine);
    });
}

#[test]
fn multi_logs_reports_and_ends_with_a_message() {
    each_language(LIMIT, |language| {
        let engine = engine(32, 64);
        let peer = start(&engine, language);
        let call = peer.call(MULTI).expect("live");
        let fed = feed(&call, "media:blob", vec![Value::Uint(1)]);
        let mut texts = Vec::new();
        while let Some(output) = call.blocking_next_output().expect("no failure") {
            let text = output.blocking_collect_text().expect("a text");
            texts.push((output.info().output.clone(), text));
        }
        texts.sort();
        let second = (Some("media:second".to_owned()), "second".to_owned());
        assert_eq!(texts, [(None, "main".to_owned()), second], "{language}");
        let events: Vec<Event> = std::iter::from_fn(|| call.blocking_next_event()).collect();
        let log = Event::Log {
            level: "info".into(),
            class: Some(AttributionClass::Internal),
            message: "working".into(),
        };
        let half = Event::Progress { value: 0.5, message: "half".into() };
        assert_eq!(events, [log, half], "{language}");
        let end = call.blocking_wait().expect("success");
        assert_eq!((end.progress, end.message.as_deref()), (0.9, Some("done")), "{language}");
        taken(fed);
        close(&engine);
    });
}

/// HZ-C13: 10 MiB on stderr hold nothing up, and the end of it is kept.
#[test]
fn hz_c13_stderr_is_drained() {
    each_language(LIMIT, |language| {
        let engine = engine(32, 64);
        let peer = start(&engine, language);
        let (call, output) = ask(&peer, STDERR, "media:blob", "go");
        assert_eq!(output.blocking_collect_text().expect("an answer"), "done", "{language}");
        call.blocking_wait().expect("success");
        let tail = peer.stderr_tail().len();
        assert!((1..=64 * 1024).contains(&tail), "{language}: {tail} bytes of stderr kept");
        close(&engine);
    });
}
