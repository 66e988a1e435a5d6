//! Publishing: a file or directory appears whole and durable under its name, or not at all.
//!
//! The order is always the same: write under a temporary name, sync what was written, rename, sync
//! the directory that holds the new name. A crash in between leaves something temporary, which
//! recovery removes; it never leaves half of something under a real name.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Storage, WritableFile};
use crate::region::Region;
use crate::{Error, FileAction, Result};

/// Suffix of files that are not published yet.
const TEMPORARY_SUFFIX: &str = ".tmp";

/// Writes `bytes` to `path`, replacing its contents; durable when it returns.
pub fn publish_file(storage: &dyn Storage, path: &Path, bytes: &[u8]) -> Result<()> {
    PendingFile::write(storage, path, bytes)?.publish(storage)
}

/// A whole file on disk under a temporary name. Publishing has two steps for a caller that must know which one
/// failed: before [`PendingFile::publish`] nothing has changed; after it has failed, the state is unknown.
#[derive(Debug)]
#[must_use = "it is not there until it is published"]
pub struct PendingFile {
    temporary: PathBuf,
    path: PathBuf,
}

impl PendingFile {
    /// Writes and syncs `bytes` under a temporary name in the directory of `path`.
    pub fn write(storage: &dyn Storage, path: &Path, bytes: &[u8]) -> Result<PendingFile> {
        PendingFile::write_with(storage, path, |file| {
            file.write_all(bytes).map_err(|error| Error::io(FileAction::Write, path, &error))
        })
    }

    /// Writes what `write` produces under a temporary name in the directory of `path`, and syncs it.
    pub fn write_with(
        storage: &dyn Storage,
        path: &Path,
        write: impl FnOnce(&mut dyn WritableFile) -> Result<()>,
    ) -> Result<PendingFile> {
        let mut started = PendingFile::start(storage, path)?;
        match write(started.file()) {
            Ok(()) => started.finish(storage),
            Err(error) => {
                started.discard(storage);
                Err(error)
            }
        }
    }

    /// Creates the temporary file for `path`, for a caller that writes it in several steps.
    pub fn start(storage: &dyn Storage, path: &Path) -> Result<StartedFile> {
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(TEMPORARY_SUFFIX);
        let pending = PendingFile { temporary: PathBuf::from(temporary), path: path.to_owned() };
        Ok(StartedFile { file: storage.create(&pending.temporary)?, pending })
    }

    /// The written bytes as memory, valid also after the rename.
    pub fn map(&self, storage: &dyn Storage) -> Result<Region> {
        storage.map(&self.temporary)
    }

    /// Removes the temporary file.
    pub fn discard(self, storage: &dyn Storage) {
        // A leftover does no harm; the next write truncates it.
        let _ = storage.remove_file(&self.temporary);
    }

    /// Renames it to its final name, replacing the file there; durable when it returns.
    pub fn publish(self, storage: &dyn Storage) -> Result<()> {
        let dir = parent(&self.path).to_owned();
        self.rename(storage)?;
        storage.sync_dir(&dir)
    }

    /// Renames it to its final name, replacing the file there. The caller syncs the directory. After an error
    /// nothing has changed, and the temporary file is gone.
    pub fn rename(self, storage: &dyn Storage) -> Result<()> {
        let renamed = storage.rename(&self.temporary, &self.path);
        if renamed.is_err() {
            self.discard(storage);
        }
        renamed
    }
}

/// A file that is being written under a temporary name.
#[must_use = "it is finished or discarded"]
pub struct StartedFile {
    file: Box<dyn WritableFile>,
    pending: PendingFile,
}

impl StartedFile {
    pub fn file(&mut self) -> &mut dyn WritableFile {
        self.file.as_mut()
    }

    /// Syncs the written bytes.
    pub fn finish(mut self, storage: &dyn Storage) -> Result<PendingFile> {
        if let Err(error) = self.file.sync() {
            let error = Error::io(FileAction::Sync, &self.pending.temporary, &error);
            self.discard(storage);
            return Err(error);
        }
        Ok(self.pending)
    }

    /// The written bytes as memory. The file is unlinked and disappears with the memory. Nothing is synced.
    pub fn map_and_remove(self, storage: &dyn Storage) -> Result<Region> {
        drop(self.file);
        let mapped = storage.map(&self.pending.temporary);
        storage.remove_file(&self.pending.temporary)?;
        mapped
    }

    /// Removes the temporary file.
    pub fn discard(self, storage: &dyn Storage) {
        drop(self.file);
        self.pending.discard(storage);
    }
}

/// Whether a file of this name was left by a crash before it was published.
pub fn is_unpublished(name: &str) -> bool {
    name.ends_with(TEMPORARY_SUFFIX)
}

/// Creates the directory and its missing parents; durable when it returns.
pub fn publish_empty_dir(storage: &dyn Storage, dir: &Path) -> Result<()> {
    let mut missing = Vec::new();
    let mut at = dir;
    while !storage.exists(at)? {
        missing.push(at);
        at = parent(at);
    }
    storage.create_dir_all(dir)?;
    // Top down: a directory whose own entry is lost loses its contents too.
    missing.iter().rev().try_for_each(|created| storage.sync_dir(parent(created)))
}

/// A directory that is being filled under a temporary name. Dropping it unpublished removes it.
#[derive(Debug)]
pub struct PendingDirectory {
    storage: Arc<dyn Storage>,
    path: PathBuf,
    published: bool,
}

impl PendingDirectory {
    /// Creates the empty directory `path`; removes what was there.
    pub fn create(storage: Arc<dyn Storage>, path: PathBuf) -> Result<PendingDirectory> {
        if storage.exists(&path)? {
            storage.remove_dir_all(&path)?;
        }
        storage.create_dir_all(&path)?;
        Ok(PendingDirectory { storage, path, published: false })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the file `name` inside; [`PendingDirectory::publish`] syncs it.
    pub fn create_file(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        self.storage.create(&self.path.join(name))
    }

    /// Makes every file inside durable. Separate from [`PendingDirectory::publish`] because it takes long and needs
    /// no lock.
    pub fn sync(&self) -> Result<()> {
        let entries = self.storage.list(&self.path)?;
        let files: Vec<PathBuf> = entries.into_iter().map(|entry| self.path.join(entry.name)).collect();
        self.storage.sync_files(&files)?;
        self.storage.sync_dir(&self.path)
    }

    /// Moves the directory to `path`, which must not exist. Syncs nothing: for contents that may be lost.
    pub fn publish_unsynced(mut self, path: &Path) -> Result<()> {
        self.storage.rename(&self.path, path)?;
        self.published = true;
        Ok(())
    }

    /// Records that somebody else moved the directory, so that dropping this does not remove it.
    pub fn was_published(mut self) {
        self.published = true;
    }

    /// Moves the synced directory to `path`, which must not exist; durable when it returns.
    pub fn publish(mut self, path: &Path) -> Result<()> {
        self.storage.rename(&self.path, path)?;
        self.published = true;
        self.storage.sync_dir(parent(path))
    }
}

impl Drop for PendingDirectory {
    fn drop(&mut self) {
        if !self.published {
            // Not worth an error: recovery empties the temporary directory at the next open.
            let _ = self.storage.remove_dir_all(&self.path);
        }
    }
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::{Crash, FaultyStorage};

    /// At every sync and in both kinds of crash, the file has the old bytes or the new ones, never a mixture.
    #[test]
    fn published_file_is_old_or_new_after_a_crash_at_every_sync() {
        let path = Path::new("/dir/file");
        for crash in [Crash::LoseUnsynced, Crash::TearUnsynced] {
            for sync in 0..4 {
                let storage = FaultyStorage::new();
                storage.create_dir_all(Path::new("/dir")).unwrap();
                storage.sync_dir(Path::new("/")).unwrap();
                publish_file(&storage, path, b"old").unwrap();
                storage.stop_at_sync(storage.sync_count() + sync);
                let acknowledged = publish_file(&storage, path, b"new!").is_ok();
                storage.crash(crash);
                let found = storage.read(path, 100).unwrap();
                let expected: &[&[u8]] = if acknowledged { &[b"new!"] } else { &[b"old", b"new!"] };
                assert!(expected.contains(&found.as_slice()), "{crash:?} at {sync}: {found:?}");
            }
        }
    }

    #[test]
    fn published_directory_survives_a_crash_with_all_those_above_it() {
        let storage = FaultyStorage::new();
        publish_empty_dir(&storage, Path::new("/store/uuid/parts")).unwrap();
        storage.crash(Crash::LoseUnsynced);
        assert!(storage.exists(Path::new("/store/uuid/parts")).unwrap());
    }

    #[test]
    fn file_that_is_mapped_and_removed_leaves_its_bytes() {
        let storage = FaultyStorage::new();
        storage.create_dir_all(Path::new("/tmp")).unwrap();
        let mut started = PendingFile::start(&storage, Path::new("/tmp/x")).unwrap();
        started.file().write_all(b"bytes").unwrap();
        assert_eq!(&started.map_and_remove(&storage).unwrap()[..], b"bytes");
        assert!(storage.list(Path::new("/tmp")).unwrap().is_empty());
    }

    #[test]
    fn unpublished_directory_is_removed() {
        let storage = Arc::new(FaultyStorage::new());
        let dir = Path::new("/tmp/part");
        let pending = PendingDirectory::create(Arc::clone(&storage) as Arc<dyn Storage>, dir.into()).unwrap();
        pending.create_file("x").unwrap();
        drop(pending);
        assert!(!storage.exists(dir).unwrap());
    }
}
