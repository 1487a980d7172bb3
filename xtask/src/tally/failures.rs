//! Which tests failed, in the runner's own words, each once.

use super::Runner;

/// A test for each failure that `text` tells of, with the reason where it stands on the same line.
pub fn named(runner: Runner, text: &str) -> Vec<String> {
    let mut named = match runner {
        Runner::Cargo => cargo(text),
        Runner::Pytest => beginning(text, &["FAILED ", "ERROR "]),
        Runner::Go => beginning(text, &["--- FAIL: ", "panic: "]),
        Runner::XcTest => xctest(text),
        Runner::Plain => beginning(text, &["FAILED "]),
    };
    let mut seen = std::collections::HashSet::new();
    named.retain(|name| seen.insert(name.clone()));
    named
}

/// The rest of each line that begins with one of these, blanks aside.
fn beginning(text: &str, starts: &[&str]) -> Vec<String> {
    let rest = |line: &str| {
        let line = line.trim();
        starts.iter().find_map(|start| line.strip_prefix(start)).map(str::to_owned)
    };
    text.lines().filter_map(rest).collect()
}

/// The lists below `failures:`, and the programs that a signal has ended.
fn cargo(text: &str) -> Vec<String> {
    let mut named = Vec::new();
    let mut in_list = false;
    for line in text.lines() {
        match line.strip_prefix("    ") {
            Some(name) if in_list => named.push(name.to_owned()),
            _ => in_list = line == "failures:",
        }
        if line.contains("process didn't exit successfully") && line.contains("(signal: ") {
            named.push(line.trim().to_owned());
        }
    }
    named
}

/// The assertions that failed, with file and line, and a test that never ended.
fn xctest(text: &str) -> Vec<String> {
    let mut named: Vec<String> = Vec::new();
    let mut running = None;
    for line in text.lines().map(str::trim) {
        if let Some((place, what)) = line.split_once(": error: ") {
            let file = place.rsplit('/').next().unwrap_or(place);
            named.push(format!("{what} ({file})"));
        } else if let Some((name, how)) =
            line.strip_prefix("Test Case '").and_then(|rest| rest.split_once("' "))
        {
            if how.starts_with("failed") && !named.iter().any(|told| told.starts_with(name)) {
                named.push(name.to_owned());
            }
            running = how.starts_with("started").then_some(name);
        } else if line.contains("Fatal error: ") {
            named.push(line.to_owned());
        }
    }
    named.extend(running.map(|name| format!("{name} did not end")));
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_lists_them_below_a_heading() {
        let text = "running 2 tests\n.F\nfailures:\n\n---- gate::a stdout ----\n    not a name\n\n\
                    failures:\n    gate::a\n    gate::b\n\ntest result: FAILED. 0 passed; 2 failed;\n    neither\n";
        assert_eq!(named(Runner::Cargo, text), ["gate::a", "gate::b"]);
        let killed = "error: test failed\n\nCaused by:\n  process didn't exit successfully: `x` (signal: 6, SIGABRT)\n";
        assert_eq!(named(Runner::Cargo, killed).len(), 1);
    }

    #[test]
    fn pytest_sums_them_up_with_the_reason() {
        let text = "tests/a.py F\nFAILED tests/a.py::test_b - assert 1 == 2\nERROR tests/c.py\n";
        assert_eq!(
            named(Runner::Pytest, text),
            ["tests/a.py::test_b - assert 1 == 2", "tests/c.py"]
        );
    }

    #[test]
    fn go_names_tests_and_their_parts() {
        let text =
            "--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.01s)\n    --- FAIL: TestB/part (0.01s)\n";
        assert_eq!(named(Runner::Go, text), ["TestB (0.01s)", "TestB/part (0.01s)"]);
    }

    #[test]
    fn xctest_tells_the_line_and_names_a_test_that_did_not_end() {
        let text = "Test Case 'A.testB' started at 1\n/x/A.swift:12: error: A.testB : not equal\n\
                    Test Case 'A.testB' failed (0.1 seconds)\nTest Case 'A.testC' failed (0.1 seconds)\n\
                    Test Case 'A.testD' started at 2\n";
        assert_eq!(
            named(Runner::XcTest, text),
            ["A.testB : not equal (A.swift:12)", "A.testC", "A.testD did not end"]
        );
        assert!(
            named(
                Runner::XcTest,
                "Test Case 'A.testB' started at 1\nTest Case 'A.testB' passed (0.1 seconds)\n"
            )
            .is_empty()
        );
    }

    #[test]
    fn ours_say_failed_and_a_name() {
        assert_eq!(named(Runner::Plain, "FAILED exports\n1 passed, 1 failed\n"), ["exports"]);
    }
}
