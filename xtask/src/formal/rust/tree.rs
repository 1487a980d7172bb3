//! Reading the extracted tree: its texts, lists and places, or what is missing.

use anyhow::{Context, Result};
use serde_json::Value;

use super::ir::Place;

/// A name as the tree has it: qualified unless it is of this file.
pub fn place(name: &str, own: &str) -> Place {
    let (module, name) = name.rsplit_once('.').unwrap_or((own, name));
    Place { module: module.to_owned(), name: name.to_owned() }
}

/// The text under `key`.
pub fn text<'a>(tree: &'a Value, key: &str) -> Result<&'a str> {
    tree[key].as_str().with_context(|| format!("the extracted tree has no text {key:?}: {tree}"))
}

/// The list under `key`.
pub fn list<'a>(tree: &'a Value, key: &str) -> Result<&'a Vec<Value>> {
    tree[key].as_array().with_context(|| format!("the extracted tree has no list {key:?}: {tree}"))
}
