//! Calls through a switch: who answers, what passes, what is counted (L11, L14, L15, L17).

mod support;

use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use sluicegate::link::{SocketReader, SocketWriter, socket_pair};
use sluicegate::{
    Cap, Cartridge, Engine, EngineOptions, Error, ErrorKind, Host, HostOptions, Limits, Manifest,
    Peer, Request, Switch, SwitchOptions, Value,
};
use support::{ECHO, echo, within};

const SOON: Duration = Duration::from_secs(180);
const DOUBLE: &str = "cap:double;in=media:blob;out=media:blob";
const HOLD: &str = "cap:hold;in=media:blob;out=media:blob";

fn pair() -> [(SocketReader, SocketWriter); 2] {
    socket_pair().expect("a pair of sockets")
}

/// A host with one cartridge of one cap, joined to `switch`.
fn host(
    switch: &Switch,
    name: &str,
    limits: Limits,
    urn: &str,
    handler: impl Fn(&Request) -> Result<(), Error> + Send + Sync + 'static,
) -> Host {
    let engine = EngineOptions { limits, ..EngineOptions::default() };
    let host = Host::new(HostOptions { engine, idle: None }).expect("a host");
    let [(reader, writer), (far_reader, far_writer)] = pair();
    let cartridge =
        Cartridge::new(Manifest::new(name, "1").cap(Cap::new(urn))).handler(urn, handler);
    thread::spawn(move || cartridge.run(far_reader, far_writer));
    host.attach(name, reader, writer).expect("the cartridge is taken in");
    join(switch, &host, name);
    host
}

fn join(switch: &Switch, host: &Host, name: &str) {
    let [(reader, writer), (far_reader, far_writer)] = pair();
    let (joining, name) = (switch.clone(), name.to_owned());
    let joins = thread::spawn(move || joining.attach(&name, far_reader, far_writer));
    host.join(reader, writer).expect("the switch takes the host in");
    joins.join().expect("no panic").expect("it has joined");
}

fn caller(switch: &Switch) -> Peer {
    switch.caller(&Engine::default()).expect("a caller")
}

fn ask(peer: &Peer, cap: &str, bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let call = peer.call(cap)?;
    let input = call.input("media:blob")?;
    let (feeding, bytes) = (call.clone(), bytes.to_vec());
    let feeds = thread::spawn(move || {
        // What goes wrong is told by the reading side.
        let _told = input.blocking_write(&bytes).and_then(|()| feeding.blocking_finish_input());
    });
    let answer = call.blocking_output().and_then(|output| output.blocking_collect_bytes());
    feeds.join().expect("no panic");
    let answer = answer?;
    call.blocking_wait()?;
    Ok(answer.to_vec())
}

/// What the switch tells once no request goes through it.
fn quiet(switch: &Switch) -> serde_json::Value {
    loop {
        let stats = switch.stats();
        if stats["requests"]["active"].as_array().is_some_and(Vec::is_empty) {
            return stats;
        }
        thread::yield_now();
    }
}

/// Reads an argument until it fails, and answers why.
fn read_on(request: &Request) -> Result<Error, Error> {
    let input = match request.blocking_input() {
        Ok(input) => input,
        Err(why) => return Ok(why), // before it opened
    };
    loop {
        match input.blocking_recv() {
            Ok(Some(_)) => {}
            Ok(None) => return Err(ErrorKind::EndOfStream.into()),
            Err(why) => return Ok(why),
        }
    }
}

#[test]
fn l11_a_call_through_a_switch_and_a_host_answers_as_without() {
    within(SOON, "a call", || {
        let switch = Switch::new(SwitchOptions::default());
        let _host = host(&switch, "echo", Limits::default(), ECHO, echo);
        assert_eq!(switch.caps(), [ECHO]);
        let peer = caller(&switch);
        let bytes: Vec<u8> = (0..3_000_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        assert_eq!(ask(&peer, ECHO, &bytes).expect("an echo"), bytes);
        let stats = quiet(&switch);
        assert_eq!(stats["requests"]["terminated_by_kind"]["end"], 1, "{stats}");
        assert_eq!(stats["drops"]["total"], 0, "{stats}");
    });
}

/// What has joined is routed to: who calls at once is answered.
#[test]
fn a_host_has_joined_once_requests_are_routed_to_it() {
    within(SOON, "joins", || {
        let switch = Switch::new(SwitchOptions::default());
        let peer = caller(&switch);
        for round in 0..50 {
            let host = Host::new(HostOptions::default()).expect("a host");
            let [(reader, writer), (far_reader, far_writer)] = pair();
            let cartridge =
                Cartridge::new(Manifest::new("echo", "1").cap(Cap::new(ECHO))).handler(ECHO, echo);
            thread::spawn(move || cartridge.run(far_reader, far_writer));
            host.attach("echo", reader, writer).expect("the cartridge is taken in");
            let [(reader, writer), (far_reader, far_writer)] = pair();
            let joining = switch.clone();
            let joins = thread::spawn(move || joining.attach("host", far_reader, far_writer));
            host.join(reader, writer).expect("the switch takes the host in");
            assert_eq!(ask(&peer, ECHO, b"x").expect("it is routed"), b"x", "round {round}");
            joins.join().expect("no panic").expect("it has joined");
            host.close();
            while !switch.caps().is_empty() {
                thread::yield_now();
            }
        }
    });
}

/// A switch that has taken the host in and then lets it go never routed to it.
#[test]
fn a_host_that_fails_its_identity_check_has_not_joined() {
    use sluicegate::frame::Frame;
    use sluicegate::link::{FrameReader, FrameWriter};
    within(SOON, "a refusal", || {
        let host = Host::new(HostOptions::default()).expect("a host");
        let [(reader, writer), (far_reader, far_writer)] = pair();
        let switch = thread::spawn(move || {
            let mut notice = FrameReader::new(far_reader);
            notice.read().expect("a frame").expect("the host's notice");
            let mut policy = Frame::policy(sluicegate::NetworkPolicy::Full);
            policy.set_meta("routable", false);
            FrameWriter::new(far_writer).write(&policy).expect("the host reads");
        });
        let refused = host.join(reader, writer).expect_err("the switch let it go");
        assert_eq!(refused.kind(), ErrorKind::PeerDied, "{refused}");
        switch.join().expect("no panic");
    });
}

#[test]
fn an_unknown_cap_is_refused_and_the_connection_lives_on() {
    within(SOON, "two calls", || {
        let switch = Switch::new(SwitchOptions::default());
        let _host = host(&switch, "echo", Limits::default(), ECHO, echo);
        let peer = caller(&switch);
        let refused = ask(&peer, DOUBLE, b"x").expect_err("nobody offers it");
        assert_eq!(refused.code(), "NO_HANDLER", "{refused}");
        assert_eq!(ask(&peer, ECHO, b"x").expect("an echo"), b"x");
    });
}

#[test]
fn l14_a_peer_call_goes_through_the_switch_to_another_host_and_to_its_own() {
    within(SOON, "peer calls", || {
        let switch = Switch::new(SwitchOptions::default());
        let _echo = host(&switch, "echo", Limits::default(), ECHO, echo);
        let _double = host(&switch, "double", Limits::default(), DOUBLE, |request: &Request| {
            let input = request.blocking_input()?.blocking_collect_bytes()?;
            let output = request.output();
            for _ in 0..2 {
                let call = request.peer(ECHO)?;
                let argument = call.input("media:blob")?;
                argument.blocking_write(&input)?;
                call.blocking_finish_input()?;
                output.blocking_write(&call.blocking_output()?.blocking_collect_bytes()?)?;
                call.blocking_wait()?;
            }
            Ok(())
        });
        assert_eq!(ask(&caller(&switch), DOUBLE, b"ab").expect("twice"), b"abab");
        let stats = quiet(&switch);
        assert_eq!(stats["requests"]["terminated_by_kind"]["end"], 3, "{stats}");
    });
}

#[test]
fn l11_a_relay_makes_and_swallows_no_credit() {
    within(SOON, "a stream that stands still", || {
        let switch = Switch::new(SwitchOptions::default());
        let (limits, window) = (support::limits(4, 1024), 4);
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let wait = std::sync::Mutex::new(wait);
        let _host = host(&switch, "hold", limits, HOLD, move |request: &Request| {
            let input = request.blocking_input()?;
            let _released = wait.lock().expect("not poisoned").recv();
            let mut count = 0_u64;
            while input.blocking_recv()?.is_some() {
                count += 1;
            }
            request.output().blocking_emit(Value::from(count))
        });
        let options = EngineOptions { limits, ..EngineOptions::default() };
        let peer = switch.caller(&Engine::new(options)).expect("a caller");
        let call = peer.call(HOLD).expect("a call");
        let input = call.input("media:blob").expect("an argument");
        for n in 0..window {
            input.blocking_emit(Value::from(n)).expect("within the window");
        }
        // The window is used up over both hops, and stays so while nobody consumes (L9, L11).
        assert_eq!(input.stats().window, 0);
        let blocked = thread::spawn({
            let input = input.clone();
            move || input.blocking_emit(Value::from(9_u64))
        });
        let active = loop {
            let stats = switch.stats();
            let active = stats["requests"]["active"].clone();
            let seen = active[0]["streams"].as_array().into_iter().flatten();
            if seen.filter_map(|s| s["chunks_in"].as_u64()).sum::<u64>() == window {
                break active;
            }
            thread::yield_now();
        };
        let stream = active[0]["streams"].as_array().expect("streams");
        let argument = stream.iter().find(|s| s["stream_id"] == "arg-0").expect("the argument");
        assert_eq!(argument["credit_outstanding"], 0, "{active}");
        assert!(!blocked.is_finished());
        go.send(()).expect("the handler waits");
        blocked.join().expect("no panic").expect("credit came from the consumer");
        call.blocking_finish_input().expect("the end");
        let output = call.blocking_output().expect("a result");
        let answer = output.blocking_recv().expect("one");
        assert_eq!(answer.expect("a value").value, Value::from(5_u64));
        call.blocking_wait().expect("done");
    });
}

#[test]
fn l17_a_cancel_goes_through_and_leaves_nothing_behind() {
    within(SOON, "a cancel", || {
        let switch = Switch::new(SwitchOptions::default());
        let (told, hears) = std::sync::mpsc::channel();
        let (begun, begins) = std::sync::mpsc::channel();
        let tell = std::sync::Mutex::new((begun, told));
        let _host = host(&switch, "hold", Limits::default(), HOLD, move |request: &Request| {
            let tell = tell.lock().expect("not poisoned");
            tell.0.send(()).expect("heard");
            let why = read_on(request)?;
            tell.1.send(why.clone()).expect("heard");
            Err(why)
        });
        let peer = caller(&switch);
        let call = peer.call(HOLD).expect("a call");
        let input = call.input("media:blob").expect("an argument");
        input.blocking_emit(Value::from(1_u64)).expect("room");
        begins.recv().expect("the handler runs");
        call.cancel(&Error::new(ErrorKind::Cancelled, "enough"));
        let why = hears.recv().expect("the handler is told");
        assert_eq!((why.kind(), why.message()), (ErrorKind::Cancelled, "enough"));
        quiet(&switch);
        assert_eq!(ask(&peer, DOUBLE, b"").expect_err("lives on").code(), "NO_HANDLER");
    });
}

/// L17: a cancel goes on to the call that the handler waits for, and on to the call of that.
#[test]
fn l17_a_cancel_goes_on_to_the_calls_of_the_handler() {
    within(SOON, "a cascade", || {
        let switch = Switch::new(SwitchOptions::default());
        let (told, hears) = std::sync::mpsc::channel();
        let tell = std::sync::Mutex::new(told);
        let _hold = host(&switch, "hold", Limits::default(), HOLD, move |request: &Request| {
            let tell = tell.lock().expect("not poisoned");
            tell.send(None).expect("heard");
            let why = read_on(request)?;
            tell.send(Some(why.clone())).expect("heard");
            Err(why)
        });
        let _between = [(DOUBLE, ECHO), (ECHO, HOLD)].map(|(urn, next)| {
            host(&switch, urn, Limits::default(), urn, move |request: &Request| {
                let call = request.peer(next)?;
                call.blocking_output()?.blocking_collect_bytes()?; // comes to an end by the cancel only
                Ok(())
            })
        });
        let peer = caller(&switch);
        let call = peer.call(DOUBLE).expect("a call");
        assert_eq!(hears.recv().expect("the last handler runs"), None);
        call.cancel(&Error::new(ErrorKind::Cancelled, "enough"));
        let why = hears.recv().expect("it is told").expect("why");
        assert_eq!((why.kind(), why.message()), (ErrorKind::Cancelled, "enough"));
        let stats = quiet(&switch);
        assert_eq!(stats["drops"]["total"], 0, "{stats}");
    });
}

#[test]
fn a_host_that_leaves_fails_its_requests_and_another_takes_over() {
    within(SOON, "a host leaves", || {
        let switch = Switch::new(SwitchOptions::default());
        let first = host(&switch, "first", Limits::default(), HOLD, |request: &Request| {
            Err(read_on(request)?)
        });
        let peer = caller(&switch);
        let call = peer.call(HOLD).expect("a call");
        let input = call.input("media:blob").expect("an argument");
        input.blocking_emit(Value::from(1_u64)).expect("room");
        while switch.stats()["requests"]["active"][0]["phase"] != "streaming" {
            thread::yield_now();
        }
        first.close();
        let error = call.blocking_wait().expect_err("its host is gone");
        assert!(error.message().contains("first"), "{error}");
        let _second = host(&switch, "second", Limits::default(), ECHO, echo);
        assert_eq!(ask(&peer, ECHO, b"on").expect("an echo"), b"on");
    });
}

#[test]
fn windows_that_differ_are_refused_and_both_named() {
    within(SOON, "a mismatch", || {
        let switch = Switch::new(SwitchOptions::default());
        let _host = host(&switch, "echo", support::limits(8, 1024), ECHO, echo);
        let error = ask(&caller(&switch), ECHO, b"x").expect_err("32 and 8");
        assert_eq!(error.code(), "WINDOW_MISMATCH", "{error}");
        assert!(error.message().contains('8') && error.message().contains("32"), "{error}");
        let options =
            EngineOptions { limits: support::limits(8, 1024), ..EngineOptions::default() };
        let peer = switch.caller(&Engine::new(options)).expect("a caller");
        assert_eq!(ask(&peer, ECHO, b"x").expect("an echo"), b"x");
    });
}

/// A handler is found by the URN that it was declared with.
#[test]
fn a_request_goes_on_under_the_cap_as_it_was_offered() {
    within(SOON, "a call", || {
        let switch = Switch::new(SwitchOptions::default());
        let _host = host(&switch, "say", Limits::default(), ECHO, |request: &Request| {
            request.output().blocking_write(request.cap().as_bytes())
        });
        let turned = "cap:out=media:blob;in=media:blob;echo";
        assert_eq!(ask(&caller(&switch), turned, b"").expect("it is served"), ECHO.as_bytes());
    });
}

/// It may ask the switch, and one that panics says no; the switch lives on in both cases.
#[test]
fn a_matcher_may_use_its_switch_and_panic() {
    within(SOON, "matches", || {
        let (tell, told) = std::sync::mpsc::channel();
        let of_switch = Arc::new(OnceLock::<Switch>::new());
        let (asks, tell) = (Arc::clone(&of_switch), std::sync::Mutex::new(tell));
        let matcher = Arc::new(move |offered: &str, asked: &str| {
            let switch = asks.get().expect("it is made");
            let seen = (switch.caps(), switch.stats()["hosts"].as_object().map(|all| all.len()));
            tell.lock().expect("not poisoned").send(seen).expect("heard");
            assert_ne!(asked, HOLD, "on purpose");
            asked.starts_with(offered)
        });
        let switch = Switch::new(SwitchOptions { matcher, ..SwitchOptions::default() });
        of_switch.set(switch.clone()).expect("once");
        let _host = host(&switch, "echo", Limits::default(), ECHO, echo);
        let peer = caller(&switch);
        let more = format!("{ECHO};more=yes");
        assert_eq!(ask(&peer, &more, b"x").expect("an echo"), b"x");
        assert_eq!(told.recv().expect("asked"), (vec![ECHO.to_owned()], Some(1)));
        assert_eq!(ask(&peer, HOLD, b"x").expect_err("it says no").code(), "NO_HANDLER");
        assert_eq!(ask(&peer, &more, b"y").expect("it lives on"), b"y");
        switch.close();
    });
}

#[test]
fn a_newcomer_that_says_nothing_is_shut_out_in_time() {
    within(SOON, "the end of a silent connection", || {
        let join_timeout = Duration::from_millis(100);
        let switch = Switch::new(SwitchOptions { join_timeout, ..SwitchOptions::default() });
        let path = std::env::temp_dir().join(format!("sluice-silent-{}", std::process::id()));
        switch.listen(&sluicegate::Address::Unix(path.clone())).expect("it listens");
        let mut silent = std::os::unix::net::UnixStream::connect(&path).expect("in");
        let mut byte = [0];
        assert_eq!(std::io::Read::read(&mut silent, &mut byte).expect("the end"), 0);
    });
}
