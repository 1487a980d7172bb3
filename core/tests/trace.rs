//! A trace of a whole call: its frames at both ends, and none of its content.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use sluicegate::link::{TraceFormat, socket_pair, trace};
use sluicegate::{Cap, Cartridge, Engine, ErrorKind, Manifest};

const ECHO: &str = "cap:echo;in=media:blob;out=media:blob";

fn lines(path: &PathBuf) -> Vec<Json> {
    let text = std::fs::read_to_string(path).expect("the trace is there");
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

#[test]
fn a_call_is_traced_at_both_ends() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("trace.jsonl");
    let _old = std::fs::remove_file(&path);
    let refused = trace("/no/such/folder/trace", TraceFormat::Text).expect_err("no such folder");
    assert_eq!(refused.kind(), ErrorKind::Io);
    trace(path.to_str().expect("UTF-8"), TraceFormat::Json).expect("the first");
    let again = trace("stderr", TraceFormat::Text).expect_err("a second");
    assert_eq!(again.kind(), ErrorKind::InvalidArgument);

    let [(reader, writer), (far_reader, far_writer)] = socket_pair().expect("sockets");
    let cartridge = std::thread::spawn(move || {
        let manifest = Manifest::new("echo", "1.0.0").cap(Cap::new(ECHO));
        let echo = |request: sluicegate::Request| {
            for item in &request.blocking_input()? {
                request.output().blocking_emit(item?.value)?;
            }
            Ok(())
        };
        Cartridge::new(manifest).handler(ECHO, move |r| echo(r.clone())).run(far_reader, far_writer)
    });
    let engine = Engine::default();
    let peer = engine.attach(reader, writer).expect("a cartridge");
    let call = peer.call(ECHO).expect("live");
    let input = call.input("media:blob").expect("an argument");
    input.blocking_write(b"a secret").expect("sent");
    call.blocking_finish_input().expect("sent");
    let back = call.blocking_output().expect("a result").blocking_collect_bytes().expect("bytes");
    assert_eq!(&back[..], b"a secret");
    call.blocking_wait().expect("success");

    let id = call.id().to_string();
    let of = |line: &Json, way: &str, kind: &str| {
        line["rid"] == id.as_str() && line["way"] == way && line["type"] == kind
    };
    let give_up = Instant::now() + Duration::from_secs(60);
    let told = loop {
        let told = lines(&path); // a thread of its own writes it
        if told.iter().filter(|line| of(line, "received", "end")).count() >= 1 {
            break told;
        }
        assert!(Instant::now() < give_up, "the end of the call is not in {told:?}");
        std::thread::yield_now();
    };
    for kind in ["req", "stream_start", "chunk", "stream_end", "end"] {
        for way in ["sent", "received"] {
            assert!(told.iter().any(|line| of(line, way, kind)), "no {kind} {way} in {told:?}");
        }
    }
    let chunk = told.iter().find(|line| of(line, "sent", "chunk")).expect("looked at above");
    assert!(chunk["payload"].as_u64() >= Some(8) && chunk["index"] == 0, "{chunk}");
    let text = std::fs::read_to_string(&path).expect("the trace is there");
    assert!(!text.contains("secret"));
    drop((call, input, peer, engine));
    cartridge.join().expect("no panic").expect("a clean end");
}
