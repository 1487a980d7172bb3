//! Scripts with several actors: what all ways of waiting share.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sluicegate::{Closed, CreditGate, CreditRouter, CreditWindow};

use crate::pure::{Gates, named, open_gates, open_window, route, try_acquire, window_answer};
use crate::script::{Failure, Object, Script, same, text};

/// Nothing in a script takes this long unless a wake was lost.
pub const WATCHDOG: Duration = Duration::from_secs(60);

/// The first try of a limit that will pass.
const SHORT: Duration = Duration::from_millis(2);

/// How an actor's wait is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    None,
    Zero,
    Short(Duration),
    Long,
}

/// How an actor's wait will be given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    Expire,
    Cancel,
}

/// One acquire that an actor is to make.
#[derive(Clone, Debug)]
pub struct Start {
    pub actor: String,
    pub gate: CreditGate,
    pub n: u64,
    pub limit: Limit,
    pub leaves: Option<Leave>,
}

/// An actor that came back.
#[derive(Debug)]
pub struct Return {
    pub actor: String,
    pub answer: Value,
    /// How long the call took.
    pub after: Duration,
}

/// A way of waiting. Dropping it must join whatever it started; all gates are closed by then.
pub trait Way {
    const NAME: &'static str;

    /// `short` is the length of limits that will pass.
    fn new(short: Duration) -> Self;
    fn start(&mut self, start: Start);
    fn leave(&mut self, actor: &str, how: Leave);
    /// Hands out a return. Waits for one no longer than `limit`.
    fn returned(&mut self, limit: Duration) -> Option<Return>;
    /// False if actors wait on a clock of their own, so that one may time out before its step.
    fn expires_by_hand(&self) -> bool;
}

/// What `acquire` answered, in the words of the scripts.
pub fn acquired(answer: Result<(), Closed>) -> Value {
    match answer {
        Ok(()) => json!("acquired"),
        Err(closed) => json!({"closed": closed.reason.code()}),
    }
}

/// Why a replay stopped.
enum Stop {
    Failed(Failure),
    /// A short limit passed before its step: this replay shows nothing, whatever else it met.
    Void(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Stop::Failed(failure)
    }
}

/// Replays one script in one way, with longer limits until the clock lets it be.
pub fn replay<W: Way>(machine: &str, script: &Script) -> Result<(), Failure> {
    if machine != "waiting" {
        return Err(Failure::new(format!("unknown machine {machine:?}")));
    }
    let mut short = SHORT;
    let began = Instant::now();
    loop {
        match Replay::<W>::new(script, short)?.run(script) {
            Ok(()) => return Ok(()),
            Err(Stop::Failed(failure)) => {
                return Err(Failure::new(format!("{}: {failure}", W::NAME)));
            }
            // A void replay that hung has spent the watchdog already; a good one takes no time.
            Err(Stop::Void(failure)) if began.elapsed() > WATCHDOG => {
                return Err(Failure::new(format!(
                    "{}: with limits of {short:?}: {failure}",
                    W::NAME
                )));
            }
            Err(Stop::Void(_)) => short = short.saturating_mul(2),
        }
    }
}

struct Outcome {
    returned: BTreeMap<String, Value>,
    blocked: BTreeSet<String>,
    gates: BTreeMap<String, Value>,
    windows: Value,
}

impl Outcome {
    fn read(value: Value) -> Result<Self, Failure> {
        let mut object = Object::from(value)?;
        let returned = object
            .list("returned")?
            .into_iter()
            .map(|one| {
                let mut one = Object::from(one)?;
                let pair = (one.text("actor")?, one.take("answer")?);
                one.done()?;
                Ok(pair)
            })
            .collect::<Result<_, Failure>>()?;
        let blocked = object.list("blocked")?.into_iter().map(text).collect::<Result<_, _>>()?;
        let gates = object.object("gates")?.entries().collect();
        let windows = object.take("windows")?;
        object.done()?;
        Ok(Outcome { returned, blocked, gates, windows })
    }
}

/// One replay in progress.
struct Replay<W> {
    way: W,
    short: Duration,
    gates: Gates,
    windows: BTreeMap<String, CreditWindow>,
    router: CreditRouter<String>,
    /// Those who have not come back, with how they will leave.
    out: BTreeMap<String, Option<Leave>>,
    /// Actors whose leaving has come.
    may_leave: BTreeSet<String>,
    /// Actors under a limit that will pass on a clock, with when they began.
    on_the_clock: BTreeMap<String, Instant>,
}

impl<W> Drop for Replay<W> {
    fn drop(&mut self) {
        for gate in self.gates.values() {
            gate.close("the script is over"); // whatever happened, nobody stays behind
        }
    }
}

impl<W: Way> Replay<W> {
    fn new(script: &Script, short: Duration) -> Result<Self, Failure> {
        let mut head = script.head.clone();
        let gates = open_gates(head.object("gates")?)?;
        let windows = head
            .object("windows")?
            .entries()
            .map(|(name, window)| {
                let mut window = Object::from(window)?;
                let opened =
                    open_window(window.number("window")?, window.optional_number("batch")?);
                window.done()?;
                Ok((name, opened))
            })
            .collect::<Result<_, Failure>>()?;
        head.done()?;
        Ok(Replay {
            way: W::new(short),
            short,
            gates,
            windows,
            router: CreditRouter::new(),
            out: BTreeMap::new(),
            may_leave: BTreeSet::new(),
            on_the_clock: BTreeMap::new(),
        })
    }

    fn run(mut self, script: &Script) -> Result<(), Stop> {
        for (number, step) in script.steps.iter().enumerate() {
            self.step(step.clone()).map_err(|stop| match stop {
                Stop::Failed(failure) if !self.clock_interfered() => {
                    Stop::Failed(failure.at(number))
                }
                Stop::Failed(failure) | Stop::Void(failure) => Stop::Void(failure.at(number)),
            })?;
        }
        if !self.out.is_empty() {
            return Err(Failure::new(format!("{:?} never came back", self.out)).into());
        }
        Ok(())
    }

    /// True if an actor may have timed out before its step, so that what was seen shows nothing.
    fn clock_interfered(&self) -> bool {
        self.on_the_clock
            .iter()
            .any(|(actor, began)| !self.may_leave.contains(actor) && began.elapsed() >= self.short)
    }

    fn step(&mut self, mut step: Object) -> Result<(), Stop> {
        let ops = step.list("do")?;
        let outcomes: Vec<Outcome> =
            step.list("then")?.into_iter().map(Outcome::read).collect::<Result<_, _>>()?;
        step.done()?;
        for op in ops {
            let mut op = Object::from(op)?;
            let name = op.text("op")?;
            self.perform(&name, &mut op)
                .and_then(|()| op.done())
                .map_err(|failure| Failure::new(format!("{name}: {failure}")))?;
        }

        let end = Instant::now() + WATCHDOG;
        let mut came = BTreeMap::new();
        let outcome = loop {
            if let Some(outcome) = outcomes.iter().find(|o| includes(&came, &o.returned)) {
                break outcome;
            }
            if !outcomes.iter().any(|o| includes(&o.returned, &came)) {
                return Err(unexpected(&outcomes, &came).into());
            }
            let left = end.saturating_duration_since(Instant::now());
            match self.way.returned(left) {
                Some(back) => self.note(back, &mut came)?,
                None => {
                    let expected: Vec<_> = outcomes.iter().map(|o| &o.returned).collect();
                    let lines: Vec<_> =
                        self.gates.iter().map(|(g, gate)| (g, gate, gate.waiting())).collect();
                    let what =
                        format!("hangs: expected {expected:?}, came {came:?}, gates {lines:?}");
                    return Err(Failure::new(what).into());
                }
            }
        };
        self.until_in_line(outcome, &mut came, end)?;
        same("returned", &came, &outcome.returned)?;
        let blocked: BTreeSet<String> = self.out.keys().cloned().collect();
        same("blocked", &blocked, &outcome.blocked)?;
        same("gates", &self.gate_states(), &outcome.gates)?;
        same("windows", &self.window_states(), &outcome.windows)?;
        Ok(())
    }

    /// Waits until every gate has as many in line as the outcome says.
    fn until_in_line(
        &mut self,
        outcome: &Outcome,
        came: &mut BTreeMap<String, Value>,
        end: Instant,
    ) -> Result<(), Stop> {
        loop {
            while let Some(back) = self.way.returned(Duration::ZERO) {
                self.note(back, came)?;
            }
            let waiting = |state: &Value| state.get("waiting").cloned();
            let now = self.gate_states();
            if now.len() == outcome.gates.len()
                && now.iter().all(|(name, state)| {
                    outcome.gates.get(name).is_some_and(|other| waiting(other) == waiting(state))
                })
            {
                return Ok(());
            }
            if Instant::now() >= end
                || came.keys().any(|actor| !outcome.returned.contains_key(actor))
            {
                let expected = &outcome.gates;
                let what =
                    format!("in line: expected {expected:?}, is {now:?}; came back: {came:?}");
                return Err(Failure::new(what).into());
            }
            std::thread::yield_now();
        }
    }

    fn note(&mut self, back: Return, came: &mut BTreeMap<String, Value>) -> Result<(), Stop> {
        let actor = back.actor.clone();
        let leaves = self.out.remove(&actor).ok_or_else(|| {
            Failure::new(format!("{actor} came back though it was not out: {back:?}"))
        })?;
        self.on_the_clock.remove(&actor);
        let mut answer = back.answer;
        if answer == json!("timed_out") && leaves.is_some() {
            if !self.way.expires_by_hand() && back.after < self.short {
                return Err(Failure::new(format!(
                    "{actor} timed out early, after {:?}",
                    back.after
                ))
                .into());
            }
            if !self.may_leave.remove(&actor) {
                return Err(Stop::Void(Failure::new(format!("{actor} timed out before its step"))));
            }
            if leaves == Some(Leave::Cancel) {
                answer = json!("cancelled"); // a way without cancellation
            }
        }
        came.insert(actor, answer);
        Ok(())
    }

    fn perform(&mut self, name: &str, op: &mut Object) -> Result<(), Failure> {
        match name {
            "start" => {
                let leaves = match op.optional_text("leaves")?.as_deref() {
                    None => None,
                    Some("expire") => Some(Leave::Expire),
                    Some("cancel") => Some(Leave::Cancel),
                    Some(other) => return Err(Failure::new(format!("unknown leaves {other:?}"))),
                };
                let limit = match op.optional_text("limit")?.as_deref() {
                    None => Limit::None,
                    Some("zero") => Limit::Zero,
                    Some("short") => Limit::Short(self.short),
                    Some("long") => Limit::Long,
                    Some(other) => return Err(Failure::new(format!("unknown limit {other:?}"))),
                };
                let actor = op.text("actor")?;
                let gate = named(&self.gates, &op.text("gate")?)?.clone();
                self.may_leave.remove(&actor);
                if leaves.is_some() && !self.way.expires_by_hand() {
                    self.on_the_clock.insert(actor.clone(), Instant::now());
                }
                if self.out.insert(actor.clone(), leaves).is_some() {
                    return Err(Failure::new(format!("{actor} has not come back yet")));
                }
                self.way.start(Start { actor, gate, n: op.number("n")?, limit, leaves });
            }
            "cancel" | "expire" => {
                let actor = op.text("actor")?;
                let how = if name == "cancel" { Leave::Cancel } else { Leave::Expire };
                self.may_leave.insert(actor.clone());
                self.way.leave(&actor, how);
            }
            "try" => {
                let gate = named(&self.gates, &op.text("gate")?)?;
                same("answer", &try_acquire(gate, op.number("n")?), &op.take("answer")?)?;
            }
            "grant" => named(&self.gates, &op.text("gate")?)?.grant(op.number("n")?),
            "close" => {
                named(&self.gates, &op.text("gate")?)?.close(op.text("reason")?.as_str());
            }
            "route" => {
                let answer = route(&self.router, &self.gates, name, op)?;
                same("answer", &answer, &op.take("answer")?)?;
            }
            "register" | "unregister" | "close_request" | "close_all" => {
                route(&self.router, &self.gates, name, op)?;
            }
            "arrive" | "consumed" | "flush" | "continued" => {
                let window = named(&self.windows, &op.text("window")?)?;
                same("answer", &window_answer(window, name)?, &op.take("answer")?)?;
            }
            other => return Err(Failure::new(format!("unknown op {other:?}"))),
        }
        Ok(())
    }

    fn gate_states(&self) -> BTreeMap<String, Value> {
        self.gates
            .iter()
            .map(|(name, gate)| {
                let reason = gate.reason();
                let state = json!({
                    "available": gate.available().to_string(),
                    "waiting": gate.waiting().to_string(),
                    "closed": reason.as_ref().map(|r| r.code()),
                });
                (name.clone(), state)
            })
            .collect()
    }

    fn window_states(&self) -> Value {
        let states: serde_json::Map<String, Value> = self
            .windows
            .iter()
            .map(|(name, window)| {
                let remaining = window.remaining().to_string();
                (
                    name.clone(),
                    json!({"remaining": remaining, "pending": window.pending().to_string()}),
                )
            })
            .collect();
        Value::Object(states)
    }
}

fn unexpected(outcomes: &[Outcome], came: &BTreeMap<String, Value>) -> Failure {
    let expected: Vec<_> = outcomes.iter().map(|o| &o.returned).collect();
    Failure::new(format!("returned: expected one of {expected:?}, came {came:?}"))
}

/// True if `came` holds all of `expected`.
fn includes(came: &BTreeMap<String, Value>, expected: &BTreeMap<String, Value>) -> bool {
    expected.iter().all(|(actor, answer)| came.get(actor) == Some(answer))
}
