//! Pipeline scripts: lines of real stages between two probes, on a scope without threads. Each script
//! is replayed in several orders of its islands; none may show.

use std::io::Write as _;
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::{Value, json};
use sluicegate::flow::{
    Flow, Offer, Publisher, Scope, Sink, Source, StageView, Subscriber, SubscriberEvent,
};
use sluicegate::{Error, ErrorKind};

use crate::Report;
use crate::script::{Failure, Object, Script, same};

const SEEDS: u64 = 4;

/// What flows: numbers, and groups behind a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    Number(u64),
    Group(Vec<Item>),
}

impl Item {
    pub fn number(&self) -> u64 {
        match self {
            Item::Number(n) => *n,
            Item::Group(_) => panic!("a group where a number was expected"),
        }
    }

    pub fn json(&self) -> Value {
        match self {
            Item::Number(n) => json!(n.to_string()),
            Item::Group(items) => items.iter().map(Item::json).collect(),
        }
    }
}

pub type Line = Flow<Item, Item>;

/// One stage of a script, under `name`; an error if it cannot be built.
pub fn stage(name: &str, mut told: Object) -> Result<Result<Line, Error>, Failure> {
    let built = match told.text("stage")?.as_str() {
        "map_add" => {
            let k = told.number("k")?;
            Ok(Flow::map(move |item: Item| Item::Number(item.number().wrapping_add(k))))
        }
        "filter_mod" => {
            let (m, r) = (told.number("m")?, told.number("r")?);
            Ok(Flow::filter(move |item: &Item| item.number().checked_rem(m) == Some(r)))
        }
        "take" => Ok(Flow::take(told.number("n")?)),
        "drop" => Ok(Flow::drop(told.number("n")?)),
        "page" => Flow::page_with_mark(told.number("size")?, told.number("mark")?),
        "expand" => {
            let k = told.number("k")?;
            Ok(Flow::expand(move |item: Item| {
                let first = item.number().wrapping_mul(k);
                (0..k).map(move |n| Item::Number(first.wrapping_add(n)))
            }))
        }
        "batch" => {
            let groups = Flow::batch(told.number("k")?);
            told.done()?;
            // What makes an item of a group is no stage of the script: its name tells it apart.
            return Ok(groups.map(|it| it.named(name).via(Flow::map(Item::Group).named("plain"))));
        }
        other => return Err(Failure::new(format!("unknown stage {other:?}"))),
    };
    told.done()?;
    Ok(built.map(|flow| flow.named(name)))
}

struct Player {
    scope: Scope,
    source: Publisher<Item>,
    end: Subscriber<Item>,
    views: Vec<Weak<StageView>>,
    next: u64,
    ended: Option<&'static str>,
    delivered: Vec<Value>,
    terminal: Option<&'static str>,
}

impl Player {
    fn new(stages: &[Line], seed: u64) -> Self {
        let scope = Scope::stepped("pipeline", seed);
        let probe = Source::strict_probe();
        let line = stages.iter().fold(probe, |line, stage| line.via(stage.clone()));
        let graph = line.to_mat(Sink::probe(), |source, end| (source, end));
        let (source, end) = graph.run(&scope).expect("runs");
        let views = scope.stages();
        let views = views.iter().filter(|view| view.name() == "it").map(Arc::downgrade).collect();
        let (delivered, terminal) = (Vec::new(), None);
        Player { scope, source, end, views, next: 0, ended: None, delivered, terminal }
    }

    /// Runs the line until it is quiet, taking what comes.
    fn settle(&mut self) {
        loop {
            self.scope.settle();
            let before = self.delivered.len();
            while let Some(event) = self.end.event_within(Duration::ZERO) {
                match event {
                    SubscriberEvent::Next(item) => self.delivered.push(item.json()),
                    SubscriberEvent::Complete => self.terminal = Some("completed"),
                    SubscriberEvent::Error(_) => self.terminal = Some("failed"),
                }
            }
            if self.delivered.len() == before {
                break;
            }
        }
        if self.source.control().is_over() {
            self.ended.get_or_insert("cancelled");
        }
    }

    fn send(&mut self, most: u64) -> Value {
        let mut sent = 0;
        let refused = loop {
            if sent == most {
                break None;
            }
            match self.source.control().try_offer(Item::Number(self.next)) {
                Ok(Offer::Enqueued) => {
                    sent += 1;
                    self.next += 1;
                    self.settle();
                }
                Ok(_) => break Some("closed"),
                Err(_) => break Some("no_demand"),
            }
        };
        json!({"sent": sent.to_string(), "refused": refused})
    }

    fn finish(&mut self, first: bool, how: &'static str) -> Value {
        if first {
            self.ended.get_or_insert(how);
        }
        json!(if first { "yes" } else { "no" })
    }

    fn play(&mut self, op: &str, step: &mut Object) -> Result<Value, Failure> {
        let answer = match op {
            "start" => Value::Null,
            "request" => {
                self.end.try_request(step.number("n")?);
                Value::Null
            }
            "next" => self.send(step.number("k")?),
            "complete" => {
                let first = self.source.send_complete();
                self.finish(first, "completed")
            }
            "fail" => {
                let first = self.source.send_error(Error::new(ErrorKind::Io, "the script says so"));
                self.finish(first, "failed")
            }
            "cancel" => {
                self.end.cancel();
                Value::Null
            }
            other => return Err(Failure::new(format!("unknown op {other:?}"))),
        };
        self.settle();
        Ok(answer)
    }

    fn state(&mut self) -> Value {
        let stages: Vec<Value> = self
            .views
            .iter()
            .map(|view| {
                let seen = view.upgrade().map(|view| view.demand());
                let of = |n: Option<u64>| json!(n.unwrap_or(0).to_string());
                json!({
                    "owed": of(seen.map(|seen| seen.downstream)),
                    "asked": of(seen.map(|seen| seen.upstream)),
                    "held": of(seen.map(|seen| seen.held)),
                })
            })
            .collect();
        let demand = if self.ended.is_some() { 0 } else { self.source.control().demand() };
        json!({
            "demand": demand.to_string(),
            "ended": self.ended,
            "delivered": std::mem::take(&mut self.delivered),
            "terminal": self.terminal.take(),
            "stages": stages,
        })
    }
}

fn replay(machine: &str, script: &Script, seed: u64) -> Result<(), Failure> {
    same("machine", &machine, &"pipeline")?;
    let mut head = script.head.clone();
    let told = head.list("stages")?;
    head.done()?;
    let told = told.into_iter().map(|told| stage("it", Object::from(told)?));
    let built: Result<Vec<_>, Error> =
        told.collect::<Result<Vec<_>, Failure>>()?.into_iter().collect();
    let stages = match built {
        Ok(stages) => stages,
        Err(error) => {
            same("kind", &error.kind(), &ErrorKind::InvalidArgument)?;
            return same("steps of what cannot be built", &script.steps.len(), &0);
        }
    };
    if script.steps.is_empty() {
        return Err(Failure::new("expected to be refused, came a line"));
    }
    let mut player = Player::new(&stages, seed);
    for (number, step) in script.steps.iter().enumerate() {
        perform(&mut player, step.clone()).map_err(|failure| failure.at(number))?;
    }
    Ok(())
}

fn perform(player: &mut Player, mut step: Object) -> Result<(), Failure> {
    let op = step.text("op")?;
    let mut perform = || {
        let answer = player.play(&op, &mut step)?;
        same("answer", &answer, &step.take("answer")?)?;
        same("state", &player.state(), &step.take("state")?)?;
        step.clone().done()
    };
    perform().map_err(|failure| Failure::new(format!("{op}: {failure}")))
}

#[test]
fn replays_every_pipeline_script() {
    let mut report = Report::default();
    for group in crate::load("pipeline") {
        for script in &group.scripts {
            let play = |seed| {
                replay(&group.machine, script, seed)
                    .map_err(|failure| Failure::new(format!("seed {seed}: {failure}")))
            };
            if !report.has_enough() {
                report.check(&group.file, script, (0..SEEDS).try_for_each(play));
            }
        }
    }
    let (scripts, steps, failures) = (report.scripts, report.steps, report.failures);
    writeln!(
        std::io::stdout(), // past the capture: the line is for the caller of the tests
        "\npipeline rust: {scripts} scripts {steps} steps in {SEEDS} orders, {} failures",
        failures.len()
    )
    .expect("stdout takes a line");
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn a_pipeline_script_that_is_broken_is_refused() {
    let said = |machine: &str, stage: Value, op: &str, demand: &str| {
        let state = json!({"demand": demand, "ended": null, "delivered": [], "terminal": null,
            "stages": [{"owed": "0", "asked": "0", "held": "0"}]});
        let step = json!({"op": op, "answer": null, "state": state});
        let script = Script {
            name: "broken".into(),
            head: Object::from(json!({"stages": [stage]})).expect("an object"),
            steps: vec![Object::from(step).expect("an object")],
        };
        replay(machine, &script, 0).err().map_or(String::new(), |failure| failure.to_string())
    };
    let take = json!({"stage": "take", "n": "2"});
    assert_eq!(said("pipeline", take.clone(), "start", "0"), "");
    assert!(
        said("pipeline", take.clone(), "start", "1").contains("step 0: start: state: expected")
    );
    assert!(said("pipeline", take.clone(), "vanish", "0").contains("unknown op \"vanish\""));
    assert!(said("gate", take, "start", "0").contains("machine: expected \"pipeline\""));
    let page = json!({"stage": "page", "size": "0", "mark": "1"});
    assert!(said("pipeline", page, "start", "0").contains("steps of what cannot be built"));
    let other = json!({"stage": "sort"});
    assert!(said("pipeline", other, "start", "0").contains("unknown stage \"sort\""));
}
