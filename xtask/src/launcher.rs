//! Launchers: one executable file for a program that takes more than its name to start.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};

/// Writes a script at `path` that becomes the program which the shell words `start` name: the process
/// that a host has started, feeds, measures or kills *is* that program, not a parent of it.
pub fn write(path: &Path, start: &str) -> Result<()> {
    let folder = path.parent().context("a launcher lies in a folder")?;
    fs::create_dir_all(folder)?;
    let name = path.file_name().context("a launcher has a name")?.to_string_lossy();
    let script = format!("#!/bin/sh\n# Written by \"cargo xtask\".\nexec {start} \"$@\"\n");
    if fs::read_to_string(path).is_ok_and(|written| written == script) {
        return Ok(());
    }
    // A running script must not change under its shell, so a new one takes its place.
    let fresh = folder.join(format!(".{name}.{}", std::process::id()));
    fs::write(&fresh, script)?;
    fs::set_permissions(&fresh, fs::Permissions::from_mode(0o755))?;
    Ok(fs::rename(&fresh, path)?)
}

/// A path as one word of a shell.
pub fn word(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}
