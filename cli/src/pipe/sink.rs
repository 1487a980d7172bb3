//! The end of the chain: a file that appears when it is whole, or stdout.

use std::fs::{File, TryLockError};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use sluicegate::{Error, ErrorKind, Value};

use crate::io_error;

/// Takes bytes. Handles share one target; dropping the last one before [`commit`](Self::commit)
/// leaves a note about the part that was written.
pub struct Sink(Arc<Mutex<Target>>);

struct Target {
    to: Box<dyn Write + Send>,
    paths: Option<(PathBuf, PathBuf)>,
    bytes: u64,
    whole: bool,
}

impl Sink {
    /// Opens `path` for writing beside its name, or stdout.
    pub fn open(path: Option<&Path>) -> Result<Self, Error> {
        let Some(path) = path else {
            let to = Box::new(std::io::stdout());
            return Ok(Self::new(Target { to, paths: None, bytes: 0, whole: false }));
        };
        // A device or pipe is written as it is.
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            let to = File::create(path).map_err(|e| failed(path, &e))?;
            return Ok(Self::new(Target { to: Box::new(to), paths: None, bytes: 0, whole: false }));
        }
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let to = claim(&partial)?;
        let paths = Some((partial, path.to_owned()));
        Ok(Self::new(Target { to: Box::new(to), paths, bytes: 0, whole: false }))
    }

    fn new(target: Target) -> Self {
        Sink(Arc::new(Mutex::new(target)))
    }

    /// Another handle of the same target.
    pub fn clone_handle(&self) -> Self {
        Sink(Arc::clone(&self.0))
    }

    /// On Ctrl-C, a termination or a hang-up: `clean_up`, a note about the part that was written,
    /// and the exit status that a shell gives such an end.
    pub fn note_at_interrupt(&self, clean_up: impl Fn() + Send + 'static) {
        let target = Arc::downgrade(&self.0); // what is dropped says so itself
        let set = ctrlc::set_handler(move || {
            clean_up();
            if let Some(target) = target.upgrade()
                && let Some(target) = target.try_lock()
            {
                target.note();
            }
            std::process::exit(130);
        });
        // Without a handler the signal ends the process as it always does.
        drop(set);
    }

    /// Writes a byte string.
    pub fn write(&mut self, value: &Value) -> Result<(), Error> {
        let Value::Bytes(bytes) = value else {
            let kind = value.kind();
            let message = format!("the last cartridge sends {kind}, and a pipe takes byte strings");
            return Err(Error::new(ErrorKind::WrongMode, message));
        };
        let mut target = self.0.lock();
        target.to.write_all(bytes).map_err(|e| io_error("writing the output", &e))?;
        target.bytes = target.bytes.saturating_add(u64::try_from(bytes.len()).unwrap_or(0));
        Ok(())
    }

    /// The stream is whole: the file gets its name.
    pub fn commit(&mut self) -> Result<(), Error> {
        let mut target = self.0.lock();
        target.to.flush().map_err(|e| io_error("writing the output", &e))?;
        if let Some((partial, path)) = &target.paths {
            std::fs::rename(partial, path).map_err(|e| failed(path, &e))?;
        }
        target.whole = true;
        Ok(())
    }
}

impl Target {
    /// Says what became of an output that is not whole.
    fn note(&self) {
        if self.whole {
            return;
        }
        match &self.paths {
            Some((partial, path)) => eprintln!(
                "sluicegate: {} was not written; the {} bytes that came are in {}",
                path.display(),
                self.bytes,
                partial.display()
            ),
            None => eprintln!("sluicegate: the output ends early"),
        }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.note();
    }
}

/// Opens the file for writing, from its start, for this process alone.
fn claim(partial: &Path) -> Result<File, Error> {
    let refused = |e: std::io::Error| failed(partial, &e);
    loop {
        let mut options = File::options();
        let file = options.write(true).create(true).truncate(false).open(partial);
        let file = file.map_err(refused)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let message = format!("{} is being written by another pipe", partial.display());
                return Err(Error::new(ErrorKind::InvalidArgument, message));
            }
            Err(TryLockError::Error(e)) => return Err(refused(e)),
        }
        // One that was renamed between the two is somebody's whole output.
        let ours = file.metadata().map_err(refused)?;
        if partial
            .metadata()
            .is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino()))
        {
            file.set_len(0).map_err(refused)?;
            return Ok(file);
        }
    }
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    io_error(&format!("writing {}", path.display()), error)
}
