//! Saves the readable rows of a damaged store.

use std::path::{Path, PathBuf};

use basalt_base::{Error, FileAction, Result};
use rocksdb::{DB, DBRecoveryMode, IngestExternalFileOptions};

use super::acknowledged::{Acknowledged, AcknowledgedFile};
use super::log_file::Tail;
use super::manifest::ManifestPlace;
use crate::error::failed;
use crate::options::KvOptions;
use crate::store::Store;

/// Most directories of damaged files next to one store.
const ASIDE_MAX: u32 = 10_000;

impl Store {
    /// Makes the store at `path` openable again, with every row that can still be read. Returns the directory next
    /// to it with its original files.
    ///
    /// Damaged records of the log are left out. If the MANIFEST is damaged, RocksDB makes a new one from all sorted
    /// files that exist; replaced or deleted rows may then reappear.
    pub fn restore(path: &Path, options: &KvOptions) -> Result<PathBuf> {
        let aside = set_aside(path)?;
        let mut rocksdb = options.to_rocksdb();
        let is_repaired = !has_sound_manifest(path);
        if is_repaired {
            DB::repair(&rocksdb, path).map_err(|error| failed(path, "repairing it", &error))?;
        }
        rocksdb.set_wal_recovery_mode(DBRecoveryMode::SkipAnyCorruptedRecord);
        let db =
            DB::open(&rocksdb, path).map_err(|error| failed(path, "opening what is left of it", &error))?;
        if is_repaired {
            take_loads_back(path, &db);
        }
        db.flush().map_err(|error| failed(path, "flushing", &error))?;
        let sequence = db.latest_sequence_number();
        drop(db);
        AcknowledgedFile::open_with(path, Acknowledged { sequence, ..Acknowledged::default() })?;
        Ok(aside)
    }
}

/// RocksDB's repair moves ingested files aside, because they have no column family name. They are ingested again in
/// their order. Other and damaged files stay aside.
fn take_loads_back(path: &Path, db: &DB) {
    let entries = std::fs::read_dir(path.join("lost")).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "sst"));
    files.sort();
    let mut options = IngestExternalFileOptions::default();
    options.set_move_files(true);
    for file in files {
        let _ = db.ingest_external_file_opts(&options, vec![file]);
    }
}

fn has_sound_manifest(path: &Path) -> bool {
    let Ok(Some(manifest)) = ManifestPlace::find(path) else { return false };
    let said = Acknowledged::read(path).ok().flatten().filter(|said| said.manifest == manifest.number);
    let is_whole = manifest
        .scan()
        .is_ok_and(|scan| scan.tail == Tail::Whole && scan.end >= said.map_or(0, |said| said.manifest_bytes));
    is_whole && manifest.read(path).is_ok()
}

/// Sorted files never change, so a hard link keeps them; the others are copied.
fn set_aside(path: &Path) -> Result<PathBuf> {
    let parent = path.parent().unwrap_or(path);
    let free =
        (1..ASIDE_MAX).map(|number| parent.join(format!("damaged-{number}"))).find(|dir| !dir.exists());
    let aside = free.ok_or_else(|| Error::logical(format!("{} was restored too often", path.display())))?;
    let copy = || -> std::io::Result<()> {
        std::fs::create_dir_all(&aside)?;
        for entry in std::fs::read_dir(path)? {
            let (from, to) = {
                let entry = entry?;
                (entry.path(), aside.join(entry.file_name()))
            };
            if !from.is_file() {
                continue;
            }
            let is_sorted = from.extension().is_some_and(|extension| extension == "sst");
            if !is_sorted || std::fs::hard_link(&from, &to).is_err() {
                std::fs::copy(&from, &to)?;
            }
        }
        Ok(())
    };
    copy().map_err(|error| Error::io(FileAction::Write, &aside, &error))?;
    Ok(aside)
}
