//! The C library as it is shipped: installed under a prefix, found by pkg-config, and good enough for
//! the program that README.md shows.

use anyhow::{Context, Result, bail};

use super::readme;
use crate::repo::Repo;
use crate::{install, launcher, process};

pub fn test(repo: &Repo) -> Result<()> {
    let prefix = repo.target("prefix");
    install::run(repo, &install::Options::new(&prefix))?;

    let mut pkg_config = repo.command("pkg-config");
    pkg_config.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    let flags = process::capture(pkg_config.args(["--cflags", "--libs", "sluicegate"]))?;

    let source = repo.target("c/installed.c");
    let main = readme::snippet(repo, "c")?;
    std::fs::create_dir_all(repo.target("c"))?;
    std::fs::write(&source, main)?;
    let program = repo.target("c/installed");
    let mut cc = repo.command("cc");
    cc.args(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-o"])
        .arg(&program)
        .arg(&source);
    process::run(cc.args(flags.split_whitespace()))?;

    // The loader finds the library by its SONAME in the prefix, not in the build folder.
    let found = repo.target("c/installed-run");
    let libraries = launcher::word(&prefix.join("lib"));
    launcher::write(
        &found,
        &format!("env LD_LIBRARY_PATH={libraries} {}", launcher::word(&program)),
    )?;
    let said = readme::piped(repo, &found).context("the program over the installed library")?;
    if said != readme::WANTED {
        bail!("the program over the installed library said {said:?}");
    }
    Ok(())
}
