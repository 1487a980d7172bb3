//! The probes that a script plays by hand, on a scope without threads, and the replay of a set of such
//! scripts: step by step, in several orders of the islands, none of which may show.

use std::io::Write as _;
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::{Value, json};
use sluicegate::flow::{Offer, Publisher, Scope, StageView, Subscriber, SubscriberEvent};
use sluicegate::{Error, ErrorKind};

use crate::Report;
use crate::script::{Failure, Object, Script, same};
use crate::stages::Item;

const SEEDS: u64 = 4;

/// A publisher, and what the script has done with it.
pub struct Above {
    probe: Publisher<Item>,
    next: u64,
    ended: Option<&'static str>,
}

impl Above {
    /// One that sends `first` and what follows it.
    pub fn new(probe: Publisher<Item>, first: u64) -> Self {
        Above { probe, next: first, ended: None }
    }

    /// Sends the next element, or tells why not.
    pub fn send(&mut self) -> Option<&'static str> {
        match self.probe.control().try_offer(Item::Number(self.next)) {
            Ok(Offer::Enqueued) => {
                self.next += 1;
                None
            }
            Ok(_) => Some("closed"),
            Err(_) => Some("no_demand"),
        }
    }

    pub fn complete(&mut self) -> Value {
        let first = self.probe.send_complete();
        self.finish(first, "completed")
    }

    pub fn fail(&mut self) -> Value {
        let first = self.probe.send_error(Error::new(ErrorKind::Io, "the script says so"));
        self.finish(first, "failed")
    }

    fn finish(&mut self, first: bool, how: &'static str) -> Value {
        if first {
            self.ended.get_or_insert(how);
        }
        json!(if first { "yes" } else { "no" })
    }

    /// Sees whether it was cancelled.
    pub fn look(&mut self) {
        if self.probe.control().is_over() {
            self.ended.get_or_insert("cancelled");
        }
    }

    pub fn json(&self) -> Value {
        let demand = if self.ended.is_some() { 0 } else { self.probe.control().demand() };
        json!({"demand": demand.to_string(), "ended": self.ended})
    }
}

/// A subscriber, and what it received in this step.
pub struct Below {
    pub probe: Subscriber<Item>,
    delivered: Vec<Value>,
    terminal: Option<&'static str>,
}

impl Below {
    pub fn new(probe: Subscriber<Item>) -> Self {
        Below { probe, delivered: Vec::new(), terminal: None }
    }

    /// Takes what has come. False if that was nothing.
    pub fn take(&mut self) -> bool {
        let mut any = false;
        while let Some(event) = self.probe.event_within(Duration::ZERO) {
            any = true;
            match event {
                SubscriberEvent::Next(item) => self.delivered.push(item.json()),
                SubscriberEvent::Complete => self.terminal = Some("completed"),
                SubscriberEvent::Error(error) if error.kind() == ErrorKind::BufferOverflow => {
                    self.terminal = Some("overflowed");
                }
                SubscriberEvent::Error(_) => self.terminal = Some("failed"),
            }
        }
        any
    }

    pub fn json(&mut self) -> Value {
        let delivered = std::mem::take(&mut self.delivered);
        json!({"delivered": delivered, "terminal": self.terminal.take()})
    }
}

/// All probes of a script.
pub struct Probes {
    pub scope: Scope,
    pub above: Vec<Above>,
    pub below: Vec<Below>,
}

impl Probes {
    /// Publisher number i begins with the element i·1000.
    pub fn new(
        scope: Scope,
        above: impl IntoIterator<Item = Publisher<Item>>,
        below: impl IntoIterator<Item = Subscriber<Item>>,
    ) -> Self {
        let above = above.into_iter().zip((0..).step_by(1000));
        let above = above.map(|(probe, first)| Above::new(probe, first)).collect();
        Probes { scope, above, below: below.into_iter().map(Below::new).collect() }
    }

    /// Runs everything until it is quiet, taking what comes.
    pub fn settle(&mut self) {
        let mut more = true;
        while more {
            more = false;
            self.scope.settle();
            for one in &mut self.below {
                more |= one.take();
            }
        }
        self.above.iter_mut().for_each(Above::look);
    }

    fn send(&mut self, who: usize, most: u64) -> Value {
        let mut sent = 0;
        let refused = loop {
            if sent == most {
                break None;
            }
            if let Some(why) = self.above[who].send() {
                break Some(why);
            }
            sent += 1;
            self.settle();
        };
        json!({"sent": sent.to_string(), "refused": refused})
    }

    /// What the probe number `who` is told to do, and all that follows from it.
    pub fn play(&mut self, op: &str, who: u64, step: &mut Object) -> Result<Value, Failure> {
        let is_publisher = ["next", "complete", "fail"].contains(&op);
        let count = if is_publisher { self.above.len() } else { self.below.len() };
        let who = usize::try_from(who).unwrap_or(usize::MAX);
        if who >= count {
            return Err(Failure::new(format!("there is no number {who} of {count}")));
        }
        let answer = match op {
            "start" => Value::Null,
            "request" => {
                self.below[who].probe.try_request(step.number("n")?);
                Value::Null
            }
            "next" => self.send(who, step.number("k")?),
            "complete" => self.above[who].complete(),
            "fail" => self.above[who].fail(),
            "cancel" => {
                self.below[who].probe.cancel();
                Value::Null
            }
            other => return Err(Failure::new(format!("unknown op {other:?}"))),
        };
        self.settle();
        Ok(answer)
    }

    /// The stages of this name that are there now. Who looks later sees no more than is left of them.
    pub fn named(&self, name: &str) -> Vec<Weak<StageView>> {
        let views = self.scope.stages();
        views.iter().filter(|view| view.name() == name).map(Arc::downgrade).collect()
    }
}

/// The counters of a stage; all 0 of one that is gone.
pub fn counters(view: &Weak<StageView>) -> Value {
    let seen = view.upgrade().map(|view| view.demand());
    let of = |n: Option<u64>| n.unwrap_or(0).to_string();
    json!({
        "owed": of(seen.map(|seen| seen.downstream)),
        "asked": of(seen.map(|seen| seen.upstream)),
        "held": of(seen.map(|seen| seen.held)),
    })
}

/// What a script is played on.
pub trait Player {
    fn play(&mut self, op: &str, step: &mut Object) -> Result<Value, Failure>;
    /// What can be seen now. Forgets what was received in this step.
    fn state(&mut self) -> Value;
}

/// Plays the steps of a script, and compares what is answered and seen.
pub fn replay_steps(player: &mut impl Player, steps: &[Object]) -> Result<(), Failure> {
    for (number, step) in steps.iter().enumerate() {
        perform(player, step.clone()).map_err(|failure| failure.at(number))?;
    }
    Ok(())
}

fn perform(player: &mut impl Player, mut step: Object) -> Result<(), Failure> {
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

/// Replays all scripts of a set, each in several orders, and prints how many there were.
pub fn replay_set(set: &str, replay: impl Fn(&str, &Script, u64) -> Result<(), Failure>) {
    let mut report = Report::default();
    for group in crate::load(set) {
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
        "\n{set} rust: {scripts} scripts {steps} steps in {SEEDS} orders, {} failures",
        failures.len()
    )
    .expect("stdout takes a line");
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
}
