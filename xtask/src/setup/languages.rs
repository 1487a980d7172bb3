//! The languages that must be there already, and their least versions.

use std::process::Command;

use anyhow::{Result, bail};

/// Go's least version: range-over-func iterators, `AddCleanup`, the tool lines of go.mod.
const GO: (u32, u32) = (1, 24);

/// Says which language is missing or too old, and how to get it.
pub fn check() -> Result<()> {
    let Ok(output) = Command::new("go").arg("version").output() else {
        bail!("missing: go. Go {}.{} or newer: https://go.dev/doc/install", GO.0, GO.1);
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match go_version(&text) {
        Some(found) if found >= GO => Ok(()),
        _ => bail!(
            "too old: {}. Go {}.{} or newer: https://go.dev/doc/install",
            text.trim(),
            GO.0,
            GO.1
        ),
    }
}

/// `go version go1.26.8 linux/amd64` → (1, 26)
fn go_version(text: &str) -> Option<(u32, u32)> {
    let numbers = text.split_whitespace().nth(2)?.strip_prefix("go")?;
    let mut parts = numbers.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(go_version("go version go1.26.8 linux/amd64"), Some((1, 26)));
        assert_eq!(go_version("go version go1.25rc1 linux/amd64"), Some((1, 25)));
        assert_eq!(go_version("nonsense"), None);
    }
}
