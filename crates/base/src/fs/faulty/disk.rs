//! The state of a [`super::FaultyStorage`]: every file and directory, as the program sees it and as it is on disk.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::{Component, Path, PathBuf};

use super::failure::{Crash, Stays};

/// A disk that counts pages rounds the length of a file up to this.
pub(super) const PAGE_BYTES: usize = 4096;
/// Longest file name, as in every file system.
const NAME_BYTES_MAX: usize = 255;

#[derive(Clone, Debug)]
pub(super) struct Disk {
    pub(super) nodes: HashMap<NodeId, Node>,
    next_node: NodeId,
    pub(super) sync_count: u64,
    pub(super) stop_at_sync: Option<u64>,
    pub(super) change_count: u64,
    pub(super) stop_at_change: Option<u64>,
    pub(super) stopped: bool,
    pub(super) space_left: Option<usize>,
    pub(super) pages_left: Option<usize>,
    pub(super) refusal: Option<Refusal>,
    pub(super) open_files: usize,
    pub(super) open_files_max: Option<usize>,
    /// Paths at which and below which everything fails.
    pub(super) broken: Vec<PathBuf>,
}

pub(super) type NodeId = u64;
type Entries = BTreeMap<String, NodeId>;

const ROOT: NodeId = 0;

#[derive(Clone, Debug)]
pub(super) enum Node {
    File { live: Vec<u8>, durable: Vec<u8> },
    Directory { live: Entries, durable: Entries },
}

/// Changes that fail while everything else works.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    /// The number of changes before the one that fails.
    pub(super) change_count: u64,
    pub(super) stays: Stays,
    pub(super) kind: io::ErrorKind,
}

impl Refusal {
    fn meets(&self, change: u64) -> bool {
        match self.stays {
            Stays::Once => change == self.change_count,
            Stays::Always => change >= self.change_count,
        }
    }
}

impl Disk {
    pub(super) fn new() -> Disk {
        let root = Node::Directory { live: Entries::new(), durable: Entries::new() };
        Disk {
            nodes: HashMap::from([(ROOT, root)]),
            next_node: ROOT + 1,
            sync_count: 0,
            stop_at_sync: None,
            change_count: 0,
            stop_at_change: None,
            stopped: false,
            space_left: None,
            pages_left: None,
            refusal: None,
            open_files: 0,
            open_files_max: None,
            broken: Vec::new(),
        }
    }

    /// Fails if `path` is broken.
    pub(super) fn check(&self, path: &Path) -> io::Result<()> {
        self.check_running()?;
        match self.broken.iter().any(|broken| path.starts_with(broken)) {
            true => Err(io::Error::other("input/output error")),
            false => Ok(()),
        }
    }

    fn check_running(&self) -> io::Result<()> {
        if self.stopped { Err(io::Error::other("the disk has stopped")) } else { Ok(()) }
    }

    /// Counts one more open file.
    pub(super) fn open_file(&mut self) -> io::Result<()> {
        if self.open_files_max.is_some_and(|most| self.open_files >= most) {
            return Err(io::Error::other("too many open files"));
        }
        self.open_files += 1;
        Ok(())
    }

    /// Adds a directory entry for a node that has no other name.
    pub(super) fn enter(&mut self, path: &Path, node: NodeId) -> io::Result<()> {
        let name = name(path)?;
        if let Some(replaced) =
            self.entries_above(path)?.insert(name, node).filter(|replaced| *replaced != node)
        {
            self.release(replaced);
        }
        Ok(())
    }

    /// Frees the pages of a file without a name.
    fn release(&mut self, node: NodeId) {
        let Some(pages_left) = self.pages_left else { return };
        let mut directories = self.nodes.values().filter_map(|other| match other {
            Node::Directory { live, .. } => Some(live),
            Node::File { .. } => None,
        });
        if directories.any(|live| live.values().any(|child| *child == node)) {
            return;
        }
        if let Some(Node::File { live, .. }) = self.nodes.get(&node) {
            self.pages_left = Some(pages_left + live.len().div_ceil(PAGE_BYTES));
        }
    }

    pub(super) fn create_directories(&mut self, dir: &Path) -> io::Result<()> {
        let mut node = ROOT;
        for name in names(dir) {
            node = match self.entries(node)?.get(&name) {
                Some(&child) => child,
                None => {
                    check_length(&name)?;
                    self.change()?;
                    let empty = Node::Directory { live: Entries::new(), durable: Entries::new() };
                    let child = self.insert(empty);
                    self.entries(node)?.insert(name, child);
                    child
                }
            };
        }
        Ok(())
    }

    pub(super) fn lose(&mut self, path: &Path) -> io::Result<()> {
        let (dir, name) = (self.find(path.parent().unwrap_or(Path::new("/")))?, name(path)?);
        match self.nodes.get_mut(&dir) {
            Some(Node::Directory { live, durable }) => {
                durable.remove(&name);
                live.remove(&name).map(|_| ()).ok_or(io::ErrorKind::NotFound.into())
            }
            _ => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    pub(super) fn insert(&mut self, node: Node) -> NodeId {
        let id = self.next_node;
        self.next_node += 1;
        self.nodes.insert(id, node);
        id
    }

    pub(super) fn find(&mut self, path: &Path) -> io::Result<NodeId> {
        let mut node = ROOT;
        for name in names(path) {
            node = *self.entries(node)?.get(&name).ok_or(io::ErrorKind::NotFound)?;
        }
        Ok(node)
    }

    pub(super) fn entries(&mut self, node: NodeId) -> io::Result<&mut Entries> {
        match self.nodes.get_mut(&node) {
            Some(Node::Directory { live, .. }) => Ok(live),
            _ => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    pub(super) fn entries_above(&mut self, path: &Path) -> io::Result<&mut Entries> {
        let dir = self.find(path.parent().unwrap_or(Path::new("/")))?;
        self.entries(dir)
    }

    pub(super) fn file(&mut self, node: NodeId) -> io::Result<&mut Vec<u8>> {
        match self.nodes.get_mut(&node) {
            Some(Node::File { live, .. }) => Ok(live),
            _ => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    /// Counts one change; fails if the disk stops here.
    pub(super) fn change(&mut self) -> io::Result<()> {
        if self.stop_at_change.is_some_and(|stop| self.change_count >= stop) {
            self.stopped = true;
            return self.check_running();
        }
        self.change_count += 1;
        match &self.refusal {
            Some(refusal) if refusal.meets(self.change_count - 1) => Err(refusal.kind.into()),
            _ => Ok(()),
        }
    }

    /// Removes the directory's entries one by one, and then the directory.
    pub(super) fn remove_all(&mut self, path: &Path) -> io::Result<()> {
        let node = self.find(path)?;
        if let Some(Node::Directory { live, .. }) = self.nodes.get(&node) {
            let names: Vec<String> = live.keys().cloned().collect();
            names.iter().try_for_each(|name| self.remove_all(&path.join(name)))?;
        }
        self.remove(path)
    }

    /// Removes the entry only: the node stays for whoever has it open.
    pub(super) fn remove(&mut self, path: &Path) -> io::Result<()> {
        let name = name(path)?;
        self.change()?;
        let removed = self.entries_above(path)?.remove(&name).ok_or(io::ErrorKind::NotFound)?;
        self.release(removed);
        Ok(())
    }

    pub(super) fn sync(&mut self, node: NodeId) -> io::Result<()> {
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

    /// A directory never has two names: once the target directory of a rename is synced, the old entry is gone.
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

    /// Appends as much as fits; fails with a full disk if that is nothing.
    pub(super) fn append(&mut self, node: NodeId, bytes: &[u8]) -> io::Result<usize> {
        let length = self.file(node)?.len();
        let in_pages =
            self.pages_left.map(|pages| length.next_multiple_of(PAGE_BYTES) - length + pages * PAGE_BYTES);
        let fits = in_pages.into_iter().chain(self.space_left).fold(bytes.len(), usize::min);
        if fits == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.change()?;
        self.space_left = self.space_left.map(|space| space - fits);
        let pages = (length + fits).div_ceil(PAGE_BYTES) - length.div_ceil(PAGE_BYTES);
        self.pages_left = self.pages_left.map(|left| left - pages);
        self.file(node)?.extend_from_slice(&bytes[..fits]);
        Ok(fits)
    }
}

impl Node {
    pub(super) fn crash(&mut self, crash: Crash) {
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

/// The last component of the path.
pub(super) fn name(path: &Path) -> io::Result<String> {
    let name = names(path).last().ok_or(io::ErrorKind::InvalidInput)?;
    check_length(&name).map(|()| name)
}

fn check_length(name: &str) -> io::Result<()> {
    if name.len() <= NAME_BYTES_MAX { Ok(()) } else { Err(io::ErrorKind::InvalidFilename.into()) }
}
