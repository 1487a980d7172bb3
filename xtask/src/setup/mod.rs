//! Brings what a machine lacks: system packages, Python tools, Swift. Quick when nothing is missing.

pub mod debian;
mod languages;
mod python;

use anyhow::Result;

pub use python::peer;

use crate::repo::Repo;
use crate::swift::{self, Swift};

/// What the other chores work with, once it is there.
pub struct Tools {
    /// The Swift toolchain, or none where a person has switched Swift off.
    pub swift: Option<Swift>,
}

/// Makes sure of everything, and says what it brings.
pub fn run(repo: &Repo) -> Result<Tools> {
    debian::ensure(debian::COMPILERS)?;
    languages::check()?;
    python::ensure(repo)?;
    Ok(Tools { swift: swift::ensure(repo)? })
}
