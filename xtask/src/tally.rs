//! What the test runners say about themselves: their closing lines, the tests they counted, and the
//! names of those that failed.
//!
//! Nothing here counts on its own. A number comes from a runner's line or does not come.

mod failures;

/// Whose closing lines to look for.
#[derive(Clone, Copy, Debug)]
pub enum Runner {
    /// `test result: ok. 3 passed; 0 failed; 1 ignored; …`; names stand below `failures:`
    Cargo,
    /// `==== 3 passed, 1 skipped in 0.12s ====`; `FAILED tests/x.py::test_y - why`
    Pytest,
    /// `--- PASS: TestX` of `go test -v`; a package closes with `ok`
    Go,
    /// `Test Case 'A.testB' passed (0.1 seconds)`; the last `Executed 3 tests, …` closes
    XcTest,
    /// `3 passed, 0 failed`, the last line of our C tests; `FAILED name`
    Plain,
}

/// Closing lines and counts of all runners of a chore.
#[derive(Default)]
pub struct Tally {
    step: &'static str,
    lines: Vec<(&'static str, String)>,
    notes: Vec<String>,
    failures: Vec<(&'static str, String)>,
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Tally {
    /// What is read from now on belongs to this step.
    pub fn enter(&mut self, step: &'static str) {
        self.step = step;
    }

    /// Something to repeat at the very end, such as a part that was left out.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// How many tests were counted so far.
    pub fn total(&self) -> u64 {
        self.passed + self.failed + self.skipped
    }

    /// Keeps what the runner said of its failed tests, to repeat it at the very end.
    pub fn name_failures(&mut self, runner: Runner, text: &str) {
        let of = self.step;
        self.failures.extend(failures::named(runner, text).into_iter().map(|name| (of, name)));
    }

    /// Reads what a runner printed.
    pub fn read(&mut self, runner: Runner, text: &str) {
        self.name_failures(runner, text);
        match runner {
            Runner::Cargo => self.read_lines(
                text,
                |line| line.starts_with("test result: "),
                ["passed", "failed", "ignored"],
            ),
            Runner::Pytest => self.read_lines(
                text,
                |line| {
                    line.starts_with("==")
                        && line.contains(" in ")
                        && (line.contains(" passed") || line.contains(" failed"))
                },
                ["passed", "failed", "skipped"],
            ),
            Runner::Plain => {
                // A line with a name before it counts a part, which the whole counts again.
                let whole = |line: &str| {
                    line.starts_with(|c: char| c.is_ascii_digit())
                        && number_before(line, "failed").is_some()
                };
                self.read_lines(text, whole, ["passed", "failed", "skipped"]);
            }
            Runner::Go => {
                for line in text.lines() {
                    if line.starts_with("ok  \t") || line.starts_with("FAIL\t") {
                        self.lines.push((self.step, line.to_owned()));
                    }
                    self.passed += u64::from(line.starts_with("--- PASS: "));
                    self.failed += u64::from(line.starts_with("--- FAIL: "));
                    self.skipped += u64::from(line.starts_with("--- SKIP: "));
                }
            }
            Runner::XcTest => {
                if let Some(line) =
                    text.lines().map(str::trim).rfind(|line| line.starts_with("Executed "))
                {
                    self.lines.push((self.step, line.to_owned()));
                }
                for line in text.lines().filter(|line| line.starts_with("Test Case ")) {
                    self.passed += u64::from(line.contains("' passed ("));
                    self.failed += u64::from(line.contains("' failed ("));
                    self.skipped += u64::from(line.contains("' skipped ("));
                }
            }
        }
    }

    fn read_lines(
        &mut self,
        text: &str,
        closing: impl Fn(&str) -> bool,
        [passed, failed, skipped]: [&str; 3],
    ) {
        for line in text.lines().map(str::trim).filter(|line| closing(line)) {
            self.lines.push((self.step, line.to_owned()));
            self.passed += number_before(line, passed).unwrap_or(0);
            self.failed += number_before(line, failed).unwrap_or(0);
            self.skipped += number_before(line, skipped).unwrap_or(0);
        }
    }

    /// Prints each runner's closing lines under its step, the failed tests, the notes, and the sum.
    pub fn print(&self) {
        let mut step = "";
        for (of, line) in &self.lines {
            if *of != step {
                println!("\n{of}");
                step = of;
            }
            println!("{line}");
        }
        println!();
        self.failures.iter().for_each(|(of, name)| println!("failed in {of}: {name}"));
        self.notes.iter().for_each(|note| println!("{note}"));
        let skipped =
            if self.skipped == 0 { String::new() } else { format!(", {} skipped", self.skipped) };
        println!("{} passed, {} failed{skipped}", self.passed, self.failed);
    }
}

/// The number that stands right before `word`: 3 for `passed` in `ok. 3 passed; 0 failed`.
fn number_before(line: &str, word: &str) -> Option<u64> {
    line.match_indices(word).find_map(|(at, _)| {
        let rest = &line[at + word.len()..];
        if rest.starts_with(|c: char| c.is_alphanumeric()) {
            return None;
        }
        line[..at].trim_end().rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(runner: Runner, text: &str) -> (u64, u64, u64) {
        let mut tally = Tally::default();
        tally.read(runner, text);
        (tally.passed, tally.failed, tally.skipped)
    }

    #[test]
    fn a_failure_is_repeated_under_its_step() {
        let mut tally = Tally::default();
        tally.enter("c-test");
        tally.read(Runner::Plain, "FAILED exports\n3 passed, 1 failed\n");
        assert_eq!(tally.failures, [("c-test", "exports".to_owned())]);
        assert_eq!(tally.total(), 4);
    }

    #[test]
    fn cargo_says_it_once_a_program() {
        let text = "test a ... ok\n\ntest result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n\
                    test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(counts(Runner::Cargo, text), (5, 1, 1));
    }

    #[test]
    fn pytest_leaves_out_what_is_zero() {
        assert_eq!(
            counts(Runner::Pytest, "x.py ...\n==== 1 failed, 12 passed, 2 skipped in 0.31s ====\n"),
            (12, 1, 2)
        );
        assert_eq!(counts(Runner::Pytest, "===== 7 passed in 1.00s =====\n"), (7, 0, 0));
    }

    #[test]
    fn go_counts_tests_and_not_their_parts() {
        let text = "=== RUN   TestA\n--- PASS: TestA (0.00s)\n    --- PASS: TestA/part (0.00s)\n--- FAIL: TestB (0.00s)\nFAIL\tx\t0.1s\n";
        assert_eq!(counts(Runner::Go, text), (1, 1, 0));
    }

    #[test]
    fn xctest_counts_cases_and_closes_with_the_whole() {
        let text = "Test Case 'A.testB' passed (0.1 seconds)\nTest Case 'A.testC' failed (0.1 seconds)\n\
                    Test Case 'A.testD' skipped (0.0 seconds)\n\t Executed 3 tests, with 1 test skipped and 2 failures\n\
                    \t Executed 3 tests, with 1 test skipped and 2 failures in 0.2 seconds\n";
        assert_eq!(counts(Runner::XcTest, text), (1, 1, 1));
        let mut tally = Tally::default();
        tally.read(Runner::XcTest, text);
        assert!(tally.lines.len() == 1 && tally.lines[0].1.ends_with("0.2 seconds"));
    }

    #[test]
    fn of_plain_lines_the_whole_counts() {
        let text = "4 passed\nunit: 9 passed, 1 failed\n9 passed, 1 failed\n";
        assert_eq!(counts(Runner::Plain, text), (9, 1, 0));
    }
}
