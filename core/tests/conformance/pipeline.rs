//! Pipeline scripts: lines of real stages between two probes.

use std::sync::Weak;

use serde_json::{Value, json};
use sluicegate::flow::{Scope, Sink, Source, StageView};
use sluicegate::{Error, ErrorKind};

use crate::probes::{Player, Probes, counters, replay_set, replay_steps};
use crate::script::{Failure, Object, Script, same};
use crate::stages::{Line, stage};

struct Pipeline {
    probes: Probes,
    views: Vec<Weak<StageView>>,
}

impl Pipeline {
    fn new(stages: &[Line], seed: u64) -> Self {
        let scope = Scope::stepped("pipeline", seed);
        let probe = Source::strict_probe();
        let line = stages.iter().fold(probe, |line, stage| line.via(stage.clone()));
        let graph = line.to_mat(Sink::probe(), |source, end| (source, end));
        let (source, end) = graph.run(&scope).expect("runs");
        let probes = Probes::new(scope, [source], [end]);
        Pipeline { views: probes.named("it"), probes }
    }
}

impl Player for Pipeline {
    fn play(&mut self, op: &str, step: &mut Object) -> Result<Value, Failure> {
        self.probes.play(op, 0, step)
    }

    fn state(&mut self) -> Value {
        let (mut above, mut below) = (self.probes.above[0].json(), self.probes.below[0].json());
        json!({
            "demand": above["demand"].take(),
            "ended": above["ended"].take(),
            "delivered": below["delivered"].take(),
            "terminal": below["terminal"].take(),
            "stages": self.views.iter().map(counters).collect::<Vec<_>>(),
        })
    }
}

fn replay(machine: &str, script: &Script, seed: u64) -> Result<(), Failure> {
    same("machine", &machine, &"pipeline")?;
    let mut head = script.head.clone();
    let told = head.list("stages")?;
    head.done()?;
    let told = told.into_iter().map(|told| stage("it", Object::from(told)?));
    let built: Result<Vec<_>, Error> =
        told.collect::<Result<Vec<_>, Failure>>()?.into_iter().collect();
    let stages = match built {
        Ok(stages) => stages,
        Err(error) => {
            same("kind", &error.kind(), &ErrorKind::InvalidArgument)?;
            return same("steps of what cannot be built", &script.steps.len(), &0);
        }
    };
    if script.steps.is_empty() {
        return Err(Failure::new("expected to be refused, came a line"));
    }
    replay_steps(&mut Pipeline::new(&stages, seed), &script.steps)
}

#[test]
fn replays_every_pipeline_script() {
    replay_set("pipeline", replay);
}

#[test]
fn a_pipeline_script_that_is_broken_is_refused() {
    let said = |machine: &str, stage: Value, op: &str, demand: &str| {
        let state = json!({"demand": demand, "ended": null, "delivered": [], "terminal": null,
            "stages": [{"owed": "0", "asked": "0", "held": "0"}]});
        let step = json!({"op": op, "answer": null, "state": state});
        let script = Script {
            name: "broken".into(),
            head: Object::from(json!({"stages": [stage]})).expect("an object"),
            steps: vec![Object::from(step).expect("an object")],
        };
        replay(machine, &script, 0).err().map_or(String::new(), |failure| failure.to_string())
    };
    let take = json!({"stage": "take", "n": "2"});
    assert_eq!(said("pipeline", take.clone(), "start", "0"), "");
    assert!(
        said("pipeline", take.clone(), "start", "1").contains("step 0: start: state: expected")
    );
    assert!(said("pipeline", take.clone(), "vanish", "0").contains("unknown op \"vanish\""));
    assert!(said("gate", take, "start", "0").contains("machine: expected \"pipeline\""));
    let page = json!({"stage": "page", "size": "0", "mark": "1"});
    assert!(said("pipeline", page, "start", "0").contains("steps of what cannot be built"));
    let other = json!({"stage": "sort"});
    assert!(said("pipeline", other, "start", "0").contains("unknown stage \"sort\""));
}
