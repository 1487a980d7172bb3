//! What `stats()` says of one connection, asked at both of its ends by a process in each language in the
//! middle of the same call: the same keys with the same types, and figures that add up.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value as Json;
use sluicegate::Value;
use sluicegate::frame::{CreditDirection, Frame, FrameType};
use sluicegate_matrix::by_hand::Host;
use sluicegate_matrix::{each_language, host, languages, program, within};

/// For one host with one cartridge, again until nothing moves.
const LIMIT: Duration = Duration::from_secs(300);
const STATS: &str = "cap:fc-stats;in=media:blob;out=media:json";
/// More than a window.
const CHUNKS: u64 = 100;
const SIZE: u64 = 5000;
const CALLS: u64 = 3;

/// What the host and the cartridge say in the middle of the last call.
struct Told {
    host: Json,
    cartridge: Json,
}

fn ask(language: &str) -> Told {
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("stats-{language}"));
    let mut command = Command::new(host(language));
    command.arg(program(language)).arg(STATS);
    command.args([CHUNKS, SIZE, CALLS].map(|number| number.to_string()));
    command.env("FC_STATS", "1").env("HOST_STATS", &place).stdin(Stdio::null());
    let done = command.output().expect("the host runs");
    let printed = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && !printed.contains("false"), "{language}: {printed}");
    assert_eq!(printed.lines().count() as u64, CALLS, "{language}: {printed}");
    let told = std::fs::read_to_string(&place).expect("it wrote");
    let mut lines = told.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let mut next = || lines.next().unwrap_or_else(|| panic!("{language}: a line of two: {told}"));
    Told { host: next(), cartridge: next() }
}

/// What happened, counted by its name: keys that are no part of the shape.
const TALLIES: [&str; 4] =
    [".by_reason", ".by_reason_frame_type", ".by_frame_type", ".terminated_by_kind"];

/// Every path of keys, and the types of what stands there; an array is one step, whatever its length.
fn shape(json: &Json) -> BTreeMap<String, Vec<&'static str>> {
    fn walk(at: &str, json: &Json, found: &mut BTreeMap<String, Vec<&'static str>>) {
        let kind = match json {
            Json::Null => "null",
            Json::Bool(_) => "bool",
            Json::Number(number) if number.is_u64() => "whole number",
            Json::Number(_) => "number",
            Json::String(_) => "text",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
        };
        let kinds = found.entry(at.to_owned()).or_default();
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
        match json {
            Json::Array(items) => {
                items.iter().for_each(|item| walk(&format!("{at}[]"), item, found))
            }
            Json::Object(_) if TALLIES.iter().any(|tally| at.ends_with(tally)) => {}
            Json::Object(fields) => {
                fields.iter().for_each(|(key, field)| walk(&format!("{at}.{key}"), field, found));
            }
            _ => {}
        }
    }
    let mut found = BTreeMap::new();
    walk("", json, &mut found);
    found
}

fn number(json: &Json, key: &str) -> u64 {
    json[key].as_u64().unwrap_or_else(|| panic!("no number {key} in {json}"))
}

/// The one request that is live.
fn live(stats: &Json) -> &Json {
    let requests = stats["requests"].as_array().expect("a list");
    assert_eq!(requests.len(), 1, "{stats}");
    &requests[0]
}

/// Its only stream in this direction.
fn stream<'a>(stats: &'a Json, direction: &str) -> &'a Json {
    let streams = live(stats)["streams"].as_array().expect("a list");
    let mut streams = streams.iter().filter(|stream| stream["direction"] == direction);
    let stream = streams.next().unwrap_or_else(|| panic!("no stream {direction} in {stats}"));
    assert!(streams.next().is_none(), "two streams {direction} in {stats}");
    stream
}

/// All that was granted was used or is left, in every stream. A grant that is under way, or a chunk that is
/// being counted, is neither yet.
fn is_quiet(stats: &Json) -> bool {
    if stats["requests"].as_array().map(Vec::len) != Some(1) {
        return false; // the end of the call was there before the figures were asked for
    }
    ["in", "out"].map(|direction| stream(stats, direction)).iter().all(|stream| {
        number(stream, "granted") == number(stream, "chunks") + number(stream, "credit_outstanding")
    })
}

/// What holds of one end, whatever the language.
fn adds_up(language: &str, stats: &Json, side: &str) {
    let told = format!("{language}, {side}: {stats}");
    assert_eq!(live(stats)["side"], side, "{told}");
    assert_eq!(live(stats)["cap_urn"], STATS, "{told}");
    assert_eq!(live(stats)["phase"], "streaming", "{told}");
    let ended = stats["terminated_by_kind"].as_object().expect("a map");
    let ended: u64 = ended.values().map(|n| n.as_u64().expect("a number")).sum();
    assert_eq!(number(stats, "total_registered"), 1 + ended, "{told}");
    // The identity check is a request too.
    let recent = stats["recent_terminated"].as_array().expect("a list");
    assert_eq!(recent.len() as u64, ended, "{told}");
    let of_cap = recent.iter().filter(|ended| ended["cap_urn"] == STATS && ended["kind"] == "end");
    assert_eq!(of_cap.count() as u64, CALLS - 1, "{told}");
    for losses in [&stats["drops"], &stats["stragglers"]] {
        let by = losses.get("by_reason").or(losses.get("by_frame_type")).expect("a map");
        let sum: u64 = by.as_object().expect("a map").values().filter_map(Json::as_u64).sum();
        assert_eq!(number(losses, "total"), sum, "{told}");
    }
    assert_eq!(number(&stats["drops"], "total"), 0, "{told}");
    assert_eq!(number(stats, "overruns_total"), 0, "{told}");
    assert!(number(&stats["held"], "bytes") <= number(&stats["held"], "bound"), "{told}");
}

#[test]
fn stats_have_one_shape_in_every_language_and_conserve_credit() {
    let mut shapes = Vec::new();
    for language in languages() {
        let told = within(LIMIT, language.to_owned(), move || {
            loop {
                let told = ask(language);
                if is_quiet(&told.host) && is_quiet(&told.cartridge) {
                    break told;
                }
            }
        });
        adds_up(language, &told.host, "caller");
        adds_up(language, &told.cartridge, "handler");
        assert_eq!(
            live(&told.host)["rid"],
            live(&told.cartridge)["rid"],
            "{language}: one request"
        );
        let (sent, came) = (stream(&told.host, "out"), stream(&told.cartridge, "in"));
        for key in ["stream_id", "chunks", "bytes", "initial_credit"] {
            assert_eq!(sent[key], came[key], "{language}: {sent} {came}");
        }
        assert_eq!(number(sent, "bytes"), CHUNKS * SIZE, "{language}: {sent}");
        assert!(number(sent, "chunks") > number(sent, "initial_credit"), "{language}: {sent}");
        let (sent, came) = (stream(&told.cartridge, "out"), stream(&told.host, "in"));
        assert_eq!(number(sent, "chunks"), number(sent, "initial_credit"), "{language}: {sent}");
        assert!(
            (1..=number(sent, "chunks")).contains(&number(came, "chunks")),
            "{language}: {came}"
        );
        shapes.push((language, [shape(&told.host), shape(&told.cartridge)]));
    }
    let (first, of_first) = &shapes[0];
    for (language, shape) in &shapes[1..] {
        for (end, (one, other)) in ["host", "cartridge"].iter().zip(of_first.iter().zip(shape)) {
            assert_eq!(one, other, "{end}: {first} and {language}");
        }
    }
}

/// What a cartridge answers to a host by hand, behind a window full of integers; and how its stream began.
fn told_by_hand(host: &mut Host, id: u64) -> (Frame, Json) {
    host.ask(id, STATS, &Value::Uint(0));
    let start = host.until(id, FrameType::StreamStart);
    host.grant(&start, 1);
    (0..32).for_each(|_| drop(host.until(id, FrameType::Chunk)));
    let told = host.until(id, FrameType::Chunk);
    host.until(id, FrameType::End);
    let told = Value::decode(told.payload_bytes()).expect("CBOR");
    (start, serde_json::from_slice(told.as_bytes().expect("bytes")).expect("JSON"))
}

/// HZ-V03: the heartbeat and the snapshot tell the same losses, and what crossed an end in flight is not among
/// them.
#[test]
fn hz_v03_the_heartbeat_and_the_snapshot_tell_the_same_losses() {
    each_language(LIMIT, |language| {
        let mut host = Host::with(language, 32, &[("FC_STATS", "1")]);
        let (start, told) = told_by_hand(&mut host, 1);
        assert_eq!(told["drops"]["total"], 0, "{language}: {told}");
        host.grant(&start, 1); // it crosses the end
        for nobody in [900_u64, 901] {
            let stream = Some("resp-0");
            host.send(&Frame::credit(nobody.into(), None, stream, 1, CreditDirection::Response));
        }
        host.send(&Frame::heartbeat(5_u64.into()));
        let meta = host.until(5, FrameType::Heartbeat).meta.expect("the totals");
        let total = |key: &str| meta.get(key).and_then(Value::as_u64);
        let totals = ["drops_total", "stragglers_total", "overruns_total"].map(total);
        assert_eq!(totals, [Some(2), Some(1), Some(0)], "{language}: {meta:?}");
        let (_, told) = told_by_hand(&mut host, 2);
        let drops = serde_json::json!({
            "total": 2,
            "by_reason": {"no_route": 2},
            "by_reason_frame_type": {"no_route": {"credit": 2}},
        });
        assert_eq!(told["drops"], drops, "{language}");
        let stragglers = serde_json::json!({"total": 1, "by_frame_type": {"credit": 1}});
        assert_eq!(told["stragglers"], stragglers, "{language}");
        assert_eq!(told["overruns_total"], 0, "{language}");
    });
}
