//! The operating system's files, as a [`Storage`].

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use super::{DirectoryEntry, RandomAccess, Storage, WritableFile};
use crate::{Error, Result};

/// The machine's own file system; paths are taken as they are.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealStorage;

impl Storage for RealStorage {
    fn create(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        at(path, File::create(path)).map(|file| Box::new(file) as Box<dyn WritableFile>)
    }

    fn open(&self, path: &Path) -> Result<Arc<dyn RandomAccess>> {
        let file = at(path, File::open(path))?;
        let size = at(path, file.metadata())?.len();
        Ok(Arc::new(RealFile { file, size }))
    }

    fn list(&self, dir: &Path) -> Result<Vec<DirectoryEntry>> {
        let mut entries = Vec::new();
        for entry in at(dir, fs::read_dir(dir))? {
            let entry = at(dir, entry)?;
            let is_dir = at(dir, entry.file_type())?.is_dir();
            entries.push(DirectoryEntry { name: entry.file_name().to_string_lossy().into_owned(), is_dir });
        }
        entries.sort();
        Ok(entries)
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        at(path, path.try_exists())
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        at(from, fs::rename(from, to))
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        at(path, fs::remove_file(path))
    }

    fn remove_dir_all(&self, dir: &Path) -> Result<()> {
        at(dir, fs::remove_dir_all(dir))
    }

    fn create_dir_all(&self, dir: &Path) -> Result<()> {
        at(dir, fs::create_dir_all(dir))
    }

    fn sync_file(&self, path: &Path) -> Result<()> {
        // The kernel syncs the inode, not the descriptor: one opened just for this will do.
        at(path, OpenOptions::new().write(true).open(path).and_then(|file| file.sync_all()))
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        at(dir, File::open(dir).and_then(|file| file.sync_all()))
    }
}

fn at<T>(path: &Path, result: io::Result<T>) -> Result<T> {
    result.map_err(|error| Error::io(path, &error))
}

#[derive(Debug)]
struct RealFile {
    file: File,
    size: u64,
}

impl RandomAccess for RealFile {
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(bytes, offset)
    }

    fn size(&self) -> u64 {
        self.size
    }
}

impl WritableFile for File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::conformance;

    #[test]
    fn conforms() {
        let dir = tempfile::tempdir().unwrap();
        conformance::check(&RealStorage, dir.path());
    }
}
