//! A call on its way: its end at its handler's side, its phase, the way of its grants, its windows,
//! and where its frames are counted.

use serde_json::{Value, json};
use sluicegate::frame::FrameType;
use sluicegate::model::accounting::{DropReason, Fate, fate_of};
use sluicegate::model::cancel::{Duty, Stage};
use sluicegate::model::direction::{self, CreditDirection, Side, Way};
use sluicegate::model::disposition::Disposition;
use sluicegate::model::phase::Phase;
use sluicegate::model::relay::{may_join, noticed};

use super::flows::{kind, number, yes};
use super::{Did, Machine, Opened, unknown};
use crate::script::{Failure, Object};

/// `yes` or `no`.
fn truth(step: &mut Object, key: &str) -> Result<bool, Failure> {
    match step.text(key)?.as_str() {
        "yes" => Ok(true),
        "no" => Ok(false),
        other => Err(Failure::new(format!("{key}: neither yes nor no: {other:?}"))),
    }
}

struct Ending(Stage);

pub fn cancel(mut open: Object) -> Result<Opened, Failure> {
    let stage = match open.text("stage")?.as_str() {
        "unknown" => Stage::Unknown,
        "queued" => Stage::Queued,
        "running" => Stage::Running,
        "stopping" => Stage::Stopping,
        "ended" => Stage::Ended,
        other => return Err(Failure::new(format!("unknown stage {other:?}"))),
    };
    open.done()?;
    Ok(vec![("model", Box::new(Ending(stage)))])
}

impl Machine for Ending {
    fn step(&mut self, op: &str, step: &mut Object) -> Result<Did, Failure> {
        let (after, duty) = match op {
            "begin" => self.0.begin(),
            "cancel" => self.0.cancel(),
            "returned" => self.0.returned(truth(step, "success")?),
            "close_stream" => self.0.close_stream(),
            other => return Err(unknown(other)),
        };
        self.0 = after;
        let word = match duty {
            Duty::Nothing => "nothing",
            Duty::Start => "start",
            Duty::ReleaseAll => "release_all",
            Duty::SendEnd => "send_end",
            Duty::SendErr => "send_err",
        };
        let stage = match after {
            Stage::Unknown => "unknown",
            Stage::Queued => "queued",
            Stage::Running => "running",
            Stage::Stopping => "stopping",
            Stage::Ended => "ended",
        };
        let terminal = duty.terminal_of().map(FrameType::name);
        let answer = json!({"duty": word, "terminal": terminal, "releases": yes(duty.releases())});
        Ok((answer, Some(json!({"stage": stage}))))
    }
}

struct Passing(Phase);

pub fn phase() -> Opened {
    vec![("model", Box::new(Passing(Phase::Created)))]
}

impl Machine for Passing {
    fn step(&mut self, op: &str, step: &mut Object) -> Result<Did, Failure> {
        if op != "passed" {
            return Err(unknown(op));
        }
        self.0 = self.0.passed(kind(step)?);
        let phase = match self.0 {
            Phase::Created => "created",
            Phase::Streaming => "streaming",
        };
        Ok((Value::Null, Some(json!({"phase": phase}))))
    }
}

struct Ways;

pub fn direction() -> Opened {
    vec![("model", Box::new(Ways))]
}

fn credit_direction(name: &str) -> Result<CreditDirection, Failure> {
    match name {
        "request" => Ok(CreditDirection::Request),
        "response" => Ok(CreditDirection::Response),
        other => Err(Failure::new(format!("unknown direction {other:?}"))),
    }
}

fn way(way: Way) -> Value {
    json!(match way {
        Way::ToCaller => "to_caller",
        Way::ToHandler => "to_handler",
        Way::Nowhere => "nowhere",
    })
}

impl Machine for Ways {
    fn step(&mut self, op: &str, step: &mut Object) -> Result<Did, Failure> {
        let answer = match op {
            "granted_by" => {
                let side = match step.text("side")?.as_str() {
                    "caller" => Side::Caller,
                    "handler" => Side::Handler,
                    other => return Err(Failure::new(format!("unknown side {other:?}"))),
                };
                json!(match side.granted_by() {
                    CreditDirection::Request => "request",
                    CreditDirection::Response => "response",
                })
            }
            "released_by" => {
                json!(match credit_direction(&step.text("direction")?)?.released_by() {
                    Side::Caller => "caller",
                    Side::Handler => "handler",
                })
            }
            "at_host" => {
                let name = step.optional_text("direction")?;
                way(direction::at_host(name.as_deref().map(credit_direction).transpose()?))
            }
            "at_switch" => way(direction::at_switch(truth(step, "routing_id")?)),
            other => return Err(unknown(other)),
        };
        Ok((answer, None))
    }
}

struct Windows;

pub fn relay() -> Opened {
    vec![("model", Box::new(Windows))]
}

impl Machine for Windows {
    fn step(&mut self, op: &str, step: &mut Object) -> Result<Did, Failure> {
        let answer = match op {
            "noticed" => number(noticed(step.optional_number("offered")?)),
            "may_join" => yes(may_join(step.number("caller")?, step.number("handler")?)),
            other => return Err(unknown(other)),
        };
        Ok((answer, None))
    }
}

struct Account;

pub fn accounting() -> Opened {
    vec![("model", Box::new(Account))]
}

const REASONS: [DropReason; 11] = [
    DropReason::NoRoute,
    DropReason::ChannelClosed,
    DropReason::CreditViolation,
    DropReason::Cancelled,
    DropReason::MasterDied,
    DropReason::LimitReached,
    DropReason::Protocol,
    DropReason::Unread,
    DropReason::EventUnread,
    DropReason::LogLaneFull,
    DropReason::NotEncodable,
];

impl Machine for Account {
    fn step(&mut self, op: &str, step: &mut Object) -> Result<Did, Failure> {
        if op != "fate" {
            return Err(unknown(op));
        }
        let became = match step.text("became")?.as_str() {
            "route" => Disposition::Route,
            "straggler" => Disposition::Straggler,
            "no_route" => Disposition::NoRoute,
            other => return Err(Failure::new(format!("unknown disposition {other:?}"))),
        };
        let trouble = match step.optional_text("trouble")? {
            None => None,
            Some(name) => {
                let known = REASONS.into_iter().find(|why| why.name() == name);
                Some(known.ok_or_else(|| Failure::new(format!("unknown reason {name:?}")))?)
            }
        };
        let answer = match fate_of(became, trouble) {
            Fate::Passed => json!("passed"),
            Fate::Late => json!("late"),
            Fate::Dropped(why) => json!({"dropped": why.name()}),
        };
        Ok((answer, None))
    }
}
