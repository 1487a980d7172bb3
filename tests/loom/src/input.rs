//! A stream's queue: what arrives, the end and the failure all reach who waits, in that order.

use crate::Check;
use crate::error::{Error, ErrorKind};
use crate::explore::{every, go};
use crate::frame::FrameType;
use crate::rig;

pub const CHECKS: &[Check] = &[
    ("input_arrivals_and_the_end_reach_a_waiter", arrivals_and_end),
    ("input_a_failure_comes_behind_what_arrived", failure_behind),
    ("input_a_cut_releases_a_waiter", cut_releases),
    ("input_two_readers_share_and_both_see_the_end", two_readers),
];

fn arrivals_and_end() {
    every(2, || {
        let (wire, written) = rig::wire(2);
        let (core, stream) = rig::input(&wire);
        let reading = go(move || {
            core.arrive(rig::chunk(0)).expect("within the window");
            core.arrive(rig::chunk(1)).expect("within the window");
            core.finish(Some(2)).expect("the count is right");
        });
        for _ in 0..2 {
            assert!(stream.blocking_recv().expect("no failure").is_some());
        }
        assert!(stream.blocking_recv().expect("no failure").is_none());
        reading.end();
        assert_eq!(stream.stats().window, 2, "everything was given back");
        wire.lanes.close();
        crate::wait::block_on(wire.lanes.finished(), crate::time::Deadline::NEVER)
            .expect("no limit");
        let granted: u64 = written.frames().iter().filter_map(|frame| frame.credit).sum();
        assert_eq!(granted, 2);
    });
}

fn failure_behind() {
    every(2, || {
        let (wire, _) = rig::wire(2);
        let (core, stream) = rig::input(&wire);
        let reading = go(move || {
            core.arrive(rig::chunk(0)).expect("within the window");
            core.fail(&Error::new(ErrorKind::PeerDied, "gone"));
        });
        assert!(stream.blocking_recv().expect("what came is delivered").is_some());
        let failure = stream.blocking_recv().expect_err("then the failure");
        assert_eq!(failure.kind(), ErrorKind::PeerDied);
        reading.end();
        wire.lanes.close();
    });
}

fn cut_releases() {
    every(3, || {
        let (wire, _) = rig::wire(2);
        let (core, stream) = rig::input(&wire);
        let cutting = go(move || core.cut(&Error::new(ErrorKind::Cancelled, "no more")));
        let failure = stream.blocking_recv().expect_err("nothing ever comes");
        assert_eq!(failure.kind(), ErrorKind::Cancelled);
        cutting.end();
        wire.lanes.close();
    });
}

fn two_readers() {
    every(1, || {
        let (wire, written) = rig::wire(1);
        let (core, stream) = rig::input(&wire);
        let other = stream.clone();
        let other = go(move || u32::from(other.blocking_recv().expect("no failure").is_some()));
        let reading = go(move || {
            core.arrive(rig::chunk(0)).expect("within the window");
            core.finish(Some(1)).expect("the count is right");
        });
        let own = u32::from(stream.blocking_recv().expect("no failure").is_some());
        assert_eq!(own + other.end(), 1, "the value reaches one of them, the end both");
        reading.end();
        wire.lanes.close();
        crate::wait::block_on(wire.lanes.finished(), crate::time::Deadline::NEVER)
            .expect("no limit");
        assert_eq!(written.kinds(), [FrameType::Credit]);
    });
}
