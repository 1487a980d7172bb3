//! A host behind a switch that leaves its number on answers, as another maker's does: a call that one
//! of its cartridges makes and another answers comes back under the number that its answer bears too.
//! The switch and both cartridges are driven by hand.

#[path = "support/raw.rs"]
mod raw;
#[path = "support/relay.rs"]
mod relay;
mod support;

use std::os::unix::net::UnixStream;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use raw::{Closing, Raw};
use relay::{add_raw, raw_cartridge};
use sluicegate::frame::{Frame, FrameType};
use sluicegate::{AttributionClass, Host, MessageId, NetworkPolicy, Value};
use support::{limits, within};

const LIMIT: Duration = Duration::from_secs(180);
const ASKS: &str = "cap:asks;in=media:void;out=media:blob";
const ANSWERS: &str = "cap:answers;in=media:blob;out=media:blob";

struct Loop {
    _host: Host,
    asks: Raw,
    answers: Raw,
    switch: Raw,
}

impl Loop {
    fn new() -> Self {
        let (host, asks) = raw_cartridge(limits(4, 64), ASKS);
        let answers = add_raw(&host, limits(4, 64), ANSWERS);
        let (near, far) = UnixStream::pair().expect("a pair of sockets");
        let joining = host.clone();
        let joins = thread::spawn(move || {
            joining.join(far.try_clone().expect("a second handle"), Closing(far))
        });
        let mut switch = Raw::over(near);
        switch.expect(FrameType::RelayNotify);
        switch.send(&Frame::policy(NetworkPolicy::Full));
        joins.join().expect("no panic").expect("it is taken in");
        Loop { _host: host, asks, answers, switch }
    }

    /// Opens the call `id`, to which the switch gives a number.
    fn open(&mut self, id: u64) {
        self.asks.req(id, ANSWERS);
        let mut req = self.switch.until(FrameType::Req);
        assert_eq!((req.id, req.routing_id), (id.into(), None));
        req.routing_id = Some(number(id));
        self.switch.send(&req);
        let came = self.answers.until(FrameType::Req);
        assert_eq!((came.id, came.routing_id), (id.into(), Some(number(id))));
    }

    /// Sends the next frame of `id`, which is a `kind`, back down with its number.
    fn turn(&mut self, id: u64, kind: FrameType) {
        let mut frame = self.switch.until(kind);
        assert_eq!(frame.id, id.into());
        frame.routing_id = Some(number(id));
        self.switch.send(&frame);
    }

    fn hears(raw: &mut Raw, id: u64, kind: FrameType) -> Frame {
        let frame = raw.until(kind);
        assert_eq!(frame.id, id.into());
        frame
    }
}

fn number(id: u64) -> MessageId {
    MessageId::Uint(id + 1_000_000)
}

fn success(id: u64) -> Frame {
    Frame::end_with(id.into(), Some(number(id)), 0, Some(1.0), None)
}

/// L15: the end of the arguments comes back before the end of the answer, and the other way round.
#[test]
fn l15_both_ends_of_a_call_that_comes_back_are_told_apart_in_either_order() {
    within(LIMIT, "two orders", || {
        let mut all = Loop::new();
        for round in 0..10 {
            let (first, second) = (2 * round, 2 * round + 1);
            all.open(first);
            all.asks.end(first);
            all.turn(first, FrameType::End);
            let body = Loop::hears(&mut all.answers, first, FrameType::End);
            assert_eq!(body.routing_id, Some(number(first)));
            all.answers.send(&success(first));
            all.turn(first, FrameType::End);
            Loop::hears(&mut all.asks, first, FrameType::End);

            all.open(second);
            all.answers.send(&success(second));
            all.turn(second, FrameType::End); // whatever comes behind it the switch drops
            Loop::hears(&mut all.asks, second, FrameType::End);
            all.asks.end(second);
        }
    });
}

/// L15: both ends are sent in the same instant. The switch hears them in some order, drops what comes
/// behind the answer's, and who asked is told each time.
#[test]
fn l15_both_ends_of_a_call_in_the_same_instant_are_told_apart() {
    const ROUNDS: u64 = 3000;
    within(LIMIT, "the same instant", || {
        let mut all = Loop::new();
        for id in 0..ROUNDS {
            all.open(id);
            let Loop { asks, answers, .. } = &mut all;
            let start = Barrier::new(2);
            thread::scope(|scope| {
                scope.spawn(|| {
                    start.wait();
                    asks.end(id);
                });
                start.wait();
                answers.send(&success(id));
            });
            loop {
                let mut end = all.switch.until(FrameType::End);
                if end.id != id.into() {
                    continue; // it came behind the answer's of the round before
                }
                let answered = end.routing_id.is_some();
                end.routing_id = Some(number(id));
                all.switch.send(&end);
                if answered {
                    break;
                }
            }
            Loop::hears(&mut all.asks, id, FrameType::End);
        }
    });
}

/// An error that the switch itself gives is the answer, whatever of the arguments is still to come back.
#[test]
fn an_error_of_the_switch_answers_a_call_that_came_back() {
    within(LIMIT, "its error", || {
        let mut all = Loop::new();
        for id in 0..4 {
            all.open(id);
            if id % 2 == 0 {
                all.asks.end(id);
                Loop::hears(&mut all.switch, id, FrameType::End);
            }
            let class = AttributionClass::Internal;
            all.switch.send(&Frame::cancel(id.into(), Some(number(id)), false));
            all.switch.send(&Frame::err(id.into(), Some(number(id)), "OVER", class, "it ran over"));
            assert_eq!(Loop::hears(&mut all.asks, id, FrameType::Err).error_code(), Some("OVER"));
            Loop::hears(&mut all.answers, id, FrameType::Cancel);
        }
    });
}

/// Both sides call their stream by the same name, and each gets the other's.
#[test]
fn streams_of_one_name_are_told_apart_once_the_arguments_have_come_back() {
    within(LIMIT, "one name", || {
        let mut all = Loop::new();
        let (id, value) = (1, Value::Text("there".into()));
        all.open(id);
        all.asks.start(id, "data");
        all.asks.chunk(id, "data", 0, &value);
        for kind in [FrameType::StreamStart, FrameType::Chunk] {
            all.turn(id, kind);
            assert_eq!(Loop::hears(&mut all.answers, id, kind).stream_id.as_deref(), Some("data"));
        }
        let numbered = Some(number(id));
        all.answers.send(&Frame::stream_start(id.into(), numbered, "data", "media:blob"));
        let back = Value::Text("and back".into());
        all.answers.send(&Frame::chunk(id.into(), numbered, "data", 0, back.encode().into()));
        for kind in [FrameType::StreamStart, FrameType::Chunk] {
            all.turn(id, kind);
            assert_eq!(Loop::hears(&mut all.asks, id, kind).stream_id.as_deref(), Some("data"));
        }
    });
}
