//! How the host runs what Swift has built inside the rootfs.
//!
//! Such a program wants that system's newer C library and Swift's runtime. The system's own loader
//! finds both when it is named outright, with no root change and no mounts, and maps the program into
//! its own process: what has started the loader has started the program.

use std::path::Path;

use anyhow::{Result, bail};

use crate::launcher::word;
use crate::repo::Repo;

/// The shell words that become the program at `binary`.
pub fn start(repo: &Repo, root: &Path, binary: &Path) -> Result<String> {
    let (loader, triplet) = match std::env::consts::ARCH {
        "x86_64" => ("lib64/ld-linux-x86-64.so.2", "x86_64-linux-gnu"),
        "aarch64" => ("lib/ld-linux-aarch64.so.1", "aarch64-linux-gnu"),
        other => bail!("no loader is known for Swift on {other}: put a swift on PATH"),
    };
    let system = root.join("usr/lib").join(triplet);
    let runtime = root.join("usr/libexec/swift/lib/swift/linux");
    let libraries = [system, runtime, repo.target("release")]
        .map(|folder| folder.display().to_string())
        .join(":");
    // Without its cache the loader cannot mix in a library of the host.
    Ok(format!(
        "{} --inhibit-cache --argv0 {} --library-path {} {}",
        word(&root.join(loader)),
        word(Path::new(binary.file_stem().unwrap_or_default())),
        word(Path::new(&libraries)),
        word(binary)
    ))
}
