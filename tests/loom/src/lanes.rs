//! The lanes of a link: control before data, the writer is woken for everything, and an end is an end.

use crate::Check;
use crate::account::Counters;
use crate::error::{Error, ErrorKind};
use crate::explore::{every, go};
use crate::frame::{CreditDirection, Frame, FrameType};
use crate::link::{FrameWriter, Lanes};
use crate::rig::{self, Written, flow};
use crate::sync::{Arc, Condvar, Mutex};
use crate::time::Deadline;
use crate::wait::block_on;

pub const CHECKS: &[Check] = &[
    ("lanes_control_goes_before_data", control_first),
    ("lanes_what_was_taken_is_written", taken_is_written),
    ("lanes_a_kill_releases_who_waits_for_room", kill_releases),
    ("lanes_room_returns_once_it_is_written", room_returns),
];

fn credit() -> Frame {
    Frame::credit(flow().id, None, Some("a"), 1, CreditDirection::Request)
}

fn finished(lanes: &Lanes) {
    block_on(lanes.finished(), Deadline::NEVER).expect("no limit");
}

/// A transport whose first write begins, says so, and goes on when it may.
struct Slow {
    to: Written,
    turn: Arc<(Mutex<Turn>, Condvar)>,
}

#[derive(Default)]
struct Turn {
    begun: bool,
    may_go_on: bool,
}

impl std::io::Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut turn = self.turn.0.lock();
        turn.begun = true;
        self.turn.1.notify_all();
        while !turn.may_go_on {
            self.turn.1.wait(&mut turn);
        }
        self.to.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn control_first() {
    every(2, || {
        let (written, turn) =
            (Written::default(), Arc::new((Mutex::new(Turn::default()), Condvar::default())));
        let slow = FrameWriter::new(Slow { to: written.clone(), turn: Arc::clone(&turn) });
        let lanes = Lanes::start(slow, 1 << 20, Arc::new(Counters::default()), |reason| reason)
            .expect("a thread");
        lanes.flow(Frame::req(flow().id, None, "cap", "")).expect("open");
        let mut state = turn.0.lock();
        while !state.begun {
            turn.1.wait(&mut state);
        }
        drop(state);
        // The writer is busy with REQ: both of these wait for it.
        lanes.flow(Frame::end(flow().id, None)).expect("open");
        lanes.control(credit()).expect("open");
        turn.0.lock().may_go_on = true;
        turn.1.notify_all();
        lanes.close();
        finished(&lanes);
        assert_eq!(written.kinds(), [FrameType::Req, FrameType::Credit, FrameType::End]);
    });
}

/// Two push while a third closes: what was taken is written, once, and nothing else is.
fn taken_is_written() {
    every(2, || {
        let (wire, written) = rig::wire(1);
        let pusher = wire.lanes.clone();
        let pushing = go(move || {
            let first = pusher.flow(Frame::req(flow().id, None, "cap", "")).is_ok();
            let second = pusher.control(credit()).is_ok();
            (first, second)
        });
        wire.lanes.close();
        let (request, grant) = pushing.end();
        assert!(request || !grant, "taken after it was closed");
        finished(&wire.lanes);
        let kinds = written.kinds();
        assert_eq!(kinds.contains(&FrameType::Req), request);
        assert_eq!(kinds.contains(&FrameType::Credit), grant);
        assert_eq!(kinds.len(), usize::from(request) + usize::from(grant));
        assert!(wire.lanes.control(credit()).is_err());
    });
}

fn kill_releases() {
    every(2, || {
        let (wire, _) = rig::wire(1);
        let whole = block_on(wire.lanes.room(u64::MAX), Deadline::NEVER)
            .expect("no limit")
            .expect("open");
        let lanes = wire.lanes.clone();
        let waiting =
            go(move || block_on(lanes.room(1), Deadline::NEVER).expect("no limit").map(drop));
        wire.lanes.kill(Error::new(ErrorKind::PeerDied, "gone"));
        assert_eq!(waiting.end().expect_err("no room ever came").kind(), ErrorKind::PeerDied);
        drop(whole);
        finished(&wire.lanes);
    });
}

fn room_returns() {
    every(2, || {
        let (wire, written) = rig::wire(1);
        let whole = block_on(wire.lanes.room(u64::MAX), Deadline::NEVER)
            .expect("no limit")
            .expect("open");
        wire.lanes.chunk(rig::chunk(0), whole).expect("open");
        // All the room is taken until that chunk is written.
        let room = block_on(wire.lanes.room(1), Deadline::NEVER).expect("no limit").expect("open");
        wire.lanes.chunk(rig::chunk(1), room).expect("open");
        wire.lanes.close();
        finished(&wire.lanes);
        assert_eq!(written.kinds(), [FrameType::Chunk, FrameType::Chunk]);
    });
}
