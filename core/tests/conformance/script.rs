//! Reading the script files. Every key is taken exactly once; what is left over is a failure.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

/// What went wrong, for a person.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    pub fn new(what: impl Into<String>) -> Self {
        Failure(what.into())
    }

    pub fn at(self, step: usize) -> Self {
        Failure(format!("step {step}: {}", self.0))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Compares, and says both sides where they differ.
pub fn same<T: PartialEq + fmt::Debug>(what: &str, came: &T, expected: &T) -> Result<(), Failure> {
    if came == expected {
        return Ok(());
    }
    Err(Failure::new(format!("{what}: expected {expected:?}, came {came:?}")))
}

/// A file.
pub struct Group {
    pub file: String,
    pub machine: String,
    pub scripts: Vec<Script>,
}

/// One script; `head` is everything but its name and its steps.
pub struct Script {
    pub name: String,
    pub head: Object,
    pub steps: Vec<Object>,
}

/// An object whose keys are taken one by one.
#[derive(Clone, Debug)]
pub struct Object(Map<String, Value>);

impl Object {
    pub fn from(value: Value) -> Result<Self, Failure> {
        match value {
            Value::Object(map) => Ok(Object(map)),
            other => Err(Failure::new(format!("not an object: {other}"))),
        }
    }

    pub fn take(&mut self, key: &str) -> Result<Value, Failure> {
        self.0.remove(key).ok_or_else(|| Failure::new(format!("no key {key:?} in {:?}", self.0)))
    }

    pub fn object(&mut self, key: &str) -> Result<Object, Failure> {
        Object::from(self.take(key)?)
    }

    pub fn list(&mut self, key: &str) -> Result<Vec<Value>, Failure> {
        match self.take(key)? {
            Value::Array(list) => Ok(list),
            other => Err(Failure::new(format!("{key}: not a list: {other}"))),
        }
    }

    pub fn text(&mut self, key: &str) -> Result<String, Failure> {
        text(self.take(key)?)
    }

    pub fn optional_text(&mut self, key: &str) -> Result<Option<String>, Failure> {
        match self.take(key)? {
            Value::Null => Ok(None),
            other => text(other).map(Some),
        }
    }

    pub fn number(&mut self, key: &str) -> Result<u64, Failure> {
        number(self.take(key)?)
    }

    pub fn optional_number(&mut self, key: &str) -> Result<Option<u64>, Failure> {
        match self.take(key)? {
            Value::Null => Ok(None),
            other => number(other).map(Some),
        }
    }

    /// Nothing may be left that nobody looked at.
    pub fn done(self) -> Result<(), Failure> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(Failure::new(format!("unknown keys: {:?}", self.0)))
        }
    }

    /// All entries of an object that maps names to something.
    pub fn entries(self) -> impl Iterator<Item = (String, Value)> {
        self.0.into_iter()
    }
}

pub fn text(value: Value) -> Result<String, Failure> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(Failure::new(format!("not a text: {other}"))),
    }
}

pub fn number(value: Value) -> Result<u64, Failure> {
    let text = text(value)?;
    text.parse().map_err(|_| Failure::new(format!("not a u64: {text:?}")))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/conformance")
}

/// Every file of one kind, by name.
pub fn load(kind: &str) -> Vec<Group> {
    let folder = folder().join(kind);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "json"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no scripts in {}", folder.display());
    paths
        .iter()
        .map(|path| read(path).unwrap_or_else(|why| panic!("{}: {why}", path.display())))
        .collect()
}

fn read(path: &Path) -> Result<Group, Failure> {
    let bytes = std::fs::read(path).map_err(|error| Failure::new(error.to_string()))?;
    let value = serde_json::from_slice(&bytes).map_err(|error| Failure::new(error.to_string()))?;
    let mut file = Object::from(value)?;
    file.text("generated")?;
    let machine = file.text("machine")?;
    let scripts = file
        .list("scripts")?
        .into_iter()
        .map(|script| {
            let mut head = Object::from(script)?;
            let name = head.text("name")?;
            let steps =
                head.list("steps")?.into_iter().map(Object::from).collect::<Result<_, _>>()?;
            Ok(Script { name, head, steps })
        })
        .collect::<Result<_, Failure>>()?;
    file.done()?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(Group { file: name.into_owned(), machine, scripts })
}
