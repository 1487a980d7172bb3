//! The list of mutants: one file of `formal/mutants` for each file of decisions.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::formal::coq::Theories;

/// The fewest mutants of a file of decisions.
const FEWEST: usize = 3;

/// One change.
pub struct Mutant {
    /// `Decide/Gate.v`
    pub file: String,
    /// What is wrong in it, in words.
    pub name: String,
    /// Stands in the file exactly once.
    pub replace: String,
    pub with: String,
}

/// Reads every list in `folder`.
pub fn read(folder: &Path) -> Result<Vec<Mutant>> {
    let mut paths: Vec<_> = fs::read_dir(folder)
        .with_context(|| format!("cannot read {}", folder.display()))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<_>>()?;
    paths.sort_unstable();
    let mut mutants = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path)?;
        mutants.extend(parse(&text).with_context(|| path.display().to_string())?);
    }
    Ok(mutants)
}

fn parse(text: &str) -> Result<Vec<Mutant>> {
    let list: toml::Table = text.parse()?;
    let file = list.get("file").and_then(toml::Value::as_str).context("no `file`")?;
    if let Some(unknown) = list.keys().find(|key| !["file", "mutant"].contains(&key.as_str())) {
        bail!("unknown key `{unknown}`");
    }
    let entries = list.get("mutant").and_then(toml::Value::as_array).context("no [[mutant]]")?;
    entries
        .iter()
        .map(|entry| {
            let text = |key: &str| {
                let text = entry.get(key).and_then(toml::Value::as_str);
                text.map(str::to_owned)
                    .with_context(|| format!("a mutant without `{key}`: {entry:?}"))
            };
            Ok(Mutant {
                file: file.to_owned(),
                name: text("name")?,
                replace: text("replace")?,
                with: text("with")?,
            })
        })
        .collect()
}

/// Each mutant changes one place of a file that is there, and each file of decisions has enough.
pub fn check(mutants: &[Mutant], theories: &Theories) -> Result<()> {
    let mut names = BTreeSet::new();
    for mutant in mutants {
        let Mutant { file, name, replace, with } = mutant;
        let text = fs::read_to_string(theories.folder.join(file))
            .with_context(|| format!("mutant {name:?}: formal/theories/{file}"))?;
        let found = text.matches(replace.as_str()).count();
        if found != 1 {
            bail!(
                "mutant {name:?} of {file}: its text stands there {found} times, and not once:\n{replace}"
            );
        }
        if replace == with {
            bail!("mutant {name:?} of {file} changes nothing");
        }
        if !names.insert((file, name)) {
            bail!("two mutants of {file} are called {name:?}");
        }
    }
    for file in theories.files_in("Decide") {
        let count = mutants.iter().filter(|mutant| mutant.file == *file).count();
        if count < FEWEST {
            bail!("formal/theories/{file} has {count} mutants, and not {FEWEST}");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_and_a_wrong_one_is_refused() {
        let list = "file = \"Decide/Gate.v\"\n[[mutant]]\nname = \"n\"\nreplace = '''a\nb'''\nwith = \"c\"\n";
        let mutants = parse(list).expect("a list");
        assert_eq!(
            (mutants[0].file.as_str(), mutants[0].replace.as_str()),
            ("Decide/Gate.v", "a\nb")
        );
        for (wrong, why) in [
            ("[[mutant]]\nname = \"n\"", "no `file`"),
            ("file = \"f\"\nextra = 1\nmutant = []", "unknown key `extra`"),
        ] {
            assert_eq!(parse(wrong).err().expect("refused").to_string(), why);
        }
        let lacking = parse("file = \"f\"\n[[mutant]]\nname = \"n\"\nreplace = \"a\"\n");
        assert!(lacking.err().expect("refused").to_string().contains("without `with`"));
    }
}
