//! Why a chain of processes stands still, asked from outside: the answer names the one that sleeps.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value as Json;
use sluicegate_matrix::{host, languages, program, relay, root, within};

const ECHO: &str = "@cap:fc-echo;in=media:blob;out=media:blob";
const SLOW: &str = "cap:fc-slow;in=media:blob;out=media:json";
const AN_HOUR_IN_MS: &str = "3600000";
const SOON: Duration = Duration::from_secs(180);

/// A process that is killed and reaped, whatever becomes of the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// Starts what stands still before long.
fn start(command: &mut Command) -> Running {
    command.env("SLOW_MS", AN_HOUR_IN_MS).stdout(Stdio::null()).stderr(Stdio::null());
    Running(command.spawn().expect("it starts"))
}

/// An empty folder for one test.
fn folder(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _old = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

fn sluicegate(folder: &Path) -> Command {
    let mut command = Command::new(root().join("target/release/sluicegate"));
    command.env("XDG_RUNTIME_DIR", folder);
    command
}

fn ask(folder: &Path, arguments: &[&str]) -> Option<String> {
    let done = sluicegate(folder).args(arguments).output().expect("it runs");
    done.status.success().then(|| String::from_utf8_lossy(&done.stdout).into_owned())
}

/// The consumer, in Swift where there is one.
fn consumer() -> &'static str {
    if languages().contains(&"swift") { "swift" } else { "rust" }
}

/// Asks until everybody answers in time, a consumer has slept for a while, it alone holds the others up, and
/// what is behind it waits for credit in so many places.
fn told(folder: &Path, target: &str, waiting: usize) -> Json {
    loop {
        let text = ask(folder, &["explain", target, "--json"]);
        let json = text.and_then(|text| serde_json::from_str::<Json>(&text).ok());
        let Some(json) = json else { continue };
        let [culprit] = &json["culprits"].as_array().expect("an array")[..] else { continue };
        let slow = culprit["cap"] == SLOW && culprit["since_ms"].as_u64() >= Some(500);
        let all = json["silent"] == serde_json::json!([]);
        let standing = json["standing"].as_array().expect("an array").iter();
        if slow && all && standing.filter(|s| s["waits_for"] == "credit").count() >= waiting {
            break json;
        }
    }
}

/// Asks until what is said in words begins like that: on a busy machine an answer may come too late.
fn says(folder: &Path, target: &str, words: &str) {
    while !ask(folder, &["explain", target]).is_some_and(|text| text.starts_with(words)) {}
}

/// The one that is named is the consumer.
fn names_the_consumer(told: &Json) {
    let culprits = told["culprits"].as_array().expect("an array");
    assert_eq!(culprits[0]["waits_for"], "unread", "{told}");
    let connection = culprits[0]["connection"].as_str().unwrap_or_default();
    assert!(connection.ends_with(consumer()), "{told}");
    assert_eq!(culprits[0]["party"], format!("reference-{}", consumer()), "{told}");
    assert_eq!(culprits[0]["stream"], "arg-0", "{told}");
}

/// In words, the first line names it.
fn says_the_consumer(folder: &Path, target: &str) {
    says(folder, target, &format!("HOLDS THE OTHERS UP: reference-{} ", consumer()));
}

/// A producer in Python, a relay in Go, and a consumer, in Swift where there is one, that sleeps. The
/// relay is asked: the host that produces and the cartridge that consumes are processes beyond it.
#[test]
fn a_stuck_chain_through_a_relay_names_the_sleeping_consumer() {
    within(SOON, "an explanation".to_owned(), || {
        let folder = folder("explain-relay");
        let control = folder.join("control");
        let control = control.to_str().expect("a path in UTF-8");
        let chain = [
            relay().display().to_string(),
            control.to_owned(),
            program(consumer()).display().to_string(),
        ];
        let mut producer = Command::new(host("python"));
        let running = start(producer.args([&chain.join(" "), SLOW, "1000", "100000", "1"]));
        let told = told(&folder, control, 1);
        names_the_consumer(&told);
        let mut waits = told["standing"].as_array().expect("an array").iter();
        let producer = waits.find(|s| s["waits_for"] == "credit").expect("the producer waits");
        assert_eq!((&producer["party"], &producer["side"]), (&"caller".into(), &"caller".into()));
        assert_eq!(producer["window"], 0, "{told}");
        says_the_consumer(&folder, control);
        drop(running);
        // The relay sees its host go, ends the consumer in its sleep, and goes.
        while ask(&folder, &["explain", control]).is_some() {}
    });
}

/// The same with cartridges that the command chains, one of them in Go in the middle.
#[test]
fn a_stuck_chain_of_three_cartridges_names_the_sleeping_consumer() {
    within(SOON, "an explanation".to_owned(), || {
        let folder = folder("explain-pipe");
        let input = folder.join("in");
        std::fs::write(&input, vec![7_u8; 4_000_000]).expect("written");
        let mut pipe = sluicegate(&folder);
        pipe.args(["pipe", "--quiet", "--window", "2", "--max-chunk", "4096", "--in"]).arg(&input);
        let slow = format!("@{SLOW}");
        for (language, cap) in [("python", ECHO), ("go", ECHO), (consumer(), &slow)] {
            pipe.arg("--").arg(program(language)).arg(cap);
        }
        let running = start(&mut pipe);
        let pid = running.0.id().to_string();
        names_the_consumer(&told(&folder, &pid, 2));
        says_the_consumer(&folder, &pid);
        let top = ask(&folder, &["top", &pid, "--once"]).expect("it runs");
        assert!(top.contains("arg-0"), "{top}");
        drop(running);
        assert!(ask(&folder, &["explain", &pid]).is_none(), "nobody is there any more");
    });
}
