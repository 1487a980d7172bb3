//! What flows, and what Swift's functions answer.

use std::sync::Arc;

use sluicegate::{Error, ErrorKind};

use crate::error::Fault;
pub(super) use crate::token::{Element, own};

/// What a function of Swift's answers. Tokens in it are handed over.
#[derive(Debug, uniffi::Enum)]
pub enum Reply {
    /// Yes, or done.
    Yes,
    /// No, or nothing more.
    No,
    /// A number.
    Number {
        /// The number.
        number: u64,
    },
    /// These elements.
    Values {
        /// Their tokens.
        tokens: Vec<u64>,
    },
    /// It threw.
    Thrown {
        /// What.
        fault: Fault,
    },
}

/// A function of Swift's, called from a thread of a scope. Tokens are lent for the length of the call;
/// 0 stands for no element.
#[uniffi::export(with_foreign)]
pub trait Function: Send + Sync {
    /// Applies it.
    fn call(&self, tokens: Vec<u64>) -> Reply;
}

/// The elements in a reply.
pub(super) fn rows(reply: Reply) -> Result<Vec<Element>, Error> {
    match reply {
        Reply::Values { tokens } => Ok(tokens.into_iter().map(own).collect()),
        Reply::Thrown { fault } => Err(fault.into()),
        Reply::Yes | Reply::No | Reply::Number { .. } => Ok(Vec::new()),
    }
}

/// A function of Swift's, as core calls it.
#[derive(Clone)]
pub(super) struct Called(pub(super) Arc<dyn Function>);

impl Called {
    fn reply(&self, inputs: &[&Element]) -> Reply {
        self.0.call(inputs.iter().map(|input| input.token()).collect())
    }

    pub(super) fn many(&self, inputs: &[&Element]) -> Result<Vec<Element>, Error> {
        rows(self.reply(inputs))
    }

    /// One element or none.
    pub(super) fn some(&self, inputs: &[&Element]) -> Result<Option<Element>, Error> {
        Ok(self.many(inputs)?.pop())
    }

    pub(super) fn one(&self, inputs: &[&Element]) -> Result<Element, Error> {
        self.some(inputs)?
            .ok_or_else(|| Error::new(ErrorKind::StageFailed, "the function answered no element"))
    }

    pub(super) fn yes(&self, inputs: &[&Element]) -> Result<bool, Error> {
        match self.reply(inputs) {
            Reply::Thrown { fault } => Err(fault.into()),
            reply => Ok(matches!(reply, Reply::Yes)),
        }
    }
    /// 0 where the function answers no number.
    pub(super) fn number(&self, inputs: &[&Element]) -> Result<u64, Error> {
        match self.reply(inputs) {
            Reply::Number { number } => Ok(number),
            Reply::Thrown { fault } => Err(fault.into()),
            Reply::Yes | Reply::No | Reply::Values { .. } => Ok(0),
        }
    }
}

/// What tells the bytes of an element; none does for an edge that counts elements alone.
pub(super) fn sizes(size: Option<Arc<dyn Function>>) -> impl Fn(&Element) -> u64 + Send + Sync {
    let size = size.map(Called);
    move |element| size.as_ref().and_then(|size| size.number(&[element]).ok()).unwrap_or(0)
}
