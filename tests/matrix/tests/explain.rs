//! Why a chain of processes stands still, asked from outside: the answer names the one that sleeps.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use sluicegate_matrix::{languages, program, root, within};

const ECHO: &str = "@cap:fc-echo;in=media:blob;out=media:blob";
const SLOW: &str = "@cap:fc-slow;in=media:blob;out=media:json";

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

fn sluicegate(folder: &PathBuf) -> Command {
    let mut command = Command::new(root().join("target/release/sluicegate"));
    command.env("XDG_RUNTIME_DIR", folder);
    command
}

fn ask(folder: &PathBuf, arguments: &[&str]) -> Option<String> {
    let done = sluicegate(folder).args(arguments).output().expect("it runs");
    done.status.success().then(|| String::from_utf8_lossy(&done.stdout).into_owned())
}

/// A producer in Python, a relay in Go, and a consumer, in Swift where there is one, that sleeps.
#[test]
fn a_stuck_chain_of_three_processes_names_the_sleeping_consumer() {
    within(Duration::from_secs(60), "an explanation".to_owned(), || {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("explain");
        let _old = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        let input = folder.join("in");
        std::fs::write(&input, vec![7_u8; 4_000_000]).expect("written");
        let last = if languages().contains(&"swift") { "swift" } else { "rust" };
        let mut pipe = sluicegate(&folder);
        pipe.args(["pipe", "--quiet", "--window", "2", "--max-chunk", "4096", "--in"]).arg(&input);
        for (language, cap) in [("python", ECHO), ("go", ECHO), (last, SLOW)] {
            pipe.arg("--").arg(program(language)).arg(cap);
        }
        pipe.env("SLOW_MS", "3600000").stdout(Stdio::null()).stderr(Stdio::null());
        let running = Running(pipe.spawn().expect("it starts"));
        let pid = running.0.id().to_string();
        let told = loop {
            let told = ask(&folder, &["explain", &pid, "--json"]);
            let json = told.and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
            let Some(json) = json else { continue };
            let culprit = &json["culprits"][0];
            let slow = culprit["cap"].as_str().is_some_and(|cap| cap.contains("fc-slow"));
            if slow && culprit["since_ms"].as_u64() >= Some(500) {
                break json;
            }
        };
        let culprits = told["culprits"].as_array().expect("an array");
        assert_eq!(culprits.len(), 1, "{told}");
        let connection = culprits[0]["connection"].as_str().unwrap_or_default();
        assert!(connection.ends_with(last), "{told}");
        let waits = told["standing"].as_array().expect("an array").iter();
        assert!(waits.filter(|standing| standing["waits_for"] == "credit").count() >= 2, "{told}");
        let text = ask(&folder, &["explain", &pid]).expect("it runs");
        assert!(text.starts_with("HOLDS THE OTHERS UP"), "{text}");
        let top = ask(&folder, &["top", &pid, "--once"]).expect("it runs");
        assert!(top.contains("arg-0"), "{top}");
        drop(running);
        assert!(ask(&folder, &["explain", &pid]).is_none(), "nobody is there any more");
    });
}
