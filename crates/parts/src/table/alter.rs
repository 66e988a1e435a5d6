//! TRUNCATE, and changes of the table's spec.

use std::sync::Arc;

use basalt_base::fs::PendingFile;

use super::active::TableParts;
use super::dropped::without_dropped_indexes;
use super::file_name::DETACHED;
use super::partition::PartSelection;
use crate::error::Result;
use crate::part::meta::META_FILE;
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
