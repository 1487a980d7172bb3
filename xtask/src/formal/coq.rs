//! Coq over a copy of `formal/theories`: nothing is ever compiled inside the source tree.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};

use crate::process;
use crate::repo::Repo;

/// How many files are compiled at once.
pub const JOBS: usize = 2;

/// A copy of the theories, with what is compiled of them.
pub struct Theories {
    /// Holds `Base`, `Decide`, `Law`, `Write`.
    pub folder: PathBuf,
    /// Where a file that extracts writes to.
    pub written: PathBuf,
    /// Each file, such as `Decide/Gate.v`, and the files that it requires.
    pub requires: BTreeMap<String, Vec<String>>,
}

impl Theories {
    /// The copy under `target/formal`, brought up to date.
    pub fn open(repo: &Repo) -> Result<Self> {
        let folder = repo.target("formal/theories");
        let written = repo.target("formal/written");
        fs::create_dir_all(&written)?;
        let source = repo.path("formal/theories");
        let files = sources(&source)?;
        for file in &files {
            let (from, to) = (source.join(file), folder.join(file));
            let text = fs::read(&from)?;
            if fs::read(&to).ok().as_deref() != Some(&text[..]) {
                fs::create_dir_all(to.parent().expect("a file lies in a folder"))?;
                fs::write(to, text)?;
            }
        }
        for gone in sources(&folder)?.iter().filter(|file| !files.contains(file)) {
            for ending in ["v", "vo"] {
                let _ = fs::remove_file(folder.join(gone).with_extension(ending));
            }
        }
        let requires = requires(&folder, &files)?;
        Ok(Theories { folder, written, requires })
    }

    /// The files in a folder, such as `Law`.
    pub fn files_in<'a>(&'a self, folder: &str) -> impl Iterator<Item = &'a String> {
        let prefix = format!("{folder}/");
        self.requires.keys().filter(move |file| file.starts_with(&prefix))
    }

    /// Every file but those that only write others: these write beside where they are compiled.
    pub fn proofs(&self) -> Vec<String> {
        self.requires.keys().filter(|file| !self.extracts(file)).cloned().collect()
    }

    /// The files that require `file`, at any distance, each behind those that it requires itself.
    /// The law of the same name stands as far in front as that allows.
    pub fn dependents(&self, file: &str) -> Vec<String> {
        let own = file.replace("Decide/", "Law/");
        let mut found: Vec<String> = vec![file.to_owned()];
        loop {
            let ready = |(name, requires): &(&String, &Vec<String>)| {
                !found.contains(name)
                    && requires.iter().any(|required| found.contains(required))
                    && requires.iter().all(|r| found.contains(r) || !self.reaches(r, file))
            };
            let first = |name: &str| !self.requires.contains_key(&own) || self.reaches(&own, name);
            let next = self.requires.iter().filter(ready).min_by_key(|(name, _)| {
                (**name != own, !first(name), !name.starts_with(own.trim_end_matches(".v")))
            });
            let Some((next, _)) = next else { break };
            found.push(next.clone());
        }
        found.remove(0);
        found
    }

    fn reaches(&self, from: &str, to: &str) -> bool {
        from == to || self.requires[from].iter().any(|required| self.reaches(required, to))
    }

    /// Compiles those of `wanted`, and of what they require, that are not up to date.
    pub fn compile(&self, wanted: impl IntoIterator<Item = String>) -> Result<()> {
        let mut all: Vec<String> = Vec::new();
        for file in wanted {
            self.with_required(&file, &mut all);
        }
        let state =
            Mutex::new(Progress { waiting: all, done: Vec::new(), running: 0, failed: None });
        let changed = Condvar::new();
        std::thread::scope(|scope| {
            for _ in 0..JOBS {
                scope.spawn(|| self.work(&state, &changed));
            }
        });
        match state.into_inner().unwrap_or_else(PoisonError::into_inner).failed {
            Some(failed) => Err(failed),
            None => Ok(()),
        }
    }

    fn with_required(&self, file: &str, all: &mut Vec<String>) {
        if !all.iter().any(|known| known == file) {
            for required in self.requires.get(file).into_iter().flatten() {
                self.with_required(required, all);
            }
            all.push(file.to_owned());
        }
    }

    fn work(&self, state: &Mutex<Progress>, changed: &Condvar) {
        let lock = || state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let mut progress = lock();
            let file = loop {
                if progress.failed.is_some() || progress.waiting.is_empty() {
                    return;
                }
                let ready = progress.waiting.iter().position(|file| {
                    self.requires[file].iter().all(|required| progress.done.contains(required))
                });
                match ready {
                    Some(at) => break progress.waiting.remove(at),
                    None if progress.running == 0 => {
                        progress.failed =
                            Some(anyhow::anyhow!("{:?} require each other", progress.waiting));
                    }
                    None => {
                        progress = changed.wait(progress).unwrap_or_else(PoisonError::into_inner)
                    }
                }
            };
            progress.running += 1;
            drop(progress);
            let ended = if self.is_fresh(&file) { Ok(()) } else { self.compile_one(&file) };
            let mut progress = lock();
            progress.running -= 1;
            match ended {
                Ok(()) => progress.done.push(file),
                Err(error) => progress.failed = Some(error),
            }
            drop(progress);
            changed.notify_all();
        }
    }

    /// Compiles one file whose requirements are compiled.
    pub fn compile_one(&self, file: &str) -> Result<()> {
        let mut coqc = Command::new("coqc");
        coqc.arg("-q").arg("-R").arg(&self.folder).args(["Sluicegate", "-w", "-extraction"]);
        let path = self.folder.join(file);
        let _ = fs::remove_file(path.with_extension("vo"));
        let output =
            coqc.arg(&path).current_dir(&self.written).output().context("cannot start coqc")?;
        if output.status.success() {
            return Ok(());
        }
        let said = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        let said = said.replace(&format!("{}/", self.folder.display()), "formal/theories/");
        bail!("formal/theories/{file} does not compile:\n{}", said.trim_end())
    }

    fn extracts(&self, file: &str) -> bool {
        file.starts_with("Write/")
            && fs::read_to_string(self.folder.join(file))
                .is_ok_and(|text| text.lines().any(|line| line.starts_with("Extraction Language")))
    }

    fn is_fresh(&self, file: &str) -> bool {
        let modified = |file: &str, ending: &str| {
            fs::metadata(self.folder.join(file).with_extension(ending))
                .and_then(|meta| meta.modified())
                .ok()
        };
        let Some(compiled) = modified(file, "vo") else { return false };
        let older = |time: Option<SystemTime>| time.is_some_and(|time| time <= compiled);
        // What extracts writes files beside it, which are not looked at here: always again.
        !self.extracts(file)
            && older(modified(file, "v"))
            && self.requires[file].iter().all(|required| older(modified(required, "vo")))
    }
}

struct Progress {
    waiting: Vec<String>,
    done: Vec<String>,
    running: usize,
    failed: Option<anyhow::Error>,
}

/// The `.v` files below `folder`, in order.
fn sources(folder: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for room in fs::read_dir(folder).into_iter().flatten() {
        let room = room?.path();
        if !room.is_dir() {
            continue;
        }
        for file in fs::read_dir(&room)? {
            let file = file?.path();
            if file.extension().is_some_and(|ending| ending == "v") {
                files.push(file.strip_prefix(folder)?.display().to_string());
            }
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// What each file requires of the others, by `coqdep`.
fn requires(folder: &Path, files: &[String]) -> Result<BTreeMap<String, Vec<String>>> {
    let mut coqdep = Command::new("coqdep");
    coqdep.args(["-R", ".", "Sluicegate"]).args(files).current_dir(folder);
    let mut requires = BTreeMap::new();
    for line in process::capture(&mut coqdep)?.lines() {
        let Some((made, from)) = line.split_once(": ") else { continue };
        let Some(made) = made.split(' ').find_map(|file| file.strip_suffix(".vo")) else {
            continue;
        };
        let required = from.split(' ').filter_map(|file| file.strip_suffix(".vo"));
        requires.insert(format!("{made}.v"), required.map(|file| format!("{file}.v")).collect());
    }
    if let Some(file) = files.iter().find(|file| !requires.contains_key(*file)) {
        bail!("coqdep says nothing of formal/theories/{file}");
    }
    Ok(requires)
}
