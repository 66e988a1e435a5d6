//! TRUNCATE, and changes of what the table's parts look like.

use std::sync::Arc;

use basalt_base::fs::{PendingFile, publish_file};

use super::active::TableParts;
use super::partition::PartSelection;
use super::recover::DETACHED;
use crate::error::Result;
use crate::history::NameChange;
use crate::part::meta::{META_FILE, PartMeta, SkipIndexMeta};
use crate::part::stored::StoredPart;
use crate::part::view::Part;
use crate::spec::PartSpec;

impl TableParts {
    /// Removes all rows, durably. Snapshots that are held keep theirs.
    pub fn truncate(&self) -> Result<()> {
        self.drop_parts(&PartSelection::All).map(|_| ())
    }

    /// Whether every part can be read by `spec`: values in an older type have a conversion.
    pub fn check_spec(&self, spec: PartSpec) -> Result<()> {
        let spec = Arc::new(spec);
        let view = |part: &Arc<Part>| Part::new(Arc::clone(&part.stored), Arc::clone(&spec)).map(|_| ());
        self.snapshot().iter().try_for_each(view)
    }

    /// Reads and writes parts by another specification from now on. The table's definition must say so
    /// already: nothing is written here, parts of before are seen in another way. Files of columns that the
    /// new specification dropped go when nobody reads them any more.
    ///
    /// Parts of before have no columns but their own: what is new has its fill, what has another name or type
    /// needs the history and the conversions of `spec`. Elements that the sorting key gains must be the same in
    /// all rows of before.
    ///
    /// # Panics
    ///
    /// If `spec` contradicts itself.
    pub fn change_spec(&self, spec: PartSpec) -> Result<()> {
        spec.assert_valid();
        let commit = self.begin_commit()?;
        let old = self.snapshot();
        let spec = Arc::new(spec);
        let view = |part: &Arc<Part>| {
            // A skip index that is gone may come back for other values of its columns.
            let stored = self.poison_unless_ok(without_dropped_indexes(&part.stored, &spec))?;
            Part::new(stored, Arc::clone(&spec)).map(Arc::new)
        };
        let parts = old.iter().map(view).collect::<Result<Vec<_>>>()?;
        for (old, new) in old.iter().zip(&parts) {
            old.mark_dropped_columns(&new.stored);
        }
        commit.respec(spec, parts);
        self.retry_mutations();
        Ok(())
    }

    /// The number of the last change of the columns' names that all parts have seen, detached ones too, as their
    /// files say. Parts that are being written have seen all there are, or fail.
    pub fn names_seen_by_all(&self) -> Result<u64> {
        let mut seen = self.spec().history.version();
        for part in self.snapshot().iter() {
            let (directory, name) = (part.stored.directory.path().to_owned(), part.name().clone());
            let on_disk = StoredPart::open(Arc::clone(&self.storage), directory, name)?;
            seen = seen.min(on_disk.meta.names_version);
        }
        for (directory, name) in self.detached_directories()? {
            let path = self.dir.join(DETACHED).join(directory);
            // What cannot be read cannot be attached.
            if let Ok(part) = StoredPart::open(Arc::clone(&self.storage), path, name) {
                seen = seen.min(part.meta.names_version);
            }
        }
        Ok(seen)
    }

    /// Removes the skip index called `name` from parts; the table keeps it, and parts to come have it.
    pub fn clear_index(&self, name: &str, which: &PartSelection) -> Result<()> {
        let commit = self.begin_commit()?;
        let spec = self.spec();
        let mut parts = Vec::new();
        for part in self.snapshot().iter() {
            let has_index = part.stored.meta.skip_indexes.iter().any(|index| index.name == name);
            if !which.has_part(part.name()) || !has_index {
                parts.push(Arc::clone(part));
                continue;
            }
            let mut meta = part.stored.meta.clone();
            meta.skip_indexes.retain(|index| index.name != name);
            // Where one cannot be written, those before have lost the index: that costs time alone.
            let path = part.stored.directory.path().join(META_FILE);
            let pending = PendingFile::write(&*self.storage, &path, &meta.encode())?;
            self.poison_unless_ok(pending.publish(&*self.storage))?;
            let stored =
                Arc::new(StoredPart::new(Arc::clone(&part.stored.directory), part.stored.name.clone(), meta));
            parts.push(Arc::new(Part::new(stored, Arc::clone(&spec))?));
        }
        commit.respec(spec, parts);
        Ok(())
    }
}

impl Part {
    /// The files of columns that `new`, the same part, has no more go with their last reader.
    fn mark_dropped_columns(&self, new: &StoredPart) {
        let is_kept = |file: &str| new.meta.columns.iter().any(|column| column.file == file);
        for (column, stored) in self.spec.columns.iter().zip(&self.columns) {
            let Some(meta) = self.stored.column_meta(&column.name) else { continue };
            if let Some(stored) = stored.as_ref().filter(|_| !is_kept(&meta.file)) {
                stored.mark_obsolete();
            }
        }
    }
}

/// The same part without the skip indexes that `spec` has not: one of the same name that is added later is
/// another one.
fn without_dropped_indexes(stored: &Arc<StoredPart>, spec: &PartSpec) -> Result<Arc<StoredPart>> {
    let is_known = |meta: &SkipIndexMeta| spec.indexes.iter().any(|index| meta.is_of(index));
    // By the names that its columns have today.
    let renamed = stored.renamed(&spec.history);
    let meta = renamed.as_ref().map_or(&stored.meta, |renamed| &renamed.meta);
    if meta.skip_indexes.iter().all(is_known) {
        return Ok(Arc::clone(stored));
    }
    let mut meta = meta.clone();
    meta.skip_indexes.retain(is_known);
    with_meta(stored, meta)
}

/// The same part, whose metadata is replaced by `meta`. Files that it does not name stay until the part goes:
/// somebody may read them.
fn with_meta(stored: &Arc<StoredPart>, meta: PartMeta) -> Result<Arc<StoredPart>> {
    let path = stored.directory.path().join(META_FILE);
    publish_file(&**stored.directory.storage(), &path, &meta.encode())?;
    Ok(Arc::new(StoredPart::new(Arc::clone(&stored.directory), stored.name.clone(), meta)))
}

/// Removes what `spec` dropped and a crash kept, files of columns and skip indexes; the part as `spec` names its
/// columns.
pub(super) fn without_dropped(stored: Arc<StoredPart>, spec: &PartSpec) -> Result<Arc<StoredPart>> {
    let Some(renamed) = stored.renamed(&spec.history) else {
        return without_dropped_indexes(&stored, spec);
    };
    let drops = spec.history.changes().iter().any(|change| matches!(change, NameChange::Dropped { .. }));
    // The columns of a compact part share a file with those that stay.
    if drops && stored.meta.data_file.is_none() {
        let is_kept = |file: &str| renamed.meta.columns.iter().any(|column| column.file == file);
        for column in stored.meta.columns.iter().filter(|column| !is_kept(&column.file)) {
            let path = stored.directory.path().join(&column.file);
            if stored.directory.storage().exists(&path)? {
                stored.directory.storage().remove_file(&path)?;
            }
        }
    }
    without_dropped_indexes(&Arc::new(renamed), spec)
}
