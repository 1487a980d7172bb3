//! The run-time monitor in processes of their own: what a peer does wrong is reported and ends nothing,
//! and without the setting nothing is said at all.

#[path = "support/raw.rs"]
mod raw;
mod support;

use std::process::Command;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use raw::Raw;
use sluicegate::frame::{Frame, FrameType};
use sluicegate::{Cap, Value};
use support::{ECHO, limits, within};

/// This test program again, for one of its tests. Answers whether it passed and what it said.
fn again(test: &str, check: &str) -> (bool, String) {
    let own = std::env::current_exe().expect("a test has a program");
    let ended = Command::new(own)
        .args(["--exact", test, "--nocapture"])
        .env("SLUICEGATE_CHECK", check)
        .env("SLUICEGATE_TEST_CHILD", "yes")
        .output()
        .expect("it starts");
    (ended.status.success(), String::from_utf8_lossy(&ended.stderr).into_owned())
}

/// A host that sends three chunks into a window of two, to a handler that reads none of them.
fn overrun() {
    within(Duration::from_secs(30), "overrun", || {
        let (hold, held) = mpsc::channel::<()>();
        let held = Mutex::new(held);
        let (mut raw, _running) = Raw::host(Cap::new(ECHO), ECHO, limits(2, 64), move |request| {
            let input = request.blocking_input()?;
            let _let_go = held.lock().expect("one request").recv(); // all three have come
            input.iter().try_for_each(|item| item.map(drop))
        });
        raw.req(1, ECHO);
        raw.start(1, "in");
        for n in 0..3 {
            raw.chunk(1, "in", n, &Value::Uint(n));
        }
        raw.settle();
        drop(hold);
        let err: Frame = raw.until(FrameType::Err);
        assert_eq!(err.error_code(), Some("CREDIT_VIOLATION"));
    });
}

/// L12: the receiver of an overrun says whose it is, and goes on.
#[test]
fn l12_a_peer_that_overruns_is_reported_and_ends_nothing() {
    if std::env::var_os("SLUICEGATE_TEST_CHILD").is_some() {
        return overrun();
    }
    let test = "l12_a_peer_that_overruns_is_reported_and_ends_nothing";
    let (passed, said) = again(test, "1");
    assert!(passed, "{said}");
    let line = "sluicegate check: peer, L12: overran input \"in\" of request 1, a window of 2";
    assert!(said.contains(line), "{said}");
    assert!(!said.contains("breach"), "{said}");

    let (passed, said) = again(test, "0");
    assert!(passed && !said.contains("sluicegate check"), "{said}");
}
