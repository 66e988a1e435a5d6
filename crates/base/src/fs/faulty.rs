//! Files in memory that fail the way disks do: for crash tests and tests of a full disk.
//!
//! # What it keeps
//!
//! Every file and directory exists twice: *live*, as the program sees it, and *durable*, as it was
//! at its last sync. [`FaultyStorage::crash`] makes the durable one live again, in one of two ways
//! ([`Crash`]), which are the two ends of what a real file system may do.
//!
//! # How a crash test goes
//!
//! Run a workload once and read [`FaultyStorage::sync_count`]. Then, for each sync of it, start
//! again, call [`FaultyStorage::stop_at_sync`], run the workload until it fails, `crash`, reopen, and
//! compare with what had been acknowledged. [`FaultyStorage::stop_at_change`] does the same at every
//! creation, write, rename and removal.
//!
//! # Not here
//!
//! Permissions, symbolic links, and the order of writes inside one file.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::{Component, Path};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{DirectoryEntry, RandomAccess, Storage, WritableFile};
use crate::{Error, Result};

/// What happens to writes and renames that were not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// None of them reached the disk.
    LoseUnsynced,
    /// Every name reached the disk, but of each file's unsynced bytes only the first half.
    TearUnsynced,
}

/// A [`Storage`] in memory. Clones share the files.
#[derive(Clone, Debug)]
pub struct FaultyStorage {
    disk: Arc<Mutex<Disk>>,
}

#[derive(Clone, Debug)]
struct Disk {
    nodes: HashMap<NodeId, Node>,
    next_node: NodeId,
    sync_count: u64,
    stop_at_sync: Option<u64>,
    change_count: u64,
    stop_at_change: Option<u64>,
    stopped: bool,
    space_left: Option<usize>,
}

type NodeId = u64;
type Entries = BTreeMap<String, NodeId>;

const ROOT: NodeId = 0;

#[derive(Clone, Debug)]
enum Node {
    File { live: Vec<u8>, durable: Vec<u8> },
    Directory { live: Entries, durable: Entries },
}

impl Default for FaultyStorage {
    fn default() -> FaultyStorage {
        FaultyStorage::new()
    }
}

impl FaultyStorage {
    /// An empty disk that has no faults yet.
    pub fn new() -> FaultyStorage {
        let root = Node::Directory { live: Entries::new(), durable: Entries::new() };
        let disk = Disk {
            nodes: HashMap::from([(ROOT, root)]),
            next_node: ROOT + 1,
            sync_count: 0,
            stop_at_sync: None,
            change_count: 0,
            stop_at_change: None,
            stopped: false,
            space_left: None,
        };
        FaultyStorage { disk: Arc::new(Mutex::new(disk)) }
    }

    /// Another disk with the same files and faults.
    #[must_use]
    pub fn copy(&self) -> FaultyStorage {
        FaultyStorage { disk: Arc::new(Mutex::new(self.disk().clone())) }
    }

    /// Syncs of files and directories so far.
    pub fn sync_count(&self) -> u64 {
        self.disk().sync_count
    }

    /// Lets the sync after `sync_count` others fail, and every operation after it, until
    /// [`FaultyStorage::crash`].
    pub fn stop_at_sync(&self, sync_count: u64) {
        self.disk().stop_at_sync = Some(sync_count);
    }

    /// Changes so far: files and directories created, renamed and removed, writes, syncs. A directory
    /// that is removed with all that is in it is one change for each name.
    pub fn change_count(&self) -> u64 {
        self.disk().change_count
    }

    /// Lets the change after `change_count` others fail, and every operation after it, until
    /// [`FaultyStorage::crash`]. Finer than [`FaultyStorage::stop_at_sync`]: between two syncs, a crash
    /// that keeps what was not synced keeps part of it.
    pub fn stop_at_change(&self, change_count: u64) {
        self.disk().stop_at_change = Some(change_count);
    }

    /// Lets writes fail with "no space left" after `bytes` more; `None` is a disk without end.
    pub fn set_space_left(&self, bytes: Option<usize>) {
        self.disk().space_left = bytes;
    }

    /// Power off and on again: what was not synced is lost, and the disk works again.
    pub fn crash(&self, crash: Crash) {
        let mut disk = self.disk();
        disk.stopped = false;
        disk.stop_at_sync = None;
        disk.stop_at_change = None;
        for node in disk.nodes.values_mut() {
            node.crash(crash);
        }
    }

    /// Changes the bytes of a file behind everybody's back, durably.
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

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn at<T>(&self, path: &Path, operation: impl FnOnce(&mut Disk) -> io::Result<T>) -> Result<T> {
        let mut disk = self.disk();
        disk.check_running().and_then(|()| operation(&mut disk)).map_err(|error| Error::io(path, &error))
    }
}

impl Storage for FaultyStorage {
    fn create(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        self.at(path, |disk| {
            disk.change()?;
            let node = disk.insert(Node::File { live: Vec::new(), durable: Vec::new() });
            disk.entries_above(path)?.insert(name(path)?, node);
            Ok(Box::new(MemoryFile { disk: Arc::clone(&self.disk), node }) as Box<dyn WritableFile>)
        })
    }

    fn open(&self, path: &Path) -> Result<Arc<dyn RandomAccess>> {
        self.at(path, |disk| {
            let node = disk.find(path)?;
            disk.file(node)?;
            Ok(Arc::new(MemoryFile { disk: Arc::clone(&self.disk), node }) as Arc<dyn RandomAccess>)
        })
    }

    fn list(&self, dir: &Path) -> Result<Vec<DirectoryEntry>> {
        self.at(dir, |disk| {
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
        self.at(path, |disk| Ok(disk.find(path).is_ok()))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.at(from, |disk| {
            let node = disk.find(from)?;
            disk.change()?;
            disk.entries_above(to)?.insert(name(to)?, node);
            disk.entries_above(from)?.remove(&name(from)?);
            Ok(())
        })
    }

    fn hard_link(&self, from: &Path, to: &Path) -> Result<()> {
        self.at(from, |disk| {
            let node = disk.find(from)?;
            disk.file(node)?;
            if disk.find(to).is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            disk.entries_above(to)?.insert(name(to)?, node);
            Ok(())
        })
    }

    fn space_left(&self, _dir: &Path) -> Result<Option<u64>> {
        Ok(self.disk().space_left.map(|bytes| bytes as u64))
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        self.at(path, |disk| disk.remove(path))
    }

    fn remove_dir_all(&self, dir: &Path) -> Result<()> {
        self.at(dir, |disk| disk.remove_all(dir))
    }

    fn create_dir_all(&self, dir: &Path) -> Result<()> {
        self.at(dir, |disk| {
            let mut node = ROOT;
            for name in names(dir) {
                node = match disk.entries(node)?.get(&name) {
                    Some(&child) => child,
                    None => {
                        disk.change()?;
                        let empty = Node::Directory { live: Entries::new(), durable: Entries::new() };
                        let child = disk.insert(empty);
                        disk.entries(node)?.insert(name, child);
                        child
                    }
                };
            }
            Ok(())
        })
    }

    fn sync_file(&self, path: &Path) -> Result<()> {
        self.at(path, |disk| {
            let node = disk.find(path)?;
            disk.sync(node)
        })
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.sync_file(dir)
    }
}

impl Disk {
    fn check_running(&self) -> io::Result<()> {
        if self.stopped { Err(io::Error::other("the disk has stopped")) } else { Ok(()) }
    }

    fn insert(&mut self, node: Node) -> NodeId {
        let id = self.next_node;
        self.next_node += 1;
        self.nodes.insert(id, node);
        id
    }

    fn find(&mut self, path: &Path) -> io::Result<NodeId> {
        let mut node = ROOT;
        for name in names(path) {
            node = *self.entries(node)?.get(&name).ok_or(io::ErrorKind::NotFound)?;
        }
        Ok(node)
    }

    fn entries(&mut self, node: NodeId) -> io::Result<&mut Entries> {
        match self.nodes.get_mut(&node) {
            Some(Node::Directory { live, .. }) => Ok(live),
            _ => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    fn entries_above(&mut self, path: &Path) -> io::Result<&mut Entries> {
        let dir = self.find(path.parent().unwrap_or(Path::new("/")))?;
        self.entries(dir)
    }

    fn file(&mut self, node: NodeId) -> io::Result<&mut Vec<u8>> {
        match self.nodes.get_mut(&node) {
            Some(Node::File { live, .. }) => Ok(live),
            _ => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    /// Counts one change, unless the disk stops here.
    fn change(&mut self) -> io::Result<()> {
        if self.stop_at_change.is_some_and(|stop| self.change_count >= stop) {
            self.stopped = true;
            return self.check_running();
        }
        self.change_count += 1;
        Ok(())
    }

    /// Removes what is in the directory, name by name, and then the directory.
    fn remove_all(&mut self, path: &Path) -> io::Result<()> {
        let node = self.find(path)?;
        if let Some(Node::Directory { live, .. }) = self.nodes.get(&node) {
            let names: Vec<String> = live.keys().cloned().collect();
            names.iter().try_for_each(|name| self.remove_all(&path.join(name)))?;
        }
        self.remove(path)
    }

    /// Unlinks the name only: the node stays for whoever has it open.
    fn remove(&mut self, path: &Path) -> io::Result<()> {
        let name = name(path)?;
        self.change()?;
        self.entries_above(path)?.remove(&name).map(|_| ()).ok_or(io::ErrorKind::NotFound.into())
    }

    fn sync(&mut self, node: NodeId) -> io::Result<()> {
        if self.stop_at_sync.is_some_and(|stop| self.sync_count >= stop) {
            self.stopped = true;
            return self.check_running();
        }
        self.change()?;
        self.sync_count += 1;
        match self.nodes.get_mut(&node) {
            Some(Node::File { live, durable }) => durable.clone_from(live),
            Some(Node::Directory { live, durable }) => durable.clone_from(live),
            None => return Err(io::ErrorKind::NotFound.into()),
        }
        self.settle_renames(node);
        Ok(())
    }

    /// A directory never has two names: where it was before a rename, it is not any more once the
    /// directory that it went to is synced.
    fn settle_renames(&mut self, synced: NodeId) {
        let Some(Node::Directory { durable, .. }) = self.nodes.get(&synced) else { return };
        let is_directory = |node: &NodeId| matches!(self.nodes.get(node), Some(Node::Directory { .. }));
        let arrived: HashSet<NodeId> = durable.values().copied().filter(is_directory).collect();
        for (&node, other) in &mut self.nodes {
            if let Node::Directory { live, durable } = other
                && node != synced
            {
                durable.retain(|name, child| !arrived.contains(child) || live.get(name) == Some(child));
            }
        }
    }

    /// Appends as much as fits; the rest is the error of a full disk.
    fn append(&mut self, node: NodeId, bytes: &[u8]) -> io::Result<usize> {
        self.check_running()?;
        let fits = self.space_left.map_or(bytes.len(), |space| space.min(bytes.len()));
        if fits == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.change()?;
        self.space_left = self.space_left.map(|space| space - fits);
        self.file(node)?.extend_from_slice(&bytes[..fits]);
        Ok(fits)
    }
}

impl Node {
    fn crash(&mut self, crash: Crash) {
        match (self, crash) {
            (Node::File { live, durable }, Crash::LoseUnsynced) => live.clone_from(durable),
            (Node::File { live, durable }, Crash::TearUnsynced) => {
                let unsynced = live.len().saturating_sub(durable.len());
                live.truncate(durable.len() + unsynced / 2);
                durable.clone_from(live);
            }
            (Node::Directory { live, durable }, Crash::LoseUnsynced) => live.clone_from(durable),
            (Node::Directory { live, durable }, Crash::TearUnsynced) => durable.clone_from(live),
        }
    }
}

fn names(path: &Path) -> impl Iterator<Item = String> + '_ {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        _ => None,
    })
}

fn name(path: &Path) -> io::Result<String> {
    names(path).last().ok_or(io::ErrorKind::InvalidInput.into())
}

#[derive(Debug)]
struct MemoryFile {
    disk: Arc<Mutex<Disk>>,
    node: NodeId,
}

impl MemoryFile {
    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RandomAccess for MemoryFile {
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let mut disk = self.disk();
        disk.check_running()?;
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
        self.disk().append(self.node, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl WritableFile for MemoryFile {
    fn sync(&mut self) -> io::Result<()> {
        let mut disk = self.disk();
        disk.check_running()?;
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
        assert_eq!(Error::io(Path::new("/file"), &error).code(), ErrorCode::NotEnoughSpace);
        assert_eq!(storage.read(Path::new("/file"), 100).unwrap(), b"123");
    }
}
