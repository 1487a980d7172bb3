//! A process, a cartridge's or a live source's: start, stderr, exit.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

use crate::account::Memory;
use crate::error::{Error, ErrorKind};
use crate::link::spawn_quiet;
use crate::sync::{Arc, Mutex};
use crate::time::Deadline;
use crate::wait::block_on;
use crate::wait::watched::{Watched, until};

/// How much of a cartridge's stderr is kept, in bytes: the end of it.
const TAIL: usize = 64 * 1024;
/// How much of it an error message shows, in bytes.
const SHOWN: usize = 2 * 1024;

/// How long the end of stderr is waited for once the process has exited: only somebody else who holds
/// it, or a machine that is very busy, makes it last.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How long one whose link is over gets to exit by itself, so that its own status is told.
const OBITUARY: Duration = Duration::from_secs(2);

/// A command to start a cartridge or a live source with.
#[derive(Clone, Debug)]
pub struct Command {
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(OsString, Option<OsString>)>,
    cwd: Option<PathBuf>,
    tee_stderr: bool,
}

impl Command {
    /// `program`, looked up on the `PATH` if it is a bare name.
    #[must_use]
    pub fn new(program: impl Into<OsString>) -> Self {
        let program = program.into();
        Command { program, args: Vec::new(), env: Vec::new(), cwd: None, tee_stderr: false }
    }

    /// One more argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// More arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable of its environment.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), Some(value.into())));
        self
    }

    /// Takes a variable out of its environment.
    #[must_use]
    pub fn env_remove(mut self, name: impl Into<OsString>) -> Self {
        self.env.push((name.into(), None));
        self
    }

    /// Its working directory.
    #[must_use]
    pub fn cwd(mut self, directory: impl Into<PathBuf>) -> Self {
        self.cwd = Some(directory.into());
        self
    }

    /// Passes its stderr on to this process's as well as keeping the end of it.
    #[must_use]
    pub fn tee_stderr(mut self, tee: bool) -> Self {
        self.tee_stderr = tee;
        self
    }

    /// The command as one would type it, for messages.
    #[must_use]
    pub fn label(&self) -> String {
        let words = std::iter::once(&self.program).chain(&self.args);
        let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }
}

pub(crate) struct Process {
    pid: u32,
    child: Mutex<Leader>,
    exit: Watched<Option<ExitStatus>>,
    stderr: Watched<Tail>,
}

struct Leader {
    child: Child,
    /// It leads a process group of its own, which goes with it.
    group: bool,
    /// Its number may be somebody else's by now.
    reaped: bool,
}

impl Leader {
    /// Kills it, and its group if it leads one. Never waits.
    fn kill(&mut self) {
        if self.group && !self.reaped {
            // Fails only if nobody of the group is left.
            let _ = killpg(pid_of(self.child.id()), Signal::SIGKILL);
        }
        // Fails only if it has exited.
        let _ = self.child.kill();
    }

    /// Reaps it, which has exited; what is left of its group goes with it.
    fn reap(&mut self) -> ExitStatus {
        if self.group {
            self.kill();
        }
        let status = self.child.wait().unwrap_or_default();
        self.reaped = true;
        status
    }
}

fn pid_of(id: u32) -> Pid {
    Pid::from_raw(i32::try_from(id).expect("process ids fit"))
}

#[derive(Default)]
struct Tail {
    bytes: VecDeque<u8>,
    ended: bool,
}

/// Starts a cartridge with pipes on its three standard streams.
pub(crate) fn start(command: &Command) -> Result<(Arc<Process>, ChildStdout, ChildStdin), Error> {
    let (process, stdout, stdin) = launch(command, "cartridge", false)?;
    match stdin {
        Some(stdin) => Ok((process, stdout, stdin)),
        None => Err(cannot_start("cartridge", command, &"a pipe is missing")),
    }
}

/// Starts a live source in a process group of its own, with an empty stdin.
pub(crate) fn start_source(command: &Command) -> Result<(Arc<Process>, ChildStdout), Error> {
    let (process, stdout, _) = launch(command, "source", true)?;
    Ok((process, stdout))
}

fn cannot_start(what: &str, command: &Command, why: &dyn std::fmt::Display) -> Error {
    let label = command.label();
    Error::new(ErrorKind::Spawn, format!("{what} `{label}` cannot be started: {why}"))
}

fn launch(
    command: &Command,
    what: &str,
    group: bool,
) -> Result<(Arc<Process>, ChildStdout, Option<ChildStdin>), Error> {
    let mut os = std::process::Command::new(&command.program);
    os.args(&command.args).stdout(Stdio::piped()).stderr(Stdio::piped());
    if group {
        os.stdin(Stdio::null()).process_group(0);
    } else {
        os.stdin(Stdio::piped());
    }
    for (name, value) in &command.env {
        match value {
            Some(value) => os.env(name, value),
            None => os.env_remove(name),
        };
    }
    if let Some(cwd) = &command.cwd {
        os.current_dir(cwd);
    }
    let failed = |why: &dyn std::fmt::Display| cannot_start(what, command, why);
    let mut child = os.spawn().map_err(|e| failed(&e))?;
    let pid = child.id();
    let stdin = child.stdin.take();
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(failed(&"a pipe is missing"));
    };
    let process = Arc::new(Process {
        pid,
        child: Mutex::new(Leader { child, group, reaped: false }),
        exit: Watched::new(None),
        stderr: Watched::new(Tail::default()),
    });
    let (watched, drained) = (Arc::clone(&process), Arc::clone(&process));
    let tee = command.tee_stderr;
    spawn_quiet("stderr", move || drained.drain_stderr(stderr, tee))
        .and_then(|_| spawn_quiet("child", move || watched.watch()))
        .map_err(|e| {
            process.kill();
            failed(&e)
        })?;
    Ok((process, stdout, stdin))
}

impl Process {
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits for the exit without reaping, so that a kill meanwhile cannot hit a stranger. Who waits
    /// for the exit is told once the end of stderr is there too, or somebody else holds it.
    fn watch(self: &Arc<Self>) {
        let pid = pid_of(self.pid);
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
        while matches!(waitid(Id::Pid(pid), flags), Err(nix::errno::Errno::EINTR)) {}
        let status = self.child.lock().reap();
        let _ = block_on(Arc::clone(self).has_said_all(), Deadline::after(LAST_WORDS));
        self.exit.update(|exit| *exit = Some(status));
    }

    fn drain_stderr(&self, mut stderr: ChildStderr, tee: bool) {
        let mut buffer = vec![0; 16 * 1024];
        loop {
            match stderr.read(&mut buffer) {
                Ok(0) => break,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
                Ok(n) => {
                    self.stderr.with(|tail| {
                        tail.bytes.extend(&buffer[..n]);
                        let excess = tail.bytes.len().saturating_sub(TAIL);
                        tail.bytes.drain(..excess);
                    });
                    if tee {
                        // A host without stderr still keeps the tail.
                        let _ = std::io::Write::write_all(&mut std::io::stderr(), &buffer[..n]);
                    }
                }
            }
        }
        self.stderr.update(|tail| tail.ended = true);
    }

    pub(crate) fn stderr_tail(&self) -> String {
        self.stderr.with(|tail| String::from_utf8_lossy(tail.bytes.make_contiguous()).into_owned())
    }

    /// Waits until everybody who may write to its stderr has closed it.
    async fn has_said_all(self: Arc<Self>) {
        until(self, |process| &process.stderr, |tail| tail.ended.then_some(())).await;
    }

    pub(crate) async fn exited(self: Arc<Self>) -> ExitStatus {
        until(self, |process| &process.exit, |exit| *exit).await
    }

    pub(crate) fn has_exited(&self) -> bool {
        self.exit.with(|exit| exit.is_some())
    }

    pub(crate) fn kill(&self) {
        self.child.lock().kill();
    }

    /// Waits for the exit until `limit` from now, then kills.
    pub(crate) fn reap(self: &Arc<Self>, limit: Duration) -> Option<ExitStatus> {
        let exited = block_on(Arc::clone(self).exited(), Deadline::after(limit));
        if exited.is_err() {
            self.kill();
        }
        exited.ok()
    }

    /// How it ended and what it last said, for an error message.
    pub(crate) fn obituary(self: &Arc<Self>) -> String {
        let exited = self.reap(OBITUARY);
        let how = exited.map_or_else(
            || "it did not exit by itself and was killed".to_owned(),
            |status| format!("it ended with {status}"),
        );
        let tail = self.stderr_tail();
        let tail = tail.trim_end();
        if tail.is_empty() {
            return format!("{how}; its stderr is empty");
        }
        let from = tail.len().saturating_sub(SHOWN);
        let from = (from..tail.len()).find(|&at| tail.is_char_boundary(at)).unwrap_or(0);
        format!("{how}; its stderr ends with:\n{}", &tail[from..])
    }

    /// Its memory, where the system tells it.
    pub(crate) fn memory(&self) -> Option<Memory> {
        Memory::of_process(self.pid)
    }
}

impl From<&OsStr> for Command {
    fn from(program: &OsStr) -> Self {
        Command::new(program)
    }
}
