//! A local socket by which a running process says what it is doing.
//!
//! Only the user that the process runs as can open it: the socket is made with mode 0600, in a folder
//! with mode 0700 unless a path is given. Whoever connects writes one line, `explain` or `stats`, and
//! gets one line of JSON. Eight may be in at once; who says nothing, or does not read, makes way for a
//! newcomer, and is let go after ten seconds.
//!
//! The command's `pipe`, `switch` and `host` open it; any other process does with [`Control::serve_here`].

use std::fmt;
use std::fs::DirBuilder;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use serde_json::Value as Json;

use crate::account::Explanation;
use crate::cartridge::Session;
use crate::engine::Engine;
use crate::error::{Error, ErrorKind};
use crate::link::{
    Address, Limited, Listener, Shutter, SocketReader, SocketWriter, connect, spawn_quiet,
};
use crate::relay::{Host, Switch};
use crate::sync::{Arc, Mutex};
use crate::time::Deadline;

/// Those who may ask at once.
const ASKERS: usize = 8;
/// The longest question, in bytes.
const QUESTION: u64 = 64;

/// How long one may take to ask, and again to read what it is told.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long an answer is waited for.
const ANSWER: Duration = Duration::from_secs(30);

/// What a process tells of itself.
pub trait Report: Send + Sync {
    /// Who waits for whom.
    fn explain(&self) -> Explanation;
    /// What is live and what was lost.
    fn stats(&self) -> Json;
}

impl Report for Engine {
    fn explain(&self) -> Explanation {
        Engine::explain(self)
    }

    fn stats(&self) -> Json {
        Engine::stats(self)
    }
}

impl Report for Session {
    fn explain(&self) -> Explanation {
        Session::explain(self)
    }

    fn stats(&self) -> Json {
        Session::stats(self)
    }
}

impl Report for Switch {
    fn explain(&self) -> Explanation {
        Switch::explain(self)
    }

    fn stats(&self) -> Json {
        Switch::stats(self)
    }
}

impl Report for Host {
    fn explain(&self) -> Explanation {
        Host::explain(self)
    }

    fn stats(&self) -> Json {
        Host::stats(self)
    }
}

/// A question to a running process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Who waits for whom: the JSON of an [`Explanation`].
    Explain,
    /// What is live and what was lost.
    Stats,
}

impl Question {
    const fn word(self) -> &'static str {
        match self {
            Question::Explain => "explain",
            Question::Stats => "stats",
        }
    }
}

impl FromStr for Question {
    type Err = Error;

    /// `explain` or `stats`.
    fn from_str(text: &str) -> Result<Self, Error> {
        let mut all = [Question::Explain, Question::Stats].into_iter();
        all.find(|question| question.word() == text).ok_or_else(|| {
            let message = format!("{text:?} is no question: ask explain or stats");
            Error::new(ErrorKind::InvalidArgument, message)
        })
    }
}

/// An open control socket. Dropping it closes it.
pub struct Control(Arc<Listener>);

impl Control {
    /// Answers questions at `address` until this is dropped.
    ///
    /// # Errors
    /// `Io`, naming the address; `InvalidArgument` for an address that others than the same user
    /// could reach.
    pub fn serve(address: &Address, report: Arc<dyn Report>) -> Result<Self, Error> {
        Control::serve_with(address, report, PATIENCE)
    }

    fn serve_with(
        address: &Address,
        report: Arc<dyn Report>,
        patience: Duration,
    ) -> Result<Self, Error> {
        if let Address::Tcp(place) = address {
            let message = format!("a control socket is a Unix socket, not tcp:{place}");
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let listener = Arc::new(Listener::bind(address)?);
        let accepting = Arc::clone(&listener);
        spawn_quiet("control", move || accept(&accepting, &report, patience))
            .map_err(|e| Error::new(ErrorKind::Io, format!("no thread for the control: {e}")))?;
        Ok(Control(listener))
    }

    /// [`serve`](Self::serve) where `sluicegate explain PID` looks for this process.
    ///
    /// # Errors
    /// As there.
    pub fn serve_here(report: Arc<dyn Report>) -> Result<Self, Error> {
        let path = path_of(std::process::id())?;
        Control::serve(&Address::Unix(path), report)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> &Address {
        self.0.address()
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Control({})", self.0.address())
    }
}

/// Where a process of this user has its control socket, if it has one. Makes the folder for it.
///
/// # Errors
/// `Io` if there is no folder that is this user's alone.
pub fn path_of(pid: u32) -> Result<PathBuf, Error> {
    let failed = |folder: &PathBuf, why: String| {
        Error::new(
            ErrorKind::Io,
            format!("no folder for control sockets: {}: {why}", folder.display()),
        )
    };
    let user = nix::unistd::geteuid();
    let folder = match std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| !dir.is_empty()) {
        Some(dir) => PathBuf::from(dir).join("sluicegate"),
        None => std::env::temp_dir().join(format!("sluicegate-{user}")),
    };
    let mut private = DirBuilder::new();
    private.recursive(true).mode(0o700);
    private.create(&folder).map_err(|e| failed(&folder, e.to_string()))?;
    let found = std::fs::symlink_metadata(&folder).map_err(|e| failed(&folder, e.to_string()))?;
    if !found.is_dir() || found.uid() != user.as_raw() || found.mode() & 0o077 != 0 {
        return Err(failed(
            &folder,
            "others may use it, or it is not a folder of this user".into(),
        ));
    }
    Ok(folder.join(format!("{pid}.sock")))
}

/// Where `target` is asked: a process by its number, or a control socket by its address.
///
/// # Errors
/// `InvalidArgument` if it is neither, or as [`path_of`].
pub fn address_of(target: &str) -> Result<Address, Error> {
    match target.parse() {
        Ok(pid) => path_of(pid).map(Address::Unix),
        Err(_) => target.parse(),
    }
}

/// Asks a running process.
///
/// # Errors
/// `Io` if nobody listens there; `TimedOut` if there is no answer within 30 s, as from a process that
/// was stopped; `Malformed` if the answer is not JSON.
pub fn ask(address: &Address, question: Question) -> Result<Json, Error> {
    ask_within(address, question, ANSWER)
}

fn ask_within(address: &Address, question: Question, limit: Duration) -> Result<Json, Error> {
    let (reader, mut writer) = connect(address)?;
    let reader = Limited::new(reader, Deadline::after(limit));
    let sent = writer.write_all(format!("{}\n", question.word()).as_bytes());
    let io = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::TimedOut => Error::new(
            ErrorKind::TimedOut,
            format!("{address} did not answer within {limit:?}: is the process stopped?"),
        ),
        _ => Error::new(ErrorKind::Io, format!("{address}: {e}")),
    };
    sent.map_err(io)?;
    let mut answer = String::new();
    BufReader::new(reader).read_line(&mut answer).map_err(io)?;
    serde_json::from_str(&answer).map_err(|e| {
        Error::new(
            ErrorKind::Malformed,
            format!("{address} answered something else than JSON: {e}"),
        )
    })
}

/// How far an asker is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// It has not asked yet.
    Silent,
    /// It is being told, as long as it reads.
    Told,
    /// The process is looking: soon done.
    Asked,
}

/// One asker.
struct Asker {
    number: u64,
    stage: Stage,
    shutter: Shutter,
}

/// Those who are in, oldest first.
#[derive(Default)]
struct Askers(Mutex<Vec<Asker>>);

impl Askers {
    /// Lets a newcomer in. If all places are taken, the oldest who has not asked makes way, or else
    /// the oldest who does not read what it is told.
    fn enter(&self, number: u64, shutter: Shutter) -> bool {
        let mut askers = self.0.lock();
        if askers.len() >= ASKERS {
            let places = askers.iter().enumerate();
            let waits = places.filter(|(_, asker)| asker.stage != Stage::Asked);
            let oldest = waits.min_by_key(|(_, asker)| asker.stage).map(|(place, _)| place);
            let Some(oldest) = oldest else { return false };
            askers.remove(oldest).shutter.shut(); // which ends its thread
        }
        askers.push(Asker { number, stage: Stage::Silent, shutter });
        true
    }

    fn goes_on(&self, number: u64, stage: Stage) {
        let mut askers = self.0.lock();
        if let Some(asker) = askers.iter_mut().find(|asker| asker.number == number) {
            asker.stage = stage;
        }
    }

    fn leave(&self, number: u64) {
        self.0.lock().retain(|asker| asker.number != number);
    }
}

fn accept(listener: &Listener, report: &Arc<dyn Report>, patience: Duration) {
    let askers = Arc::new(Askers::default());
    let mut number = 0_u64;
    loop {
        let (reader, writer) = match listener.accept() {
            Ok(Some(ends)) => ends,
            Ok(None) => return,
            Err(_) => {
                listener.rest(); // out of sockets: a later one may do
                continue;
            }
        };
        number += 1;
        let Ok(shutter) = reader.shutter() else { continue };
        if !askers.enter(number, shutter) {
            continue; // dropping the writer turns it away
        }
        let (report, within) = (Arc::clone(report), Arc::clone(&askers));
        let spawned = spawn_quiet("answer", move || {
            let goes_on = |stage| within.goes_on(number, stage);
            answer(reader, writer, &*report, patience, goes_on);
            within.leave(number);
        });
        if spawned.is_err() {
            askers.leave(number);
        }
    }
}

fn answer(
    reader: SocketReader,
    writer: SocketWriter,
    report: &dyn Report,
    patience: Duration,
    goes_on: impl Fn(Stage),
) {
    let reader = Limited::new(reader, Deadline::after(patience));
    let mut question = String::new();
    if BufReader::new(reader.take(QUESTION)).read_line(&mut question).is_err() {
        return; // whoever asked has gone, or says nothing
    }
    goes_on(Stage::Asked);
    let told = match question.trim().parse() {
        Ok(Question::Explain) => report.explain().to_json(),
        Ok(Question::Stats) => report.stats(),
        Err(error) => serde_json::json!({"error": error.message()}),
    };
    let told = format!("{told}\n");
    goes_on(Stage::Told);
    let mut writer = Limited::new(writer, Deadline::after(patience)); // to read it, however much it is
    let _gone = writer.write_all(told.as_bytes()); // then nobody waits for it
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::{UnixListener, UnixStream};

    const SHORT: Duration = Duration::from_millis(100);

    struct Long;

    impl Report for Long {
        fn explain(&self) -> Explanation {
            Explanation::default()
        }

        fn stats(&self) -> Json {
            "x".repeat(16 * 1024 * 1024).into()
        }
    }

    fn place(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("sluice-asked-{name}-{}", std::process::id()))
    }

    #[test]
    fn who_says_nothing_or_does_not_read_is_let_go() {
        let path = place("silent");
        let _control = Control::serve_with(&Address::Unix(path.clone()), Arc::new(Long), SHORT)
            .expect("it listens");
        let mut silent: Vec<_> =
            (0..ASKERS).map(|_| UnixStream::connect(&path).expect("in")).collect();
        let mut byte = [0];
        for silent in &mut silent {
            assert_eq!(silent.read(&mut byte).unwrap_or(0), 0, "it is let go");
        }
        // One who asks in time begins to be told; on a busy machine one may be let go before.
        let mut deaf = loop {
            let mut deaf = UnixStream::connect(&path).expect("in");
            if deaf.write_all(b"stats\n").and_then(|()| deaf.read_exact(&mut byte)).is_ok() {
                break deaf;
            }
        };
        // It is over once nothing can be written to it; what was written before is still there.
        while deaf.write_all(b"x").is_ok() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_process_that_does_not_answer_is_named() {
        let path = place("stopped");
        let _stopped = UnixListener::bind(&path).expect("it listens");
        let address = Address::Unix(path.clone());
        let error = ask_within(&address, Question::Stats, SHORT).expect_err("no answer");
        std::fs::remove_file(&path).expect("it is there");
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        assert!(error.message().contains("stopped"), "{error}");
    }
}
