//! What the runners say of the scripts of real stages, in lines, round junctions and behind hubs: every
//! language has stages, so every one owes a line for each.

/// Every language, and what its runner waits with where it has more than one way or says so.
const WAYS: [(&str, &str); 6] = [
    ("rust", ""),
    ("c", ""),
    ("go", "select"),
    ("python", "threads"),
    ("python", "asyncio"),
    ("swift", "continuations"),
];

/// The sets of scripts: what a line begins with; and fewer scripts or steps than these, and a file of
/// them has been lost.
const SETS: [(&str, u64, u64); 3] =
    [("pipeline", 2_000, 20_000), ("junction", 4_000, 35_000), ("hub", 2_500, 30_000)];

/// What one runner says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipelines {
    /// Which set of scripts.
    set: &'static str,
    language: String,
    /// Empty if it is not said.
    primitive: String,
    scripts: u64,
    steps: u64,
    failures: u64,
}

impl Pipelines {
    /// Reads `pipeline go | select: 3 scripts 9 steps, 0 failures`, or `pipeline c: 3 scripts 9 steps in 2
    /// orders, 0 failures`, behind whatever a test runner puts before it.
    pub fn read(line: &str) -> Option<Self> {
        SETS.into_iter().find_map(|(set, ..)| Self::read_of(set, line))
    }

    fn read_of(set: &'static str, line: &str) -> Option<Self> {
        let begins = format!("{set} ");
        let said = &line[line.find(&begins)?..];
        let (who, counts) = said.strip_prefix(&begins)?.split_once(": ")?;
        let (language, primitive) = who.split_once(" | ").unwrap_or((who, ""));
        let (counts, failures) = counts.trim().split_once(", ")?;
        let (scripts, steps) = counts.split_once(" scripts ")?;
        let (steps, _orders) = steps.split_once(" steps")?;
        let failures = failures.strip_suffix(" failures")?.parse().ok()?;
        let (scripts, steps) = (scripts.parse().ok()?, steps.parse().ok()?);
        let (language, primitive) = (language.to_owned(), primitive.to_owned());
        Some(Pipelines { set, language, primitive, scripts, steps, failures })
    }

    fn is(&self, (language, primitive): (&str, &str)) -> bool {
        self.language == language && self.primitive == primitive
    }

    fn who(&self) -> String {
        who((&self.language, &self.primitive))
    }
}

fn who((language, primitive): (&str, &str)) -> String {
    if primitive.is_empty() { language.to_owned() } else { format!("{language} ({primitive})") }
}

/// A line for each.
pub fn table(all: &[Pipelines]) -> String {
    let line = |one: &Pipelines| {
        let Pipelines { set, scripts, steps, failures, .. } = one;
        format!("{set}s, {}: {scripts} scripts / {steps} steps, {failures} failures\n", one.who())
    };
    all.iter().map(line).collect()
}

/// All that is wrong with what they said; without Swift on this machine, it owes no line.
pub fn faults(all: &[Pipelines], with_swift: bool) -> Vec<String> {
    SETS.into_iter().flat_map(|set| faults_of(set, all, with_swift)).collect()
}

fn faults_of(
    (set, scripts, steps): (&str, u64, u64),
    all: &[Pipelines],
    with_swift: bool,
) -> Vec<String> {
    let all: Vec<_> = all.iter().filter(|one| one.set == set).collect();
    let mut faults = Vec::new();
    for way in WAYS.into_iter().filter(|&(language, _)| language != "swift" || with_swift) {
        match all.iter().filter(|one| one.is(way)).count() {
            0 => faults.push(format!("no line of {set}s was printed by {}", who(way))),
            1 => {}
            many => faults.push(format!("{} printed {many} lines of {set}s", who(way))),
        }
    }
    let first = all.first();
    for one in &all {
        let said = one.who();
        if !WAYS.into_iter().any(|way| one.is(way)) {
            faults.push(format!("{said} is no runner of {set}s that this step knows"));
        }
        if one.failures != 0 {
            faults.push(format!("{said} counted {} failures of {set}s", one.failures));
        }
        let counts = format!("{} {set}s with {} steps", one.scripts, one.steps);
        if one.scripts < scripts || one.steps < steps {
            faults.push(format!("{said} replayed {counts}, fewer than {scripts} and {steps}"));
        }
        if let Some(first) = first
            && (first.scripts, first.steps) != (one.scripts, one.steps)
        {
            faults.push(format!(
                "{said} replayed {counts}, {} {} with {}",
                first.who(),
                first.scripts,
                first.steps
            ));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Vec<Pipelines> {
        let of = |(set, scripts, steps)| {
            WAYS.into_iter().map(move |(language, primitive)| Pipelines {
                set,
                language: language.into(),
                primitive: primitive.into(),
                scripts,
                steps,
                failures: 0,
            })
        };
        SETS.into_iter().flat_map(of).collect()
    }

    #[test]
    fn both_forms_of_the_line_are_read_behind_a_mark() {
        let said =
            Pipelines::read("    x_test.go:3: pipeline go | select: 3 scripts 9 steps, 1 failures");
        let go = Pipelines {
            set: "pipeline",
            language: "go".into(),
            primitive: "select".into(),
            scripts: 3,
            steps: 9,
            failures: 1,
        };
        assert_eq!(said, Some(go));
        let said = Pipelines::read("pipeline c: 3 scripts 9 steps in 2 orders, 0 failures");
        assert_eq!(said.map(|one| (one.who(), one.steps)), Some(("c".into(), 9)));
        let said = Pipelines::read("junction c: 3 scripts 9 steps in 2 orders, 0 failures");
        assert_eq!(said.map(|one| (one.set, one.scripts)), Some(("junction", 3)));
        assert_eq!(Pipelines::read("test pipeline::tests: ok"), None);
    }

    #[test]
    fn a_language_that_says_nothing_is_named_and_swift_if_it_is_there() {
        let mut all = good();
        assert!(faults(&all, true).is_empty());
        all.retain(|one| one.language != "swift");
        assert!(faults(&all, false).is_empty());
        assert_eq!(
            faults(&all, true),
            [
                "no line of pipelines was printed by swift (continuations)",
                "no line of junctions was printed by swift (continuations)",
                "no line of hubs was printed by swift (continuations)",
            ]
        );
        all.push(all[1].clone());
        assert_eq!(faults(&all, false), ["c printed 2 lines of pipelines"]);
    }

    #[test]
    fn a_failure_a_lost_file_and_another_number_are_told() {
        let mut all = good();
        all[1].failures = 2;
        all[2].steps += 1;
        assert_eq!(
            faults(&all, true),
            [
                "c counted 2 failures of pipelines".to_owned(),
                "go (select) replayed 2000 pipelines with 20001 steps, rust 2000 with 20000"
                    .to_owned(),
            ]
        );
        let mut lost = good();
        lost.iter_mut().for_each(|one| one.scripts -= 1);
        assert_eq!(faults(&lost, true).len(), SETS.len() * WAYS.len());
        assert_eq!(table(&lost).lines().count(), SETS.len() * WAYS.len());
    }
}
