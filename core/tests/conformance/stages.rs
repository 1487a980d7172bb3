//! The stages of the scripts, and what flows through them.

use serde_json::{Value, json};
use sluicegate::Error;
use sluicegate::flow::Flow;

use crate::script::{Failure, Object};

/// What flows: numbers, and groups behind a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    Number(u64),
    Group(Vec<Item>),
}

impl Item {
    pub fn number(&self) -> u64 {
        match self {
            Item::Number(n) => *n,
            Item::Group(_) => panic!("a group where a number was expected"),
        }
    }

    pub fn json(&self) -> Value {
        match self {
            Item::Number(n) => json!(n.to_string()),
            Item::Group(items) => items.iter().map(Item::json).collect(),
        }
    }
}

pub type Line = Flow<Item, Item>;

/// One stage of a script, under `name`; an error if it cannot be built.
pub fn stage(name: &str, mut told: Object) -> Result<Result<Line, Error>, Failure> {
    let built = match told.text("stage")?.as_str() {
        "map_add" => {
            let k = told.number("k")?;
            Ok(Flow::map(move |item: Item| Item::Number(item.number().wrapping_add(k))))
        }
        "filter_mod" => {
            let (m, r) = (told.number("m")?, told.number("r")?);
            Ok(Flow::filter(move |item: &Item| item.number().checked_rem(m) == Some(r)))
        }
        "take" => Ok(Flow::take(told.number("n")?)),
        "drop" => Ok(Flow::drop(told.number("n")?)),
        "page" => Flow::page_with_mark(told.number("size")?, told.number("mark")?),
        "expand" => {
            let k = told.number("k")?;
            Ok(Flow::expand(move |item: Item| {
                let first = item.number().wrapping_mul(k);
                (0..k).map(move |n| Item::Number(first.wrapping_add(n)))
            }))
        }
        "batch" => {
            let groups = Flow::batch(told.number("k")?);
            told.done()?;
            // What makes an item of a group is no stage of the script: its name tells it apart.
            return Ok(groups.map(|it| it.named(name).via(Flow::map(Item::Group).named("plain"))));
        }
        other => return Err(Failure::new(format!("unknown stage {other:?}"))),
    };
    told.done()?;
    Ok(built.map(|flow| flow.named(name)))
}
