//! Every law is kept somewhere in the core, and tested somewhere.

use anyhow::Result;

use super::Finding;
use crate::laws::{self, Kind};
use crate::repo::Repo;

pub fn check(repo: &Repo) -> Result<Vec<Finding>> {
    let citations = laws::citations(repo)?;
    let mut findings = Vec::new();
    for law in laws::LAWS.iter().filter(|law| law.required) {
        for (kind, place) in [(Kind::Core, "core/src"), (Kind::Test, "tests")] {
            if !citations.iter().any(|citation| citation.law == law.number && citation.kind == kind)
            {
                findings.push(Finding {
                    place: place.to_owned(),
                    broken: format!("L{} is not cited: {}", law.number, law.says),
                });
            }
        }
    }
    for citation in &citations {
        if !laws::LAWS.iter().any(|law| law.number == citation.law) {
            findings.push(Finding {
                place: citation.file.clone(),
                broken: format!("there is no L{}", citation.law),
            });
        }
    }
    Ok(findings)
}
