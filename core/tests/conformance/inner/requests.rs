//! The request table with its ring of ended ids, and the emission check.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sluicegate::model::disposition::{
    Disposition, Registration, Remembered, dispose, register, remember,
};
use sluicegate::model::emission::{Emission, NamedStream, Verdict, Written};

use super::flows::yes;
use super::{Did, Machine, Opened, unknown};
use crate::script::{Failure, Object};

/// The decisions in two lists. The library's own table is private to its links.
struct Table {
    live: Vec<u64>,
    /// Oldest first.
    ended: Vec<u64>,
    limit: u64,
}

pub fn table(mut open: Object) -> Result<Opened, Failure> {
    let limit = open.number("limit")?;
    open.done()?;
    Ok(vec![("model", Box::new(Table { live: Vec::new(), ended: Vec::new(), limit }))])
}

impl Table {
    fn end(&mut self, id: u64) -> &'static str {
        let Some(at) = self.live.iter().position(|live| *live == id) else { return "not_live" };
        self.live.remove(at);
        match remember(self.ended.contains(&id), self.ended.len() as u64) {
            Remembered::Renew => self.ended.retain(|ended| *ended != id),
            Remembered::Enter => {}
            Remembered::EnterForgetOldest => drop(self.ended.remove(0)),
        }
        self.ended.push(id);
        "ended"
    }
}

impl Machine for Table {
    fn step(&mut self, op: &str, step: &mut Object) -> Result<Did, Failure> {
        let id = step.number("id")?;
        let answer = match op {
            "register" => {
                let answer =
                    register(false, self.live.contains(&id), self.live.len() as u64, self.limit);
                if answer == Registration::Registered {
                    self.live.push(id);
                }
                match answer {
                    Registration::Registered => "registered",
                    Registration::AlreadyLive => "already_live",
                    Registration::Full => "full",
                    Registration::LinkClosed => "link_closed",
                }
            }
            "end" => self.end(id),
            "dispose" => match dispose(self.live.contains(&id), self.ended.contains(&id)) {
                Disposition::Route => "route",
                Disposition::Straggler => "straggler",
                Disposition::NoRoute => "no_route",
            },
            other => return Err(unknown(other)),
        };
        let numbers =
            |ids: &[u64]| json!(ids.iter().map(|id| json!(id.to_string())).collect::<Vec<_>>());
        let state = json!({"live": numbers(&self.live), "ended": numbers(&self.ended)});
        Ok((json!(answer), Some(state)))
    }
}

struct Sent {
    flow: Emission,
    streams: BTreeMap<String, NamedStream>,
}

pub fn emission() -> Opened {
    let sent = Sent { flow: Emission::STARTED, streams: BTreeMap::new() };
    vec![("model", Box::new(sent))]
}

fn verdict(verdict: Verdict) -> Value {
    match verdict {
        Verdict::Good => json!("good"),
        Verdict::AfterEnd => json!("after_end"),
        Verdict::Restarted => json!("restarted"),
        Verdict::NotOpen => json!("not_open"),
        Verdict::OutOfPlace(expected) => json!({"out_of_place": expected.to_string()}),
        Verdict::CountWrong(sent) => json!({"count_wrong": sent.to_string()}),
        Verdict::EndWithOpenStream => json!("end_with_open_stream"),
    }
}

impl Machine for Sent {
    fn step(&mut self, op: &str, step: &mut Object) -> Result<Did, Failure> {
        let (name, frame) = match op {
            "stream_start" => (step.optional_text("stream")?, Written::StreamStart),
            "chunk" => (step.optional_text("stream")?, Written::Chunk(step.number("index")?)),
            "stream_end" => {
                (step.optional_text("stream")?, Written::StreamEnd(step.optional_number("count")?))
            }
            "end" => (None, Written::End),
            "err" => (None, Written::Err),
            "other" => (None, Written::Other),
            other => return Err(unknown(other)),
        };
        let before = name.as_ref().and_then(|name| self.streams.get(name).copied());
        let ((flow, stream), said) = self.flow.check(before.unwrap_or(NamedStream::Unused), frame);
        self.flow = flow;
        if let Some(name) = name {
            self.streams.insert(name, stream);
        }
        let state = json!({"over": yes(flow.over), "open_streams": flow.open_streams.to_string()});
        Ok((verdict(said), Some(state)))
    }
}
