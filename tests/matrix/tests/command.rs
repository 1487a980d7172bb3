//! The `sluicegate` command as a person uses it: exit codes, messages, files.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use sha2::{Digest, Sha256};
use sluicegate_matrix::{languages, program, root};

/// The command as `cargo xtask build` made it.
fn sluicegate() -> Command {
    let built = root().join("target/release/sluicegate");
    assert!(built.exists(), "{} is missing: run `cargo xtask build`", built.display());
    Command::new(built)
}

fn folder(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const ECHO: &str = "@cap:fc-echo;in=media:blob;out=media:blob";

#[test]
fn a_pipe_through_every_language_keeps_every_byte() {
    let folder = folder("pipe");
    let (from, to) = (folder.join("in"), folder.join("out"));
    let data: Vec<u8> =
        (0..8_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::fs::write(&from, &data).expect("the input is written");
    let mut pipe = sluicegate();
    pipe.args(["pipe", "--json", "--window", "4", "--max-chunk", "65536"]);
    pipe.arg("--in").arg(&from).arg("--out").arg(&to);
    for language in languages() {
        pipe.arg("--").arg(program(language)).arg(ECHO);
    }
    let done = pipe.output().expect("it runs");
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert_eq!(Sha256::digest(std::fs::read(&to).expect("the output")), Sha256::digest(&data));
    let summary: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!(summary["ok"], true);
    let hops = summary["hops"].as_array().expect("hops");
    assert_eq!(hops.len(), languages().len());
    for hop in hops {
        assert_eq!(hop["input"]["bytes"], 8_000_000, "payload only, no heads of CBOR");
        assert_eq!(hop["output"]["bytes"], 8_000_000);
    }
    assert!(!folder.join("out.partial").exists());
}

#[test]
fn stdin_to_stdout_and_nothing_else_on_it() {
    let mut pipe = sluicegate();
    pipe.args(["pipe", "--quiet", "--"]).arg(program("rust")).arg(ECHO);
    let mut running = pipe.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    running.stdin.take().expect("piped").write_all(b"one window").expect("it reads");
    let done = running.wait_with_output().expect("it ends");
    assert!(done.status.success());
    assert_eq!(done.stdout, b"one window");
}

/// Runs a pipe that has to fail, and answers what it said.
fn failing(command: &[&str]) -> Output {
    let mut pipe = sluicegate();
    pipe.args(["pipe", "--"]).args(command).stdin(Stdio::null());
    let done = pipe.output().expect("it runs");
    assert_eq!(done.status.code(), Some(1), "{command:?}: {}", text(&done.stderr));
    done
}

#[test]
fn every_bad_cartridge_is_named_with_what_it_did() {
    let missing = failing(&["/nowhere/cartridge"]);
    assert!(text(&missing.stderr).contains("`/nowhere/cartridge` cannot be started"));
    let not_executable = failing(&["/etc/passwd"]);
    assert!(text(&not_executable.stderr).contains("Permission denied"));
    let early = failing(&["sh", "-c", "echo it has no model >&2; exit 3"]);
    let said = text(&early.stderr);
    assert!(said.contains("exit status: 3") && said.contains("it has no model"), "{said}");
    let garbage = failing(&["sh", "-c", "echo Hello, World, this is no frame"]);
    let said = text(&garbage.stderr);
    assert!(said.contains("1214606444 bytes") || said.contains("1214606444"), "{said}");
    let closed = failing(&["sh", "-c", "exec 1>&-; exec sleep 20"]);
    assert!(text(&closed.stderr).contains("closed the connection"));
}

#[test]
fn several_caps_have_to_be_told_apart() {
    let several = failing(&[program("rust").to_str().expect("UTF-8")]);
    let said = text(&several.stderr);
    assert!(said.contains("name one with @CAP") && said.contains("cap:fc-echo"), "{said}");
    let unknown = failing(&[program("rust").to_str().expect("UTF-8"), "@cap:nothing"]);
    let said = text(&unknown.stderr);
    assert!(said.contains("has no cap cap:nothing; its caps from bytes to bytes are"), "{said}");
    assert!(said.contains("\n  @cap:fc-echo"), "{said}");
    let items = "@cap:fc-items;in=media:items;out=media:items";
    let unfit = failing(&[program("rust").to_str().expect("UTF-8"), items]);
    assert!(text(&unfit.stderr).contains("does not go from bytes to bytes"));
}

#[test]
fn two_pipes_do_not_write_one_file() {
    let folder = folder("twice");
    let to = folder.join("out");
    let pipe = || {
        let mut pipe = sluicegate();
        pipe.args(["pipe", "--quiet", "--out"]).arg(&to);
        pipe.arg("--").arg(program("rust")).arg(ECHO);
        pipe
    };
    let mut first = pipe().stdin(Stdio::piped()).spawn().expect("it starts");
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !folder.join("out.partial").exists() {
        assert!(std::time::Instant::now() < end, "the first pipe opens no file");
        std::thread::yield_now();
    }
    let second = pipe().stdin(Stdio::null()).output().expect("it runs");
    assert_eq!(second.status.code(), Some(1));
    let said = text(&second.stderr);
    assert!(said.contains("out.partial is being written by another pipe"), "{said}");
    first.stdin.take().expect("piped").write_all(b"mine").expect("it reads");
    assert!(first.wait().expect("it ends").success());
    assert_eq!(std::fs::read(&to).expect("the output"), b"mine");
}

#[test]
fn a_cartridge_on_a_terminal_says_what_it_is() {
    for language in languages() {
        let mut script = Command::new("script"); // runs it on a terminal of its own
        script.args(["--quiet", "--return", "--command"]).arg(program(language)).arg("/dev/null");
        let done = script.stdin(Stdio::null()).output().expect("script is there");
        let said = text(&done.stdout);
        assert!(!done.status.success(), "{language}: {said}");
        assert!(said.contains("HANDSHAKE"), "{language}: {said}");
        assert!(said.contains("this is a cartridge") && said.contains("sluicegate pipe"), "{said}");
        // Swift's runtime has more to say of an error that leaves the program.
        let plain = language == "swift" || said.trim_end().lines().count() == 1;
        assert!(plain, "{language}: {said}");
    }
}

#[test]
fn a_failure_leaves_no_output_file_but_a_note() {
    let folder = folder("partial");
    let to = folder.join("out");
    let mut pipe = sluicegate();
    pipe.args(["pipe", "--quiet", "--in", "/dev/zero", "--out"]).arg(&to);
    pipe.arg("--").arg(program("rust")).arg(ECHO);
    pipe.args(["--", "sh", "-c"]);
    // A cartridge that is killed in the middle of the stream: once some of it has come out.
    let partial = folder.join("out.partial").display().to_string();
    let kill =
        format!("until [ -s '{partial}' ]; do kill -0 $$ || exit; sleep 0.01; done; kill -9 $$");
    pipe.arg(format!("({kill}) & exec '{}'", program("rust").display())).arg(ECHO);
    let done = pipe.output().expect("it runs");
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("SIGKILL"), "{said}");
    assert!(said.contains("out.partial"), "{said}");
    assert!(!to.exists(), "the file has its name although it is not whole");
    assert!(folder.join("out.partial").exists());
}

#[test]
fn usage_errors_exit_with_2() {
    for wrong in [&["pipe"][..], &["pipe", "--window", "0", "--", "x"], &["nothing"]] {
        let done = sluicegate().args(wrong).output().expect("it runs");
        assert_eq!(done.status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn call_prints_values_and_events() {
    let cartridge = format!("'{}'", program("rust").display());
    let done = sluicegate()
        .args(["call", &cartridge, "cap:fc-produce;in=media:json;out=media:blob"])
        .args(["--text", r#"media:json={"chunks":3}"#])
        .output()
        .expect("it runs");
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert_eq!(text(&done.stdout), "0\n1\n2\n");
    let multi = sluicegate()
        .args(["call", &cartridge, "cap:fc-multi;in=media:blob;out=media:text"])
        .args(["--text", "media:blob=x"])
        .output()
        .expect("it runs");
    assert_eq!(text(&multi.stdout), "\"main\"\n");
    let said = text(&multi.stderr);
    assert!(
        said.contains("info: working") && said.contains("50 % half") && said.contains("done"),
        "{said}"
    );
    let unknown = sluicegate().args(["call", &cartridge, "cap:nothing"]).output().expect("it runs");
    assert_eq!(unknown.status.code(), Some(1));
    assert!(text(&unknown.stderr).contains("NO_HANDLER"), "{}", text(&unknown.stderr));
}

#[test]
fn an_argument_that_the_cap_does_not_declare_is_refused() {
    let cartridge = format!("'{}'", program("rust").display());
    let done = sluicegate()
        .args(["call", &cartridge, &ECHO[1..], "--text", "media:other=x"])
        .output()
        .expect("it runs");
    assert_eq!(done.status.code(), Some(1));
    let said = text(&done.stderr);
    assert!(said.contains("has no argument media:other; it takes media:blob"), "{said}");
}
