//! The control socket of a running process.

mod support;

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sluicegate::control::{Control, Question, ask};
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

#[test]
fn it_is_for_the_same_user_and_never_on_the_network() {
    let address = "tcp:127.0.0.1:0".parse().expect("an address");
    let refused = Control::serve(&address, Arc::new(Engine::default())).expect_err("not there");
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
}
