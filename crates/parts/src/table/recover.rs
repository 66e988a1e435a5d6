//! Opens a table: removes what a crash left, and sets aside unreadable parts.
//!
//! 1. Finish the moves in a record.
//! 2. Empty `tmp`: nothing in it was acknowledged.
//! 3. Read every part's metadata. A part with damaged metadata or a missing file moves to `detached`, unless a
//!    readable part covers it: then it was about to be removed.
//! 4. Remove parts that a readable merged part covers: the merge was published, its inputs were not removed yet.
//! 5. Remove empty parts: they only covered removed ones.
//! 6. Remove files of columns that the table's definition dropped.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_base::ErrorCode;
use basalt_base::fs::{Storage, publish_empty_dir, publish_file};

use super::dropped::without_dropped;
use super::file_name::{DETACHED, REASON_FILE, TEMPORARY};
use super::moves::{MOVES_FILE, finish_recorded};
use super::mutation_record::{Mutations, load};
use crate::error::{Error, Result};
use crate::name::PartName;
use crate::part::stored::StoredPart;
use crate::part::view::Part;
use crate::spec::PartSpec;

/// A damaged part that was set aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetachedPart {
    pub name: String,
    /// The directory of the table; the part is in its `detached`.
    pub dir: PathBuf,
    pub reason: String,
}

pub(super) struct Recovered {
    pub(super) parts: Vec<Arc<Part>>,
    pub(super) next_block: u64,
    pub(super) detached: Vec<DetachedPart>,
    pub(super) mutations: Mutations,
}

pub(super) fn recover(storage: &Arc<dyn Storage>, dir: &Path, spec: &Arc<PartSpec>) -> Result<Recovered> {
    let mut detached = Vec::new();
    publish_empty_dir(&**storage, dir)?;
    match finish_recorded(&**storage, dir) {
        Err(error @ Error::Corrupt { .. }) => {
            // No rows are lost, only the record of which parts were about to move.
            detached.push(detach(storage, dir, MOVES_FILE.to_owned(), &error)?);
        }
        finished => finished?,
    }
    create_directories(storage, dir)?;
    let (mut stored, mut unreadable) = (Vec::new(), Vec::new());
    let mut next_block = 1;
    for entry in storage.list(dir)? {
        let Ok(name) = entry.name.parse::<PartName>() else { continue };
        next_block = next_block.max(name.max_block.max(name.mutation) + 1);
        let opened = StoredPart::open(Arc::clone(storage), dir.join(&entry.name), name.clone());
        let checked = |part: StoredPart| {
            part.renamed(&spec.history).as_ref().unwrap_or(&part).check_files().map(|()| part)
        };
        match opened.and_then(checked) {
            Ok(part) => stored.push(part),
            Err(error) if is_unreadable(&error) => unreadable.push((name, entry.name, error)),
            Err(error) => return Err(error),
        }
    }
    let is_covered = |name: &PartName| stored.iter().any(|part| part.name.covers(name));
    let (covered, broken): (Vec<_>, Vec<_>) = unreadable.into_iter().partition(|(name, ..)| is_covered(name));
    check_broken(&**storage, dir, spec, &broken)?;
    for (_, file_name, _) in covered {
        storage.remove_dir_all(&dir.join(file_name))?;
    }
    for (_, file_name, error) in broken {
        detached.push(detach(storage, dir, file_name, &error)?);
    }
    let stored = drop_obsolete(storage, dir, stored)?;
    let mut parts = Vec::with_capacity(stored.len());
    for part in stored {
        let part = without_dropped(Arc::new(part), spec)?;
        parts.push(Arc::new(Part::new(part, Arc::clone(spec))?));
    }
    parts.sort_by(|a, b| a.name().cmp(b.name()));
    let (mutations, damaged) = load(&**storage, dir)?;
    for (version, file_name, error) in damaged {
        let waits = parts.iter().find(|part: &&Arc<Part>| part.name().data_version() < version);
        match waits {
            Some(part) => return Err(unfinished(error, part.name())),
            // A finished mutation does not need its record.
            None => detached.push(detach(storage, dir, file_name, &error)?),
        }
    }
    next_block = next_block.max(mutations.keys().last().map_or(0, |last| last + 1));
    Ok(Recovered { parts, next_block, detached, mutations })
}

fn create_directories(storage: &Arc<dyn Storage>, dir: &Path) -> Result<()> {
    let temporary = dir.join(TEMPORARY);
    publish_empty_dir(&**storage, dir)?;
    if !storage.exists(&temporary)? {
        return Ok(storage.create_dir_all(&temporary)?);
    }
    // Keeps the directory itself, which could not be created again on a full disk.
    for entry in storage.list(&temporary)? {
        let path = temporary.join(entry.name);
        if entry.is_dir { storage.remove_dir_all(&path)? } else { storage.remove_file(&path)? }
    }
    Ok(())
}

/// Refuses a table with much damage: then the disk or a copy failed, not one part.
fn check_broken(
    storage: &dyn Storage,
    dir: &Path,
    spec: &PartSpec,
    broken: &[(PartName, String, Error)],
) -> Result<()> {
    let mut bytes = 0;
    for (_, file_name, _) in broken {
        let path = dir.join(file_name);
        for entry in storage.list(&path)?.iter().filter(|entry| !entry.is_dir) {
            // A file that cannot be opened is part of the damage.
            bytes += storage.open(&path.join(&entry.name)).map_or(0, |file| file.size());
        }
    }
    let (count, limits) = (broken.len() as u64, spec.broken);
    match broken.first() {
        Some((_, _, first)) if count > limits.parts_max || bytes > limits.bytes_max => {
            let (path, first) = (dir.to_owned(), first.to_string());
            Err(Error::TooManyBroken { path, count, bytes, limits, first })
        }
        _ => Ok(()),
    }
}

/// Tells what to do about the record of a mutation that parts wait for.
fn unfinished(error: Error, part: &PartName) -> Error {
    match error {
        Error::Corrupt { path, at, what } => Error::Corrupt {
            path,
            at,
            what: format!(
                "{what}; part `{part}` and perhaps others wait for this mutation; remove the file to give it up"
            ),
        },
        other => other,
    }
}

/// Whether the error is damage, and not a temporary failure of the disk or missing permissions.
fn is_unreadable(error: &Error) -> bool {
    match error {
        Error::Corrupt { .. } => true,
        Error::Storage(error) => error.code() == ErrorCode::FileDoesntExist,
        _ => false,
    }
}

fn detach(storage: &Arc<dyn Storage>, dir: &Path, name: String, error: &Error) -> Result<DetachedPart> {
    let detached = dir.join(DETACHED);
    storage.create_dir_all(&detached)?;
    let mut to = detached.join(&name);
    let mut attempt = 1;
    while storage.exists(&to)? {
        to = detached.join(format!("{name}_try{attempt}"));
        attempt += 1;
    }
    storage.rename(&dir.join(&name), &to)?;
    let reason = error.to_string();
    if name != MOVES_FILE {
        // The reason is optional: a full disk must not keep the table closed.
        let _ = publish_file(&**storage, &to.join(REASON_FILE), reason.as_bytes());
    }
    storage.sync_dir(&detached)?;
    storage.sync_dir(dir)?;
    Ok(DetachedPart { name, dir: dir.to_owned(), reason })
}

fn drop_obsolete(storage: &Arc<dyn Storage>, dir: &Path, parts: Vec<StoredPart>) -> Result<Vec<StoredPart>> {
    let names: Vec<PartName> = parts.iter().map(|part| part.name.clone()).collect();
    let (covered, parts): (Vec<_>, Vec<_>) =
        parts.into_iter().partition(|part| names.iter().any(|name| name.covers(&part.name)));
    let (empty, parts): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| part.meta.row_count == 0);
    for part in &covered {
        storage.remove_dir_all(part.directory.path())?;
    }
    if !empty.is_empty() {
        // If the covering part were removed first, removed parts would reappear.
        storage.sync_dir(dir)?;
    }
    for (number, part) in empty.iter().enumerate() {
        part.directory.mark_uncovered(dir.join(TEMPORARY).join(format!("empty_{number}")));
    }
    Ok(parts)
}
