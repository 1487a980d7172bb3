//! Junction scripts: real joins and forks with lines of stages on either side, between probes, on a
//! scope without threads. Each script is replayed in several orders of its islands; none may show.

use std::io::Write as _;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use serde_json::{Value, json};
use sluicegate::flow::{
    Flow, Offer, Publisher, Scope, Sink, Source, StageView, Subscriber, SubscriberEvent,
};
use sluicegate::{Error, ErrorKind};

use crate::Report;
use crate::pipeline::{Item, Line, stage};
use crate::script::{Failure, Object, Script, same};

const SEEDS: u64 = 4;

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

type Probes = Arc<Mutex<Vec<Option<Publisher<Item>>>>>;

/// A publisher and the line behind it; a run puts the probe into its place.
fn input(at: usize, line: &[Line], probes: &Probes) -> Source<Item, ()> {
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

/// A publisher, and what the script has done with it.
struct Above {
    probe: Publisher<Item>,
    next: u64,
    ended: Option<&'static str>,
}

/// A subscriber, and what it received in this step.
struct Below {
    probe: Subscriber<Item>,
    delivered: Vec<Value>,
    terminal: Option<&'static str>,
}

struct Player {
    scope: Scope,
    publishers: Vec<Above>,
    subscribers: Vec<Below>,
    views: Vec<Weak<StageView>>,
    inputs: Vec<Vec<Weak<StageView>>>,
    outputs: Vec<Vec<Weak<StageView>>>,
}

impl Player {
    fn new(plan: &Plan, seed: u64) -> Result<Self, Failure> {
        let scope = Scope::stepped("junction", seed);
        let probes: Probes = Arc::new(Mutex::new(plan.inputs.iter().map(|_| None).collect()));
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
        let probes: Vec<_> = probes.lock().expect("nobody panicked").drain(..).collect();
        let publishers = probes.into_iter().zip((0..).step_by(1000)).map(|(probe, next)| {
            let probe = probe.expect("the run made every probe");
            Above { probe, next, ended: None }
        });
        let subscribers = ends.into_iter().map(|probe| {
            let (delivered, terminal) = (Vec::new(), None);
            Below { probe, delivered, terminal }
        });
        let views = scope.stages();
        let named = |wanted: &str| {
            views
                .iter()
                .filter(|view| view.name() == wanted)
                .map(Arc::downgrade)
                .collect::<Vec<_>>()
        };
        let of = |side: &str, lines: &[Vec<Line>]| {
            let line = |(at, line): (usize, &Vec<Line>)| {
                (0..line.len()).flat_map(|place| named(&name(side, at, place))).collect()
            };
            lines.iter().enumerate().map(line).collect()
        };
        Ok(Player {
            publishers: publishers.collect(),
            subscribers: subscribers.collect(),
            inputs: of("in", &plan.inputs),
            outputs: of("out", &plan.outputs),
            views: named(JUNCTION),
            scope,
        })
    }

    /// Runs everything until it is quiet, taking what comes.
    fn settle(&mut self) {
        let mut more = true;
        while more {
            more = false;
            self.scope.settle();
            for one in &mut self.subscribers {
                while let Some(event) = one.probe.event_within(Duration::ZERO) {
                    more = true;
                    match event {
                        SubscriberEvent::Next(item) => one.delivered.push(item.json()),
                        SubscriberEvent::Complete => one.terminal = Some("completed"),
                        SubscriberEvent::Error(_) => one.terminal = Some("failed"),
                    }
                }
            }
        }
        for one in &mut self.publishers {
            if one.probe.control().is_over() {
                one.ended.get_or_insert("cancelled");
            }
        }
    }

    fn send(&mut self, who: usize, most: u64) -> Value {
        let mut sent = 0;
        let refused = loop {
            if sent == most {
                break None;
            }
            let one = &mut self.publishers[who];
            match one.probe.control().try_offer(Item::Number(one.next)) {
                Ok(Offer::Enqueued) => {
                    sent += 1;
                    one.next += 1;
                    self.settle();
                }
                Ok(_) => break Some("closed"),
                Err(_) => break Some("no_demand"),
            }
        };
        json!({"sent": sent.to_string(), "refused": refused})
    }

    fn play(&mut self, op: &str, step: &mut Object) -> Result<Value, Failure> {
        if op == "start" {
            self.settle();
            return Ok(Value::Null);
        }
        let who = usize::try_from(step.number("who")?).unwrap_or(usize::MAX);
        let is_publisher = ["next", "complete", "fail"].contains(&op);
        let count = if is_publisher { self.publishers.len() } else { self.subscribers.len() };
        if who >= count {
            return Err(Failure::new(format!("there is no number {who} of {count}")));
        }
        let finish = |one: &mut Above, first: bool, how| {
            if first {
                one.ended.get_or_insert(how);
            }
            json!(if first { "yes" } else { "no" })
        };
        let answer = match op {
            "request" => {
                self.subscribers[who].probe.try_request(step.number("n")?);
                Value::Null
            }
            "next" => self.send(who, step.number("k")?),
            "complete" => {
                let one = &mut self.publishers[who];
                let first = one.probe.send_complete();
                finish(one, first, "completed")
            }
            "fail" => {
                let one = &mut self.publishers[who];
                let error = Error::new(ErrorKind::Io, "the script says so");
                let first = one.probe.send_error(error);
                finish(one, first, "failed")
            }
            "cancel" => {
                self.subscribers[who].probe.cancel();
                Value::Null
            }
            other => return Err(Failure::new(format!("unknown op {other:?}"))),
        };
        self.settle();
        Ok(answer)
    }

    fn state(&mut self) -> Value {
        let publishers: Vec<_> = self.publishers.iter().map(Above::json).collect();
        let subscribers: Vec<_> = self.subscribers.iter_mut().map(Below::json).collect();
        json!({
            "publishers": publishers,
            "inputs": self.inputs.iter().map(|line| counters(line)).collect::<Vec<_>>(),
            "junction": self.views.iter().filter_map(Weak::upgrade).map(shown).collect::<Vec<_>>(),
            "outputs": self.outputs.iter().map(|line| counters(line)).collect::<Vec<_>>(),
            "subscribers": subscribers,
        })
    }
}

impl Above {
    fn json(&self) -> Value {
        let demand = if self.ended.is_some() { 0 } else { self.probe.control().demand() };
        json!({"demand": demand.to_string(), "ended": self.ended})
    }
}

impl Below {
    fn json(&mut self) -> Value {
        let delivered = std::mem::take(&mut self.delivered);
        json!({"delivered": delivered, "terminal": self.terminal.take()})
    }
}

#[expect(clippy::needless_pass_by_value, reason = "what a weak one gave")]
fn shown(view: Arc<StageView>) -> Value {
    let seen = view.demand();
    json!({
        "owed": seen.downstream.to_string(),
        "asked": seen.upstream.to_string(),
        "held": seen.held.to_string(),
    })
}

/// Of each stage of a line; all 0 of one that is gone.
fn counters(line: &[Weak<StageView>]) -> Vec<Value> {
    let nothing = || json!({"owed": "0", "asked": "0", "held": "0"});
    line.iter().map(|view| view.upgrade().map_or_else(nothing, shown)).collect()
}

fn replay(machine: &str, script: &Script, seed: u64) -> Result<(), Failure> {
    same("machine", &machine, &"junction")?;
    replay_on(&Plan::read(script.head.clone())?, &script.steps, seed)
}

fn replay_on(plan: &Plan, steps: &[Object], seed: u64) -> Result<(), Failure> {
    let mut player = Player::new(plan, seed)?;
    for (number, step) in steps.iter().enumerate() {
        perform(&mut player, step.clone()).map_err(|failure| failure.at(number))?;
    }
    Ok(())
}

fn perform(player: &mut Player, mut step: Object) -> Result<(), Failure> {
    let op = step.text("op")?;
    let mut perform = || {
        let answer = player.play(&op, &mut step)?;
        same("answer", &answer, &step.take("answer")?)?;
        let (came, expected) = (player.state(), step.take("state")?);
        for part in ["publishers", "subscribers"] {
            same(part, &came[part], &expected[part])?; // said first: the rest follows from it
        }
        same("state", &came, &expected)?;
        step.clone().done()
    };
    perform().map_err(|failure| Failure::new(format!("{op}: {failure}")))
}

#[test]
fn replays_every_junction_script() {
    let mut report = Report::default();
    for group in crate::load("junction") {
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
        "\njunction rust: {scripts} scripts {steps} steps in {SEEDS} orders, {} failures",
        failures.len()
    )
    .expect("stdout takes a line");
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
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
