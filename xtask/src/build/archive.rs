//! The static library as it is shipped: one object that shows the names of the header and no others, so
//! that it stands beside another archive that Rust has made, also if a linker takes both whole (HZ-F15).

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::process;
use crate::repo::Repo;

/// Hides every name in `archive` that has not our prefix, and leaves out what no name of ours needs. Cargo
/// puts its own archive back at every build, so this follows each of them.
pub fn seal(repo: &Repo, archive: &Path) -> Result<()> {
    if !cfg!(target_os = "linux") {
        return Ok(()); // other systems' linkers have no such commands; the archive links as cargo made it
    }
    let folder = archive.parent().context("an archive lies in a folder")?;
    let folder = folder.join(format!(".seal.{}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let sealed = sealed(repo, archive, &folder);
    let ended = sealed.and_then(|()| {
        fs::rename(folder.join("sealed.a"), archive)
            .with_context(|| format!("cannot replace {}", archive.display()))
    });
    fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    ended
}

/// Writes `folder/sealed.a`.
fn sealed(repo: &Repo, archive: &Path, folder: &Path) -> Result<()> {
    let [whole, shut, object] = ["whole.o", "shut.o", "sluicegate.o"].map(|name| folder.join(name));
    // A group of sections would still be known by its name to the linker of the program, and thrown away
    // for one of the same name in another archive.
    let mut join = repo.command("ld");
    join.args(["-r", "--force-group-allocation", "--whole-archive"]).arg(archive);
    process::run(join.arg("-o").arg(&whole))?;

    let mut hide = repo.command("objcopy");
    hide.args(["--wildcard", "--keep-global-symbol=sluice_*"]);
    // Rust's standard library carries its bitcode, which nothing reads once it is joined.
    hide.args(["--remove-section=.llvmbc", "--remove-section=.llvmcmd"]);
    process::run(hide.arg(&whole).arg(&shut))?;

    let mut trim = repo.command("ld");
    trim.args(["-r", "--gc-sections", "--gc-keep-exported"]).arg(&shut);
    process::run(trim.arg("-o").arg(&object))?;

    let mut archiver = repo.command("ar");
    process::run(archiver.arg("rcs").arg(folder.join("sealed.a")).arg(&object))
}
