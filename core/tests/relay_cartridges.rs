//! What becomes of the cartridges of a host when it joins a switch, is closed, or retires them, while they
//! are being started.

#[path = "support/raw.rs"]
mod raw;
#[path = "support/relay.rs"]
mod relay;
mod support;

use std::fs::{self, File};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use raw::{Closing, Raw};
use sluicegate::frame::FrameType;
use sluicegate::{
    Call, Cap, Cartridge, Command, EngineOptions, ErrorKind, Host, HostOptions, Limits, Manifest,
    NetworkPolicy, Switch, SwitchOptions,
};
use support::{ECHO, echo, engine, until, within};

const LIMIT: Duration = Duration::from_secs(180);
const ROLE: &str = "SLUICEGATE_TEST_LATE";

fn host() -> Host {
    let engine = EngineOptions { handshake_timeout: LIMIT, ..EngineOptions::default() };
    Host::new(HostOptions { engine, idle: None }).expect("a host")
}

/// What the switch allows on the network holds for a cartridge that comes after it was said, too.
#[test]
fn a_cartridge_that_comes_later_has_the_policy_of_the_switch() {
    within(LIMIT, "a policy", || {
        let (limits, policy) = (Limits::default(), NetworkPolicy::Offline);
        let switch = Switch::new(SwitchOptions { limits, policy, ..SwitchOptions::default() });
        let host = host();
        let mut before = relay::add_raw(&host, limits, "cap:before");
        assert_eq!(before.until(FrameType::Policy).network_policy(), Some(NetworkPolicy::Full));
        relay::join(&switch, &host, "host");
        assert_eq!(before.until(FrameType::Policy).network_policy(), Some(policy));
        let mut after = relay::add_raw(&host, limits, "cap:after");
        assert_eq!(after.until(FrameType::Policy).network_policy(), Some(policy));
    });
}

/// A cartridge that is attached while the host is closed is closed with it.
#[test]
fn a_cartridge_that_is_attached_to_a_closed_host_is_closed() {
    within(LIMIT, "the end of a link", || {
        let host = host();
        let (near, far) = UnixStream::pair().expect("a pair of sockets");
        let taking = host.clone();
        let takes = thread::spawn(move || {
            taking.attach("late", far.try_clone().expect("a second handle"), Closing(far))
        });
        let mut raw = Raw::over(near);
        raw.expect(FrameType::Hello);
        host.close();
        raw.send(&Raw::hello(ECHO, Limits::default()));
        raw.prove_identity();
        let _told = takes.join().expect("no panic");
        raw.drain(); // to the end of the link, while the host is still there
        assert!(host.pids().is_empty());
    });
}

/// Not a test by itself: a cartridge in a process of its own, which says who it is, and goes on once it may.
#[test]
fn cartridge() {
    let Some(place) = std::env::var_os(ROLE).map(PathBuf::from) else { return };
    fs::write(place.join("writing"), std::process::id().to_string()).expect("written");
    fs::rename(place.join("writing"), place.join("pid")).expect("renamed");
    let _may = File::open(place.join("go")).expect("a fifo"); // waits for the one who writes
    let frames = File::options().write(true).open("/proc/self/fd/3").expect("given by the test");
    let stdin = File::open("/proc/self/fd/0").expect("given by the test");
    let cartridge = Cartridge::new(Manifest::new("late", "1").cap(Cap::new(ECHO)));
    std::process::exit(i32::from(cartridge.handler(ECHO, echo).run(stdin, frames).is_err()));
}

/// A cartridge whose start a call has asked for, and that is running, before it has said anything.
struct Late {
    host: Host,
    switch: Switch,
    call: Call,
    place: PathBuf,
    label: String,
    pid: u32,
}

fn late(name: &str) -> Late {
    let place = std::env::temp_dir().join(format!("sluice-late-{name}-{}", std::process::id()));
    fs::create_dir_all(&place).expect("made");
    let made = std::process::Command::new("mkfifo").arg(place.join("go")).status();
    assert!(made.expect("it runs").success());
    let command = Command::new("sh")
        .arg("-c")
        .arg("exec \"$0\" --exact cartridge --nocapture 3>&1 1>&2")
        .arg(std::env::current_exe().expect("this test"))
        .env(ROLE, place.clone());
    let (host, switch) = (host(), Switch::new(SwitchOptions::default()));
    host.add_lazy(&command, &Manifest::new("late", "1").cap(Cap::new(ECHO)));
    relay::join(&switch, &host, "host");
    let caller = switch.caller(&engine(Limits::default())).expect("a caller");
    let call = caller.call(ECHO).expect("a call");
    let mut pid = None;
    until("it runs", || {
        pid = fs::read_to_string(place.join("pid")).ok().and_then(|pid| pid.parse().ok());
        pid.is_some()
    });
    Late { host, switch, call, place, label: command.label(), pid: pid.expect("a number") }
}

impl Late {
    /// Lets it say who it is, and waits until its process is gone.
    fn goes(&self) {
        drop(File::options().write(true).open(self.place.join("go")).expect("a fifo"));
        let process = PathBuf::from(format!("/proc/{}", self.pid));
        until("its process is gone", || !process.exists());
        fs::remove_dir_all(&self.place).expect("removed");
    }
}

/// A host that is closed while a cartridge is being started leaves no process behind.
#[test]
fn closing_a_host_ends_a_cartridge_that_is_being_started() {
    within(LIMIT, "the end of a process", || {
        let late = late("closed");
        late.host.close();
        late.call.blocking_wait().expect_err("its host is gone");
        late.goes();
        assert!(late.host.pids().is_empty());
    });
}

/// So does one that is retired while it is being started, though the request that it was started for is
/// taken back.
#[test]
fn a_cartridge_that_is_retired_while_it_is_being_started_is_stopped() {
    within(LIMIT, "the end of a process", || {
        let late = late("retired");
        late.call.cancel(&ErrorKind::Cancelled.into());
        relay::quiet(&late.switch);
        assert!(late.host.retire(&late.label));
        late.goes();
        assert!(late.host.dead().is_none(), "the host itself goes on");
    });
}

/// What a host tells of the requests that go through it, by the names of its cartridges, is what a switch does.
#[test]
fn a_host_tells_of_the_requests_that_go_through_it() {
    within(LIMIT, "an echo", || {
        let limits = support::limits(4, 64);
        let switch = relay::switch(limits);
        let host = relay::host_of(&switch, limits, ECHO, echo);
        let caller = switch.caller(&engine(limits)).expect("a caller");
        let call = caller.call(ECHO).expect("a call");
        let input = call.input("media:blob").expect("an argument");
        input.blocking_emit(7_u64.into()).expect("room");
        let output = call.blocking_output().expect("a result");
        output.blocking_recv().expect("an echo").expect("one");
        let told = host.stats();
        let active = &told["requests"]["active"][0];
        let ends = (&active["origin_master"], &active["destination_master"]);
        assert_eq!(ends, (&"switch".into(), &"test".into()), "{told}");
        let streams = active["streams"].as_array().expect("a list");
        let chunks = |name: &str, way: &str| {
            streams.iter().find(|stream| stream["stream_id"] == name).map(|s| s[way].clone())
        };
        assert_eq!(chunks("arg-0", "chunks_in"), Some(1.into()), "{told}");
        assert_eq!(chunks("resp-0", "chunks_out"), Some(1.into()), "{told}");
        call.blocking_finish_input().expect("the end");
        call.blocking_wait().expect("done");
    });
}

/// A cartridge that ends before it has said who it is fails the request that it was started for with its last
/// words, and is tried again for the next one.
#[test]
fn a_cartridge_that_crashes_while_it_is_being_started_says_why() {
    within(LIMIT, "two crashes", || {
        let (host, switch) = (host(), Switch::new(SwitchOptions::default()));
        let command = Command::new("sh").args(["-c", "echo no licence >&2; exit 5"]);
        host.add_lazy(&command, &Manifest::new("bad", "1").cap(Cap::new(ECHO)));
        relay::join(&switch, &host, "host");
        let caller = switch.caller(&engine(Limits::default())).expect("a caller");
        for _ in 0..2 {
            let call = caller.call(ECHO).expect("a call");
            let error = call.blocking_wait().expect_err("it never runs");
            for part in ["exit status: 5", "no licence"] {
                assert!(error.message().contains(part), "{error}");
            }
        }
    });
}
