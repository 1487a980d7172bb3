//! The control socket of a running process.

mod support;

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sluicegate::account::Explanation;
use sluicegate::control::{Control, Question, Report, ask};
use sluicegate::{Address, Engine, ErrorKind};
use support::{ECHO, attach_echo, within};

const SOON: Duration = Duration::from_secs(20);

fn place(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("sluice-control-{name}-{}", std::process::id()))
}

#[test]
fn a_running_process_says_what_is_live_and_what_stands_still() {
    within(SOON, "two answers", || {
        let engine = Engine::default();
        let peer = attach_echo(&engine);
        let call = peer.call(ECHO).expect("a call");
        let _argument = call.input("media:blob").expect("an argument");
        let address = Address::Unix(place("asked"));
        let control = Control::serve(&address, Arc::new(engine.clone())).expect("it listens");
        let stats = ask(&address, Question::Stats).expect("an answer");
        let request = &stats["cartridges"][0]["requests"][0];
        assert_eq!(request["rid"], call.id().to_string(), "{stats}");
        let told = ask(&address, Question::Explain).expect("an answer");
        assert!(told["culprits"].as_array().is_some_and(Vec::is_empty), "{told}");
        drop(control);
        assert_eq!(ask(&address, Question::Stats).expect_err("closed").kind(), ErrorKind::Io);
    });
}

#[test]
fn a_wrong_question_is_told_so_and_silent_askers_hold_nobody_up() {
    within(SOON, "an answer", || {
        let path = place("wrong");
        let address = Address::Unix(path.clone());
        let engine = Arc::new(Engine::default());
        let _control = Control::serve(&address, engine).expect("it listens");
        let _silent: Vec<_> = (0..5).map(|_| UnixStream::connect(&path).expect("in")).collect();
        let mut asker = UnixStream::connect(&path).expect("in");
        asker.write_all(&[b'x'; 200]).expect("written");
        let mut answer = String::new();
        let _reset = asker.read_to_string(&mut answer);
        assert!(answer.contains("is no question") || answer.is_empty(), "{answer}");
        assert!(ask(&address, Question::Stats).expect("an answer")["cartridges"].is_array());
    });
}

/// However many say nothing or do not read, a newcomer is answered: the oldest of them makes way.
#[test]
fn silent_askers_make_way_for_a_newcomer() {
    within(SOON, "answers", || {
        let path = place("silent");
        let address = Address::Unix(path.clone());
        let _control = Control::serve(&address, Arc::new(Long)).expect("it listens");
        let mut silent: Vec<_> = (0..20).map(|_| UnixStream::connect(&path).expect("in")).collect();
        assert!(ask(&address, Question::Explain).is_ok(), "beside those who are silent");
        // Those of them who came first have been shut out.
        let mut rest = Vec::new();
        let _reset = silent[0].read_to_end(&mut rest);
        for _ in 0..20 {
            let mut deaf = UnixStream::connect(&path).expect("in");
            deaf.write_all(b"stats\n").expect("written");
            deaf.read_exact(&mut [0]).expect("it begins to be told");
            silent.push(deaf); // and reads nothing more
        }
        assert!(ask(&address, Question::Explain).is_ok(), "beside those who do not read");
    });
}

/// A process that has much to tell.
struct Long;

impl Report for Long {
    fn explain(&self) -> Explanation {
        Explanation::default()
    }

    fn stats(&self) -> serde_json::Value {
        "x".repeat(4 * 1024 * 1024).into()
    }
}

#[test]
fn it_is_for_the_same_user_and_never_on_the_network() {
    let address = "tcp:127.0.0.1:0".parse().expect("an address");
    let refused = Control::serve(&address, Arc::new(Engine::default())).expect_err("not there");
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
}
