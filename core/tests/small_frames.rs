//! A frame limit that no answer fits is refused before anything is called; with a small one, every request
//! is answered.

mod support;

#[path = "support/raw.rs"]
mod raw;
#[path = "support/relay.rs"]
mod relay;

use std::thread;
use std::time::Duration;

use raw::Raw;
use sluicegate::frame::Frame;
use sluicegate::wait::block_on;
use sluicegate::{
    Cap, Cartridge, Deadline, Engine, EngineOptions, Error, ErrorKind, Limits, Manifest, Request,
    Value,
};
use support::{ECHO, attach, attach_echo, engine, within};

const LIMIT: Duration = Duration::from_secs(120);
const SMALL: Limits = Limits { max_frame: 50, ..Limits::DEFAULT };

/// The smallest limit that is taken, as the refusal names it.
fn least() -> u64 {
    let (_raw, attaching) = Raw::attaching(&engine(SMALL));
    let error = attaching.join().expect("no panic").expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Handshake, "{error}");
    assert!(error.message().contains("this end proposes 50 for max_frame"), "{error}");
    let mut words = error.message().split(' ').skip_while(|word| *word != "needs");
    words.nth(1).and_then(|word| word.parse().ok()).expect("it names the least")
}

/// Both ends' values and the least are named.
fn names_both(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::Handshake, "{error}");
    let needs = format!("needs {}", least());
    for part in ["max_frame would be 50", "50", "3670016", needs.as_str()] {
        assert!(error.message().contains(part), "{part}: {error}");
    }
}

#[test]
fn a_limit_that_no_answer_fits_is_refused_by_whoever_hears_of_it() {
    within(LIMIT, "handshakes", || {
        // A host hears of it from a cartridge,
        let (mut raw, attaching) = Raw::attaching(&engine(Limits::DEFAULT));
        raw.introduce(ECHO, SMALL);
        names_both(&attaching.join().expect("no panic").expect_err("refused"));
        // a cartridge from a host,
        let (mut raw, running) = Raw::host_of(Cartridge::new(Manifest::new("test", "1")));
        raw.send(&Frame::hello(&SMALL, 6));
        names_both(&running.join().expect("no panic").expect_err("refused"));
        // a cartridge that has it itself,
        let cartridge = Cartridge::new(Manifest::new("test", "1")).limits(SMALL);
        let (mut raw, running) = Raw::host_of(cartridge);
        raw.send(&Frame::hello(&Limits::DEFAULT, 6));
        names_both(&running.join().expect("no panic").expect_err("refused"));
        // a switch from a caller and from a host.
        let switch = relay::switch(Limits::DEFAULT);
        let hello = Frame::hello(&SMALL, 6);
        let notice = Frame::relay_notify(br#"{"installed_cartridges":[]}"#.to_vec().into(), &SMALL);
        for first in [hello, notice] {
            let (mut raw, joins) = relay::joining(&switch, "small");
            raw.send(&first);
            names_both(&joins.join().expect("no panic").expect_err("refused"));
        }
    });
}

#[test]
fn with_a_small_one_every_request_is_answered() {
    within(LIMIT, "calls", || {
        let limits = Limits { max_frame: 200, ..Limits::DEFAULT };
        let engine = Engine::new(EngineOptions { limits, ..EngineOptions::default() });
        let peer = attach_echo(&engine);
        assert!(block_on(peer.answers(), Deadline::NEVER).expect("no limit"), "it lives");
        // Text of the longest characters, and bytes, come back whole.
        let text = "\u{10ffff}".repeat(50);
        for value in [Value::from(text.as_str()), Value::Bytes(vec![7_u8; 1000].into())] {
            let call = peer.call(ECHO).expect("a call");
            let input = call.input("media:blob").expect("an argument");
            let (sent, writing) = (value.clone(), call.clone());
            let writes = thread::spawn(move || {
                input.blocking_emit(sent)?;
                writing.blocking_finish_input()
            });
            let output = call.blocking_output().expect("a result");
            match value {
                Value::Text(text) => {
                    assert_eq!(output.blocking_collect_text().expect("whole"), text);
                }
                _ => assert_eq!(output.blocking_collect_bytes().expect("whole"), vec![7_u8; 1000]),
            }
            writes.join().expect("no panic").expect("all was written");
            call.blocking_wait().expect("done");
        }
        // An error comes with as much of its text as fits.
        let fails = attach(&engine, Cap::new("cap:fails"), "cap:fails", |_: &Request| {
            Err(Error::new(ErrorKind::Remote, "a long story ".repeat(100)))
        });
        let error = fails.call("cap:fails").expect("a call").blocking_wait().expect_err("it fails");
        assert_eq!(error.kind(), ErrorKind::Remote, "{error}");
        assert!(error.message().starts_with("a long"), "{error}");
        // A request that fits no frame is refused here: nobody there would hear of it.
        let long = format!("cap:{}", "x".repeat(200));
        let error = peer.call(&long).expect_err("it fits no frame");
        assert_eq!(error.kind(), ErrorKind::FrameTooLarge, "{error}");
        let error = peer.call("cap:nobody").expect("a call").blocking_wait().expect_err("unknown");
        assert_eq!(error.kind(), ErrorKind::NoHandler, "{error}");
    });
}
