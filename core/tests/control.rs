//! The control socket of a running process.

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use sluicegate::account::Explanation;
use sluicegate::control::{Control, Question, Report, ask};
use sluicegate::{Address, Engine, ErrorKind};
use support::{ECHO, attach_echo, until, within};

const SOON: Duration = Duration::from_secs(180);

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
        // Once the request was taken from its queue, nobody waits for anybody.
        until("nothing stands still", || {
            let told = ask(&address, Question::Explain).expect("an answer");
            told["culprits"].as_array().is_some_and(Vec::is_empty)
        });
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
        // The line only: what follows may be a reset, since the rest of the question is not read.
        BufReader::new(asker).read_line(&mut answer).expect("an answer");
        assert!(answer.contains("is no question: ask explain or stats"), "{answer}");
        let mut asker = UnixStream::connect(&path).expect("in");
        asker.write_all(b"\n").expect("written");
        let mut answer = String::new();
        BufReader::new(asker).read_line(&mut answer).expect("an answer");
        assert!(answer.contains("is no question: ask explain or stats"), "{answer}");
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

/// The folder that the process of the test below is told to use.
const HERE: &str = "SLUICEGATE_TEST_CONTROL";

/// Not a test by itself: a process that opens its control socket where it is looked for, and says
/// with which modes, or why not.
#[test]
fn process() {
    if std::env::var_os(HERE).is_none() {
        return;
    }
    let mode = |path: &Path| fs::metadata(path).expect("it is there").mode() & 0o7777;
    match Control::serve_here(Arc::new(Engine::default())) {
        Ok(control) => {
            let Address::Unix(path) = control.address() else { panic!("a Unix socket") };
            let folder = path.parent().expect("a folder");
            println!("socket {:o}, folder {:o}", mode(path), mode(folder));
            assert!(ask(control.address(), Question::Stats).is_ok(), "its own user may ask");
        }
        Err(error) => println!("refused: {error}"),
    }
}

/// What a process says that is to use a folder in `place`.
fn told_by_process(variable: &str, place: &Path) -> String {
    let run = Command::new(std::env::current_exe().expect("a test is a program"))
        .args(["--exact", "process", "--nocapture"])
        .env_remove("XDG_RUNTIME_DIR")
        .env(variable, place)
        .env(HERE, "1")
        .output()
        .expect("it runs");
    let told = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(run.status.success(), "{told}{}", String::from_utf8_lossy(&run.stderr));
    told
}

#[test]
fn it_is_for_the_same_user_and_never_on_the_network() {
    let address = "tcp:127.0.0.1:0".parse().expect("an address");
    let refused = Control::serve(&address, Arc::new(Engine::default())).expect_err("not there");
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    assert!(refused.message().contains("Unix socket"), "{refused}");

    // In a place of its own the mode is the same.
    let path = place("mode");
    let control = Control::serve(&Address::Unix(path.clone()), Arc::new(Engine::default()));
    let control = control.expect("it listens");
    assert_eq!(fs::metadata(&path).expect("it is there").mode() & 0o7777, 0o600);
    drop(control);

    let user = nix::unistd::geteuid();
    for (variable, name) in
        [("XDG_RUNTIME_DIR", "sluicegate".to_owned()), ("TMPDIR", format!("sluicegate-{user}"))]
    {
        let place = place(variable);
        let folder = place.join(name);
        fs::create_dir_all(&place).expect("made");
        let told = || told_by_process(variable, &place);
        let refuses = |what: &str| {
            let told = told();
            assert!(told.contains("refused: "), "{what}: {told}");
            assert!(told.contains(&*folder.to_string_lossy()), "names the folder: {told}");
        };
        assert!(told().contains("socket 600, folder 700"), "{}", told());
        for mode in [0o750, 0o701, 0o777] {
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).expect("set");
            refuses(&format!("mode {mode:o}"));
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("set");
        assert!(told().contains("socket 600, folder 700"), "{}", told());
        if user.is_root() {
            chown(&folder, Some(12_345), None).expect("root may");
            refuses("a folder of another user");
            chown(&folder, Some(0), None).expect("root may");
        } else {
            eprintln!("not root: a folder of another user is NOT tested");
        }
        let real = place.join("elsewhere");
        fs::rename(&folder, &real).expect("moved");
        symlink(&real, &folder).expect("made");
        refuses("a link to a folder");
        fs::remove_dir_all(&place).expect("removed");
    }
}
