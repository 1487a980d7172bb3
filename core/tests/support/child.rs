//! A cartridge in a process of its own: this test program once more, which runs its test `cartridge` alone.
//! Its frames go to descriptor 3, since the test harness prints on stdout.
#![allow(dead_code)] // each test file uses a part of it

use std::fs::File;

use sluicegate::{Command, Engine, Peer};

const ROLE: &str = "SLUICEGATE_TEST_CARTRIDGE";
const EXEC: &str = "exec \"$0\" --exact cartridge --nocapture 3>&1 1>&2";

/// What such a process reads from and writes to; `None` in a test run.
pub fn transport() -> Option<(File, File)> {
    std::env::var_os(ROLE)?;
    let stdin = File::open("/proc/self/fd/0").expect("given by the test");
    let frames = File::options().write(true).open("/proc/self/fd/3").expect("given by the test");
    Some((stdin, frames))
}

/// How such a process is started, after what `before` does in its shell.
pub fn command_after(before: &str) -> Command {
    let this = std::env::current_exe().expect("this test");
    let script = format!("{before}{EXEC}");
    Command::new("sh").arg("-c").arg(script).arg(this).env(ROLE, "1")
}

/// How such a process is started.
pub fn command() -> Command {
    command_after("")
}

/// Starts one.
pub fn spawn(engine: &Engine) -> Peer {
    engine.spawn(&command()).expect("the handshake passes")
}
