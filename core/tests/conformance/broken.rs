//! What a runner says of scripts that are broken, and of a window that is.

use std::cell::Cell;
use std::path::Path;

use sluicegate::CreditWindow;

use crate::pure::{self, AnyWindow, open_window};
use crate::script::{self, Failure, Object, Script};
use crate::threads::Threads;
use crate::waiting;

/// Replays one file whatever its kind; what fails first is said with file and script.
fn replay_file(path: &Path) -> Result<(), Failure> {
    let group = script::read(path)?;
    let replay = |script: &Script| match group.machine.as_str() {
        "waiting" => waiting::replay::<Threads>(&group.machine, script),
        machine => pure::replay(machine, script),
    };
    group.scripts.iter().try_for_each(|script| {
        replay(script).map_err(|failure| {
            Failure::new(format!("{}: {:?}: {failure}", group.file, script.name))
        })
    })
}

#[test]
fn a_broken_script_is_refused_and_named() {
    let folder = script::folder("broken");
    let table = std::fs::read(folder.join("said.json")).expect("the table of what must be said");
    let table = serde_json::from_slice(&table).expect("the table is JSON");
    let mut seen = 0;
    for (file, texts) in Object::from(table).expect("the table is an object").entries() {
        let said = match replay_file(&folder.join(&file)) {
            Ok(()) => panic!("{file} was replayed as if it were good"),
            Err(failure) => failure.to_string(),
        };
        for text in texts.as_array().expect("a list of texts") {
            let text = text.as_str().expect("a text");
            assert!(said.contains(text), "{file}: {text:?} is not said in: {said}");
        }
        seen += 1;
    }
    let files = script::files("broken").expect("the folder").len();
    assert_eq!(seen + 1, files, "every file of the folder stands in the table");
}

/// A window that forgets to empty what is pending when a grant has become due.
struct Forgetful {
    window: CreditWindow,
    forgotten: Cell<u64>,
}

impl AnyWindow for Forgetful {
    fn size(&self) -> u64 {
        self.window.size()
    }
    fn remaining(&self) -> u64 {
        self.window.remaining()
    }
    fn pending(&self) -> u64 {
        self.window.pending().saturating_add(self.forgotten.get())
    }
    fn batch(&self) -> u64 {
        self.window.batch()
    }
    fn arrive(&self) -> bool {
        self.window.arrive().is_ok()
    }
    fn consumed(&self) -> u64 {
        let due = self.window.consumed();
        self.forgotten.set(self.forgotten.get().saturating_add(due));
        due
    }
    fn flush(&self) -> u64 {
        self.window.flush()
    }
    fn continued(&self) -> u64 {
        self.window.continued()
    }
}

#[test]
fn a_broken_window_is_caught_by_name_and_step() {
    let group = script::read(&script::folder("pure").join("window.json.gz")).expect("scripts");
    let wanted = "window 4: a full cycle and a chunk too many";
    let script = group.scripts.iter().find(|script| script.name == wanted).expect("that script");
    let failure = pure::replay_with("window", script, |size, batch| {
        Box::new(Forgetful { window: open_window(size, batch), forgotten: Cell::new(0) })
    })
    .expect_err("a window that forgets");
    // Five arrivals, then the second one consumed makes a grant of 2 due.
    let said = failure.to_string();
    assert!(said.starts_with("step 6: consumed: state: expected"), "{said}");
    pure::replay("window", script).expect("the library's window does not");
}
