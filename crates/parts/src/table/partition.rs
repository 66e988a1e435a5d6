//! Commands on whole parts: DROP, DETACH, ATTACH and FREEZE of partitions and parts; see [`super::transfer`] for
//! commands on two tables.
//!
//! A part never leaves its directory while it may have readers. A detached, copied or frozen part is a second
//! directory with hard links to the same files; a removed part is covered by an empty part, as in TRUNCATE. A
//! command is one atomic change, see [`super::moves`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_base::fs::{PendingDirectory, publish_empty_dir, publish_file};

use super::active::{Commit, TableParts};
use super::file_name::{DETACHED, REASON_FILE};
use super::moves::{Moves, temporary_name};
use crate::error::{Error, Result};
use crate::name::PartName;
use crate::part::meta::{META_FILE, PartMeta};
use crate::part::stored::StoredPart;
use crate::part::view::Part;
use crate::part::writer::{PendingPart, write_file};

/// A longer reason is invalid.
const REASON_BYTES_MAX: u64 = 1 << 20;

/// A part in `detached`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetachedStats {
    pub directory: String,
    /// The name that it had.
    pub name: PartName,
    /// Why it was set aside; empty if a user detached it.
    pub reason: String,
    pub bytes_on_disk: u64,
    pub path: PathBuf,
    /// The last change of its directory, in seconds since 1970.
    pub modified_at_s: u64,
}

/// The parts of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartSelection {
    All,
    /// A partition by its identifier.
    Partition(String),
    /// A part by its name.
    Part(String),
}

impl PartSelection {
    /// Whether the active part called `name` is selected.
    pub fn has_part(&self, name: &PartName) -> bool {
        self.has(name, &name.to_string())
    }

    /// Whether the part called `name` in the directory `directory` is selected.
    fn has(&self, name: &PartName, directory: &str) -> bool {
        match self {
            PartSelection::All => true,
            PartSelection::Partition(id) => name.partition == *id,
            PartSelection::Part(part) => part == directory,
        }
    }
}

impl TableParts {
    /// Removes the rows of the selected parts, durably and atomically; returns the number of parts. Existing
    /// snapshots keep theirs.
    pub fn drop_parts(&self, which: &PartSelection) -> Result<usize> {
        let commit = self.begin_commit()?;
        let parts = self.selected(which)?;
        self.remove(&commit, &parts, Vec::new(), Moves::default())?;
        Ok(parts.len())
    }

    /// Moves the selected parts to `detached`, with `reason` if there is one.
    pub fn detach_parts(&self, which: &PartSelection, reason: Option<&str>) -> Result<usize> {
        let commit = self.begin_commit()?;
        let parts = self.selected(which)?;
        self.detach(&commit, &parts, reason)?;
        Ok(parts.len())
    }

    /// Moves the selected parts out of `detached` and adds their rows; returns their new names.
    pub fn attach_parts(&self, which: &PartSelection) -> Result<Vec<PartName>> {
        let commit = self.begin_commit()?;
        let spec = self.spec();
        let (mut renames, mut opened) = (Vec::new(), Vec::new());
        let mut block = commit.next_block();
        for (directory, name) in self.detached_directories()? {
            if !which.has(&name, &directory) {
                continue;
            }
            let path = self.dir.join(DETACHED).join(&directory);
            let stored = StoredPart::open(Arc::clone(&self.storage), path.clone(), name.clone())?;
            let partition = Part::new(Arc::new(stored), Arc::clone(&spec))?.partition()?.id()?;
            if partition != name.partition {
                let what = format!("part `{directory}` is of partition `{partition}` of another key");
                return Err(Error::BlockMismatch { what });
            }
            let reason = path.join(REASON_FILE);
            if self.storage.exists(&reason)? {
                self.storage.remove_file(&reason)?;
            }
            let attached = PartName::inserted(partition, block);
            block += 1;
            renames.push((format!("{DETACHED}/{directory}"), attached.to_string()));
            opened.push(attached);
        }
        if let (PartSelection::Part(name), true) = (which, opened.is_empty()) {
            return Err(Error::NoSuchPart { name: format!("{DETACHED}/{name}") });
        }
        commit.make(&Moves::of(renames))?;
        let open = |name: &PartName| {
            let path = self.dir.join(name.to_string());
            let stored = StoredPart::open(Arc::clone(&self.storage), path, name.clone())?;
            Part::new(Arc::new(stored), Arc::clone(&spec)).map(Arc::new)
        };
        let parts = opened.iter().map(open).collect();
        self.enter_new(&commit, self.poison_unless_ok(parts)?);
        Ok(opened)
    }

    /// Removes the selected parts from `detached`; returns their number.
    pub fn drop_detached(&self, which: &PartSelection) -> Result<usize> {
        let _commit = self.begin_commit()?;
        let mut dropped = 0;
        for (directory, name) in self.detached_directories()? {
            if which.has(&name, &directory) {
                self.storage.remove_dir_all(&self.dir.join(DETACHED).join(directory))?;
                dropped += 1;
            }
        }
        if dropped > 0 {
            self.storage.sync_dir(&self.dir.join(DETACHED))?;
        }
        match which {
            PartSelection::Part(name) if dropped == 0 => {
                Err(Error::NoSuchPart { name: format!("{DETACHED}/{name}") })
            }
            _ => Ok(dropped),
        }
    }

    /// Hard-links the selected parts into `dir`, which must not contain them yet.
    pub fn freeze(&self, which: &PartSelection, dir: &Path) -> Result<Vec<PartName>> {
        let parts = self.selected(which)?;
        publish_empty_dir(&*self.storage, dir)?;
        for part in &parts {
            let to = dir.join(part.name().to_string());
            if !self.storage.exists(&to)? {
                self.clone_part(part)?.directory.publish(&to)?;
            }
        }
        Ok(parts.iter().map(|part| part.name().clone()).collect())
    }

    /// Removes the selected parts from `dir`, where [`TableParts::freeze`] put them; returns their number.
    pub fn unfreeze(&self, which: &PartSelection, dir: &Path) -> Result<usize> {
        if !self.storage.exists(dir)? {
            return Ok(0);
        }
        let mut removed = 0;
        for entry in self.storage.list(dir)? {
            if entry.name.parse().is_ok_and(|name| which.has(&name, &entry.name)) {
                self.storage.remove_dir_all(&dir.join(entry.name))?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// The rows of `system.detached_parts`.
    pub fn detached_stats(&self) -> Result<Vec<DetachedStats>> {
        let mut stats = Vec::new();
        for (directory, name) in self.detached_directories()? {
            let path = self.dir.join(DETACHED).join(&directory);
            let (mut bytes_on_disk, mut reason) = (0, String::new());
            for entry in self.storage.list(&path)? {
                let file = path.join(&entry.name);
                if entry.name == REASON_FILE {
                    let text = self.storage.read(&file, REASON_BYTES_MAX)?;
                    reason = String::from_utf8_lossy(&text).into_owned();
                } else {
                    bytes_on_disk += self.storage.open(&file)?.size();
                }
            }
            let modified_at_s = self.storage.modified_at_s(&path)?;
            stats.push(DetachedStats { directory, name, reason, bytes_on_disk, path, modified_at_s });
        }
        Ok(stats)
    }

    /// The directories of parts in `detached`, with their original names.
    pub(super) fn detached_directories(&self) -> Result<Vec<(String, PartName)>> {
        let dir = self.dir.join(DETACHED);
        if !self.storage.exists(&dir)? {
            return Ok(Vec::new());
        }
        let names = self.storage.list(&dir)?.into_iter().filter_map(|entry| {
            // `all_1_1_0_try1`: the directory of a name that was taken.
            let plain = entry.name.split("_try").next().unwrap_or_default();
            let name = plain.parse().ok()?;
            Some((entry.name, name))
        });
        Ok(names.collect())
    }

    /// Sets aside parts in which a read found damage; returns their number.
    pub fn detach_damaged(&self) -> Result<usize> {
        let damaged: Vec<(String, String)> = self
            .snapshot()
            .iter()
            .filter_map(|part| Some((part.name().to_string(), part.stored.damage()?.to_owned())))
            .collect();
        for (name, reason) in &damaged {
            self.detach_parts(&PartSelection::Part(name.clone()), Some(reason))?;
        }
        Ok(damaged.len())
    }

    pub(super) fn selected(&self, which: &PartSelection) -> Result<Vec<Arc<Part>>> {
        let snapshot = self.snapshot();
        let is_selected = |part: &&Arc<Part>| which.has(part.name(), &part.name().to_string());
        let parts: Vec<Arc<Part>> = snapshot.iter().filter(is_selected).cloned().collect();
        match which {
            PartSelection::Part(name) if parts.is_empty() => Err(Error::NoSuchPart { name: name.clone() }),
            _ => Ok(parts),
        }
    }

    fn detach(&self, commit: &Commit<'_>, parts: &[Arc<Part>], reason: Option<&str>) -> Result<()> {
        publish_empty_dir(&*self.storage, &self.dir.join(DETACHED))?;
        let (mut moves, mut copies) = (Moves::default(), Vec::new());
        for part in parts {
            let copy = self.clone_part(part)?;
            if let Some(reason) = reason {
                publish_file(&*self.storage, &copy.directory.path().join(REASON_FILE), reason.as_bytes())?;
            }
            let to = self.free_detached_name(&part.name().to_string())?;
            moves.renames.push((temporary_name(&copy), format!("{DETACHED}/{to}")));
            copies.push(copy);
        }
        if let Err(error) = self.remove(commit, parts, Vec::new(), moves) {
            self.keep_if_recorded(copies);
            return Err(error);
        }
        copies.into_iter().for_each(|copy| copy.directory.was_published());
        Ok(())
    }

    fn free_detached_name(&self, name: &str) -> Result<String> {
        let (mut free, mut attempt) = (name.to_owned(), 1);
        while self.storage.exists(&self.dir.join(DETACHED).join(&free))? {
            free = format!("{name}_try{attempt}");
            attempt += 1;
        }
        Ok(free)
    }

    /// Removes the rows of `parts`, adds those of `added` and makes `moves`, atomically.
    pub(super) fn remove(
        &self,
        commit: &Commit<'_>,
        parts: &[Arc<Part>],
        mut added: Vec<(PartName, PendingPart)>,
        moves: Moves,
    ) -> Result<()> {
        added.extend(self.covers(parts)?);
        let stored = commit.publish_all(added, moves, true)?;
        self.enter(commit, stored)?;
        self.forget_partitions(parts)
    }

    /// Pending empty parts that cover all of `parts` and no other.
    pub(super) fn covers(&self, parts: &[Arc<Part>]) -> Result<Vec<(PartName, PendingPart)>> {
        let spec = self.spec();
        let cover = |group: Vec<Arc<Part>>| {
            let name = PartName::merged(group.iter().map(|part| part.name()));
            Ok((name, self.write_part(&spec, std::iter::empty(), 1)?))
        };
        neighbours(&self.snapshot(), parts).into_iter().map(cover).collect()
    }

    /// Removes the partitions of `parts` from the deduplication log, so that their rows can be inserted again.
    pub(super) fn forget_partitions(&self, parts: &[Arc<Part>]) -> Result<()> {
        let mut ids: Vec<String> = parts.iter().map(|part| part.name().partition.clone()).collect();
        ids.dedup();
        self.forget_blocks(&ids)
    }

    /// Adds published parts to the set; empty ones cover removed parts.
    pub(super) fn enter(&self, commit: &Commit<'_>, stored: Vec<Arc<StoredPart>>) -> Result<()> {
        let spec = self.spec();
        let empty: Vec<Arc<StoredPart>> =
            stored.iter().filter(|part| part.meta.row_count == 0).map(Arc::clone).collect();
        let parts = stored.into_iter().map(|stored| Part::new(stored, Arc::clone(&spec)).map(Arc::new));
        for part in self.enter_new(commit, parts.collect::<Result<_>>()?) {
            if let Some(empty) = empty.iter().find(|empty| empty.name.covers(part.name())) {
                part.stored.directory.mark_replaced(&empty.directory);
            }
        }
        empty.iter().for_each(|empty| empty.directory.mark_uncovered(self.temporary_path()));
        Ok(())
    }

    /// Adds parts that no merge or mutation made; returns the parts that were removed.
    fn enter_new(&self, commit: &Commit<'_>, parts: Vec<Arc<Part>>) -> Vec<Arc<Part>> {
        let covered = commit.replace_many(parts.clone());
        let duration_us = self.clock.now_us().saturating_sub(commit.began_us);
        let new = parts.iter().filter(|part| part.row_count() > 0);
        new.for_each(|part| self.note_new(part, duration_us, None));
        covered
    }

    /// A pending part with hard links to the files of `part`; missing files are skipped.
    pub(super) fn clone_part(&self, part: &Part) -> Result<PendingPart> {
        let from = part.stored.directory.path().to_owned();
        let directory = PendingDirectory::create(Arc::clone(&self.storage), self.temporary_path())?;
        let is_linked = |name: &str| name != META_FILE;
        for entry in self.storage.list(&from)?.iter().filter(|entry| !entry.is_dir && is_linked(&entry.name))
        {
            self.storage.hard_link(&from.join(&entry.name), &directory.path().join(&entry.name))?;
        }
        // The copy's columns have the current names of its table.
        let meta = PartMeta { names_version: self.spec().history.version(), ..part.stored.meta.clone() };
        let path = directory.path().join(META_FILE);
        write_file(&directory, META_FILE, &meta.encode())?;
        self.storage.sync_files(&[path])?;
        self.storage.sync_dir(directory.path())?;
        Ok(PendingPart { directory, meta })
    }
}

/// Groups `chosen` so that one empty part can cover each group: parts of one partition without any other part in
/// between.
fn neighbours(all: &[Arc<Part>], chosen: &[Arc<Part>]) -> Vec<Vec<Arc<Part>>> {
    let is_chosen = |part: &Arc<Part>| chosen.iter().any(|other| other.name() == part.name());
    let alike = |a: &Arc<Part>, b: &Arc<Part>| {
        a.name().partition == b.name().partition && is_chosen(a) == is_chosen(b)
    };
    all.chunk_by(alike).filter(|group| is_chosen(&group[0])).map(<[_]>::to_vec).collect()
}
