//! Every law is kept somewhere in the core, and every law of flow control has a test named after it in
//! each language, and one that runs over all of them.

use std::collections::BTreeSet;
use std::fs;

use anyhow::Result;

use super::Finding;
use crate::laws::{self, Kind};
use crate::repo::Repo;
use crate::tracked;

/// The laws that have a test by their name everywhere.
const TESTED: std::ops::RangeInclusive<u32> = 9..=17;

/// Where each language's own tests lie, and how the name of a test begins there.
struct Suite {
    of: &'static str,
    folders: &'static [&'static str],
    ending: &'static str,
    /// What stands before the first law in a test's name.
    named: &'static str,
}

const SUITES: &[Suite] = &[
    Suite {
        of: "every language (tests/matrix)",
        folders: &["tests/matrix/"],
        ending: ".rs",
        named: "fn ",
    },
    Suite { of: "Rust", folders: &["core/src/", "core/tests/"], ending: ".rs", named: "fn " },
    Suite { of: "C", folders: &["tests/c/"], ending: ".c", named: "void " },
    Suite { of: "Go", folders: &["go/"], ending: "_test.go", named: "func Test" },
    Suite { of: "Python", folders: &["python/tests/"], ending: ".py", named: "def test_" },
    Suite { of: "Swift", folders: &["swift/Tests/"], ending: ".swift", named: "func test" },
];

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
    let files = tracked::files(repo)?;
    for suite in SUITES {
        let mut tested = BTreeSet::new();
        for file in files.iter().filter(|file| suite.holds(file)) {
            tested.extend(suite.tested(&fs::read_to_string(repo.path(file))?));
        }
        findings.extend(suite.missing(&tested));
    }
    Ok(findings)
}

impl Suite {
    fn holds(&self, file: &str) -> bool {
        self.folders.iter().any(|folder| file.starts_with(folder)) && file.ends_with(self.ending)
    }

    /// The laws that the tests of a file are named after: 10 and 11 of `l10_l11_what_comes_back`.
    fn tested(&self, text: &str) -> Vec<u32> {
        let names = text.lines().filter_map(|line| Some(line.split_once(self.named)?.1));
        names.flat_map(laws_in).collect()
    }

    fn missing(&self, tested: &BTreeSet<u32>) -> Vec<Finding> {
        let missing = TESTED.filter(|law| !tested.contains(law));
        let findings = missing.map(|law| Finding {
            place: self.folders.join(", "),
            broken: format!(
                "no test of {} is named after L{law}: `{}{}{law}…`",
                self.of,
                self.named,
                if self.named.ends_with("st") { 'L' } else { 'l' }
            ),
        });
        findings.collect()
    }
}

/// The laws at the beginning of a name: `l10_l11_what`, `L10L11What`.
fn laws_in(name: &str) -> Vec<u32> {
    let mut laws = Vec::new();
    let mut rest = name;
    while let Some(behind) = rest.strip_prefix(['l', 'L']) {
        let digits = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
        let Ok(law) = behind[..digits].parse() else { break };
        laws.push(law);
        rest = behind[digits..].trim_start_matches('_');
    }
    laws
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_language_tell_their_laws() {
        for (name, laws) in [
            ("l9_a_sender_waits()", &[9][..]),
            ("l10_l11_l15_what_is_consumed(void) {", &[10, 11, 15]),
            ("L16L17AnUnboundedStream(t *testing.T) {", &[16, 17]),
            ("L9ASender() async throws {", &[9]),
            ("later()", &[]),
            ("hz_l10_a_limit()", &[]),
        ] {
            assert_eq!(laws_in(name), laws, "{name}");
        }
    }

    #[test]
    fn a_citation_is_no_test_and_what_is_missing_is_named() {
        let go = SUITES.iter().find(|suite| suite.of == "Go").expect("it is there");
        let text = "// L12: beyond the window\nfunc TestL9A(t *testing.T) {\nfunc TestL10L11B(t *testing.T) {\n";
        let tested: BTreeSet<_> = go.tested(text).into_iter().collect();
        assert_eq!(tested, [9, 10, 11].into());
        let missing = go.missing(&tested);
        assert_eq!(missing.len(), 6);
        assert_eq!(missing[0].broken, "no test of Go is named after L12: `func TestL12…`");
        let rust = SUITES.iter().find(|suite| suite.of == "Rust").expect("it is there");
        assert!(rust.missing(&tested)[0].broken.ends_with("`fn l12…`"));
        assert!(rust.missing(&(9..=17).collect()).is_empty());
    }
}
