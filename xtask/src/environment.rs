//! What surrounds this program: the programs on PATH, and whether anybody looks on.

use std::env;
use std::path::PathBuf;

/// Finds `program` on PATH.
pub fn on_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Where nobody looks on: nothing may be left out, and nothing may run for ever.
pub fn in_ci() -> bool {
    env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}
