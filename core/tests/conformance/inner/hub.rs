//! A hub and its subscribers, with the numbers of the elements in its queue and their boxes.

use std::collections::VecDeque;

use serde_json::{Value, json};
use sluicegate::model::hub::{Hub, HubArrival, Policy, Receipt, Share, Subscriber, Turn, largest};
use sluicegate::model::overflow::Victim;

use super::flows::{number, yes};
use super::stages::{end, ended, opened, strategy};
use super::{Did, Machine, Opened, unknown};
use crate::script::{Failure, Object};

/// An element: its number and its size.
type Element = (u64, u64);

struct Member {
    state: Subscriber,
    held: VecDeque<Element>,
}

struct Scene {
    hub: Hub,
    queue: VecDeque<Element>,
    members: Vec<Member>,
    arrived: u64,
}

pub fn hub(mut open: Object) -> Result<Opened, Failure> {
    let room = open.number("room")?;
    open.done()?;
    let scene = |hub| Scene { hub, queue: VecDeque::new(), members: Vec::new(), arrived: 0 };
    Ok(opened(Hub::opened(room).map(scene)))
}

fn numbers(elements: &VecDeque<Element>) -> Value {
    json!(elements.iter().map(|(element, _)| number(*element)).collect::<Vec<_>>())
}

impl Member {
    /// Makes room as the decision says and shares again, until it says something else.
    fn share(&mut self, element: Element) -> &'static str {
        loop {
            let (after, share) = self.state.share_with(element.1);
            self.state = after;
            let gone: Vec<Element> = match share {
                Share::HandOn => return "hand_on",
                Share::Keep => {
                    self.held.push_back(element);
                    return "keep";
                }
                Share::Lose => return "lose",
                Share::HeldUp => return "held_up",
                Share::Expelled => return "expelled",
                Share::Gone => return "gone",
                Share::MakeRoom(Victim::Oldest) => self.held.pop_front().into_iter().collect(),
                Share::MakeRoom(Victim::Newest) => self.held.pop_back().into_iter().collect(),
                Share::MakeRoom(Victim::Everything) => self.held.drain(..).collect(),
            };
            let size = gone.iter().map(|(_, size)| size).sum();
            self.state = self.state.threw_out(gone.len() as u64, size);
        }
    }

    fn receive(&mut self) -> Value {
        let (element, size) = self.held.front().copied().unwrap_or((0, 0));
        let (after, receipt) = self.state.receive(size);
        self.state = after;
        match receipt {
            Receipt::Received => {
                self.held.pop_front();
                json!({"received": number(element)})
            }
            Receipt::NotAsked => json!("not_asked"),
            Receipt::NothingYet => json!("nothing_yet"),
            Receipt::NoMore(why) => json!({"no_more": ended(why)}),
        }
    }

    fn shown(&self) -> Value {
        let buffer = self.state.buffer;
        json!({"owed": number(self.state.owed), "lost": number(buffer.lost),
            "ended": buffer.ended.map(ended), "box": numbers(&self.held)})
    }
}

impl Scene {
    fn member(&mut self, step: &mut Object) -> Result<&mut Member, Failure> {
        let who = step.number("who")?;
        let member = usize::try_from(who).ok().and_then(|at| self.members.get_mut(at));
        member.ok_or_else(|| Failure::new(format!("no subscriber {who}")))
    }

    fn subscribe(&mut self, step: &mut Object) -> Result<Value, Failure> {
        let policy = match step.text("policy")?.as_str() {
            "hold_up" => Policy::HoldUp,
            "disconnect" => Policy::Disconnect,
            name => Policy::DropElements(strategy(name)?),
        };
        let state = policy.subscribed(step.number("elements")?, step.number("bytes")?);
        let taken = state.is_some();
        self.members.extend(state.map(|state| Member { state, held: VecDeque::new() }));
        Ok(yes(taken))
    }

    fn arrive(&mut self, size: u64) -> &'static str {
        let (after, answer) = self.hub.arrive();
        self.hub = after;
        match answer {
            HubArrival::Accepted => {
                self.queue.push_back((self.arrived, size));
                self.arrived += 1;
                "accepted"
            }
            HubArrival::Unasked => "unasked",
        }
    }

    fn share(&mut self) -> Value {
        let oldest = self.queue.front().copied().unwrap_or((0, 0));
        let anybody = self.members.iter().any(|member| member.state.is_live());
        let held_up = self.members.iter().any(|member| member.state.holds_up(oldest.1));
        let (after, turn) = self.hub.share_next(anybody, held_up);
        self.hub = after;
        match turn {
            Turn::Share => {
                self.queue.pop_front();
                let shared: Vec<_> =
                    self.members.iter_mut().map(|member| member.share(oldest)).collect();
                json!({"shared": shared})
            }
            Turn::Blocked => json!("blocked"),
            Turn::Nothing => json!("nothing"),
        }
    }
}

impl Machine for Scene {
    fn step(&mut self, op: &str, step: &mut Object) -> Result<Did, Failure> {
        let answer = match op {
            "subscribe" => self.subscribe(step)?,
            "request" => {
                let n = step.number("n")?;
                let member = self.member(step)?;
                member.state = member.state.request(n);
                Value::Null
            }
            "replenish" => {
                let states = self.members.iter().map(|member| member.state);
                let (after, ask) = self.hub.replenish(states.fold(0, largest));
                self.hub = after;
                number(ask)
            }
            "arrive" => json!(self.arrive(step.number("size")?)),
            "share" => self.share(),
            "receive" => self.member(step)?.receive(),
            "leave" => {
                let member = self.member(step)?;
                let (after, released) = member.state.leave();
                member.state = after;
                member.held.clear();
                number(released)
            }
            "finish" => {
                let why = end(&step.text("why")?)?;
                let member = self.member(step)?;
                let (after, news) = member.state.finish(why);
                member.state = after;
                yes(news)
            }
            "upstream_ended" => {
                self.hub = self.hub.upstream_ended();
                Value::Null
            }
            other => return Err(unknown(other)),
        };
        let members: Vec<Value> = self.members.iter().map(Member::shown).collect();
        let state = json!({"asked": number(self.hub.asked), "queue": numbers(&self.queue),
            "members": members});
        Ok((answer, Some(state)))
    }
}
