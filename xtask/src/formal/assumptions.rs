//! What each theorem rests on, asked of Coq by name: nothing.

use std::fs;
use std::process::Command;

use anyhow::{Result, bail};

use super::coq::Theories;
use super::kernel::logical;
use crate::process;

const STATEMENTS: &[&str] =
    &["Theorem", "Lemma", "Corollary", "Proposition", "Fact", "Remark", "Example"];
const CLOSED: &str = "Closed under the global context";

/// Prints the assumptions of every statement of `Law`, and fails if there is one.
pub fn check(theories: &Theories) -> Result<()> {
    theories.compile(theories.files_in("Law").cloned())?;
    let mut script = String::new();
    let mut names = Vec::new();
    for file in theories.files_in("Law") {
        let text = fs::read_to_string(theories.folder.join(file))?;
        script.push_str(&format!("Require {}.\n", logical(file)));
        for name in statements(&text) {
            names.push(format!("{}.{name}", logical(file)));
        }
    }
    // One question about all of them: each alone would walk through the same libraries again.
    script.push_str("Definition everything :=\n");
    for name in &names {
        script.push_str(&format!("  let _ := @{name} in\n"));
    }
    script.push_str("  tt.\nPrint Assumptions everything.\n");
    let asked = theories.written.join("Assumptions.v");
    fs::write(&asked, script)?;
    let mut coqc = Command::new("coqc");
    coqc.args(["-q", "-R"]).arg(&theories.folder).arg("Sluicegate").arg(&asked);
    let said = process::capture(coqc.current_dir(&theories.written))?;
    if names.is_empty() || said.trim() != CLOSED {
        bail!("{} statements rest on more than Coq itself:\n{said}", names.len());
    }
    println!("{} statements: no axioms", names.len());
    Ok(())
}

/// The names of all statements of a file, with the modules that they lie in.
fn statements(text: &str) -> Vec<String> {
    let mut inside: Vec<String> = Vec::new();
    let mut found = Vec::new();
    for line in without_comments(text).lines() {
        let mut words = line.split_whitespace().skip_while(|word| {
            ["Local", "Global", "Program", "#[local]", "#[global]"].contains(word)
        });
        let (Some(first), Some(second)) = (words.next(), words.next()) else { continue };
        let name = second.trim_end_matches(['.', ':']).to_owned();
        match first {
            "Module" if !line.contains(":=") => inside.push(name),
            "End" if inside.last() == Some(&name) => {
                inside.pop();
            }
            first if STATEMENTS.contains(&first) => {
                let path: Vec<_> = inside.iter().cloned().chain([name]).collect();
                found.push(path.join("."));
            }
            _ => {}
        }
    }
    found
}

/// The text with its comments blanked, lines kept.
pub fn without_comments(text: &str) -> String {
    let mut depth = 0_usize;
    let mut plain = String::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let (opens, closes) = (rest.starts_with("(*"), rest.starts_with("*)") && depth > 0);
        let length = if opens || closes { 2 } else { next.len_utf8() };
        if opens {
            depth += 1;
        }
        for letter in rest[..length].chars() {
            let blank = letter != '\n' && (depth > 0);
            (0..if blank { letter.len_utf8() } else { 0 }).for_each(|_| plain.push(' '));
            if !blank {
                plain.push(letter);
            }
        }
        if closes {
            depth -= 1;
        }
        rest = &rest[length..];
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_found_where_they_lie() {
        let text = "(* Lemma no : True. *)\nLemma a : True.\nProof. exact I. Qed.\nModule M.\n  Local Theorem b x :\n    x = x.\nEnd M.\nCorollary c: 1 = 1.\n";
        assert_eq!(statements(text), ["a", "M.b", "c"]);
    }
}
