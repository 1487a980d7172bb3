//! Junction scripts: real joins and forks with lines of stages on either side, between probes.

use std::sync::{Arc, Mutex, Weak};

use serde_json::{Value, json};
use sluicegate::Error;
use sluicegate::flow::{Flow, Publisher, Scope, Sink, Source, StageView, Subscriber};

use crate::probes::{Above, Below, Player, Probes, counters, replay_set, replay_steps};
use crate::script::{Failure, Object, Script, same};
use crate::stages::{Item, Line, stage};

/// The name of the junction's own counters; a stage's is its line and its place.
const JUNCTION: &str = "junction";

/// What a script says of its lines.
struct Plan {
    junction: String,
    inputs: Vec<Vec<Line>>,
    outputs: Vec<Vec<Line>>,
}

impl Plan {
    fn read(mut head: Object) -> Result<Self, Failure> {
        let junction = head.text("junction")?;
        let inputs = lines("in", head.list("inputs")?)?;
        let outputs = lines("out", head.list("outputs")?)?;
        head.done()?;
        Ok(Plan { junction, inputs, outputs })
    }
}

fn lines(side: &str, told: Vec<Value>) -> Result<Vec<Vec<Line>>, Failure> {
    let line = |(at, told): (usize, Value)| {
        let Value::Array(told) = told else {
            return Err(Failure::new(format!("not a list: {told}")));
        };
        let named = |(place, told)| {
            let built = stage(&name(side, at, place), Object::from(told)?)?;
            built.map_err(|error| Failure::new(format!("it cannot be built: {error}")))
        };
        told.into_iter().enumerate().map(named).collect()
    };
    told.into_iter().enumerate().map(line).collect()
}

fn name(side: &str, line: usize, place: usize) -> String {
    format!("{side} {line} {place}")
}

fn through<M: 'static>(source: Source<Item, M>, line: &[Line]) -> Source<Item, M> {
    line.iter().fold(source, |source, stage| source.via(stage.clone()))
}

type Shared = Arc<Mutex<Vec<Option<Publisher<Item>>>>>;

/// A publisher and the line behind it; a run puts the probe into its place.
fn input(at: usize, line: &[Line], probes: &Shared) -> Source<Item, ()> {
    let probes = Arc::clone(probes);
    let probe = Source::strict_probe().named("publisher").map_mat(move |probe| {
        probes.lock().expect("nobody panicked")[at] = Some(probe);
    });
    through(probe, line)
}

/// The same join, written in the one way or the other of those that there are.
fn joined(
    kind: &str,
    mut all: Vec<Source<Item, ()>>,
    seed: u64,
) -> Result<Source<Item, ()>, Failure> {
    let many = seed.is_multiple_of(2) || all.len() != 2;
    let all_values = |_: Vec<()>| ();
    Ok(match (kind, many) {
        ("combine", _) => {
            let groups = Source::combine(all).map_mat(all_values).named(JUNCTION);
            groups.via(Flow::map(Item::Group).named("plain"))
        }
        ("zip", _) => {
            let right = all.pop().ok_or_else(|| Failure::new("a zip of nothing"))?;
            let pair = |left, right| Item::Group(vec![left, right]);
            all[0].zip_with(right, pair).named(JUNCTION)
        }
        ("merge", true) => Source::merge_all(all).map_mat(all_values).named(JUNCTION),
        ("concat", true) => Source::concat_all(all).map_mat(all_values).named(JUNCTION),
        ("merge", false) => all[0].merge(all[1].clone()).named(JUNCTION),
        ("concat", false) => all[0].concat(all[1].clone()).named(JUNCTION),
        ("merge_prefer", true) => Source::merge_prefer_all(all).map_mat(all_values).named(JUNCTION),
        ("merge_prefer", false) => all[0].merge_prefer(vec![all[1].clone()]).named(JUNCTION),
        _ => return Err(Failure::new(format!("unknown junction {kind:?}"))),
    })
}

type Branch = Sink<Item, Subscriber<Item>>;

/// A line and the subscriber behind it.
fn output(line: &[Line]) -> Branch {
    let probe = Sink::probe().named("subscriber");
    line.iter().rev().fold(probe, |sink, stage| stage.to_mat(sink, |_, end| end))
}

/// A number of a branch for each element.
fn chosen(count: usize) -> impl Fn(&Item) -> usize + Send + Sync {
    move |item| {
        let at = item.number().checked_rem(count as u64).unwrap_or(0);
        usize::try_from(at).unwrap_or(usize::MAX)
    }
}

fn forked(kind: &str, all: Vec<Branch>) -> Result<Sink<Item, Vec<Subscriber<Item>>>, Failure> {
    let count = all.len();
    let fan = match kind {
        "broadcast" => Sink::broadcast(all),
        "balance" => Sink::balance(all),
        "partition" => Sink::partition(all, chosen(count)),
        other => return Err(Failure::new(format!("unknown junction {other:?}"))),
    };
    Ok(fan.named(JUNCTION))
}

struct Junction {
    probes: Probes,
    views: Vec<Weak<StageView>>,
    inputs: Vec<Vec<Weak<StageView>>>,
    outputs: Vec<Vec<Weak<StageView>>>,
}

impl Junction {
    fn new(plan: &Plan, seed: u64) -> Result<Self, Failure> {
        let scope = Scope::stepped("junction", seed);
        let probes: Shared = Arc::new(Mutex::new(plan.inputs.iter().map(|_| None).collect()));
        let inputs = plan.inputs.iter().enumerate();
        let mut all: Vec<_> = inputs.map(|(at, line)| input(at, line, &probes)).collect();
        let mut ends: Vec<_> = plan.outputs.iter().map(|line| output(line)).collect();
        let failed = |error: Error| Failure::new(format!("it does not run: {error}"));
        let ends = if ["broadcast", "balance", "partition"].contains(&plan.junction.as_str()) {
            let source = all.pop().ok_or_else(|| Failure::new("no input"))?;
            source.to(forked(&plan.junction, ends)?).run(&scope).map_err(failed)?
        } else {
            let end = ends.pop().ok_or_else(|| Failure::new("no output"))?;
            let joined = joined(&plan.junction, all, seed)?;
            vec![joined.to(end).run(&scope).map_err(failed)?]
        };
        let above: Vec<_> = probes.lock().expect("nobody panicked").drain(..).collect();
        let above = above.into_iter().map(|probe| probe.expect("the run made every probe"));
        let probes = Probes::new(scope, above, ends);
        let of = |side: &str, lines: &[Vec<Line>]| {
            let line = |(at, line): (usize, &Vec<Line>)| {
                (0..line.len()).flat_map(|place| probes.named(&name(side, at, place))).collect()
            };
            lines.iter().enumerate().map(line).collect()
        };
        let (inputs, outputs) = (of("in", &plan.inputs), of("out", &plan.outputs));
        Ok(Junction { views: probes.named(JUNCTION), inputs, outputs, probes })
    }
}

impl Player for Junction {
    fn play(&mut self, op: &str, step: &mut Object) -> Result<Value, Failure> {
        let who = if op == "start" { 0 } else { step.number("who")? };
        self.probes.play(op, who, step)
    }

    fn state(&mut self) -> Value {
        let lines = |all: &[Vec<_>]| -> Value {
            all.iter().map(|line| line.iter().map(counters).collect::<Value>()).collect()
        };
        let there = self.views.iter().filter(|view| view.strong_count() > 0);
        json!({
            "publishers": self.probes.above.iter().map(Above::json).collect::<Value>(),
            "inputs": lines(&self.inputs),
            "junction": there.map(counters).collect::<Value>(),
            "outputs": lines(&self.outputs),
            "subscribers": self.probes.below.iter_mut().map(Below::json).collect::<Value>(),
        })
    }
}

fn replay(machine: &str, script: &Script, seed: u64) -> Result<(), Failure> {
    same("machine", &machine, &"junction")?;
    replay_on(&Plan::read(script.head.clone())?, &script.steps, seed)
}

fn replay_on(plan: &Plan, steps: &[Object], seed: u64) -> Result<(), Failure> {
    replay_steps(&mut Junction::new(plan, seed)?, steps)
}

#[test]
fn replays_every_junction_script() {
    replay_set("junction", replay);
}

#[test]
fn a_junction_script_that_is_broken_is_refused() {
    let said = |machine: &str, junction: &str, op: &str, owed: &str| {
        let (idle, lines) = (json!({"owed": "0", "asked": "0", "held": "0"}), json!([[], []]));
        let busy = json!({"owed": owed, "asked": "0", "held": "0"});
        let above = json!({"demand": "0", "ended": null});
        let state = json!({"publishers": [above, above], "inputs": lines, "junction": [busy, idle],
            "outputs": [[]], "subscribers": [{"delivered": [], "terminal": null}]});
        let step = json!({"op": op, "answer": null, "state": state});
        let head = json!({"junction": junction, "inputs": lines, "outputs": [[]]});
        let script = Script {
            name: "broken".into(),
            head: Object::from(head).expect("an object"),
            steps: vec![Object::from(step).expect("an object")],
        };
        replay(machine, &script, 0).err().map_or(String::new(), |failure| failure.to_string())
    };
    assert_eq!(said("junction", "merge", "start", "0"), "");
    assert_eq!(said("junction", "zip", "start", "0"), "");
    assert!(said("junction", "merge", "start", "1").contains("step 0: start: state: expected"));
    assert!(said("junction", "merge", "cancel", "0").contains("no key \"who\""));
    assert!(said("junction", "knot", "start", "0").contains("unknown junction \"knot\""));
    assert!(said("gate", "merge", "start", "0").contains("machine: expected \"junction\""));
}

/// Each of these is another junction than the one whose scripts are replayed on it.
#[test]
fn a_junction_that_is_broken_is_caught() {
    let groups = crate::load("junction");
    for (is, wrong) in [
        ("zip", "merge"),
        ("merge", "merge_prefer"),
        ("merge_prefer", "merge"),
        ("concat", "merge"),
        ("broadcast", "balance"),
        ("balance", "partition"),
        ("partition", "balance"),
    ] {
        let named = groups.iter().filter(|group| group.file == format!("{is}_walks.json.gz"));
        let caught = named.flat_map(|group| &group.scripts).any(|script| {
            let plan = Plan::read(script.head.clone()).expect("a good script");
            replay_on(&Plan { junction: wrong.into(), ..plan }, &script.steps, 0).is_err()
        });
        assert!(caught, "{wrong} passes for {is}");
    }
}
