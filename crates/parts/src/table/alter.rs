//! TRUNCATE and changes of the column list.

use std::sync::Arc;

use basalt_base::fs::publish_file;
use basalt_base::{Column, Columns};
use basalt_codec::CodecChain;

use super::active::TableParts;
use super::partition::PartSelection;
use crate::error::{Error, Result};
use crate::part::meta::{META_FILE, SkipIndexMeta};
use crate::part::stored::StoredPart;
use crate::part::view::Part;
use crate::spec::{Fill, PartSpec};

impl TableParts {
    /// Removes all rows, durably. Snapshots that are held keep theirs.
    pub fn truncate(&self) -> Result<()> {
        self.drop_parts(&PartSelection::All).map(|_| ())
    }

    /// Writes parts by another specification from now on: other codecs, defaults or settings for the same
    /// columns and keys.
    pub fn change_spec(&self, spec: PartSpec) -> Result<()> {
        spec.assert_valid();
        let commit = self.begin_commit()?;
        let old = self.spec();
        if spec.columns != old.columns || spec.sort_key != old.sort_key {
            let what = "the columns or the key of the table are others".to_owned();
            return Err(Error::BlockMismatch { what });
        }
        let spec = Arc::new(spec);
        let view = |part: &Arc<Part>| Part::new(Arc::clone(&part.stored), Arc::clone(&spec)).map(Arc::new);
        let parts = self.snapshot().iter().map(view).collect::<Result<_>>()?;
        commit.respec(spec, parts);
        Ok(())
    }

    /// Adds `column` at `position`. Parts that were written without it have its default value.
    pub fn add_column(
        &self,
        column: Column,
        chain: CodecChain,
        fill: Option<Fill>,
        position: usize,
    ) -> Result<()> {
        let commit = self.begin_commit()?;
        let old = self.spec();
        if position > old.columns.len() || old.columns.position(&column.name).is_some() {
            let what = format!("column `{}` cannot be added at position {position}", column.name);
            return Err(Error::BlockMismatch { what });
        }
        let mut spec = (*old).clone();
        let mut columns = old.columns.to_vec();
        columns.insert(position, column);
        spec.columns = Columns::new(columns);
        spec.codecs.insert(position, chain);
        spec.fills.insert(position, fill);
        spec.keys_mut().for_each(|element| element.after_added(position));
        let spec = Arc::new(spec);
        let view = |part: &Arc<Part>| Part::new(Arc::clone(&part.stored), Arc::clone(&spec)).map(Arc::new);
        let parts = self.snapshot().iter().map(view).collect::<Result<_>>()?;
        commit.respec(spec, parts);
        Ok(())
    }

    /// Removes the column called `name`, which is not part of the key. The table's definition must say
    /// so already: opening a table drops from its parts what the definition does not have.
    pub fn drop_column(&self, name: &str) -> Result<()> {
        let commit = self.begin_commit()?;
        let old = self.spec();
        let Some(position) = old.columns.position(name).filter(|&at| !old.is_in_key(at)) else {
            let what = format!("column `{name}` does not exist or belongs to the key");
            return Err(Error::BlockMismatch { what });
        };
        let mut spec = (*old).clone();
        let mut columns = old.columns.to_vec();
        columns.remove(position);
        spec.columns = Columns::new(columns);
        spec.codecs.remove(position);
        spec.fills.remove(position);
        spec.keys_mut().for_each(|element| element.after_dropped(position));
        spec.indexes.retain(|index| !index.reads(name));
        let spec = Arc::new(spec);
        let mut parts = Vec::new();
        for part in self.snapshot().iter() {
            let stored = self.poison_unless_ok(without_dropped_columns(&part.stored, &spec))?;
            if let Some(column) = &part.columns[position] {
                column.mark_obsolete();
            }
            parts.push(Arc::new(Part::new(stored, Arc::clone(&spec))?));
        }
        commit.respec(spec, parts);
        Ok(())
    }
}

/// The same part without the columns that `spec` has not; its metadata is replaced first, so that a
/// column of the same name that is added later has nothing to do with the old one.
fn without_dropped_columns(stored: &Arc<StoredPart>, spec: &PartSpec) -> Result<Arc<StoredPart>> {
    let is_kept = |name: &str| spec.columns.position(name).is_some();
    let is_known = |meta: &SkipIndexMeta| spec.indexes.iter().any(|index| meta.is_of(index));
    if stored.meta.columns.iter().all(|column| is_kept(&column.name))
        && stored.meta.skip_indexes.iter().all(is_known)
    {
        return Ok(Arc::clone(stored));
    }
    let mut meta = stored.meta.clone();
    meta.columns.retain(|column| is_kept(&column.name));
    // An index of a column of that name that is added later is another one.
    meta.skip_indexes.retain(is_known);
    let path = stored.directory.path().join(META_FILE);
    publish_file(&**stored.directory.storage(), &path, &meta.encode())?;
    Ok(Arc::new(StoredPart::new(Arc::clone(&stored.directory), stored.name.clone(), meta)))
}

/// What [`TableParts::drop_column`] had no time to do before a crash; also removes the files.
pub(super) fn finish_dropped_columns(stored: Arc<StoredPart>, spec: &PartSpec) -> Result<Arc<StoredPart>> {
    let kept = without_dropped_columns(&stored, spec)?;
    // The columns of a compact part share a file with those that stay.
    for column in stored.meta.columns.iter().filter(|column| column.offset.is_none()) {
        if kept.meta.columns.iter().all(|other| other.file != column.file) {
            let path = stored.directory.path().join(&column.file);
            stored.directory.storage().remove_file(&path)?;
        }
    }
    Ok(kept)
}
