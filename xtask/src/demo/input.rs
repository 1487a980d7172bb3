//! The file that is streamed, and digests of files.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::MIB;
use crate::repo::Repo;

/// Makes a file of `size` bytes in which no two blocks are alike: a lost or doubled block is seen.
pub fn make(repo: &Repo, size: u64) -> Result<PathBuf> {
    let path = repo.target("demo/input");
    fs::create_dir_all(repo.target("demo"))?;
    let mut file = File::create(&path)?;
    let mut block = vec![0; usize::try_from(MIB)?];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for bytes in block.chunks_exact_mut(8) {
        // xorshift64: every byte value occurs, in no order that a hop could keep by chance.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.copy_from_slice(&state.to_le_bytes());
    }
    for number in 0..size.div_ceil(MIB) {
        block[..8].copy_from_slice(&number.to_le_bytes());
        file.write_all(&block[..usize::try_from(MIB.min(size - number * MIB))?])?;
    }
    Ok(path)
}

/// The SHA-256 of a file, each block changed by `change` before, and the number of bytes.
pub fn digest(path: &Path, change: impl Fn(&mut [u8])) -> Result<(String, u64)> {
    let mut file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut sum = Command::new("sha256sum")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start sha256sum")?;
    let mut to_sum = sum.stdin.take().expect("it was piped");
    let mut block = vec![0; usize::try_from(MIB)?];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut block)?;
        if read == 0 {
            break;
        }
        change(&mut block[..read]);
        to_sum.write_all(&block[..read])?;
        bytes += read as u64;
    }
    drop(to_sum);
    let said = sum.wait_with_output()?;
    if !said.status.success() {
        bail!("sha256sum: {}", said.status);
    }
    let text = String::from_utf8(said.stdout)?;
    Ok((text.split_whitespace().next().unwrap_or_default().to_owned(), bytes))
}
