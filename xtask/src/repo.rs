//! Where things lie in the repository, and commands that know it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The repository. Built once in `main` and handed down.
pub struct Repo {
    root: PathBuf,
}

impl Repo {
    /// The repository that this program was run from, or built in.
    pub fn find() -> Self {
        let manifest_dir =
            env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let root =
            Path::new(&manifest_dir).parent().expect("xtask lies in a folder of the repository");
        Repo { root: root.to_owned() }
    }

    /// The root, or a path below it.
    pub fn path(&self, below: &str) -> PathBuf {
        if below.is_empty() { self.root.clone() } else { self.root.join(below) }
    }

    /// A path below `target`. There is one target folder: the link flags of Go and Swift name it.
    pub fn target(&self, below: &str) -> PathBuf {
        self.root.join("target").join(below)
    }

    /// `path` as people write it, relative to the root where it lies below it.
    pub fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }

    /// A command that runs in the root, with this repository's Python first and its native libraries findable.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        let python = self.target("venv/bin");
        let path = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths(std::iter::once(python.clone()).chain(env::split_paths(&path)));
        command
            .current_dir(&self.root)
            .env("PATH", path.expect("no entry of PATH holds a separator"))
            .env("VIRTUAL_ENV", self.target("venv"))
            .env("PYO3_PYTHON", python.join("python"))
            .env("CARGO_TARGET_DIR", self.target(""))
            .env("SLUICEGATE_LIB_DIR", self.target("release"))
            // What `cargo run` sets for this program is not meant for what it starts.
            .env_remove("LD_LIBRARY_PATH");
        for (name, _) in env::vars_os() {
            if name.to_str().is_some_and(|name| {
                name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
            }) {
                command.env_remove(name);
            }
        }
        command
    }
}
