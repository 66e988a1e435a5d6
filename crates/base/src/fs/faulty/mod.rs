//! Files in memory that fail the way disks do: for crash tests and full-disk tests.
//!
//! # State
//!
//! Every file and directory exists twice: *live*, as the program sees it, and *durable*, as it was
//! at its last sync. [`FaultyStorage::crash`] makes the durable one live again, in one of two ways
//! ([`Crash`]), which are the two ends of what a real file system may do.
//!
//! # A crash test
//!
//! Run a workload once and read [`FaultyStorage::sync_count`]. Then, for each of its syncs, start again, call
//! [`FaultyStorage::stop_at_sync`], run the workload until it fails, call `crash`, reopen, and compare with what
//! was acknowledged. [`FaultyStorage::stop_at_change`] does the same for every creation, write, rename and removal.
//!
//! # Persistent failures
//!
//! A disk may also refuse changes and stay readable ([`FaultyStorage::refuse_changes`]), be full to the last page
//! ([`FaultyStorage::set_pages_left`]), have a bad sector ([`FaultyStorage::break_path`]), or lose a directory
//! ([`FaultyStorage::lose`]). File names have at most 255 bytes.
//!
//! # Not here
//!
//! Permissions, symbolic links, and the order of writes inside one file.

mod disk;
mod failure;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{DirectoryEntry, RandomAccess, Storage, WritableFile};
use crate::{Error, FileAction, Result};
use disk::{Disk, Node, Refusal, name};
pub use failure::{Crash, Stays};

/// A [`Storage`] in memory. Clones share the files.
#[derive(Clone, Debug)]
pub struct FaultyStorage {
    disk: Arc<Mutex<Disk>>,
}

impl Default for FaultyStorage {
    fn default() -> FaultyStorage {
        FaultyStorage::new()
    }
}

impl FaultyStorage {
    /// An empty disk that has no faults yet.
    pub fn new() -> FaultyStorage {
        FaultyStorage { disk: Arc::new(Mutex::new(Disk::new())) }
    }

    /// Another disk with the same files and faults.
    #[must_use]
    pub fn copy(&self) -> FaultyStorage {
        FaultyStorage { disk: Arc::new(Mutex::new(self.disk().clone())) }
    }

    /// Number of syncs of files and directories so far.
    pub fn sync_count(&self) -> u64 {
        self.disk().sync_count
    }

    /// Makes the sync after `sync_count` others fail, and every later operation, until [`FaultyStorage::crash`].
    pub fn stop_at_sync(&self, sync_count: u64) {
        self.disk().stop_at_sync = Some(sync_count);
    }

    /// Number of changes so far: files and directories created, renamed and removed, writes, syncs. Removing a
    /// directory with its contents is one change for each name.
    pub fn change_count(&self) -> u64 {
        self.disk().change_count
    }

    /// Makes the change after `change_count` others fail, and every later operation, until
    /// [`FaultyStorage::crash`]. Finer than [`FaultyStorage::stop_at_sync`]: a crash between two syncs may keep
    /// part of what was not synced.
    pub fn stop_at_change(&self, change_count: u64) {
        self.disk().stop_at_change = Some(change_count);
    }

    /// Makes writes fail with "no space left" after `bytes` more; `None` removes the limit.
    pub fn set_space_left(&self, bytes: Option<usize>) {
        self.disk().space_left = bytes;
    }

    /// Makes writes fail with "no space left" once they need `pages` more pages of 4096 bytes. A file takes whole
    /// pages and frees them when it is removed. `None` removes the limit.
    pub fn set_pages_left(&self, pages: Option<usize>) {
        self.disk().pages_left = pages;
    }

    /// Makes the change after `change_count` others fail with `kind`, and every later one if `stays` says so, until
    /// [`FaultyStorage::mend`]. Reads still work.
    pub fn refuse_changes(&self, change_count: u64, stays: Stays, kind: io::ErrorKind) {
        self.disk().refusal = Some(Refusal { change_count, stays, kind });
    }

    /// Makes everything at `path` and below fail with an input/output error, until [`FaultyStorage::mend`].
    pub fn break_path(&self, path: &Path) {
        self.disk().broken.push(path.to_owned());
    }

    /// Limits the number of files that are open at a time.
    pub fn set_open_files_max(&self, files: Option<usize>) {
        self.disk().open_files_max = files;
    }

    /// Reverts [`FaultyStorage::refuse_changes`] and [`FaultyStorage::break_path`].
    pub fn mend(&self) {
        let mut disk = self.disk();
        disk.refusal = None;
        disk.broken.clear();
    }

    /// Removes a file or a directory durably, bypassing the program.
    ///
    /// # Panics
    ///
    /// If there is no such path.
    pub fn lose(&self, path: &Path) {
        self.disk().lose(path).expect("the path to lose exists");
    }

    /// Turns the power off and on: what was not synced is lost, and the disk works again.
    pub fn crash(&self, crash: Crash) {
        let mut disk = self.disk();
        disk.stopped = false;
        disk.stop_at_sync = None;
        disk.stop_at_change = None;
        for node in disk.nodes.values_mut() {
            node.crash(crash);
        }
    }

    /// Changes the bytes of a file durably, bypassing the program.
    ///
    /// # Panics
    ///
    /// If there is no such file.
    pub fn damage(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        let mut disk = self.disk();
        let node = disk.find(path).expect("the file to damage exists");
        let Some(Node::File { live, durable }) = disk.nodes.get_mut(&node) else {
            panic!("{} is not a file", path.display());
        };
        change(live);
        durable.clone_from(live);
    }

    fn file(&self, path: &Path, node: disk::NodeId) -> MemoryFile {
        MemoryFile { disk: Arc::clone(&self.disk), path: path.to_owned(), node }
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn at<T>(
        &self,
        action: FileAction,
        path: &Path,
        operation: impl FnOnce(&mut Disk) -> io::Result<T>,
    ) -> Result<T> {
        let mut disk = self.disk();
        let done = disk.check(path).and_then(|()| operation(&mut disk));
        done.map_err(|error| Error::io(action, path, &error))
    }
}

impl Storage for FaultyStorage {
    fn create(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        self.at(FileAction::Create, path, |disk| {
            disk.change()?;
            let node = disk.insert(Node::File { live: Vec::new(), durable: Vec::new() });
            disk.enter(path, node)?;
            disk.open_file()?;
            Ok(Box::new(self.file(path, node)) as Box<dyn WritableFile>)
        })
    }

    fn open(&self, path: &Path) -> Result<Arc<dyn RandomAccess>> {
        self.at(FileAction::Open, path, |disk| {
            let node = disk.find(path)?;
            disk.file(node)?;
            disk.open_file()?;
            Ok(Arc::new(self.file(path, node)) as Arc<dyn RandomAccess>)
        })
    }

    fn list(&self, dir: &Path) -> Result<Vec<DirectoryEntry>> {
        self.at(FileAction::List, dir, |disk| {
            let node = disk.find(dir)?;
            let entries = disk.entries(node)?.clone();
            let is_dir = |node| matches!(disk.nodes.get(node), Some(Node::Directory { .. }));
            Ok(entries
                .iter()
                .map(|(name, node)| DirectoryEntry { name: name.clone(), is_dir: is_dir(node) })
                .collect())
        })
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        self.at(FileAction::Inspect, path, |disk| {
            name(path)
                .or_else(|error| if path.parent().is_none() { Ok(String::new()) } else { Err(error) })?;
            Ok(disk.find(path).is_ok())
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.at(FileAction::Rename, from, |disk| {
            disk.check(to)?;
            let node = disk.find(from)?;
            disk.change()?;
            disk.enter(to, node)?;
            disk.entries_above(from)?.remove(&name(from)?);
            Ok(())
        })
    }

    fn hard_link(&self, from: &Path, to: &Path) -> Result<()> {
        self.at(FileAction::Link, from, |disk| {
            let node = disk.find(from)?;
            disk.file(node)?;
            if disk.find(to).is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            disk.check(to)?;
            disk.enter(to, node)
        })
    }

    fn space_left(&self, _dir: &Path) -> Result<Option<u64>> {
        let disk = self.disk();
        let pages = disk.pages_left.map(|pages| pages * disk::PAGE_BYTES);
        Ok(pages.into_iter().chain(disk.space_left).min().map(|bytes| bytes as u64))
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        self.at(FileAction::Remove, path, |disk| disk.remove(path))
    }

    fn remove_dir_all(&self, dir: &Path) -> Result<()> {
        self.at(FileAction::Remove, dir, |disk| disk.remove_all(dir))
    }

    fn create_dir_all(&self, dir: &Path) -> Result<()> {
        self.at(FileAction::CreateDirectory, dir, |disk| disk.create_directories(dir))
    }

    fn sync_file(&self, path: &Path) -> Result<()> {
        self.at(FileAction::Sync, path, |disk| {
            let node = disk.find(path)?;
            disk.sync(node)
        })
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.sync_file(dir)
    }
}

#[derive(Debug)]
struct MemoryFile {
    disk: Arc<Mutex<Disk>>,
    path: PathBuf,
    node: disk::NodeId,
}

impl MemoryFile {
    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        self.disk().open_files -= 1;
    }
}

impl RandomAccess for MemoryFile {
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let mut disk = self.disk();
        disk.check(&self.path)?;
        let start = usize::try_from(offset).map_err(|_| io::ErrorKind::UnexpectedEof)?;
        let end = start.checked_add(bytes.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        let found = disk.file(self.node)?.get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?;
        bytes.copy_from_slice(found);
        Ok(())
    }

    fn size(&self) -> u64 {
        self.disk().file(self.node).map_or(0, |bytes| bytes.len() as u64)
    }
}

impl io::Write for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut disk = self.disk();
        disk.check(&self.path)?;
        disk.append(self.node, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl WritableFile for MemoryFile {
    fn sync(&mut self) -> io::Result<()> {
        let mut disk = self.disk();
        disk.check(&self.path)?;
        disk.sync(self.node)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::ErrorCode;
    use crate::fs::conformance;

    #[test]
    fn conforms() {
        conformance::check(&FaultyStorage::new(), Path::new("/"));
    }

    #[test]
    fn crash_loses_or_tears_what_was_not_synced() {
        for (crash, expected) in [(Crash::LoseUnsynced, "synced"), (Crash::TearUnsynced, "synced, and")] {
            let storage = FaultyStorage::new();
            let mut file = storage.create(Path::new("/file")).unwrap();
            file.write_all(b"synced").unwrap();
            file.sync().unwrap();
            storage.sync_dir(Path::new("/")).unwrap();
            file.write_all(b", and more").unwrap();
            storage.crash(crash);
            assert_eq!(storage.read(Path::new("/file"), 100).unwrap(), expected.as_bytes());
        }
    }

    #[test]
    fn directory_that_a_crash_cuts_short_is_removed_in_part() {
        let storage = FaultyStorage::new();
        storage.create_dir_all(Path::new("/dir")).unwrap();
        for name in ["/dir/a", "/dir/b"] {
            storage.create(Path::new(name)).unwrap();
        }
        storage.stop_at_change(storage.change_count() + 1);
        storage.remove_dir_all(Path::new("/dir")).unwrap_err();
        storage.exists(Path::new("/dir")).unwrap_err();
        storage.crash(Crash::TearUnsynced);
        let left = storage.list(Path::new("/dir")).unwrap();
        assert_eq!(left, [DirectoryEntry { name: "b".to_owned(), is_dir: false }]);
    }

    #[test]
    fn full_disk_takes_what_fits() {
        let storage = FaultyStorage::new();
        storage.set_space_left(Some(3));
        let mut file = storage.create(Path::new("/file")).unwrap();
        let error = file.write_all(b"12345").unwrap_err();
        assert_eq!(
            Error::io(FileAction::Write, Path::new("/file"), &error).code(),
            ErrorCode::NotEnoughSpace
        );
        assert_eq!(storage.read(Path::new("/file"), 100).unwrap(), b"123");
    }

    #[test]
    fn full_disk_gives_whole_pages_and_gets_them_back() {
        let storage = FaultyStorage::new();
        storage.set_pages_left(Some(1));
        let mut first = storage.create(Path::new("/first")).unwrap();
        first.write_all(&[0; 4096]).unwrap();
        let mut second = storage.create(Path::new("/second")).unwrap();
        assert_eq!(second.write_all(b"x").unwrap_err().kind(), io::ErrorKind::StorageFull);
        storage.remove_file(Path::new("/first")).unwrap();
        second.write_all(b"x").unwrap();
        let mut third = storage.create(Path::new("/third")).unwrap();
        third.write_all(b"x").unwrap_err();
        storage.rename(Path::new("/third"), Path::new("/second")).unwrap();
        assert_eq!(storage.space_left(Path::new("/")).unwrap(), Some(4096));
    }

    #[test]
    fn failure_stays_until_it_is_mended() {
        let storage = FaultyStorage::new();
        let create = |name: &str| storage.create(Path::new(name)).map(drop).map_err(|error| error.code());
        for (stays, then) in [(Stays::Once, Ok(())), (Stays::Always, Err(ErrorCode::CannotOpenFile))] {
            storage.refuse_changes(storage.change_count() + 1, stays, io::ErrorKind::Other);
            assert_eq!(create("/a"), Ok(()));
            assert_eq!(create("/b"), Err(ErrorCode::CannotOpenFile));
            assert_eq!(create("/b"), then);
            storage.read(Path::new("/a"), 100).unwrap();
            storage.mend();
            assert_eq!(create("/b"), Ok(()));
        }
    }

    #[test]
    fn broken_path_takes_what_is_below_with_it() {
        let storage = FaultyStorage::new();
        storage.create_dir_all(Path::new("/dir")).unwrap();
        let mut file = storage.create(Path::new("/dir/file")).unwrap();
        storage.break_path(Path::new("/dir"));
        file.write_all(b"x").unwrap_err();
        storage.list(Path::new("/dir")).unwrap_err();
        storage.create(Path::new("/other")).unwrap();
        storage.mend();
        file.write_all(b"x").unwrap();
        storage.lose(Path::new("/dir"));
        storage.crash(Crash::TearUnsynced);
        assert!(!storage.exists(Path::new("/dir")).unwrap());
    }

    #[test]
    fn name_has_at_most_255_bytes() {
        let storage = FaultyStorage::new();
        storage.create(&Path::new("/").join("n".repeat(255))).unwrap();
        assert!(storage.create(&Path::new("/").join("n".repeat(256))).is_err());
        storage.create_dir_all(&Path::new("/").join("n".repeat(256))).unwrap_err();
    }
}
