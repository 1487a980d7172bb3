//! What the snapshots of both ends of a link say: credit is conserved, every request is accounted for,
//! and those that ended lately are told with how they ended (L7, L11).

mod support;

use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use serde_json::{Value as Json, json};
use sluicegate::wait::block_on;
use sluicegate::{
    Cap, Cartridge, Deadline, Engine, Error, ErrorKind, Manifest, Peer, Request, Session, Value,
};
use support::{ECHO, engine, limits, within};

const LIMIT: Duration = Duration::from_secs(180);

/// A cartridge of this process, and its session.
fn cartridge(
    engine: &Engine,
    handler: impl Fn(&Request) -> Result<(), Error> + Send + Sync + 'static,
) -> (Peer, Session) {
    let (plugin_in, host_out) = std::io::pipe().expect("a pipe");
    let (host_in, plugin_out) = std::io::pipe().expect("a pipe");
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let cartridge = Cartridge::new(Manifest::new("test", "1").cap(Cap::new(ECHO)));
        let session = cartridge.serve(plugin_in, plugin_out).expect("a handshake");
        tell.send(session.clone()).expect("the test listens");
        while let Ok(Ok(Some(request))) = block_on(session.next_request(), Deadline::NEVER) {
            match handler(&request) {
                Ok(()) => drop(block_on(request.finish(None, None), Deadline::NEVER)),
                Err(error) => request.fail(&error),
            }
        }
    });
    let peer = engine.attach(host_in, host_out).expect("the handshake passes");
    (peer, told.recv().expect("a session"))
}

fn number(json: &Json, key: &str) -> u64 {
    json[key].as_u64().unwrap_or_else(|| panic!("no number {key} in {json}"))
}

fn list<'a>(json: &'a Json, key: &str) -> &'a [Json] {
    json[key].as_array().unwrap_or_else(|| panic!("no list {key} in {json}"))
}

/// Every request that was let in is live or has ended.
fn all_accounted_for(stats: &Json) {
    let by_kind = stats["terminated_by_kind"].as_object().expect("a map");
    let ended: u64 = by_kind.values().map(|n| n.as_u64().expect("a number")).sum();
    let live = list(stats, "requests").len() as u64;
    assert_eq!(number(stats, "total_registered"), live + ended, "{stats}");
}

/// The only live request's streams in this direction.
fn stream<'a>(stats: &'a Json, direction: &str) -> &'a Json {
    let [request] = list(stats, "requests") else { panic!("one live request: {stats}") };
    let mut streams = list(request, "streams").iter();
    streams.find(|stream| stream["direction"] == direction).expect("it has one")
}

#[test]
fn credit_is_conserved_in_the_snapshots_of_both_ends() {
    const COUNT: u64 = 1000;
    within(LIMIT, "a stream and its snapshots", || {
        for window in [1, 4, 64] {
            let (go, waits) = mpsc::channel::<()>();
            let waits = Mutex::new(waits);
            let engine = engine(limits(window, 1024));
            let (peer, session) = cartridge(&engine, move |request| {
                let (input, output) = (request.blocking_input()?, request.output());
                for _ in 0..COUNT {
                    let item = input.blocking_recv()?.expect("it goes on");
                    output.blocking_emit(item.value)?;
                    output.blocking_flush()?;
                }
                let _told = waits.lock().expect("not poisoned").recv();
                Ok(())
            });
            let call = peer.call(ECHO).expect("a call");
            let input = call.input("media:blob").expect("an argument");
            let writes =
                thread::spawn(move || (0..COUNT).try_for_each(|n| input.blocking_emit(n.into())));
            let output = call.blocking_output().expect("a result");
            for n in 0..COUNT {
                let item = output.blocking_recv().expect("a value").expect("it goes on");
                assert_eq!(item.value, Value::from(n));
            }
            writes.join().expect("no panic").expect("all was written");
            // Nothing moves any more but grants that are under way: quiet is when both ends agree, and
            // a second look shows the same.
            let figures = |stats: &Json| {
                ["in", "out"].map(|way| {
                    ["chunks", "credit_outstanding", "granted"]
                        .map(|key| number(stream(stats, way), key))
                })
            };
            let mut before = None;
            let (mine, its) = loop {
                let (mine, its) = (peer.stats(), session.stats());
                let now = Some((figures(&mine), figures(&its)));
                let agree =
                    |a: &Json, b: &Json| stream(a, "in")["granted"] == stream(b, "out")["granted"];
                if now == before && agree(&mine, &its) && agree(&its, &mine) {
                    break (mine, its);
                }
                before = now;
                thread::yield_now();
            };
            for stats in [&mine, &its] {
                all_accounted_for(stats);
                for direction in ["in", "out"] {
                    let stream = stream(stats, direction);
                    let (used, available) =
                        (number(stream, "chunks"), number(stream, "credit_outstanding"));
                    assert_eq!(used, COUNT, "{stream}");
                    assert_eq!(number(stream, "granted"), used + available, "{stream}");
                    assert!(available <= window, "{stream}");
                }
            }
            // Before the handler is told to go on: it answers with an END, after which no input ends.
            call.blocking_finish_input().expect("the end");
            go.send(()).expect("the handler waits");
            call.blocking_wait().expect("done");
        }
    });
}

#[test]
fn the_ring_tells_how_each_request_ended() {
    within(LIMIT, "three calls", || {
        let engine = engine(limits(4, 1024));
        let (begun, is_begun) = mpsc::channel();
        let begun = Mutex::new(begun);
        let (peer, session) = cartridge(&engine, move |request| {
            let input = request.blocking_input()?;
            let told = input.blocking_recv()?.expect("what to do").value;
            match told.as_text() {
                Some("end") => Ok(()),
                Some("err") => Err(Error::new(ErrorKind::Remote, "as it was told")),
                _ => {
                    begun.lock().expect("not poisoned").send(()).expect("heard");
                    Err(block_on(request.cancelled(), Deadline::NEVER).expect("no limit"))
                }
            }
        });
        let mut expected = Vec::new();
        for kind in ["end", "err", "cancelled"] {
            let call = peer.call(ECHO).expect("a call");
            let input = call.input("media:blob").expect("an argument");
            input.blocking_emit(Value::from(kind)).expect("room");
            if kind == "cancelled" {
                is_begun.recv().expect("it runs");
                call.cancel(&Error::new(ErrorKind::Cancelled, "no longer wanted"));
            }
            assert_eq!(call.blocking_wait().is_ok(), kind == "end");
            expected.push((call.id().to_string(), kind.to_owned()));
        }
        let told = |stats: &Json, side: &str| -> Vec<_> {
            let ended = list(stats, "recent_terminated").iter();
            let ended = ended.filter(|ended| ended["cap_urn"] == ECHO && ended["side"] == side);
            let text = |ended: &Json, key: &str| ended[key].as_str().expect("a text").to_owned();
            ended.map(|ended| (text(ended, "rid"), text(ended, "kind"))).collect()
        };
        let mine = peer.stats();
        assert_eq!(told(&mine, "caller"), expected, "{mine}");
        assert_eq!(mine["requests"], json!([]), "{mine}");
        let its = loop {
            let its = session.stats();
            if list(&its, "requests").is_empty() {
                break its;
            }
            thread::yield_now(); // the handler that was cancelled still answers
        };
        assert_eq!(told(&its, "handler"), expected, "{its}");
        for stats in [&mine, &its] {
            all_accounted_for(stats);
            assert_eq!(stats["terminated_by_kind"]["err"], 1, "{stats}");
            assert_eq!(stats["terminated_by_kind"]["cancelled"], 1, "{stats}");
            assert_eq!(stats["overruns_total"], 0, "{stats}");
            assert!(number(&stats["held"], "bytes") <= number(&stats["held"], "bound"), "{stats}");
        }
        if cfg!(target_os = "linux") {
            assert!(number(&its, "memory") > 0 && number(&engine.stats(), "memory") > 0, "{its}");
        }
        // One that is not let in is told as well, and is in no total.
        let refused = peer.call("cap:nobody").expect("a call");
        refused.blocking_wait().expect_err("nobody offers it");
        let its = session.stats();
        let last = list(&its, "recent_terminated").last().expect("one");
        assert_eq!(
            (&last["rid"], &last["kind"]),
            (&json!(refused.id().to_string()), &json!("refused"))
        );
        assert_eq!(last["side"], Json::Null, "{last}");
        all_accounted_for(&its);
    });
}
