//! The standard streams of a cartridge.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

/// Takes stdin and stdout for frames. What the program prints on stdout from now on goes to stderr,
/// and its stdin is empty, so that a stray `print` cannot break the protocol.
pub(crate) fn claim_stdio() -> io::Result<(File, File)> {
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    nix::unistd::dup2_stdin(File::open("/dev/null")?)?;
    nix::unistd::dup2_stdout(io::stderr())?;
    Ok((input, output))
}
