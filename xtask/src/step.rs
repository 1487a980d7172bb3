//! A chore is a list of named steps. Each prints one line before it starts and one when it ends; a
//! failure names the step and the command that runs it again.

use std::time::Instant;

use anyhow::{Result, bail};

use crate::tally::Tally;

type Work<'a> = Box<dyn FnOnce(&mut Tally) -> Result<()> + 'a>;

/// One named piece of a chore.
pub struct Step<'a> {
    name: &'static str,
    kind: Kind,
    work: Work<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Runs when selected; when it fails, the rest still runs.
    Plain,
    /// Runs before any that is selected, since others use what it makes; when it fails, the rest
    /// still runs.
    Prepares,
    /// Runs before any that is selected; when it fails, the chore ends there.
    Needed,
}

impl<'a> Step<'a> {
    /// A step that no other builds on.
    pub fn new(name: &'static str, work: impl FnOnce(&mut Tally) -> Result<()> + 'a) -> Self {
        Step { name, kind: Kind::Plain, work: Box::new(work) }
    }

    /// A step that makes what some of those behind it use: it runs if any of them does.
    pub fn prepares(name: &'static str, work: impl FnOnce(&mut Tally) -> Result<()> + 'a) -> Self {
        Step { name, kind: Kind::Prepares, work: Box::new(work) }
    }

    /// A step without which none behind it can run: when it fails, the chore ends there.
    pub fn needed(name: &'static str, work: impl FnOnce(&mut Tally) -> Result<()> + 'a) -> Self {
        Step { name, kind: Kind::Needed, work: Box::new(work) }
    }
}

/// Which steps of a chore to run.
#[derive(clap::Args, Default)]
pub struct Select {
    /// Run only the steps whose name begins with one of these (and those that they need)
    steps: Vec<String>,
    /// List the steps and run none
    #[arg(long)]
    list: bool,
}

impl Select {
    fn names(&self, step: &Step<'_>) -> bool {
        self.steps.is_empty()
            || self.steps.iter().any(|prefix| step.name.starts_with(prefix.as_str()))
    }

    /// Those that are named, and what stands before one of them and prepares it.
    fn taken<'a>(&self, steps: Vec<Step<'a>>) -> Vec<Step<'a>> {
        let last = steps.iter().rposition(|step| self.names(step));
        let taken = |(place, step): &(usize, Step<'_>)| {
            self.names(step) || (step.kind != Kind::Plain && Some(*place) <= last)
        };
        steps.into_iter().enumerate().filter(taken).map(|(_, step)| step).collect()
    }
}

/// Runs the steps of `chore` that `select` takes, in order, and adds what they counted to `tally`.
pub fn run(chore: &str, select: &Select, steps: Vec<Step<'_>>, tally: &mut Tally) -> Result<()> {
    if select.list {
        steps.iter().for_each(|step| println!("{}", step.name));
        return Ok(());
    }
    if let Some(unknown) = select
        .steps
        .iter()
        .find(|prefix| !steps.iter().any(|step| step.name.starts_with(prefix.as_str())))
    {
        bail!("no step of {chore} is called {unknown:?}: cargo xtask {chore} --list names them");
    }
    let mut failed = Vec::new();
    for step in select.taken(steps) {
        let (name, kind) = (step.name, step.kind);
        println!("\n== {chore}: {name}");
        tally.enter(name);
        let start = Instant::now();
        let ended = (step.work)(tally);
        let seconds = start.elapsed().as_secs_f64();
        match ended {
            Ok(()) => println!("-- {chore}: {name}: ok, {seconds:.1} s"),
            Err(error) => {
                println!("-- {chore}: {name}: FAILED, {seconds:.1} s: {error:#}");
                println!("   again: cargo xtask {chore} {name}");
                failed.push(name);
                if kind == Kind::Needed {
                    println!("   the steps after it need it and were not run");
                    break;
                }
            }
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    bail!("{chore} failed in: {}; each again with: cargo xtask {chore} NAME", failed.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    fn names_run(select: &[&str], fails: &str) -> (Vec<&'static str>, Result<()>) {
        let ran = RefCell::new(Vec::new());
        let work = |name: &'static str| {
            let (ran, fails) = (&ran, fails == name);
            move |_: &mut Tally| {
                ran.borrow_mut().push(name);
                if fails { bail!("on purpose") } else { Ok(()) }
            }
        };
        let steps = vec![
            Step::needed("build", work("build")),
            Step::new("go-vet", work("go-vet")),
            Step::prepares("c", work("c")),
            Step::new("go-test", work("go-test")),
            Step::prepares("python", work("python")),
        ];
        let select =
            Select { steps: select.iter().map(ToString::to_string).collect(), list: false };
        let ended = run("test", &select, steps, &mut Tally::default());
        (ran.into_inner(), ended)
    }

    #[test]
    fn a_failure_is_named_and_the_rest_still_runs() {
        let (ran, ended) = names_run(&[], "go-vet");
        assert_eq!(ran, ["build", "go-vet", "c", "go-test", "python"]);
        assert!(ended.expect_err("a step failed").to_string().contains("go-vet"));
    }

    #[test]
    fn what_the_others_need_ends_the_chore() {
        assert_eq!(names_run(&[], "build").0, ["build"]);
    }

    #[test]
    fn a_prefix_selects_beside_what_prepares_it_and_a_wrong_one_is_refused() {
        assert_eq!(names_run(&["go"], "").0, ["build", "go-vet", "c", "go-test"]);
        assert_eq!(names_run(&["c"], "").0, ["build", "c"]);
        let (ran, ended) = names_run(&["gone"], "");
        assert!(ran.is_empty() && ended.is_err());
    }
}
