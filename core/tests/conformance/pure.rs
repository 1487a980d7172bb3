//! Scripts in which nothing waits.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sluicegate::model::negotiate;
use sluicegate::{CreditGate, CreditRouter, CreditWindow, Delivery, TryAcquire};

use crate::script::{Failure, Object, Script, same};

/// A window as the scripts drive it. One that is broken on purpose shows that they would notice.
pub trait AnyWindow {
    fn size(&self) -> u64;
    fn remaining(&self) -> u64;
    fn pending(&self) -> u64;
    fn batch(&self) -> u64;
    fn arrive(&self) -> bool;
    fn consumed(&self) -> u64;
    fn flush(&self) -> u64;
    fn continued(&self) -> u64;
}

impl AnyWindow for CreditWindow {
    fn size(&self) -> u64 {
        CreditWindow::size(self)
    }
    fn remaining(&self) -> u64 {
        CreditWindow::remaining(self)
    }
    fn pending(&self) -> u64 {
        CreditWindow::pending(self)
    }
    fn batch(&self) -> u64 {
        CreditWindow::batch(self)
    }
    fn arrive(&self) -> bool {
        CreditWindow::arrive(self).is_ok()
    }
    fn consumed(&self) -> u64 {
        CreditWindow::consumed(self)
    }
    fn flush(&self) -> u64 {
        CreditWindow::flush(self)
    }
    fn continued(&self) -> u64 {
        CreditWindow::continued(self)
    }
}

/// How a script's window is made: size, and a wish for the batch.
pub type OpenWindow = fn(u64, Option<u64>) -> Box<dyn AnyWindow>;

pub fn replay(machine: &str, script: &Script) -> Result<(), Failure> {
    replay_with(machine, script, |size, batch| Box::new(open_window(size, batch)))
}

pub fn replay_with(machine: &str, script: &Script, opened: OpenWindow) -> Result<(), Failure> {
    let mut head = script.head.clone();
    match machine {
        "gate" => {
            let mut open = head.object("open")?;
            let gate = CreditGate::new(open.number("window")?);
            open.done()?;
            steps(script, |op, step| gate_step(&gate, op, step))
        }
        "window" => {
            let mut open = head.object("open")?;
            let size = open.number("window")?;
            let window = opened(size, open.optional_number("batch")?);
            open.done()?;
            same("size", &window.size(), &size)?;
            steps(script, |op, _| window_step(&*window, op))
        }
        "negotiate" => steps(script, |op, step| match op {
            "negotiate" => {
                let agreed = negotiate(step.number("ours")?, step.number("theirs")?);
                Ok((agreed.map_or(Value::Null, |n| json!(n.to_string())), None))
            }
            other => Err(Failure::new(format!("unknown op {other:?}"))),
        }),
        "grant_target" | "router" => {
            let mut open = head.object("open")?;
            let gates = open_gates(open.object("gates")?)?;
            open.done()?;
            let router = CreditRouter::new();
            steps(script, |op, step| router_step(&router, &gates, op, step))
        }
        other => return Err(Failure::new(format!("unknown machine {other:?}"))),
    }?;
    head.done()
}

type Did = (Value, Option<Value>);

/// Does every step and compares its answer and the state after it.
fn steps(
    script: &Script,
    mut perform: impl FnMut(&str, &mut Object) -> Result<Did, Failure>,
) -> Result<(), Failure> {
    for (number, step) in script.steps.iter().enumerate() {
        let mut step = step.clone();
        let op = step.text("op").map_err(|failure| failure.at(number))?;
        let check = |mut step: Object, (answer, state): Did| {
            same("answer", &answer, &step.take("answer")?)?;
            if let Some(state) = state {
                same("state", &state, &step.take("state")?)?;
            }
            step.done()
        };
        perform(&op, &mut step)
            .and_then(|did| check(step, did))
            .map_err(|failure| Failure::new(format!("{op}: {failure}")).at(number))?;
    }
    Ok(())
}

pub fn try_acquire(gate: &CreditGate, n: u64) -> Value {
    match gate.try_acquire(n) {
        TryAcquire::Taken => json!("acquired"),
        TryAcquire::Wait => json!("wait"),
        TryAcquire::Closed(reason) => json!({"closed": reason.code()}),
    }
}

fn gate_state(gate: &CreditGate) -> Value {
    let reason = gate.reason();
    assert_eq!(gate.is_closed(), reason.is_some());
    json!({"available": gate.available().to_string(), "closed": reason.as_ref().map(|r| r.code())})
}

fn gate_step(gate: &CreditGate, op: &str, step: &mut Object) -> Result<Did, Failure> {
    let answer = match op {
        "acquire" => try_acquire(gate, step.number("n")?),
        "grant" => {
            gate.grant(step.number("n")?);
            Value::Null
        }
        "close" => {
            let was_open = !gate.is_closed();
            let closed = gate.close(step.text("reason")?.as_str());
            same("close says that it closed", &closed, &was_open)?;
            Value::Null
        }
        other => return Err(Failure::new(format!("unknown op {other:?}"))),
    };
    Ok((answer, Some(gate_state(gate))))
}

pub fn open_window(size: u64, batch: Option<u64>) -> CreditWindow {
    match batch {
        None => CreditWindow::new(size),
        Some(batch) => CreditWindow::with_batch(size, batch),
    }
}

pub fn window_answer(window: &dyn AnyWindow, op: &str) -> Result<Value, Failure> {
    Ok(match op {
        "arrive" => json!(if window.arrive() { "accepted" } else { "violation" }),
        "consumed" => json!(window.consumed().to_string()),
        "flush" => json!(window.flush().to_string()),
        "continued" => json!(window.continued().to_string()),
        other => return Err(Failure::new(format!("unknown op {other:?}"))),
    })
}

fn window_step(window: &dyn AnyWindow, op: &str) -> Result<Did, Failure> {
    let answer = window_answer(window, op)?;
    let state = json!({
        "remaining": window.remaining().to_string(),
        "pending": window.pending().to_string(),
        "batch": window.batch().to_string(),
    });
    Ok((answer, Some(state)))
}

pub type Gates = BTreeMap<String, CreditGate>;

pub fn open_gates(gates: Object) -> Result<Gates, Failure> {
    gates
        .entries()
        .map(|(name, window)| Ok((name, CreditGate::new(crate::script::number(window)?))))
        .collect()
}

pub fn named<'a, T>(objects: &'a BTreeMap<String, T>, name: &str) -> Result<&'a T, Failure> {
    objects.get(name).ok_or_else(|| Failure::new(format!("no {name:?} in this script")))
}

/// The router's operations, which both kinds of script share; grants have their name from the caller.
pub fn route(
    router: &CreditRouter<String>,
    gates: &Gates,
    op: &str,
    step: &mut Object,
) -> Result<Value, Failure> {
    match op {
        "register" => {
            let gate = named(gates, &step.text("gate")?)?;
            router.register(step.text("request")?, step.optional_text("stream")?.as_deref(), gate);
        }
        "unregister" => {
            router.unregister(&step.text("request")?, step.optional_text("stream")?.as_deref());
        }
        "close_request" => {
            router.close_request(&step.text("request")?, step.text("reason")?.as_str())
        }
        "close_all" => router.close_all(step.text("reason")?.as_str()),
        "grant" | "route" => {
            let stream = step.optional_text("stream")?;
            return Ok(
                match router.grant(&step.text("request")?, stream.as_deref(), step.number("n")?) {
                    Delivery::Granted => json!("granted"),
                    Delivery::NoStream => json!("no_stream"),
                    Delivery::NoRequest => json!("no_request"),
                },
            );
        }
        other => return Err(Failure::new(format!("unknown op {other:?}"))),
    }
    Ok(Value::Null)
}

fn router_step(
    router: &CreditRouter<String>,
    gates: &Gates,
    op: &str,
    step: &mut Object,
) -> Result<Did, Failure> {
    let answer = route(router, gates, op, step)?;
    let states: serde_json::Map<String, Value> =
        gates.iter().map(|(name, gate)| (name.clone(), gate_state(gate))).collect();
    Ok((answer, Some(json!({"gates": states}))))
}
