//! Switches, hosts and callers in one process, and raw ones among them.
#![allow(dead_code)] // each test file uses a part of it

use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};

use sluicegate::frame::{Frame, FrameType};
use sluicegate::link::socket_pair;
use sluicegate::{
    Cap, Cartridge, Error, Host, HostOptions, Limits, Manifest, Peer, Request, Switch,
    SwitchOptions, Value, Version,
};

use crate::raw::{Closing, Raw};
use crate::support::{ECHO, engine, options};

pub fn switch(limits: Limits) -> Switch {
    Switch::new(SwitchOptions { limits, ..SwitchOptions::default() })
}

fn empty_host(limits: Limits) -> Host {
    Host::new(HostOptions { engine: options(limits), idle: None }).expect("a host")
}

/// Adds a cartridge of one cap to `host`.
pub fn add(
    host: &Host,
    limits: Limits,
    urn: &str,
    handler: impl Fn(&Request) -> Result<(), Error> + Send + Sync + 'static,
) {
    let [(reader, writer), (far_reader, far_writer)] = socket_pair().expect("sockets");
    let cartridge = Cartridge::new(Manifest::new("test", "1").cap(Cap::new(urn)));
    let cartridge = cartridge.limits(limits).handler(urn, handler);
    thread::spawn(move || cartridge.run(far_reader, far_writer));
    host.attach("test", reader, writer).expect("the cartridge is taken in");
}

/// A host with one cartridge of one cap that has joined no switch.
pub fn alone(
    limits: Limits,
    urn: &str,
    handler: impl Fn(&Request) -> Result<(), Error> + Send + Sync + 'static,
) -> Host {
    let host = empty_host(limits);
    add(&host, limits, urn, handler);
    host
}

/// A host with one cartridge of one cap, joined to `switch`.
pub fn host_of(
    switch: &Switch,
    limits: Limits,
    urn: &str,
    handler: impl Fn(&Request) -> Result<(), Error> + Send + Sync + 'static,
) -> Host {
    let host = alone(limits, urn, handler);
    join(switch, &host, urn);
    host
}

pub fn join(switch: &Switch, host: &Host, name: &str) {
    let [(reader, writer), (far_reader, far_writer)] = socket_pair().expect("sockets");
    let (joining, name) = (switch.clone(), name.to_owned());
    let joins = thread::spawn(move || joining.attach(&name, far_reader, far_writer));
    host.join(reader, writer).expect("the switch takes the host in");
    joins.join().expect("no panic").expect("joined");
}

/// Takes the far end of a raw peer into `switch`, while `greet` speaks for it.
fn taken_in(switch: &Switch, name: &str, greet: impl FnOnce(&mut Raw)) -> Raw {
    let (mut raw, joins) = joining(switch, name);
    greet(&mut raw);
    joins.join().expect("no panic").expect("joined");
    raw
}

/// A raw peer that has said nothing yet to the switch that it joins.
pub fn joining(switch: &Switch, name: &str) -> (Raw, JoinHandle<Result<(), Error>>) {
    let (near, far) = UnixStream::pair().expect("a pair of sockets");
    let (joining, name) = (switch.clone(), name.to_owned());
    let joins = thread::spawn(move || {
        joining.attach(&name, far.try_clone().expect("a second handle"), Closing(far))
    });
    (Raw::over(near), joins)
}

/// A caller of `switch`, driven by hand.
pub fn raw_caller(switch: &Switch, limits: Limits) -> Raw {
    taken_in(switch, "raw caller", |raw| drop(raw.greet(limits)))
}

/// A host of `switch` that offers one cap, driven by hand.
pub fn raw_host(switch: &Switch, name: &str, limits: Limits, cap: &str) -> Raw {
    raw_host_in(switch, name, limits, cap, Version::V6)
}

/// The same, of another version.
pub fn raw_host_in(
    switch: &Switch,
    name: &str,
    limits: Limits,
    cap: &str,
    version: Version,
) -> Raw {
    let manifest = serde_json::json!({
        "installed_cartridges": [{"cap_groups": [{"caps": [{"urn": cap}]}]}],
    });
    let notice = Frame::relay_notify(manifest.to_string().into(), &limits);
    taken_in(switch, name, |raw| {
        raw.speak(version);
        raw.send(&notice);
        if version.has_policy() {
            raw.expect(FrameType::Policy);
        }
        raw.prove_identity();
    })
}

/// A host that has joined no switch, and its only cartridge, driven by hand.
pub fn raw_cartridge(limits: Limits, cap: &str) -> (Host, Raw) {
    let host = empty_host(limits);
    let raw = add_raw(&host, limits, cap);
    (host, raw)
}

/// Adds a cartridge of one cap to `host` that is driven by hand.
pub fn add_raw(host: &Host, limits: Limits, cap: &str) -> Raw {
    let (near, far) = UnixStream::pair().expect("a pair of sockets");
    let taking = host.clone();
    let takes = thread::spawn(move || {
        taking.attach("raw", far.try_clone().expect("a second handle"), Closing(far))
    });
    let mut raw = Raw::over(near);
    raw.introduce(cap, limits);
    raw.prove_identity();
    takes.join().expect("no panic").expect("it is taken in");
    raw
}

/// A new caller that behaves well is served `times` times by whoever offers [`ECHO`].
pub fn served(switch: &Switch, limits: Limits, times: u64) {
    let engine = engine(limits);
    let caller = switch.caller(&engine).expect("a caller");
    (0..times).for_each(|n| one(&caller, ECHO, n));
}

/// `n` goes to whoever offers `cap`, and comes back.
pub fn one(caller: &Peer, cap: &str, n: u64) {
    let call = caller.call(cap).expect("a call");
    call.input("media:blob").expect("an argument").blocking_emit(n.into()).expect("room");
    call.blocking_finish_input().expect("the end");
    let output = call.blocking_output().expect("a result");
    let back = output.blocking_recv().expect("an echo").expect("one").value;
    assert_eq!(back, Value::from(n));
    call.blocking_wait().expect("done");
}

/// What `switch` tells once no request goes through it.
pub fn quiet(switch: &Switch) -> serde_json::Value {
    loop {
        let stats = switch.stats();
        if stats["requests"]["active"].as_array().is_some_and(Vec::is_empty) {
            return stats;
        }
        thread::yield_now();
    }
}
