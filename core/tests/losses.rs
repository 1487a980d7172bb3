//! What is lost is told (L6, L8): a frame of a request that was never known is a warning, one that crossed
//! the end of its request is a debug line, at an engine, a cartridge, a switch and a host alike.

mod support;

#[path = "support/raw.rs"]
mod raw;
#[path = "support/relay.rs"]
mod relay;

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use raw::Raw;
use sluicegate::engine::{Health, Losses, OnLoss, Severity};
use sluicegate::frame::{CreditDirection, Frame, FrameType};
use sluicegate::wait::block_on;
use sluicegate::{
    AttributionClass, Cap, Cartridge, Deadline, Engine, EngineOptions, Host, HostOptions, Manifest,
    NetworkPolicy, Switch, SwitchOptions,
};
use support::{ECHO, echo, limits, within};

const LIMIT: Duration = Duration::from_secs(120);

/// An ear, and what it hears: severity, reason, type of the frame, how many, how many in all.
type Told = (Severity, &'static str, &'static str, u64, u64);

fn ear(party: &str) -> (OnLoss, mpsc::Receiver<Told>) {
    let (tell, told) = mpsc::channel();
    let (tell, party) = (Mutex::new(tell), party.to_owned());
    let on_loss: OnLoss = Arc::new(move |loss| {
        assert_eq!(loss.party, party);
        let told = (loss.severity, loss.reason, loss.frame_type, loss.count, loss.total);
        let _over = tell.lock().expect("no panic").send(told);
    });
    (on_loss, told)
}

fn health(on_loss: OnLoss) -> EngineOptions {
    let health = Health { on_loss, ..Health::default() };
    EngineOptions { limits: limits(4, 64), health, ..EngineOptions::default() }
}

fn unknown() -> Frame {
    Frame::credit(77_u64.into(), None, Some("arg-0"), 1, CreditDirection::Request)
}

#[test]
fn an_engine_tells_a_drop_as_a_warning_and_a_straggler_as_benign() {
    within(LIMIT, "notices", || {
        let (on_loss, told) = ear("attached cartridge");
        let engine = Engine::new(health(on_loss));
        let (mut raw, peer) = Raw::cartridge(&engine, ECHO);
        let call = peer.call(ECHO).expect("live");
        let id = raw.until(FrameType::Req).id;
        raw.answer(id, &[]);
        call.blocking_wait().expect("done");
        raw.send(&Frame::log(id, None, "info", AttributionClass::Internal, "late"));
        let late = told.recv().expect("a notice");
        assert_eq!(late, (Severity::Debug, "straggler", "log", 1, 1));
        raw.send(&unknown());
        let lost = told.recv().expect("a notice");
        assert_eq!(lost, (Severity::Warning, "no_route", "credit", 1, 1));
        raw.send(&unknown());
        let lost = told.recv().expect("a notice");
        assert_eq!(lost, (Severity::Warning, "no_route", "credit", 1, 2));
        assert_eq!(peer.counters().drops["no_route"]["credit"], 2);
    });
}

#[test]
fn a_cartridge_tells_what_its_host_sent_for_nobody() {
    within(LIMIT, "a notice", || {
        let (on_loss, told) = ear("test");
        let manifest = Manifest::new("test", "1").cap(Cap::new(ECHO));
        let cartridge = Cartridge::new(manifest).handler(ECHO, echo).on_loss(on_loss);
        let (mut raw, running) = Raw::host_of(cartridge);
        raw.greet(limits(4, 64));
        raw.send(&Frame::policy(NetworkPolicy::Full));
        raw.send(&unknown());
        let lost = told.recv().expect("a notice");
        assert_eq!(lost, (Severity::Warning, "no_route", "credit", 1, 1));
        raw.hang_up();
        running.join().expect("no panic").expect("a host that goes is no error");
    });
}

#[test]
fn a_switch_and_a_host_tell_what_has_no_way_on() {
    within(LIMIT, "notices", || {
        let (on_loss, told) = ear("switch");
        let switch = Switch::new(SwitchOptions {
            limits: limits(4, 64),
            on_loss,
            ..SwitchOptions::default()
        });
        let mut caller = relay::raw_caller(&switch, limits(4, 64));
        caller.send(&unknown());
        let lost = told.recv().expect("a notice");
        assert_eq!(lost, (Severity::Warning, "no_route", "credit", 1, 1));

        let (on_loss, told) = ear("raw");
        let host = Host::new(HostOptions { engine: health(on_loss), idle: None }).expect("a host");
        let mut cartridge = relay::add_raw(&host, limits(4, 64), ECHO);
        cartridge.send(&unknown());
        let lost = told.recv().expect("a notice");
        assert_eq!(lost, (Severity::Warning, "no_route", "credit", 1, 1));
    });
}

#[test]
fn notices_can_be_waited_for() {
    within(LIMIT, "a notice", || {
        let losses = Losses::default();
        let engine = Engine::new(health(losses.hears()));
        let (mut raw, _peer) = Raw::cartridge(&engine, ECHO);
        raw.send(&unknown());
        let lost = block_on(losses.next(), Deadline::NEVER).expect("no limit");
        assert_eq!(
            lost.to_string(),
            "attached cartridge: 1 credit frame lost, no_route (1 in all)"
        );
    });
}
