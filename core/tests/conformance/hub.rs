//! Hub scripts: a real broadcast hub between a publisher and subscribers that come and go, on a scope
//! without threads. Each script is replayed in several orders of its islands; none may show.

use std::sync::Weak;
use std::time::Duration;

use serde_json::{Value, json};
use sluicegate::flow::{
    Hub, HubOptions, HubPolicy, HubSubscriber, Overflow, Scope, Sink, Source, StageView,
};
use sluicegate::{Error, ErrorKind};

use crate::probes::{Below, Player, Probes, replay_set, replay_steps};
use crate::script::{Failure, Object, Script, same};
use crate::stages::Item;

/// The name of the hub's own counters; a subscriber's is its number.
const HUB: &str = "hub";

/// What a runner makes of a policy that it reads.
type Reading = fn(HubPolicy) -> HubPolicy;

fn policy(step: &mut Object) -> Result<HubPolicy, Failure> {
    let patience = step.optional_number("patience")?.map(Duration::from_micros);
    let name = step.text("policy")?;
    Ok(match (name.as_str(), patience) {
        ("wait", None) => HubPolicy::Wait,
        ("wait", Some(limit)) => HubPolicy::WaitAtMost(limit),
        ("drop_head", None) => HubPolicy::Drop(Overflow::DropHead),
        ("drop_tail", None) => HubPolicy::Drop(Overflow::DropTail),
        ("drop_new", None) => HubPolicy::Drop(Overflow::DropNew),
        ("drop_buffer", None) => HubPolicy::Drop(Overflow::DropBuffer),
        ("disconnect", None) => HubPolicy::Disconnect,
        _ => return Err(Failure::new(format!("unknown policy {name:?} for {patience:?}"))),
    })
}

fn unexpected(error: Error) -> Failure {
    Failure::new(format!("it does not run: {error}"))
}

struct Sharing {
    probes: Probes,
    hub: Hub<Item>,
    views: Vec<Weak<StageView>>,
    reading: Reading,
}

impl Sharing {
    fn new(options: HubOptions, reading: Reading, seed: u64) -> Result<Self, Failure> {
        let scope = Scope::stepped("hub", seed);
        let sink = Sink::broadcast_hub(options).named(HUB);
        let graph = Source::strict_probe().to_mat(sink, |probe, hub| (probe, hub));
        let (probe, hub) = graph.run(&scope).map_err(unexpected)?;
        let probes = Probes::new(scope, [probe], []);
        Ok(Sharing { views: probes.named(HUB), probes, hub, reading })
    }

    fn subscribe(&mut self, policy: HubPolicy, capacity: u64) -> Result<(), Failure> {
        let Probes { scope, below, .. } = &mut self.probes;
        let source = self.hub.subscribe_with((self.reading)(policy), capacity);
        let source = source.map_err(unexpected)?.named(below.len().to_string());
        let graph = source.to_mat(Sink::probe(), |_, end| end);
        below.push(Below::new(graph.run(scope).map_err(unexpected)?));
        Ok(())
    }
}

impl Player for Sharing {
    fn play(&mut self, op: &str, step: &mut Object) -> Result<Value, Failure> {
        match op {
            "start" => {}
            "subscribe" => {
                let policy = policy(step)?;
                self.subscribe(policy, step.number("capacity")?)?;
            }
            "advance" => {
                self.probes.scope.advance(Duration::from_micros(step.number("micros")?));
            }
            "request" | "cancel" => {
                let who = step.number("who")?;
                return self.probes.play(op, who, step);
            }
            "next" | "complete" | "fail" => return self.probes.play(op, 0, step),
            other => return Err(Failure::new(format!("unknown op {other:?}"))),
        }
        self.probes.settle();
        Ok(Value::Null)
    }

    fn state(&mut self) -> Value {
        let view = self.views.first().and_then(Weak::upgrade);
        let queued = view.map_or(0, |view| view.demand().held);
        let listener = |one: HubSubscriber| {
            json!({
                "name": one.name,
                "demand": one.demand.to_string(),
                "held": one.held.to_string(),
                "lost": one.lost.to_string(),
            })
        };
        json!({
            "publisher": self.probes.above[0].json(),
            "queued": queued.to_string(),
            "over": if self.hub.is_over() { "yes" } else { "no" },
            "listeners": self.hub.subscribers().into_iter().map(listener).collect::<Value>(),
            "subscribers": self.probes.below.iter_mut().map(Below::json).collect::<Value>(),
        })
    }
}

fn replay(machine: &str, script: &Script, reading: Reading, seed: u64) -> Result<(), Failure> {
    same("machine", &machine, &"hub")?;
    let mut head = script.head.clone();
    let options = HubOptions::capacity(head.number("capacity")?);
    let replay = head.number("replay")?;
    head.done()?;
    let options = match options {
        Ok(options) => options.replay(replay),
        Err(error) => {
            same("kind", &error.kind(), &ErrorKind::InvalidArgument)?;
            return same("steps of what cannot be built", &script.steps.len(), &0);
        }
    };
    if script.steps.is_empty() {
        return Err(Failure::new("expected to be refused, came a hub"));
    }
    replay_steps(&mut Sharing::new(options, reading, seed)?, &script.steps)
}

#[test]
fn replays_every_hub_script() {
    replay_set("hub", |machine, script, seed| replay(machine, script, |policy| policy, seed));
}

#[test]
fn a_hub_script_that_is_broken_is_refused() {
    let said = |machine: &str, capacity: &str, op: Value, demand: &str| {
        let state = json!({"publisher": {"demand": demand, "ended": null}, "queued": "0",
            "over": "no", "listeners": [], "subscribers": []});
        let mut step = Object::from(op).expect("an object").entries().collect::<Vec<_>>();
        step.extend([("answer".to_owned(), Value::Null), ("state".to_owned(), state)]);
        let script = Script {
            name: "broken".into(),
            head: Object::from(json!({"capacity": capacity, "replay": "0"})).expect("an object"),
            steps: vec![Object::from(step.into_iter().collect()).expect("an object")],
        };
        let ended = replay(machine, &script, |policy| policy, 0);
        ended.err().map_or(String::new(), |failure| failure.to_string())
    };
    let start = json!({"op": "start"});
    assert_eq!(said("hub", "2", start.clone(), "0"), "");
    assert!(said("hub", "2", start.clone(), "1").contains("step 0: start: state: expected"));
    assert!(said("hub", "0", start.clone(), "0").contains("steps of what cannot be built"));
    assert!(said("gate", "2", start, "0").contains("machine: expected \"hub\""));
    assert!(said("hub", "2", json!({"op": "cancel", "who": "0"}), "0").contains("no number 0"));
    assert!(said("hub", "2", json!({"op": "vanish"}), "0").contains("unknown op \"vanish\""));
    for (policy, patience) in [("nod", None), ("disconnect", Some("1"))] {
        let mut op = json!({"op": "subscribe", "policy": policy, "capacity": "1"});
        op["patience"] = patience.into();
        assert!(said("hub", "2", op, "0").contains("unknown policy"));
    }
}

/// Each of these is another hub than the one whose scripts are replayed on it.
#[test]
fn a_hub_that_is_broken_is_caught() {
    let groups = crate::load("hub");
    let wrong: [(&str, Reading); 5] = [
        ("nobody is waited for", |policy| match policy {
            HubPolicy::Wait => HubPolicy::Disconnect,
            other => other,
        }),
        ("a limit is none", |policy| match policy {
            HubPolicy::WaitAtMost(_) => HubPolicy::Wait,
            other => other,
        }),
        ("a limit comes late", |policy| match policy {
            HubPolicy::WaitAtMost(limit) => HubPolicy::WaitAtMost(limit + Duration::from_micros(1)),
            other => other,
        }),
        ("the oldest goes for the newest", |policy| match policy {
            HubPolicy::Drop(Overflow::DropTail) => HubPolicy::Drop(Overflow::DropHead),
            other => other,
        }),
        ("who is too slow is waited for", |policy| match policy {
            HubPolicy::Disconnect => HubPolicy::Wait,
            other => other,
        }),
    ];
    for (what, reading) in wrong {
        let caught = groups.iter().flat_map(|group| &group.scripts);
        let caught = caught.into_iter().any(|script| replay("hub", script, reading, 0).is_err());
        assert!(caught, "{what}, and it passes");
    }
}
