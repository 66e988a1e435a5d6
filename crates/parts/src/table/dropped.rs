//! Parts without the columns and skip indexes that the table's definition has dropped.

use std::sync::Arc;

use basalt_base::fs::publish_file;

use crate::error::Result;
use crate::history::NameChange;
use crate::part::meta::{META_FILE, PartMeta, SkipIndexMeta};
use crate::part::stored::StoredPart;
use crate::spec::PartSpec;

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

/// The part without the skip indexes that `spec` does not have: a later index of the same name is another one.
pub(super) fn without_dropped_indexes(stored: &Arc<StoredPart>, spec: &PartSpec) -> Result<Arc<StoredPart>> {
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
