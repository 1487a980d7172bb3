//! A stage's two counters, and a bounded buffer's strategies.

use std::collections::VecDeque;

use serde_json::{Value, json};
use sluicegate::model::demand::{Emission, Stage, StageArrival, StagePhase};
use sluicegate::model::overflow::{Buffer, BufferEnd, OfferAnswer, Strategy, TakeAnswer, Victim};

use super::flows::{number, yes};
use super::{Did, Machine, Opened, unknown};
use crate::script::{Failure, Object};

/// What a script opens; without steps if it says that there is no such thing.
pub fn opened<M: Machine + 'static>(machine: Option<M>) -> Opened {
    machine.into_iter().map(|one| ("model", Box::new(one) as Box<dyn Machine>)).collect()
}

pub fn demand(mut open: Object) -> Result<Opened, Failure> {
    let (shape, size) = (open.text("shape")?, open.number("size")?);
    let mark = open.optional_number("mark")?;
    open.done()?;
    Ok(opened(match (shape.as_str(), mark) {
        ("each", None) => Stage::each(size),
        ("whole", None) => Stage::whole(size),
        ("ahead", Some(mark)) => Stage::ahead(size, mark),
        _ => return Err(Failure::new(format!("unknown shape {shape:?} with mark {mark:?}"))),
    }))
}

fn stage_step(stage: Stage, op: &str, step: &mut Object) -> Result<(Stage, Value), Failure> {
    let asked = |(after, n)| (after, number(n));
    Ok(match op {
        "start" => asked(stage.start()),
        "request" => asked(stage.request(step.number("n")?)),
        "arrive" => {
            let (after, answer) = stage.arrive();
            let word = match answer {
                StageArrival::Accepted => "accepted",
                StageArrival::Unasked => "unasked",
                StageArrival::Late => "late",
            };
            (after, json!(word))
        }
        "emit" => {
            let (after, answer) = stage.emit(step.number("inputs")?);
            let answer = match answer {
                Emission::Emitted(ask) => json!({"emitted": number(ask)}),
                Emission::NoDemand => json!("no_demand"),
                Emission::NotHeld => json!("not_held"),
            };
            (after, answer)
        }
        "discard" => asked(stage.discard()),
        "finish" => (stage.finish(), Value::Null),
        "close" => asked(stage.close()),
        other => return Err(unknown(other)),
    })
}

impl Machine for Stage {
    fn step(&mut self, op: &str, step: &mut Object) -> Result<Did, Failure> {
        let (after, answer) = stage_step(*self, op, step)?;
        *self = after;
        let phase = match after.phase {
            StagePhase::Idle => "idle",
            StagePhase::Running => "running",
            StagePhase::Draining => "draining",
            StagePhase::Over => "over",
        };
        let state = json!({"phase": phase, "owed": number(after.owed), "asked": number(after.asked),
            "held": number(after.held), "end_due": yes(after.end_due())});
        Ok((answer, Some(state)))
    }
}

/// A buffer with the sizes of what it holds, oldest first.
struct Queue {
    buffer: Buffer,
    sizes: VecDeque<u64>,
}

pub fn overflow(mut open: Object) -> Result<Opened, Failure> {
    let name = open.text("strategy")?;
    let (elements, bytes) = (open.number("elements")?, open.number("bytes")?);
    open.done()?;
    let buffer = strategy(&name)?.opened(elements, bytes);
    Ok(opened(buffer.map(|buffer| Queue { buffer, sizes: VecDeque::new() })))
}

pub fn strategy(name: &str) -> Result<Strategy, Failure> {
    match name {
        "backpressure" => Ok(Strategy::Backpressure),
        "drop_head" => Ok(Strategy::DropHead),
        "drop_tail" => Ok(Strategy::DropTail),
        "drop_new" => Ok(Strategy::DropNew),
        "drop_buffer" => Ok(Strategy::DropBuffer),
        "fail" => Ok(Strategy::Fail),
        other => Err(Failure::new(format!("unknown strategy {other:?}"))),
    }
}

/// The end that a producer gives.
pub fn end(name: &str) -> Result<BufferEnd, Failure> {
    match name {
        "completed" => Ok(BufferEnd::Completed),
        "failed" => Ok(BufferEnd::Failed),
        other => Err(Failure::new(format!("unknown end {other:?}"))),
    }
}

pub fn ended(why: BufferEnd) -> &'static str {
    match why {
        BufferEnd::Completed => "completed",
        BufferEnd::Failed => "failed",
        BufferEnd::Overflowed => "overflowed",
        BufferEnd::Cancelled => "cancelled",
    }
}

impl Queue {
    /// Makes room as the decision says and offers again, until it says something else.
    fn offer(&mut self, size: u64) -> &'static str {
        loop {
            let (after, answer) = self.buffer.offer(size, false);
            self.buffer = after;
            let gone: Vec<u64> = match answer {
                OfferAnswer::Enqueued => {
                    self.sizes.push_back(size);
                    return "enqueued";
                }
                OfferAnswer::Dropped => return "dropped",
                OfferAnswer::QueueClosed => return "queue_closed",
                OfferAnswer::Failure => return "failure",
                OfferAnswer::Wait => return "wait",
                OfferAnswer::Discard(Victim::Oldest) => {
                    self.sizes.pop_front().into_iter().collect()
                }
                OfferAnswer::Discard(Victim::Newest) => self.sizes.pop_back().into_iter().collect(),
                OfferAnswer::Discard(Victim::Everything) => self.sizes.drain(..).collect(),
            };
            self.buffer = self.buffer.discarded(gone.len() as u64, gone.iter().sum());
        }
    }

    fn take(&mut self) -> Value {
        let size = self.sizes.front().copied().unwrap_or(0);
        let (after, answer) = self.buffer.take(size);
        self.buffer = after;
        match answer {
            TakeAnswer::Element => {
                self.sizes.pop_front();
                json!({"element": number(size)})
            }
            TakeAnswer::Empty => json!("empty"),
            TakeAnswer::Ended(why) => json!({"ended": ended(why)}),
        }
    }
}

impl Machine for Queue {
    fn step(&mut self, op: &str, step: &mut Object) -> Result<Did, Failure> {
        let answer = match op {
            "offer" => json!(self.offer(step.number("size")?)),
            "take" => self.take(),
            "finish" => {
                let (after, first) = self.buffer.finish(end(&step.text("why")?)?);
                self.buffer = after;
                yes(first)
            }
            "cancel" => {
                let (after, released) = self.buffer.cancel();
                self.buffer = after;
                self.sizes.clear();
                number(released)
            }
            other => return Err(unknown(other)),
        };
        let buffer = self.buffer;
        let sizes: Vec<Value> = self.sizes.iter().copied().map(number).collect();
        let state = json!({"held": number(buffer.held), "bytes": number(buffer.bytes),
            "lost": number(buffer.lost), "ended": buffer.ended.map(ended), "sizes": sizes});
        Ok((answer, Some(state)))
    }
}
