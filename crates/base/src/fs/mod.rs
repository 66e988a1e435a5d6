//! Files behind a trait, real and faulty, and the only code that publishes one.
//!
//! Everything that writes to disk takes a [`Storage`], so that a test can pass a [`FaultyStorage`] that runs out of
//! space, tears writes or loses what was never synced.
//!
//! - [`real`](RealStorage): the operating system's files.
//! - [`faulty`](FaultyStorage): files in memory that fail the way disks do.
//! - [`publish`]: write under a temporary name, sync, rename, sync the directory.
//! - [`input`](InputFile): reads a file, a pipe or a device that a statement names.
//! - [`lock`](DirectoryLock): one process a directory.
//!
//! # Contract
//!
//! - A file is durable once [`WritableFile::sync`] returned *and* its directory was synced after the file was
//!   created or renamed.
//! - An open [`RandomAccess`] stays readable after its file was renamed or removed.
//! - Errors name the path.

mod faulty;
mod input;
mod lock;
mod publish;
mod real;

#[cfg(test)]
mod conformance;

pub use faulty::{Crash, FaultyStorage, Stays};
pub use input::InputFile;
pub use lock::{DirectoryLock, LOCK_FILE};
pub use publish::{
    PendingDirectory, PendingFile, StartedFile, is_unpublished, publish_empty_dir, publish_file,
};
pub use real::{DiskSpace, RealStorage, disk_space};

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::region::Region;
use crate::{Error, FileAction, Result};

/// A tree of directories and files.
pub trait Storage: Send + Sync + fmt::Debug {
    /// Creates the file, or empties it if it exists. Its directory must exist.
    fn create(&self, path: &Path) -> Result<Box<dyn WritableFile>>;

    /// Opens the file for reading at any offset.
    fn open(&self, path: &Path) -> Result<Arc<dyn RandomAccess>>;

    /// The file's bytes as memory, read on first access where the storage supports it. The file must not be written
    /// any more; it may be removed.
    fn map(&self, path: &Path) -> Result<Region> {
        let file = self.open(path)?;
        let size = usize::try_from(file.size()).map_err(Error::logical)?;
        let mut region = Region::zeroed(size)?;
        file.read_at(0, &mut region).map_err(|error| Error::io(FileAction::Read, path, &error))?;
        Ok(region)
    }

    /// Removes all access rights of everyone but the owner.
    fn make_private(&self, _path: &Path) -> Result<()> {
        Ok(())
    }

    /// The entries of the directory, sorted by name.
    fn list(&self, dir: &Path) -> Result<Vec<DirectoryEntry>>;

    /// Whether a file or a directory exists.
    fn exists(&self, path: &Path) -> Result<bool>;

    /// The last modification of the file or of the directory's entries, in seconds since 1970; 0 if unknown.
    fn modified_at_s(&self, path: &Path) -> Result<u64> {
        let _ = path;
        Ok(0)
    }

    /// Renames `from` to `to`; replaces a file at `to`.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;

    /// Gives the file `from` a second name `to`, which must not exist.
    fn hard_link(&self, from: &Path, to: &Path) -> Result<()>;

    /// Bytes that can still be written in `dir`; `None` if unknown.
    fn space_left(&self, dir: &Path) -> Result<Option<u64>>;

    /// Removes the file.
    fn remove_file(&self, path: &Path) -> Result<()>;

    /// Removes the directory and everything in it.
    fn remove_dir_all(&self, dir: &Path) -> Result<()>;

    /// Creates the directory and its missing parents; it may exist already.
    fn create_dir_all(&self, dir: &Path) -> Result<()>;

    /// Makes the contents of a file durable that was written and closed.
    fn sync_file(&self, path: &Path) -> Result<()>;

    /// [`Storage::sync_file`] for each of `paths`, in any order.
    fn sync_files(&self, paths: &[PathBuf]) -> Result<()> {
        paths.iter().try_for_each(|path| self.sync_file(path))
    }

    /// Makes the directory's own entries (creations, renames, removals) durable.
    fn sync_dir(&self, dir: &Path) -> Result<()>;

    /// The whole file; refuses one larger than `bytes_max`.
    fn read(&self, path: &Path, bytes_max: u64) -> Result<Vec<u8>> {
        let file = self.open(path)?;
        let size = file.size();
        if size > bytes_max {
            crate::bail!(
                CannotReadFromFile,
                "{} has {size} bytes, more than the {bytes_max} that it may have",
                path.display()
            );
        }
        let mut bytes = vec![0; size as usize];
        file.read_at(0, &mut bytes).map_err(|error| Error::io(FileAction::Read, path, &error))?;
        Ok(bytes)
    }
}

/// A file open for reading at any offset, by any number of threads.
pub trait RandomAccess: Send + Sync + fmt::Debug {
    /// Fills `bytes` from `offset` on; [`io::ErrorKind::UnexpectedEof`] if the file ends before.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()>;

    /// Bytes in the file.
    fn size(&self) -> u64;
}

/// A file being written from front to back.
pub trait WritableFile: io::Write + Send {
    /// Makes everything written so far durable.
    fn sync(&mut self) -> io::Result<()>;
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirectoryEntry {
    pub name: String,
    pub is_dir: bool,
}
