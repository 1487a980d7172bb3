//! Running other programs: what they print is seen, and a failure names the line that failed.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};

use crate::environment::{in_ci, on_path};
use crate::repo::Repo;

/// In CI, no single program of a step may take longer than this many seconds.
const LIMIT_IN_CI: u32 = 30 * 60;

/// Runs `command` with this program's own input and output.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start: {}", line(command)))?;
    succeeded(command, status)
}

/// Runs `command` and answers what it wrote to its standard output.
pub fn capture(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start: {}", line(command)))?;
    succeeded(command, output.status)?;
    String::from_utf8(output.stdout)
        .with_context(|| format!("what it printed is not UTF-8: {}", line(command)))
}

/// The same, with what it wrote to its standard error, which is shown too.
pub fn capture_both(command: &mut Command) -> Result<(String, String)> {
    let output = command.output().with_context(|| format!("cannot start: {}", line(command)))?;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    eprint!("{errors}");
    succeeded(command, output.status)?;
    let text = String::from_utf8(output.stdout)
        .with_context(|| format!("what it printed is not UTF-8: {}", line(command)))?;
    Ok((text, errors))
}

/// What a watched program printed, and how it ended.
pub struct Watched {
    pub text: String,
    pub ended: Result<()>,
}

/// Runs `command`, shows each line of its output and its errors that `shown` picks, and keeps all of them.
pub fn watch(command: &mut Command, shown: impl Fn(&str) -> bool) -> Result<Watched> {
    let mut timed = if in_ci() { with_limit(command) } else { None };
    let started = timed.as_mut().unwrap_or(command);
    let (reader, writer) = std::io::pipe()?;
    started.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = started.spawn().with_context(|| format!("cannot start: {}", line(started)))?;
    started.stdout(Stdio::null()).stderr(Stdio::null()); // closes our copies of the pipe's end
    let mut text = String::new();
    let mut lines = BufReader::new(reader);
    let mut bytes = Vec::new();
    while lines.read_until(b'\n', &mut bytes)? > 0 {
        let printed = String::from_utf8_lossy(&bytes);
        if shown(printed.trim_end()) {
            print!("{printed}");
        }
        text.push_str(&printed);
        bytes.clear();
    }
    let status = child.wait()?;
    Ok(Watched { text, ended: succeeded(command, status) })
}

/// The same command under coreutils' `timeout`, which also ends what the command has started.
fn with_limit(command: &Command) -> Option<Command> {
    let mut timed = Command::new(on_path("timeout")?);
    timed
        .args(["--kill-after=10", &LIMIT_IN_CI.to_string()])
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => timed.env(name, value),
            None => timed.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        timed.current_dir(folder);
    }
    Some(timed)
}

fn succeeded(command: &Command, status: ExitStatus) -> Result<()> {
    match status.code() {
        Some(0) => Ok(()),
        Some(124) if in_ci() => {
            bail!("ended after {LIMIT_IN_CI} seconds: {}", line(command))
        }
        _ => bail!("{status}: {}", line(command)),
    }
}

/// The command as a person would type it.
pub fn line(command: &Command) -> String {
    let mut line = String::new();
    if let Some(folder) =
        command.get_current_dir().filter(|folder| *folder != Repo::find().path(""))
    {
        let _ = write!(line, "cd {} && ", quoted(folder.as_os_str()));
    }
    line.push_str(&quoted(command.get_program()));
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&quoted(argument));
    }
    line
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@+,%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_and_errors_are_kept_in_the_order_they_came() {
        let watched = watch(&mut shell("echo one; echo two >&2; printf three"), |_| false)
            .expect("sh starts");
        assert_eq!(watched.text, "one\ntwo\nthree");
        watched.ended.expect("exit code 0");
    }

    #[test]
    fn a_failure_shows_the_line_to_type() {
        let ended = watch(&mut shell("exit 3"), |_| true).expect("sh starts").ended;
        assert_eq!(ended.expect_err("exit code 3").to_string(), "exit status: 3: sh -c 'exit 3'");
    }

    #[test]
    fn words_are_quoted_when_a_shell_would_split_them() {
        assert_eq!(quoted("it's".as_ref()), r"'it'\''s'");
        assert_eq!(quoted("".as_ref()), "''");
        assert_eq!(quoted("--a=b/c.d".as_ref()), "--a=b/c.d");
    }
}
