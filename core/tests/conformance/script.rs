//! Reading the script files. Every key is taken exactly once; what is left over is a failure.

use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
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

/// The folder of one kind of scripts.
pub fn folder(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/conformance").join(kind)
}

/// Every file of one kind, by name. Whatever lies there is a file of scripts.
pub fn files(kind: &str) -> Result<Vec<PathBuf>, Failure> {
    let folder = folder(kind);
    let failed = |error: std::io::Error| Failure::new(format!("{}: {error}", folder.display()));
    let mut paths = std::fs::read_dir(&folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>())
        .map_err(failed)?;
    paths.sort();
    if paths.is_empty() {
        return Err(Failure::new(format!("{}: no scripts", folder.display())));
    }
    Ok(paths)
}

/// The scripts of a file, `.json.gz` or `.json`.
pub fn read(path: &Path) -> Result<Group, Failure> {
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    read_group(path, &file).map_err(|failure| Failure::new(format!("{file}: {failure}")))
}

fn read_group(path: &Path, name: &str) -> Result<Group, Failure> {
    let failed = |error: std::io::Error| Failure::new(error.to_string());
    let mut bytes = std::fs::read(path).map_err(failed)?;
    if name.ends_with(".json.gz") {
        let packed = std::mem::take(&mut bytes);
        GzDecoder::new(packed.as_slice()).read_to_end(&mut bytes).map_err(failed)?;
    } else if !name.ends_with(".json") {
        return Err(Failure::new("neither .json.gz nor .json"));
    }
    let value = serde_json::from_slice(&bytes).map_err(|error| Failure::new(error.to_string()))?;
    let mut file = Object::from(value)?;
    file.text("generated")?;
    let machine = file.text("machine")?;
    let scripts =
        file.list("scripts")?.into_iter().map(read_script).collect::<Result<_, Failure>>()?;
    file.done()?;
    Ok(Group { file: name.to_owned(), machine, scripts })
}

fn read_script(script: Value) -> Result<Script, Failure> {
    let mut head = Object::from(script)?;
    let name = head.text("name")?;
    let steps = head.list("steps")?.into_iter().map(Object::from).collect::<Result<_, _>>()?;
    Ok(Script { name, head, steps })
}
