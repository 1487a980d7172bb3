//! Every reference host of `tests/hosts` against every reference cartridge, as processes: what it prints,
//! how it ends, and that it leaves nothing behind.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;
use sluicegate_matrix::{each_language, host, languages, program, within};

/// For one host with all cartridges.
const LIMIT: Duration = Duration::from_secs(180);
const ECHO: &str = "cap:fc-echo;in=media:blob;out=media:blob";
const SINK: &str = "cap:fc-sink;in=media:blob;out=media:json";
const MULTI: &str = "cap:fc-multi;in=media:blob;out=media:text";
const STDERR: &str = "cap:fc-stderr;in=media:blob;out=media:text";
const SLOW: &str = "cap:fc-slow;in=media:blob;out=media:json";
const CRASH: &str = "cap:fc-crash;in=media:blob;out=media:blob";
const FOREVER: &str = "cap:fc-forever;in=media:blob;out=media:blob";

/// A host that runs, and what all its processes can be told by: a variable that they inherit.
struct Run {
    child: Child,
    mark: String,
}

impl Run {
    fn start(language: &str, arguments: &[&str]) -> Run {
        Run::start_with(language, arguments, &[])
    }

    fn start_with(language: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Run {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{run}", std::process::id());
        let mut host = Command::new(host(language));
        host.args(arguments).envs(variables.iter().copied()).env("SLUICEGATE_TEST_RUN", &mark);
        host.stdin(Stdio::null()).stdout(Stdio::piped());
        Run { child: host.spawn().expect("the host starts"), mark }
    }

    /// Its processes that live, as far as the system shows them: itself and its cartridges.
    fn processes(&self) -> Vec<PathBuf> {
        let mark = format!("SLUICEGATE_TEST_RUN={}", self.mark);
        let marked = |process: &Path| {
            // One that has ended, or is another's, has nothing to read.
            let variables = fs::read(process.join("environ")).unwrap_or_default();
            variables.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
        };
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        processes.map(|process| process.path()).filter(|process| marked(process)).collect()
    }

    /// Waits for its end; answers its status and the lines it printed.
    fn end(mut self) -> (i32, Vec<String>) {
        let mut printed = String::new();
        let mut stdout = self.child.stdout.take().expect("a pipe");
        stdout.read_to_string(&mut printed).expect("text");
        let status = self.child.wait().expect("it ends").code().expect("by itself");
        assert_eq!(self.processes(), [] as [PathBuf; 0], "it left processes behind");
        (status, printed.lines().map(str::to_owned).collect())
    }
}

/// Runs a host to its end with a cartridge in every language, and compares what it printed.
fn prints(language: &str, call: &[&str], wanted: &[&str]) {
    for cartridge in languages() {
        let program = program(cartridge).display().to_string();
        let (status, lines) = Run::start(language, &[&[&*program], call].concat()).end();
        assert_eq!((status, &lines[..]), (0, &to_owned(wanted)[..]), "{language}, {cartridge}");
    }
}

fn to_owned(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

/// The code of a line that says what did not go well.
fn code(line: &str) -> String {
    let line: Value = serde_json::from_str(line).expect("JSON");
    assert_eq!(line["ok"], false, "{line}");
    assert!(line["message"].as_str().is_some_and(|message| !message.is_empty()), "{line}");
    line["code"].as_str().expect("a code").to_owned()
}

#[test]
fn every_host_echoes_through_every_cartridge_twice_on_one_connection() {
    each_language(LIMIT, |language| {
        let line = r#"{"ok":true,"bytes":100000}"#;
        prints(language, &[ECHO, "100", "1000", "2"], &[line, line]);
    });
}

#[test]
fn every_host_counts_what_every_cartridge_answers() {
    each_language(LIMIT, |language| {
        // The number 1; "main", and not what is on the second output; "done", behind 10 MiB of stderr.
        prints(language, &[SINK, "1", "1000", "1"], &[r#"{"ok":true,"bytes":1}"#]);
        prints(language, &[MULTI, "1", "1", "1"], &[r#"{"ok":true,"bytes":4}"#]);
        prints(language, &[STDERR, "0", "0", "1"], &[r#"{"ok":true,"bytes":4}"#]);
    });
}

/// L13, L17: a call without end is over when its caller says so, and so is the next one.
#[test]
fn every_host_cancels_a_call_of_every_cartridge() {
    each_language(LIMIT, |language| {
        for cartridge in languages() {
            let program = program(cartridge).display().to_string();
            let run = Run::start(language, &[&program, FOREVER, "1000", "1000", "2", "200"]);
            let (status, lines) = run.end();
            assert_eq!(status, 0, "{language}, {cartridge}");
            let codes: Vec<_> = lines.iter().map(|line| code(line)).collect();
            assert_eq!(codes, ["CANCELLED", "CANCELLED"], "{language}, {cartridge}: {lines:?}");
        }
    });
}

#[test]
fn what_is_no_cartridge_gets_one_line_and_a_status() {
    each_language(LIMIT, |language| {
        for (program, wanted) in [
            ("/bin/true", "PEER_DIED"),
            ("/bin/echo a line", "FRAME_TOO_LARGE"),
            ("/bin/cat", "HANDSHAKE_FAILED"), // its HELLO is ours
            ("/none", "SPAWN_FAILED"),
        ] {
            let (status, lines) = Run::start(language, &[program, ECHO, "1", "1", "3"]).end();
            assert_eq!(status, 1, "{language}, {program}");
            assert_eq!(lines.len(), 1, "{language}, {program}: {lines:?}");
            assert_eq!(code(&lines[0]), wanted, "{language}, {program}: {lines:?}");
        }
    });
}

/// A program that never answers the HELLO: a line in time, and it is killed.
#[test]
fn what_says_nothing_gets_one_line_and_a_status() {
    within(LIMIT, "every host at once".to_owned(), || {
        let hosts: Vec<_> = languages()
            .into_iter()
            .map(|language| {
                (language, Run::start(language, &["/bin/sleep 3600", ECHO, "1", "1", "3"]))
            })
            .collect();
        for (language, run) in hosts {
            let (status, lines) = run.end();
            assert_eq!((status, lines.len()), (1, 1), "{language}: {lines:?}");
            assert_eq!(code(&lines[0]), "HANDSHAKE_FAILED", "{language}: {lines:?}");
        }
    });
}

/// A cartridge that ends in the middle of a call fails it, and those after it, each with a line of its own.
#[test]
fn a_cartridge_that_crashes_gets_a_line_for_each_call() {
    each_language(LIMIT, |language| {
        for cartridge in languages() {
            let program = program(cartridge).display().to_string();
            let (status, lines) = Run::start(language, &[&program, CRASH, "1", "1", "3"]).end();
            let codes: Vec<_> = lines.iter().map(|line| code(line)).collect();
            assert_eq!(
                (status, &codes[..]),
                (0, &to_owned(&["PEER_DIED"; 3])[..]),
                "{language}: {lines:?}"
            );
            assert!(lines[0].contains("the last words"), "{language}, {cartridge}: {lines:?}");
        }
    });
}

/// A handler that does not notice the end of its request is ended with its process.
#[test]
fn a_handler_that_goes_on_is_left_behind_by_no_host() {
    each_language(LIMIT, |language| {
        let program = program(language).display().to_string();
        let arguments = [&program, SLOW, "10", "10000", "1", "100"];
        let run = Run::start_with(language, &arguments, &[("SLOW_MS", "3600000")]);
        let (status, lines) = run.end();
        let codes: Vec<_> = lines.iter().map(|line| code(line)).collect();
        assert_eq!(
            (status, &codes[..]),
            (0, &to_owned(&["CANCELLED"])[..]),
            "{language}: {lines:?}"
        );
    });
}

#[test]
fn a_wrong_command_line_is_a_status_of_its_own() {
    each_language(LIMIT, |language| {
        for arguments in [&["/bin/true", ECHO, "1", "1"][..], &["/bin/true", ECHO, "1", "-1", "1"]]
        {
            let (status, lines) = Run::start(language, arguments).end();
            assert_eq!((status, lines.len()), (2, 0), "{language}: {lines:?}");
        }
    });
}

/// A host that is killed takes its cartridge along: it reads the end of its input.
#[test]
#[cfg(target_os = "linux")] // processes are found through /proc
fn a_host_that_is_killed_leaves_no_cartridge_behind() {
    each_language(LIMIT, |language| {
        for cartridge in languages() {
            let program = program(cartridge).display().to_string();
            let mut run = Run::start(language, &[&program, FOREVER, "1", "1", "1"]);
            while run.processes().len() < 2 {
                assert!(run.child.try_wait().expect("a child").is_none(), "{language}: it runs");
                std::thread::yield_now();
            }
            run.child.kill().expect("it lives");
            run.child.wait().expect("it ends");
            while !run.processes().is_empty() {
                std::thread::yield_now();
            }
        }
    });
}
