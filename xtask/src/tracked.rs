//! The files that belong to the repository.

use anyhow::Result;

use crate::process;
use crate::repo::Repo;

/// What git tracks or would track, in order, relative to the root.
pub fn files(repo: &Repo) -> Result<Vec<String>> {
    let mut git = repo.command("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard"]);
    let mut files: Vec<String> = process::capture(&mut git)?.lines().map(str::to_owned).collect();
    files.retain(|file| repo.path(file).is_file());
    files.sort_unstable();
    files.dedup();
    Ok(files)
}
