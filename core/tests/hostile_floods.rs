//! Peers that send through a relay what costs no credit, without end: who floods fails alone, whatever is
//! flooded, and whoever else uses the same connection is served.

#[path = "support/raw.rs"]
mod raw;
#[path = "support/relay.rs"]
mod relay;
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use raw::Raw;
use relay::{quiet, raw_caller, raw_host, switch};
use sluicegate::frame::{CreditDirection, Frame, FrameType};
use support::{engine, limits, within};

const LIMIT: Duration = Duration::from_secs(180);
const TASK: &str = "cap:task;in=media:blob;out=media:blob";

/// Sends `frame` again and again until request 1 has failed, and answers its ERR.
fn flood(raw: &mut Raw, frame: Frame) -> Frame {
    let socket = raw.socket.try_clone().expect("a second handle");
    let mut writer = sluicegate::link::FrameWriter::new(socket);
    let over = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&over);
    let floods = thread::spawn(move || {
        while !ended.load(Ordering::Acquire) {
            writer.write(&frame).expect("the switch reads on");
        }
    });
    let err = raw.until(FrameType::Err);
    over.store(true, Ordering::Release);
    floods.join().expect("no panic");
    err
}

/// HZ-C08: a host reads nothing for a while, and one of its callers sends without end what no window bounds.
/// That request fails; the host stays, and serves the other caller once it reads again.
#[test]
fn hz_c08_a_flood_toward_a_host_fails_its_own_request_alone() {
    let id = || 1_u64.into();
    let floods: [(&str, Frame); 5] = [
        ("grants", Frame::credit(id(), None, Some("out"), 1, CreditDirection::Response)),
        ("starts of a stream", Frame::stream_start(id(), None, "in", "media:blob")),
        ("ends of a stream", Frame::stream_end(id(), None, "in", Some(0))),
        ("cancels", Frame::cancel(id(), None, false)),
        ("closed streams", Frame::close_stream(id(), None, Some("in"))),
    ];
    for (what, frame) in floods {
        within(LIMIT, what, move || {
            let switch = switch(limits(4, 64));
            let mut host = raw_host(&switch, "slow", limits(4, 64), TASK);
            let caller = switch.caller(&engine(limits(4, 64))).expect("a caller");
            let before = caller.call(TASK).expect("a call");
            let mut raw = raw_caller(&switch, limits(4, 64));
            raw.req(1, TASK);
            let reqs = [(); 2].map(|()| host.until(FrameType::Req)); // and then it reads nothing
            let err = flood(&mut raw, frame);
            assert_eq!((err.id, err.error_code()), (id(), Some("LIMIT_REACHED")), "{err:?}");
            let after = caller.call(TASK).expect("a call");
            let mut answer = |req: &Frame| {
                host.send(&Frame::end_with(req.id, req.routing_id, 0, Some(1.0), None));
            };
            reqs.iter().filter(|req| req.id == before.id()).for_each(&mut answer);
            before.blocking_wait().expect("one that was there before");
            let req = host.until(FrameType::Req);
            host.send(&Frame::end_with(req.id, req.routing_id, 0, Some(1.0), None));
            after.blocking_wait().expect("one that came meanwhile");
            quiet(&switch);
        });
    }
}

/// The same the other way round: a host's flood toward a caller fails that request, and not the others of
/// the caller.
#[test]
fn hz_c08_a_flood_toward_a_caller_fails_its_own_request_alone() {
    within(LIMIT, "grants", || {
        let switch = switch(limits(4, 64));
        let mut host = raw_host(&switch, "host", limits(4, 64), TASK);
        let mut caller = raw_caller(&switch, limits(4, 64));
        caller.req(1, TASK);
        let one = host.until(FrameType::Req);
        caller.req(2, TASK);
        let two = host.until(FrameType::Req);
        // The caller reads nothing; the host grants until it is told to stop.
        let (number, direction) = (one.routing_id, CreditDirection::Request);
        let grant = Frame::credit(one.id, number, Some("in"), 1, direction);
        let socket = host.socket.try_clone().expect("a second handle");
        let mut writer = sluicegate::link::FrameWriter::new(socket);
        let over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&over);
        let floods = thread::spawn(move || {
            while !ended.load(Ordering::Acquire) {
                writer.write(&grant).expect("the switch reads on");
            }
        });
        let cancel = host.until(FrameType::Cancel);
        over.store(true, Ordering::Release);
        floods.join().expect("no panic");
        assert_eq!((cancel.id, cancel.error_code()), (one.id, Some("LIMIT_REACHED")), "{cancel:?}");
        host.send(&Frame::end_with(two.id, two.routing_id, 7, None, None));
        let err = caller.until(FrameType::Err);
        assert_eq!((err.id, err.error_code()), (1_u64.into(), Some("LIMIT_REACHED")), "{err:?}");
        assert_eq!(caller.until(FrameType::End).exit_code(), Some(7));
        quiet(&switch);
    });
}

/// Who asks again and again what stands still gets sixteen threads of a relay and no more; what it asks
/// beyond is answered at once, without what stands still.
#[test]
fn hz_c08_questions_without_end_start_no_threads_without_end() {
    const PLACES: u64 = 16;
    within(LIMIT, "questions", || {
        let switch = switch(limits(4, 64));
        let mut silent = raw_host(&switch, "silent", limits(4, 64), TASK);
        let mut raw = raw_caller(&switch, limits(4, 64));
        let ask = |raw: &mut Raw, id: u64| {
            let mut probe = Frame::heartbeat(id.into());
            probe.set_meta("explain", u64::MAX); // for as long as it takes
            raw.send(&probe);
        };
        (0..PLACES).for_each(|id| ask(&mut raw, id));
        for _ in 0..PLACES {
            silent.until(FrameType::Heartbeat); // which it does not answer
        }
        for id in PLACES..1000 {
            ask(&mut raw, id);
            let reply = raw.until(FrameType::Heartbeat);
            assert_eq!((reply.id, reply.meta_get("explain")), (id.into(), None), "{reply:?}");
        }
        silent.hang_up(); // which answers all of them
        for _ in 0..PLACES {
            let reply = raw.until(FrameType::Heartbeat);
            assert!(reply.meta_get("explain").is_some(), "{reply:?}");
        }
        let _other = raw_host(&switch, "other", limits(4, 64), TASK);
        ask(&mut raw, 1000); // a place is free again
        raw.send(&Frame::heartbeat(1001_u64.into()));
        assert_eq!(raw.until(FrameType::Heartbeat).id, 1001_u64.into(), "it waits for the other");
    });
}
