//! Reference cartridges as hosts' processes behind a switch.

use std::time::Duration;

use sluicegate::link::socket_pair;
use sluicegate::{
    Command, Engine, EngineOptions, Host, HostOptions, Limits, Manifest, Peer, Switch,
    SwitchOptions,
};

use crate::{close, engine, program};

/// A switch, a host with one cartridge that does not run yet, and a caller.
pub struct Stack {
    /// Where the host and the caller meet.
    pub switch: Switch,
    /// Starts the cartridge when it is needed.
    pub host: Host,
    /// Calls what the host offers.
    pub caller: Peer,
    _engine: Engine,
}

/// What a switch tells once no request goes through it: the end of one is passed on before it is forgotten.
#[must_use]
pub fn quiet(switch: &Switch) -> serde_json::Value {
    loop {
        let stats = switch.stats();
        if stats["requests"]["active"].as_array().is_some_and(Vec::is_empty) {
            return stats;
        }
        std::thread::yield_now();
    }
}

fn options(window: u64) -> EngineOptions {
    crate::options(Limits { initial_credit: window, ..Limits::default() })
}

/// The cartridge of one language behind a switch of its own.
///
/// # Panics
/// If it does not start.
#[must_use]
pub fn stack(language: &str, window: u64, idle: Option<Duration>) -> Stack {
    stack_with(&command(language), window, idle)
}

/// The same with a command of one's own.
///
/// # Panics
/// If it does not start.
#[must_use]
pub fn stack_with(command: &Command, window: u64, idle: Option<Duration>) -> Stack {
    let limits = options(window).limits;
    let switch = Switch::new(SwitchOptions { limits, ..SwitchOptions::default() });
    let host = host_with(command, window, idle, &switch);
    let engine = Engine::new(options(window));
    let caller = switch.caller(&engine).expect("a caller");
    Stack { switch, host, caller, _engine: engine }
}

/// What starts the cartridge of one language.
#[must_use]
pub fn command(language: &str) -> Command {
    Command::new(program(language)).env("SLOW_MS", "5")
}

/// A host with the cartridge of one language, which does not run yet, joined to a switch.
///
/// # Panics
/// If it does not start.
#[must_use]
pub fn host_of(language: &str, window: u64, idle: Option<Duration>, switch: &Switch) -> Host {
    host_with(&command(language), window, idle, switch)
}

fn host_with(command: &Command, window: u64, idle: Option<Duration>, switch: &Switch) -> Host {
    // What it can do, as an installation would know it.
    let probe = engine(window, Limits::default().max_chunk);
    let manifest = probe.spawn(command).expect("it starts").manifest_json();
    let manifest = Manifest::from_json(&manifest).expect("its own manifest");
    close(&probe);
    let host = Host::new(HostOptions { engine: options(window), idle }).expect("a host");
    host.add_lazy(command, &manifest);
    let [(reader, writer), (far_reader, far_writer)] = socket_pair().expect("sockets");
    let joining = switch.clone();
    let joins = std::thread::spawn(move || joining.attach("host", far_reader, far_writer));
    host.join(reader, writer).expect("the switch takes the host in");
    joins.join().expect("no panic").expect("joined");
    host
}
