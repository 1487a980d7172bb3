//! Scripts of the machines that have no public class in the other languages. Each is replayed against
//! the generated functions of `sluicegate::model`, in the plainest shell there is, and where a type of
//! the library is built on them and public, against that type too.

mod calls;
mod feed;
mod flows;
mod hub;
mod requests;
mod stages;

use std::io::Write as _;

use serde_json::Value;

use crate::Report;
use crate::script::{Failure, Object, Script, same};

/// What a step answers, and the state after it where the machine has one.
pub type Did = (Value, Option<Value>);

/// A machine in replay.
pub trait Machine {
    fn step(&mut self, op: &str, step: &mut Object) -> Result<Did, Failure>;
}

/// The implementations of one machine, opened by the head of a script.
pub type Opened = Vec<(&'static str, Box<dyn Machine>)>;

pub fn unknown(op: &str) -> Failure {
    Failure::new(format!("unknown op {op:?}"))
}

fn open(machine: &str, head: &mut Object) -> Result<Opened, Failure> {
    match machine {
        "facts" => Ok(flows::facts()),
        "reorder" => flows::reorder(head.object("open")?),
        "writer" => flows::writer(head.object("open")?),
        "ledger" => flows::ledger(head.object("open")?),
        "table" => requests::table(head.object("open")?),
        "emission" => Ok(requests::emission()),
        "demand" => stages::demand(head.object("open")?),
        "overflow" => stages::overflow(head.object("open")?),
        "cancel" => calls::cancel(head.object("open")?),
        "phase" => Ok(calls::phase()),
        "direction" => Ok(calls::direction()),
        "relay" => Ok(calls::relay()),
        "accounting" => Ok(calls::accounting()),
        "feed" => feed::feed(head.object("open")?),
        "hub" => hub::hub(head.object("open")?),
        other => Err(Failure::new(format!("unknown machine {other:?}"))),
    }
}

fn replay(machine: &str, script: &Script) -> Result<(), Failure> {
    let mut head = script.head.clone();
    let opened = open(machine, &mut head)?;
    head.done()?;
    if opened.is_empty() != script.steps.is_empty() {
        return Err(Failure::new("expected to open exactly if there are steps"));
    }
    for (name, mut one) in opened {
        for (number, step) in script.steps.iter().enumerate() {
            perform(&mut *one, step.clone())
                .map_err(|failure| Failure::new(format!("{name}: {failure}")).at(number))?;
        }
    }
    Ok(())
}

fn perform(machine: &mut dyn Machine, mut step: Object) -> Result<(), Failure> {
    let op = step.text("op")?;
    let mut perform = || {
        let (answer, state) = machine.step(&op, &mut step)?;
        same("answer", &answer, &step.take("answer")?)?;
        if let Some(state) = state {
            same("state", &state, &step.take("state")?)?;
        }
        step.clone().done()
    };
    perform().map_err(|failure| Failure::new(format!("{op}: {failure}")))
}

#[test]
fn replays_every_inner_script() {
    let mut report = Report::default();
    for group in crate::load("inner") {
        for script in &group.scripts {
            if !report.has_enough() {
                report.check(&group.file, script, replay(&group.machine, script));
            }
        }
    }
    let (scripts, steps, failures) = (report.scripts, report.steps, report.failures);
    writeln!(
        std::io::stdout(), // past the capture: the line is for the caller of the tests
        "\ninner rust: {scripts} scripts {steps} steps, {} failures",
        failures.len()
    )
    .expect("stdout takes a line");
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn an_inner_script_that_is_broken_is_refused() {
    let script = |op: &str, seq: &str| {
        let step = serde_json::json!({"op": op, "seq": seq, "answer": {"delivered": ["0"]},
            "state": {"expected": "1", "held": []}});
        Script {
            name: "broken".into(),
            head: Object::from(serde_json::json!({"open": {"limit": "2"}})).expect("an object"),
            steps: vec![Object::from(step).expect("an object")],
        }
    };
    let said = |machine: &str, op: &str, seq: &str| {
        replay(machine, &script(op, seq)).err().map_or(String::new(), |failure| failure.to_string())
    };
    assert_eq!(said("reorder", "accept", "0"), "");
    assert!(said("reorder", "accept", "1").contains("step 0: model: accept: answer: expected"));
    assert!(said("reorder", "vanish", "0").contains("step 0: model: vanish: unknown op"));
    assert!(said("record", "accept", "0").contains("unknown machine \"record\""));
}
