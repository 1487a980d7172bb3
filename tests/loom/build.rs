//! Writes the module list of the core's rooms, over the checker that was asked for.
//!
//! With `SLUICEGATE_MUTANT=name` the rooms are a copy with one line changed, as `mutants.txt` says: a
//! check that does not fail then checks nothing.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// The rooms that wait, and what they stand on.
const ROOMS: &[&str] = &[
    "account",
    "cartridge",
    "check",
    "credit",
    "engine",
    "error",
    "feed",
    "flow",
    "frame",
    "link",
    "model",
    "request",
    "routing",
    "stream",
    "sync",
    "time",
    "wait",
];

fn main() {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo says so"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says so"));
    let core = own.join("../../core/src").canonicalize().expect("the core lies beside the tests");
    let checker = if env::var_os("CARGO_FEATURE_SHUTTLE").is_some() { "shuttle" } else { "loom" };
    println!("cargo::rustc-cfg={checker}");
    println!("cargo::rustc-check-cfg=cfg(loom, shuttle)");
    println!("cargo::rerun-if-changed={}", core.display());
    println!("cargo::rerun-if-changed=mutants.txt");
    println!("cargo::rerun-if-env-changed=SLUICEGATE_MUTANT");

    let rooms = match env::var("SLUICEGATE_MUTANT") {
        Ok(name) if !name.is_empty() => mutate(&name, &own, &core, &out.join("mutant")),
        _ => core,
    };
    let list: String = ROOMS
        .iter()
        .filter_map(|room| {
            let file = [format!("{room}.rs"), format!("{room}/mod.rs")];
            let path = file.iter().map(|file| rooms.join(file)).find(|path| path.is_file())?;
            Some(format!("#[path = {:?}]\npub mod {room};\n", path.display().to_string()))
        })
        .collect();
    fs::write(out.join("rooms.rs"), list).expect("OUT_DIR can be written");
}

/// A copy of the core's sources with the change of that name made.
fn mutate(name: &str, own: &Path, core: &Path, copy: &Path) -> PathBuf {
    let text = fs::read_to_string(own.join("mutants.txt")).expect("mutants.txt is there");
    let mut lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let mut field = |what: &str| {
        let line = lines.next().unwrap_or_default();
        line.strip_prefix(what).map(|rest| rest.trim().to_owned())
    };
    loop {
        let found = field("mutant").unwrap_or_else(|| panic!("mutants.txt has no mutant {name:?}"));
        let [file, was, becomes] = ["file", "was", "becomes"]
            .map(|what| field(what).unwrap_or_else(|| panic!("mutant {found:?} says no {what:?}")));
        let _checks =
            field("caught by").unwrap_or_else(|| panic!("mutant {found:?}: caught by what?"));
        if found != name {
            continue;
        }
        copy_folder(core, copy);
        let path = copy.join(&file);
        let source = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{file}: {e}"));
        let times = source.matches(&was).count();
        assert_eq!(times, 1, "mutant {name:?}: {was:?} stands {times} times in {file}");
        fs::write(&path, source.replace(&was, &becomes)).expect("OUT_DIR can be written");
        return copy.to_owned();
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("OUT_DIR can be written");
    for entry in fs::read_dir(from).expect("a folder of sources").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("OUT_DIR can be written");
        }
    }
}
