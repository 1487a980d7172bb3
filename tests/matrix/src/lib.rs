//! The reference cartridges as they were built, one a language, and what the tests do with them.
//!
//! `cargo xtask build` builds them into `target/cartridges`, the reference hosts into `target/hosts` and
//! relays into `target/relays`.
//! A test that needs one and finds none fails; `SLUICEGATE_SWIFT=off` leaves Swift out and says so.

pub mod by_hand;
pub mod relay;

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use sluicegate::engine::Health;
use sluicegate::wait::block_on;
use sluicegate::{
    Call, Command, Deadline, Engine, EngineOptions, Error, InputStream, Item, Limits, Peer, Value,
};

/// Every language that has a reference cartridge.
pub const LANGUAGES: &[&str] = &["c", "go", "python", "rust", "swift"];

/// The root of the repository.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The languages to test now.
#[must_use]
pub fn languages() -> Vec<&'static str> {
    let without_swift = std::env::var("SLUICEGATE_SWIFT").is_ok_and(|value| value == "off");
    if without_swift {
        eprintln!("SLUICEGATE_SWIFT=off: what is written in Swift is NOT tested");
    }
    LANGUAGES.iter().copied().filter(|l| *l != "swift" || !without_swift).collect()
}

/// The reference cartridge of one language.
///
/// # Panics
/// If it was not built.
#[must_use]
pub fn program(language: &str) -> PathBuf {
    built("cartridges", language)
}

/// The reference host of one language.
///
/// # Panics
/// If it was not built.
#[must_use]
pub fn host(language: &str) -> PathBuf {
    built("hosts", language)
}

/// The reference relay, a program in Go.
///
/// # Panics
/// If it was not built.
#[must_use]
pub fn relay() -> PathBuf {
    built("relays", "go")
}

fn built(folder: &str, language: &str) -> PathBuf {
    let path = root().join("target").join(folder).join(language);
    assert!(path.exists(), "{} is missing: run `cargo xtask build`", path.display());
    path
}

/// Asks no cartridge whether it lives: a test may have stopped it, and how long the test takes is the machine's
/// affair.
#[must_use]
pub fn options(limits: Limits) -> EngineOptions {
    EngineOptions {
        limits,
        handshake_timeout: Duration::from_secs(30),
        health: Health { heartbeat: None, ..Health::default() },
        ..EngineOptions::default()
    }
}

/// An engine that proposes these limits.
#[must_use]
pub fn engine(initial_credit: u64, max_chunk: u64) -> Engine {
    Engine::new(options(Limits { initial_credit, max_chunk, ..Limits::default() }))
}

/// Starts the reference cartridge of a language.
///
/// # Panics
/// If it does not start.
#[must_use]
pub fn start(engine: &Engine, language: &str) -> Peer {
    engine
        .spawn(&Command::new(program(language)).env("SLOW_MS", "5"))
        .unwrap_or_else(|error| panic!("{language}: {error}"))
}

/// A bound that a busy machine keeps: what it guards would otherwise take minutes or never end.
pub const PROMPT: Duration = Duration::from_secs(60);

/// Runs `body` on a thread of its own and fails if it takes longer than `limit`.
///
/// # Panics
/// If it does, or if `body` panics.
pub fn within<T: Send + 'static>(
    limit: Duration,
    what: String,
    body: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (done, is_done) = mpsc::channel();
    let running = thread::spawn(move || {
        let result = body();
        let _ = done.send(()); // nobody listens after the limit
        result
    });
    if is_done.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
        panic!("{what}: still not done after {limit:?}");
    }
    running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Runs `test` for every language, each within `limit`.
///
/// # Panics
/// If one fails.
pub fn each_language(limit: Duration, test: fn(&str)) {
    for language in languages() {
        within(limit, language.to_owned(), move || test(language));
    }
}

/// Feeds `values` to a call on a thread of its own and ends its input.
///
/// # Panics
/// If the call does not take an argument.
pub fn feed(call: &Call, media: &str, values: Vec<Value>) -> thread::JoinHandle<Result<(), Error>> {
    let input = call.input(media).expect("the call takes an argument");
    let call = call.clone();
    thread::spawn(move || {
        for value in values {
            input.blocking_emit(value)?;
        }
        call.blocking_finish_input()
    })
}

/// Sees that what was fed was taken, or that the call ended well before: a cap need not read all of its
/// input.
///
/// # Panics
/// If neither is so.
pub fn taken(fed: thread::JoinHandle<Result<(), Error>>) {
    match fed.join().expect("no panic") {
        Err(error) if error.code() != "END" => panic!("the argument is not taken: {error}"),
        _ => {}
    }
}

/// Calls `cap` with one byte string, and answers its main output.
///
/// # Panics
/// If the call cannot be made.
#[must_use]
pub fn ask(peer: &Peer, cap: &str, media: &str, argument: &str) -> (Call, InputStream) {
    let call = peer.call(cap).expect("the cartridge lives");
    let fed = feed(&call, media, vec![Value::Bytes(argument.to_owned().into_bytes().into())]);
    let output = call.blocking_output().expect("a result");
    taken(fed);
    (call, output)
}

/// The integers of a stream.
///
/// # Panics
/// If it fails or holds something else.
#[must_use]
pub fn integers(items: &[Item]) -> Vec<u64> {
    items.iter().map(|item| item.value.as_u64().expect("an integer")).collect()
}

/// Closes an engine and all its cartridges, however long that takes: whoever calls it has a limit.
pub fn close(engine: &Engine) {
    let _closed = block_on(engine.close(), Deadline::NEVER);
}
