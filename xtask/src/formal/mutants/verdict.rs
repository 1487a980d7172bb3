//! What became of a mutant.

use std::fmt;

use crate::formal::assumptions::without_comments;

#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A proof broke: this one.
    Killed(String),
    /// Every proof still holds: a theorem is missing.
    Survived,
    /// It is no other decision but a broken text: it shows nothing.
    Nonsense(String),
}

impl Verdict {
    pub fn is_killed(&self) -> bool {
        matches!(self, Verdict::Killed(_))
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Killed(proof) => write!(f, "killed by {proof}"),
            Verdict::Survived => f.write_str("SURVIVED: no theorem notices"),
            Verdict::Nonsense(said) => write!(f, "NONSENSE: what broke is no proof: {said}"),
        }
    }
}

/// What an error of Coq in `file`, which holds `text`, says of the mutant.
pub fn of(file: &str, text: &str, error: &str) -> Verdict {
    if error.contains("Timeout!") {
        // A tactic's limit is of the clock: a busy machine must not look like a theorem.
        return Verdict::Nonsense(format!("out of time, which shows nothing: {error}"));
    }
    match place(error).and_then(|(line, column)| proof_around(text, line, column)) {
        Some(name) if file.starts_with("Law/") => Verdict::Killed(format!("{name} ({file})")),
        _ => Verdict::Nonsense(error.to_owned()),
    }
}

/// The line and column of `File "…", line 3, characters 2-10:`.
fn place(error: &str) -> Option<(usize, usize)> {
    let (_, after) = error.split_once("\", line ")?;
    let (line, after) = after.split_once(", characters ")?;
    Some((line.parse().ok()?, after.split('-').next()?.parse().ok()?))
}

/// The statement whose proof holds this place.
fn proof_around(text: &str, line: usize, column: usize) -> Option<String> {
    let plain = without_comments(text);
    let start: usize = plain.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let before = plain.get(..start + column)?;
    let opened = before.rfind("Proof")?;
    let closed = ["Qed.", "Defined."].iter().filter_map(|end| before.rfind(end)).max();
    if closed.is_some_and(|closed| closed > opened) {
        return None;
    }
    let statement = before[..opened].trim_end();
    let from = ["Theorem ", "Lemma ", "Corollary ", "Proposition ", "Fact ", "Remark ", "Example "]
        .iter()
        .filter_map(|word| statement.rfind(word).map(|at| at + word.len()))
        .max()?;
    let name = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
    Some(statement[from..].chars().take_while(|c| name(*c)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAW: &str = "Definition d := 1.\nLemma one : d = 1.\nProof. reflexivity. Qed.\n(** Two. *)\nTheorem two : d = 2.\nProof.\n  lia.\nQed.\n";

    #[test]
    fn a_broken_proof_kills_and_a_broken_statement_does_not() {
        let at = |line, column| {
            of(
                "Law/T.v",
                LAW,
                &format!(
                    "x:\nFile \"formal/theories/Law/T.v\", line {line}, characters {column}-9:\nError: no."
                ),
            )
        };
        assert_eq!(at(3, 7), Verdict::Killed("one (Law/T.v)".to_owned()));
        assert_eq!(at(7, 2), Verdict::Killed("two (Law/T.v)".to_owned()));
        assert!(matches!(at(5, 14), Verdict::Nonsense(_)));
        let slow = "File \"T.v\", line 3, characters 7-9:\nError: Timeout!";
        assert!(matches!(of("Law/T.v", LAW, slow), Verdict::Nonsense(_)));
        assert!(matches!(of("Law/T.v", LAW, "no place"), Verdict::Nonsense(_)));
        let decision = of("Decide/T.v", LAW, "File \"T.v\", line 3, characters 7-9:\nError: no.");
        assert!(matches!(decision, Verdict::Nonsense(_)));
    }
}
