//! Every compiled file once more, by `coqchk`: a small program that shares nothing with the tactics.

use std::process::Command;

use anyhow::{Result, bail};

use super::coq::Theories;
use crate::process;

/// Compiles everything, then checks it again; fails on any axiom.
pub fn check(theories: &Theories) -> Result<()> {
    theories.compile(theories.proofs())?;
    let mut coqchk = Command::new("coqchk");
    coqchk.args(["-silent", "-o", "-R"]).arg(&theories.folder).arg("Sluicegate");
    for file in theories.files_in("Law").chain(theories.files_in("Base")) {
        coqchk.arg(logical(file));
    }
    let said = process::watch(&mut coqchk, |_| false)?; // its summary is on stderr
    said.ended?;
    let axioms = axioms(&said.text);
    if axioms.is_empty() {
        println!("checked again: no axioms");
        return Ok(());
    }
    bail!("it rests on axioms: {}", axioms.join(", "))
}

/// `Law/Gate.v` → `Sluicegate.Law.Gate`
pub fn logical(file: &str) -> String {
    format!("Sluicegate.{}", file.trim_end_matches(".v").replace('/', "."))
}

/// What stands under "Axioms" in the summary of coqchk, and nothing for `<none>`.
fn axioms(said: &str) -> Vec<String> {
    let Some((_, after)) = said.split_once("* Axioms:") else {
        return vec!["no summary was printed".to_owned()];
    };
    let listed = after.split("\n*").next().unwrap_or_default();
    listed
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && *line != "<none>")
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axioms_are_read_from_the_summary() {
        let summary = |axioms: &str| {
            format!(
                "\nCONTEXT SUMMARY\n===============\n\n* Theory: Set is predicative\n  \n* Axioms:{axioms}\n  \n* Constants/Inductives relying on type-in-type: <none>\n"
            )
        };
        assert!(axioms(&summary(" <none>")).is_empty());
        assert_eq!(axioms(&summary("\n    Coq.Logic.Classical_Prop.classic\n    A.b")).len(), 2);
        assert_eq!(axioms("nothing").len(), 1);
    }
}
