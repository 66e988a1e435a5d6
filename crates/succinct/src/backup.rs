//! Copies of a table: files that never change become hard links.

use std::path::Path;

use basalt_base::fs::{RealStorage, Storage, publish_empty_dir};
use basalt_base::{Error, FileAction, Result};

use crate::table::{DATABASE_DIRECTORY, SEGMENTS_DIRECTORY, Table};
use crate::waiting;

/// Files that are never changed after they are written.
const UNCHANGED: [&str; 2] = ["sst", "seg"];

impl Table {
    /// Copies the table as it is now into `dir`, an empty directory; durable when it returns.
    pub fn copy_to(&self, dir: &Path) -> Result<()> {
        // No segment is made or removed meanwhile: the records of the copy fit to its segments.
        let _no_work = waiting::exclusive(&self.work)?;
        let version = self.version();
        let storage = &self.options.storage;
        let segments = dir.join(SEGMENTS_DIRECTORY);
        publish_empty_dir(storage.as_ref(), &segments)?;
        for stored in &version.segments {
            let name = stored.path().file_name().unwrap_or_default();
            storage.hard_link(stored.path(), &segments.join(name))?;
        }
        storage.sync_dir(&segments)?;
        self.database.checkpoint(&dir.join(DATABASE_DIRECTORY))?;
        RealStorage.sync_dir(dir)
    }

    /// Makes the files of a table in `dir`, an empty directory, of a copy of one; durable when it returns.
    pub fn restore_files(copy: &Path, dir: &Path) -> Result<()> {
        for part in [SEGMENTS_DIRECTORY, DATABASE_DIRECTORY] {
            let (from, to) = (copy.join(part), dir.join(part));
            publish_empty_dir(&RealStorage, &to)?;
            for entry in RealStorage.list(&from)?.iter().filter(|entry| !entry.is_dir) {
                let (from, to) = (from.join(&entry.name), to.join(&entry.name));
                let is_unchanged =
                    UNCHANGED.iter().any(|ending| from.extension().is_some_and(|own| own == *ending));
                if !is_unchanged || RealStorage.hard_link(&from, &to).is_err() {
                    std::fs::copy(&from, &to).map_err(|error| Error::io(FileAction::Write, &to, &error))?;
                    RealStorage.sync_file(&to)?;
                }
            }
            RealStorage.sync_dir(&to)?;
        }
        Ok(())
    }
}
