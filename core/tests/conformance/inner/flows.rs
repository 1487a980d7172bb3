//! Frames of a flow: their facts, their order, their writer, the ledger.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sluicegate::frame::{
    FlowKey, Frame, FrameType, MessageId, Refusal, ReorderBuffer, SeqAssigner, WriterGate,
};
use sluicegate::model::facts::FlowEnd;
use sluicegate::model::ledger::Balance;
use sluicegate::model::reorder::{self, Accepted};
use sluicegate::model::writer::{Admitted, admit, over_after, stamp};

use super::{Did, Machine, Opened, unknown};
use crate::script::{Failure, Object, text};

pub fn number(n: u64) -> Value {
    json!(n.to_string())
}

pub fn yes(is: bool) -> Value {
    json!(if is { "yes" } else { "no" })
}

pub fn kind(step: &mut Object) -> Result<FrameType, Failure> {
    let name = step.text("kind")?;
    let found = FrameType::ALL.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| Failure::new(format!("unknown kind {name:?}")))
}

struct Facts;

pub fn facts() -> Opened {
    vec![("model", Box::new(Facts))]
}

impl Machine for Facts {
    fn step(&mut self, op: &str, step: &mut Object) -> Result<Did, Failure> {
        let answer = match op {
            "facts" => {
                let kind = kind(step)?;
                let ends = kind.ends().map(|how| match how {
                    FlowEnd::Finished => "finished",
                    FlowEnd::Failed => "failed",
                });
                json!({"code": number(kind.code()), "flow": yes(kind.is_flow()), "ends": ends,
                       "terminal": yes(kind.is_terminal()), "cost": number(kind.cost())})
            }
            "from_code" => json!(FrameType::from_code(step.number("code")?).map(FrameType::name)),
            other => return Err(unknown(other)),
        };
        Ok((answer, None))
    }
}

/// The decision in a set of held numbers.
struct Order {
    expected: Option<u64>,
    held: BTreeSet<u64>,
    limit: u64,
}

/// The library's buffer; its items are their numbers.
struct Buffer {
    buffer: ReorderBuffer<u64>,
    limit: u64,
}

pub fn reorder(mut open: Object) -> Result<Opened, Failure> {
    let limit = open.number("limit")?;
    open.done()?;
    let buffer = Buffer { buffer: ReorderBuffer::new(), limit };
    let order = Order { expected: Some(0), held: BTreeSet::new(), limit };
    Ok(vec![("model", Box::new(order)), ("ReorderBuffer", Box::new(buffer))])
}

fn order_state(expected: Option<u64>, held: impl Iterator<Item = u64>) -> Value {
    json!({"expected": expected.map(number), "held": held.map(number).collect::<Vec<_>>()})
}

fn delivered(numbers: Vec<u64>) -> Value {
    json!({"delivered": numbers.into_iter().map(number).collect::<Vec<_>>()})
}

fn accept(op: &str, step: &mut Object) -> Result<u64, Failure> {
    if op == "accept" { step.number("seq") } else { Err(unknown(op)) }
}

impl Machine for Order {
    fn step(&mut self, op: &str, step: &mut Object) -> Result<Did, Failure> {
        let seq = accept(op, step)?;
        let (held_already, held) = (self.held.contains(&seq), self.held.len() as u64);
        let answer = match reorder::accept(self.expected, seq, held_already, held, self.limit) {
            Accepted::Deliver => {
                let mut out = vec![seq];
                self.expected = reorder::after(seq);
                while let Some(next) = self.expected.filter(|next| self.held.remove(next)) {
                    out.push(next);
                    self.expected = reorder::after(next);
                }
                delivered(out)
            }
            Accepted::Hold => {
                self.held.insert(seq);
                json!("hold")
            }
            Accepted::Stale => json!("stale"),
            Accepted::Duplicate => json!("duplicate"),
            Accepted::Overflow => json!("overflow"),
        };
        Ok((answer, Some(order_state(self.expected, self.held.iter().copied()))))
    }
}

impl Machine for Buffer {
    fn step(&mut self, op: &str, step: &mut Object) -> Result<Did, Failure> {
        let seq = accept(op, step)?;
        let mut out = Vec::new();
        let answer = match self.buffer.accept(seq, seq, self.limit, &mut out) {
            Ok(_) if out.is_empty() => json!("hold"),
            Ok(_) => delivered(out),
            Err(refused) => json!(match refused.why {
                Refusal::Stale { .. } => "stale",
                Refusal::Duplicate { .. } => "duplicate",
                Refusal::Overflow { .. } => "overflow",
            }),
        };
        Ok((answer, Some(order_state(self.buffer.expected(), self.buffer.held()))))
    }
}

/// The decisions on (over, next number) of each flow.
struct Flows(BTreeMap<String, (bool, u64)>);

/// The library's gate and numbers, and which flow has which key.
struct Writer {
    gate: WriterGate,
    numbers: SeqAssigner,
    flows: BTreeMap<String, MessageId>,
}

pub fn writer(mut open: Object) -> Result<Opened, Failure> {
    let names = open.list("flows")?.into_iter().map(text).collect::<Result<Vec<_>, _>>()?;
    open.done()?;
    let flows = names.iter().map(|name| (name.clone(), (false, 0))).collect();
    let ids = names.into_iter().zip((1..).map(MessageId::Uint)).collect();
    let writer = Writer { gate: WriterGate::new(), numbers: SeqAssigner::new(), flows: ids };
    Ok(vec![("model", Box::new(Flows(flows))), ("WriterGate", Box::new(writer))])
}

fn written(admitted: Admitted, seq: u64) -> Value {
    match admitted {
        Admitted::Send => json!({"send": number(seq)}),
        Admitted::SendLast => json!({"send_last": number(seq)}),
        Admitted::Suppress => json!("suppress"),
    }
}

fn flow<'a, T>(
    flows: &'a mut BTreeMap<String, T>,
    op: &str,
    step: &mut Object,
) -> Result<&'a mut T, Failure> {
    let name = if op == "write" { step.text("flow")? } else { return Err(unknown(op)) };
    flows.get_mut(&name).ok_or_else(|| Failure::new(format!("unknown flow {name:?}")))
}

impl Machine for Flows {
    fn step(&mut self, op: &str, step: &mut Object) -> Result<Did, Failure> {
        let (over, next) = flow(&mut self.0, op, step)?;
        let kind = kind(step)?;
        let admitted = admit(*over, kind);
        let stamped = stamp(*next, kind);
        if admitted != Admitted::Suppress {
            (*over, *next) = (over_after(*over, admitted), stamped.next);
        }
        let state: BTreeMap<_, _> =
            self.0.iter().map(|(name, (over, _))| (name, yes(*over))).collect();
        Ok((written(admitted, stamped.seq), Some(json!(state))))
    }
}

impl Machine for Writer {
    fn step(&mut self, op: &str, step: &mut Object) -> Result<Did, Failure> {
        let id = *flow(&mut self.flows, op, step)?;
        let kind = kind(step)?;
        let admitted = self.gate.write(FlowKey::new(id, None), kind);
        let mut frame = Frame::end(id, None);
        frame.frame_type = kind;
        if admitted != Admitted::Suppress {
            self.numbers.stamp(&mut frame);
        }
        let over = |id: &MessageId| self.gate.is_over(&FlowKey::new(*id, None));
        let state: BTreeMap<_, _> =
            self.flows.iter().map(|(name, id)| (name, yes(over(id)))).collect();
        Ok((written(admitted, frame.seq), Some(json!(state))))
    }
}

struct Ledger(Balance);

pub fn ledger(mut open: Object) -> Result<Opened, Failure> {
    let window = open.number("window")?;
    open.done()?;
    Ok(vec![("model", Box::new(Ledger(Balance::seeded(window))))])
}

impl Machine for Ledger {
    fn step(&mut self, op: &str, step: &mut Object) -> Result<Did, Failure> {
        if op != "seen" {
            return Err(unknown(op));
        }
        self.0 = self.0.seen(kind(step)?, step.number("n")?);
        let state = match self.0 {
            Balance::Left(n) => json!({"left": number(n)}),
            Balance::Overrun(n) => json!({"overrun": number(n)}),
        };
        Ok((Value::Null, Some(state)))
    }
}
