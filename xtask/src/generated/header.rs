//! `include/sluicegate.h`, from the C ABI crate, by cbindgen as a library: its version is in `Cargo.lock`.

use anyhow::{Context, Result, anyhow};

use super::Generated;
use crate::repo::Repo;

pub fn generate(repo: &Repo) -> Result<Generated> {
    let config = repo.path("ffi/cbindgen.toml");
    let config = cbindgen::Config::from_file(config)
        .map_err(|error| anyhow!(error))
        .context("ffi/cbindgen.toml")?;
    let bindings =
        cbindgen::Builder::new().with_crate(repo.path("ffi")).with_config(config).generate();
    let mut header = Vec::new();
    bindings.context("cbindgen cannot read ffi/src")?.write(&mut header);
    let header = String::from_utf8(header).context("cbindgen writes UTF-8")?;
    Ok(Generated::new("include/sluicegate.h", ("/* ", " */"), "ffi/src", &header))
}
