//! The mark of a store whose log has had changes that were not synced at once.
//!
//! A crash of the machine may leave holes in such a log, with whole changes after them. They are no damage if the
//! changes before them reach the acknowledged ones. The record of those is synced in a marked store.

use std::path::Path;

use basalt_base::Result;
use basalt_base::fs::{RealStorage, publish_file};

const NAME: &str = "UNSYNCED";

/// Whether the store at `path` has the mark.
pub(crate) fn is_marked(path: &Path) -> bool {
    path.join(NAME).exists()
}

/// Marks the store at `path`, durably.
pub(crate) fn mark(path: &Path) -> Result<()> {
    if is_marked(path) {
        return Ok(());
    }
    publish_file(&RealStorage, &path.join(NAME), b"")
}
