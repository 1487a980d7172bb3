//! What is known to be a credit: of a value, and of fields, arguments and answers.

use std::collections::{HashMap, HashSet};

use super::shape::{Key, Ty};

/// What is known of a value.
#[derive(Clone, Debug, Default)]
pub struct Value {
    pub ty: Ty,
    /// A credit, or made of one.
    pub hot: bool,
    /// Of a tuple, each part.
    pub parts: Vec<Value>,
}

impl Value {
    pub fn cold(ty: Ty) -> Self {
        Value { ty, ..Value::default() }
    }

    pub fn is_hot(&self) -> bool {
        self.hot || self.parts.iter().any(Value::is_hot)
    }

    /// What comes of one of two ways.
    pub fn or(mut self, other: Value) -> Value {
        self.hot |= other.hot;
        if self.ty == Ty::Unknown || self.ty == Ty::Tuple(Vec::new()) {
            self.ty = other.ty;
        }
        if self.parts.len() == other.parts.len() {
            self.parts = self.parts.into_iter().zip(other.parts).map(|(a, b)| a.or(b)).collect();
        } else if self.parts.is_empty() {
            self.parts = other.parts;
        }
        self
    }

    /// As a value of type `ty`: what is no number and holds none is no credit.
    pub fn of_type(mut self, ty: &Ty) -> Value {
        if *ty != Ty::Unknown {
            if let Ty::Tuple(types) = ty {
                let hot = self.hot;
                self.parts.resize_with(types.len(), || Value { hot, ..Value::default() });
                self.hot = false;
                self.parts =
                    self.parts.into_iter().zip(types).map(|(part, ty)| part.of_type(ty)).collect();
            }
            self.hot &= ty.may_count();
            self.ty = ty.clone();
        }
        self
    }
}

/// Fields in which numbers of every kind lie, or none that is a credit: what is read from them is one
/// only if its own name says so. With a reason each.
const NOT_KEPT: &[(&str, &str, &str)] = &[
    ("Value", "*", "a value on the wire: a credit is known again by the name it is read into"),
    ("Signal", "*", "an element of a flow, of whatever type its user gave it"),
    ("Count", "*", "any number on its way between languages, or into a text"),
    ("Stage", "capacity", "a setting: the most that a stage may hold"),
    ("Stage", "mark", "a setting: how much must have left before more is asked for"),
    ("Buffer", "capacity", "a setting: the most that a buffer may hold"),
    ("Buffer", "byte_capacity", "a setting, in bytes"),
    ("Buffer", "bytes", "bytes"),
    ("Buffer", "lost", "a count of losses, for reading only"),
];

/// What was found to be a credit so far; it only grows.
#[derive(Default)]
pub struct Heat {
    fields: HashSet<(String, String)>,
    /// What a function answers even if it is given no credit.
    answers: HashMap<Key, Value>,
    /// What a function answers that is given one.
    handed_on: HashMap<Key, Value>,
    arguments: HashSet<(Key, usize)>,
    /// By the type that each belongs to, and its name.
    pub constants: HashSet<(String, String)>,
}

impl Heat {
    pub fn size(&self) -> usize {
        fn count(value: &Value) -> usize {
            usize::from(value.hot) + value.parts.iter().map(count).sum::<usize>()
        }
        let answers = self.answers.values().chain(self.handed_on.values());
        let answers: usize = answers.map(count).sum();
        self.fields.len() + answers + self.arguments.len() + self.constants.len()
    }

    /// A credit lies in this field from now on, if credits are kept in it as such.
    pub fn field(&mut self, owner: &str, name: &str) {
        let is = |(of, field, _): &&(&str, &str, &str)| {
            owner.split("::").next() == Some(of) && (*field == "*" || *field == name)
        };
        if NOT_KEPT.iter().any(|entry| is(&entry)) {
            return;
        }
        self.fields.insert((owner.to_owned(), name.to_owned()));
    }

    pub fn has_field(&self, owner: &str, name: &str) -> bool {
        self.fields.contains(&(owner.to_owned(), name.to_owned()))
    }

    pub fn argument(&mut self, function: &Key, at: usize) {
        self.arguments.insert((function.clone(), at));
    }

    pub fn is_argument(&self, function: &Key, at: usize) -> bool {
        self.arguments.contains(&(function.clone(), at))
    }

    pub fn constant(&self, owner: &str, name: &str) -> bool {
        self.constants.contains(&(owner.to_owned(), name.to_owned()))
    }

    /// What `function` answers if it is `given` a credit, or if not.
    pub fn answer(&self, function: &Key, given: bool) -> Option<Value> {
        let handed = if given { self.handed_on.get(function).cloned() } else { None };
        let own = self.answers.get(function).cloned();
        match (own, handed) {
            (Some(own), Some(handed)) => Some(own.or(handed)),
            (own, handed) => own.or(handed),
        }
    }

    pub fn learn(&mut self, function: &Key, given: bool, told: Value) {
        let answers = if given { &mut self.handed_on } else { &mut self.answers };
        if told.is_hot() {
            let known = answers.remove(function).unwrap_or_default();
            answers.insert(function.clone(), told.or(known));
        }
    }
}
