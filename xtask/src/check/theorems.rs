//! Every theorem of `formal/theories/Law` stands in `formal/README.md`, in a sentence, and no other does.

use std::collections::BTreeSet;
use std::fs;

use anyhow::Result;

use super::Finding;
use crate::formal::without_comments;
use crate::repo::Repo;
use crate::tracked;

const README: &str = "formal/README.md";
const LAWS: &str = "formal/theories/Law/";

pub fn check(repo: &Repo) -> Result<Vec<Finding>> {
    let (mut proved, mut theorems) = (BTreeSet::new(), Vec::new());
    for file in tracked::files(repo)? {
        let name = file.strip_prefix(LAWS).and_then(|name| name.strip_suffix(".v"));
        let Some(module) = name else { continue };
        for (statement, is_theorem) in statements(&fs::read_to_string(repo.path(&file))?) {
            let name = format!("{module}.{statement}");
            if is_theorem {
                theorems.push((file.clone(), name.clone()));
            }
            proved.insert(name);
        }
    }
    Ok(compare(&fs::read_to_string(repo.path(README))?, &theorems, &proved))
}

fn compare(readme: &str, theorems: &[(String, String)], proved: &BTreeSet<String>) -> Vec<Finding> {
    let told = told(readme);
    let missing = theorems.iter().filter(|(_, name)| !told.iter().any(|(_, told)| told == name));
    let missing = missing.map(|(file, name)| Finding {
        place: file.clone(),
        broken: format!("{name} stands in no table of {README}"),
    });
    let wrong = told.iter().filter(|(_, name)| !proved.contains(name));
    let wrong = wrong.map(|(line, name)| Finding {
        place: format!("{README}:{line}"),
        broken: format!("{name} is no statement of {LAWS}"),
    });
    missing.chain(wrong).collect()
}

/// The statements of a file, and whether each is a theorem; a lemma only serves others.
fn statements(text: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for line in without_comments(text).lines() {
        let mut words =
            line.split_whitespace().skip_while(|word| ["Local", "Global"].contains(word));
        let (Some(kind), Some(name)) = (words.next(), words.next()) else { continue };
        let is_theorem = ["Theorem", "Corollary", "Proposition"].contains(&kind);
        if is_theorem || ["Lemma", "Fact", "Remark", "Example"].contains(&kind) {
            found.push((name.trim_end_matches(['.', ':']).to_owned(), is_theorem));
        }
    }
    found
}

/// What the tables name, and in which line: `File.name`, and behind it in the same cell `name` alone.
fn told(readme: &str) -> Vec<(usize, String)> {
    let mut told = Vec::new();
    for (at, line) in readme.lines().enumerate().filter(|(_, line)| line.starts_with('|')) {
        for cell in line.split('|').skip(1).take(2) {
            let mut file: Option<&str> = None;
            for name in cell.split('`').skip(1).step_by(2) {
                let plain = name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
                match (name.split_once('.'), file) {
                    _ if !plain => {}
                    (Some((of, _)), _) if of.starts_with(char::is_uppercase) => {
                        file = Some(of);
                        told.push((at + 1, name.to_owned()));
                    }
                    (None, Some(of)) => told.push((at + 1, format!("{of}.{name}"))),
                    _ => {}
                }
            }
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(readme: &str, law: &str) -> Vec<String> {
        let names = statements(law);
        let named = |name: &str| format!("Gate.{name}");
        let proved = names.iter().map(|(name, _)| named(name)).collect();
        let theorems: Vec<_> = names
            .iter()
            .filter(|(_, is_theorem)| *is_theorem)
            .map(|(name, _)| (format!("{LAWS}Gate.v"), named(name)))
            .collect();
        compare(readme, &theorems, &proved).into_iter().map(|finding| finding.broken).collect()
    }

    const LAW: &str =
        "Theorem a : True.\n(* Theorem no : True. *)\nLemma small x :\nCorollary b: 1 = 1.\n";

    #[test]
    fn a_theorem_that_the_readme_leaves_out_is_found() {
        let whole = "| G1 | `Gate.a`, `b` | Both hold. | L9 |\n";
        assert_eq!(broken(whole, LAW), [""; 0]);
        let half = "Of `Gate.b` only tables count.\n| `Gate.a` | One holds, unlike `b`. |\n";
        assert_eq!(broken(half, LAW), ["Gate.b stands in no table of formal/README.md"]);
    }

    #[test]
    fn a_theorem_that_nobody_proved_is_found() {
        let more = "| G1 | `Gate.a`, `b`, `small`, `gone` | All hold. |\n";
        assert_eq!(broken(more, LAW), ["Gate.gone is no statement of formal/theories/Law/"]);
    }
}
