//! One process a directory: an advisory lock on a file named `LOCK` that holds the owner's pid.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use crate::{Error, FileAction, Result, bail};

/// The name of the lock file inside the directory.
pub const LOCK_FILE: &str = "LOCK";

/// A pid has at most 20 digits; a longer file is not one of ours.
const PID_BYTES_MAX: u64 = 20;

/// Held while a process uses a directory; the kernel releases it when the process ends, however it
/// ends, so a stale `LOCK` file never has to be removed by hand.
#[derive(Debug)]
pub struct DirectoryLock {
    file: File,
}

impl DirectoryLock {
    /// Takes the lock of `dir`, or says which process has it.
    pub fn acquire(dir: &Path) -> Result<DirectoryLock> {
        let path = dir.join(LOCK_FILE);
        let io = |error: std::io::Error| Error::io(FileAction::Open, &path, &error);
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(io)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            bail!(
                CannotOpenFile,
                "directory `{}` is in use by {}; stop that process first, or use another directory",
                dir.display(),
                owner(&mut file)
            );
        }
        // The pid is informative only: on a full disk the lock holds without it.
        let _ = write_owner(&mut file);
        Ok(DirectoryLock { file })
    }
}

impl Drop for DirectoryLock {
    /// A child that was just forked and has not executed its program yet has the file open as well. With the lock
    /// it would keep the directory for a moment.
    fn drop(&mut self) {
        // If that fails, closing the file releases it too.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

fn write_owner(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    write!(file, "{}", std::process::id())
}

/// `process 123`, as the lock file names it.
fn owner(file: &mut File) -> String {
    let mut text = String::new();
    match file.take(PID_BYTES_MAX).read_to_string(&mut text).map(|_| text.trim().parse::<u32>()) {
        Ok(Ok(pid)) => format!("process {pid}"),
        // The owner has the lock and has not written its pid yet.
        _ => "another process".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_owner_is_told_of_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let first = DirectoryLock::acquire(dir.path()).unwrap();
        let refused = DirectoryLock::acquire(dir.path()).unwrap_err();
        let pid = format!("process {}", std::process::id());
        assert!(refused.message().contains(&pid), "{refused}");
        drop(first);
        DirectoryLock::acquire(dir.path()).unwrap();
    }

    #[test]
    fn the_lock_is_released_though_a_child_has_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let first = DirectoryLock::acquire(dir.path()).unwrap();
        let of_child = first.file.try_clone().unwrap();
        drop(first);
        DirectoryLock::acquire(dir.path()).unwrap();
        drop(of_child);
    }
}
