//! The list of mutants: one file of `formal/mutants` for each file of decisions.

use std::collections::BTreeSet;
use std::fmt;
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
    /// The definition that it changes.
    pub definition: String,
    /// What is wrong in it, in words.
    pub name: String,
    /// Stands in the definition exactly once.
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
                definition: text("definition")?,
                name: text("name")?,
                replace: text("replace")?,
                with: text("with")?,
            })
        })
        .collect()
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.file, self.definition, self.name)
    }
}

impl Mutant {
    /// The changed text of the file.
    pub fn applied(&self, text: &str) -> Result<String> {
        let Mutant { file, definition, name, replace, with } = self;
        let start = text
            .find(&format!("Definition {definition} "))
            .with_context(|| format!("mutant {name:?}: {file} defines no {definition}"))?;
        let end = text[start..].find("\nDefinition ").map_or(text.len(), |length| start + length);
        let found = text[start..end].matches(replace.as_str()).count();
        if found != 1 {
            bail!(
                "mutant {name:?}: its text stands in {definition} of {file} {found} times, and not once:\n{replace}"
            );
        }
        if replace == with {
            bail!("mutant {name:?} of {file} changes nothing");
        }
        let changed = text[start..end].replacen(replace.as_str(), with, 1);
        Ok(format!("{}{changed}{}", &text[..start], &text[end..]))
    }
}

/// Each mutant can be applied, and each file of decisions has enough.
pub fn check(mutants: &[Mutant], theories: &Theories) -> Result<()> {
    let mut names = BTreeSet::new();
    for mutant in mutants {
        let Mutant { file, definition, name, .. } = mutant;
        let text = fs::read_to_string(theories.folder.join(file))
            .with_context(|| format!("mutant {name:?}: formal/theories/{file}"))?;
        mutant.applied(&text)?;
        if !names.insert((file, definition, name)) {
            bail!("two mutants of {definition} in {file} are called {name:?}");
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
        let list = "file = \"Decide/Gate.v\"\n[[mutant]]\ndefinition = \"d\"\nname = \"n\"\nreplace = '''a\nb'''\nwith = \"c\"\n";
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
        let lacking =
            parse("file = \"f\"\n[[mutant]]\ndefinition = \"d\"\nname = \"n\"\nreplace = \"a\"\n");
        assert!(lacking.err().expect("refused").to_string().contains("without `with`"));
    }

    #[test]
    fn a_mutant_changes_one_place_of_its_definition() {
        let mutant = |replace: &str| Mutant {
            file: "f".to_owned(),
            definition: "b".to_owned(),
            name: "n".to_owned(),
            replace: replace.to_owned(),
            with: "y".to_owned(),
        };
        let text = "Definition a := x.\nDefinition b := x + 1 + 1.\nDefinition c := x.\n";
        assert_eq!(
            mutant("x").applied(text).expect("applies"),
            "Definition a := x.\nDefinition b := y + 1 + 1.\nDefinition c := x.\n"
        );
        for wrong in ["1", "z", "y"] {
            assert!(mutant(wrong).applied(text).is_err(), "{wrong}");
        }
    }
}
