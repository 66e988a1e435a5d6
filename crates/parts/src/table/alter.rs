//! TRUNCATE, and changes of the table's spec.

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
    /// Removes all rows, durably. Existing snapshots keep theirs.
    pub fn truncate(&self) -> Result<()> {
        self.drop_parts(&PartSelection::All).map(|_| ())
    }

    /// Checks that every part can be read with `spec`: values in an older type need a conversion.
    pub fn check_spec(&self, spec: PartSpec) -> Result<()> {
        let spec = Arc::new(spec);
        let view = |part: &Arc<Part>| Part::new(Arc::clone(&part.stored), Arc::clone(&spec)).map(|_| ());
        self.snapshot().iter().try_for_each(view)
    }

    /// Changes the spec for reading and writing parts. The table's definition must have changed already: nothing is
    /// written here, existing parts are only read differently. Files of dropped columns are removed after their
    /// last reader.
    ///
    /// Existing parts have only their own columns: a new column has its fill, another name or type needs the
    /// history and the conversions of `spec`. Elements added to the sorting key must be equal in all existing rows.
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
            // A dropped skip index may be created again over other values.
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

    /// The last change of column names that the files of all parts have seen, including detached ones. Parts being
    /// written have seen all changes, or fail.
    pub fn names_seen_by_all(&self) -> Result<u64> {
        let mut seen = self.spec().history.version();
        for part in self.snapshot().iter() {
            let (directory, name) = (part.stored.directory.path().to_owned(), part.name().clone());
            let on_disk = StoredPart::open(Arc::clone(&self.storage), directory, name)?;
            seen = seen.min(on_disk.meta.names_version);
        }
        for (directory, name) in self.detached_directories()? {
            let path = self.dir.join(DETACHED).join(directory);
            // An unreadable part cannot be attached.
            if let Ok(part) = StoredPart::open(Arc::clone(&self.storage), path, name) {
                seen = seen.min(part.meta.names_version);
            }
        }
        Ok(seen)
    }

    /// Removes the skip index called `name` from parts; the table keeps it, and new parts have it.
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
            // If one part cannot be written, the earlier ones have lost the index, which only costs time.
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
    /// Marks files of columns that `new`, the same part, no longer has; they are removed after their last reader.
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

/// The part without the skip indexes that `spec` does not have: a later index of the same name is another one.
fn without_dropped_indexes(stored: &Arc<StoredPart>, spec: &PartSpec) -> Result<Arc<StoredPart>> {
    let is_known = |meta: &SkipIndexMeta| spec.indexes.iter().any(|index| meta.is_of(index));
    // Under the current names of its columns.
    let renamed = stored.renamed(&spec.history);
    let meta = renamed.as_ref().map_or(&stored.meta, |renamed| &renamed.meta);
    if meta.skip_indexes.iter().all(is_known) {
        return Ok(Arc::clone(stored));
    }
    let mut meta = meta.clone();
    meta.skip_indexes.retain(is_known);
    with_meta(stored, meta)
}

/// The part with its metadata replaced by `meta`. Files that it does not name stay until the part is removed,
/// because they may have readers.
fn with_meta(stored: &Arc<StoredPart>, meta: PartMeta) -> Result<Arc<StoredPart>> {
    let path = stored.directory.path().join(META_FILE);
    publish_file(&**stored.directory.storage(), &path, &meta.encode())?;
    Ok(Arc::new(StoredPart::new(Arc::clone(&stored.directory), stored.name.clone(), meta)))
}

/// Removes files of dropped columns and skip indexes that a crash left; returns the part under the column names of
/// `spec`.
pub(super) fn without_dropped(stored: Arc<StoredPart>, spec: &PartSpec) -> Result<Arc<StoredPart>> {
    let Some(renamed) = stored.renamed(&spec.history) else {
        return without_dropped_indexes(&stored, spec);
    };
    let drops = spec.history.changes().iter().any(|change| matches!(change, NameChange::Dropped { .. }));
    // The columns of a compact part share a file.
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
