//! Changes one word of a decision, and demands that a proof breaks.
//!
//! A theorem that no change can break says nothing. Each mutant is an entry of `formal/mutants`; the
//! changed decision itself must still compile, and what breaks must lie inside a proof.

mod list;
mod verdict;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, bail};

use super::coq::{JOBS, Theories};
use crate::repo::Repo;
use list::Mutant;
use verdict::Verdict;

/// Runs all mutants, each on a copy.
pub fn run(repo: &Repo, theories: &Theories) -> Result<()> {
    theories.compile(theories.files_in("Law").cloned())?;
    let mutants = list::read(&repo.path("formal/mutants"))?;
    list::check(&mutants, theories)?;
    let waiting = Mutex::new(mutants.iter());
    let verdicts = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..JOBS)
            .map(|number| {
                let (waiting, verdicts) = (&waiting, &verdicts);
                scope.spawn(move || -> Result<()> {
                    let copy =
                        Copy::make(theories, &repo.target(&format!("formal/mutant-{number}")))?;
                    loop {
                        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
                        let Some(mutant) = next else { return Ok(()) };
                        let verdict = copy.judge(mutant)?;
                        println!("{mutant}: {verdict}");
                        verdicts
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .push((mutant, verdict));
                    }
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })?;
    let verdicts = verdicts.into_inner().unwrap_or_else(PoisonError::into_inner);
    let killed = verdicts.iter().filter(|(_, verdict)| verdict.is_killed()).count();
    println!("{killed} of {} mutants killed", verdicts.len());
    let others: Vec<_> = verdicts
        .iter()
        .filter(|(_, verdict)| !verdict.is_killed())
        .map(|(mutant, verdict)| format!("{mutant}: {verdict}"))
        .collect();
    if others.is_empty() { Ok(()) } else { bail!("not killed:\n{}", others.join("\n")) }
}

/// A compiled copy of the theories that one worker changes and puts right again.
struct Copy<'a> {
    original: &'a Theories,
    theories: Theories,
}

impl<'a> Copy<'a> {
    fn make(original: &'a Theories, folder: &Path) -> Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        let theories = Theories {
            folder: folder.join("theories"),
            written: folder.join("written"),
            requires: original.requires.clone(),
        };
        fs::create_dir_all(&theories.written)?;
        let copy = Copy { original, theories };
        for file in original.requires.keys() {
            copy.restore(file)?;
        }
        Ok(copy)
    }

    /// Compiles the changed decision, then what depends on it until something breaks.
    fn judge(&self, mutant: &Mutant) -> Result<Verdict> {
        let text = fs::read_to_string(self.original.folder.join(&mutant.file))?;
        fs::write(self.theories.folder.join(&mutant.file), mutant.applied(&text)?)?;
        let mut touched = vec![mutant.file.clone()];
        let mut verdict = match self.theories.compile_one(&mutant.file) {
            Ok(()) => Verdict::Survived,
            Err(error) => Verdict::Nonsense(error.to_string()),
        };
        if verdict == Verdict::Survived {
            for file in self.original.dependents(&mutant.file) {
                if !file.starts_with("Decide/") && !file.starts_with("Law/") {
                    continue;
                }
                touched.push(file.clone());
                if let Err(error) = self.theories.compile_one(&file) {
                    let law = fs::read_to_string(self.original.folder.join(&file))?;
                    verdict = verdict::of(&file, &law, &error.to_string());
                    break;
                }
            }
        }
        touched.iter().try_for_each(|file| self.restore(file))?;
        Ok(verdict)
    }

    fn restore(&self, file: &str) -> Result<()> {
        for ending in ["v", "vo"] {
            let paths = |theories: &Theories| -> PathBuf {
                theories.folder.join(file).with_extension(ending)
            };
            let (from, to) = (paths(self.original), paths(&self.theories));
            fs::create_dir_all(to.parent().expect("a file lies in a folder"))?;
            if from.exists() {
                fs::copy(from, to)?;
            }
        }
        Ok(())
    }
}
