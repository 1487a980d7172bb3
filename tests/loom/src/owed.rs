//! Flush before any wait (L10): who begins to wait has nothing pending, whoever else consumes meanwhile.

use std::future::pending;
use std::time::Duration;

use crate::Check;
use crate::explore::{every, go};
use crate::rig;
use crate::time::Deadline;
use crate::wait::block_on;

pub const CHECKS: &[Check] = &[
    ("owed_who_waits_has_settled_what_it_consumed", waits_settled),
    ("owed_two_who_wait_leave_nothing_pending", both_wait),
];

const AT_ONCE: fn() -> Deadline = || Deadline::after(Duration::ZERO);

/// Two consume from one stream, one of them goes on to something else, the other waits.
fn waits_settled() {
    every(2, || {
        let (wire, _) = rig::wire(8);
        let (core, stream) = rig::input(&wire);
        core.arrive(rig::chunk(0)).expect("within the window");
        core.arrive(rig::chunk(1)).expect("within the window");
        let busy = stream.clone();
        let busy = go(move || busy.passed_on(true));
        stream.passed_on(true);
        assert!(block_on(wire.owed.before_wait(pending::<()>()), AT_ONCE()).is_err());
        busy.end();
        assert!(stream.stats().window >= 7, "it waits, and what it consumed is still pending");
        wire.lanes.close();
    });
}

fn both_wait() {
    every(2, || {
        let (wire, _) = rig::wire(8);
        let (core, stream) = rig::input(&wire);
        core.arrive(rig::chunk(0)).expect("within the window");
        core.arrive(rig::chunk(1)).expect("within the window");
        let (other, its_wire) = (stream.clone(), std::sync::Arc::clone(&wire));
        let other = go(move || {
            other.passed_on(true);
            assert!(block_on(its_wire.owed.before_wait(pending::<()>()), AT_ONCE()).is_err());
        });
        stream.passed_on(true);
        assert!(block_on(wire.owed.before_wait(pending::<()>()), AT_ONCE()).is_err());
        other.end();
        assert_eq!(stream.stats().window, 8, "both wait, and something is pending");
        wire.lanes.close();
    });
}
