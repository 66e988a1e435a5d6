//! Finds and reads the current MANIFEST.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::fs::File;
use std::path::{Path, PathBuf};

use basalt_base::{Error, ErrorCode, FileAction, Result};
use rocksdb::{DB, DEFAULT_COLUMN_FAMILY_NAME, InfoLogger, LogLevel, Options, properties};

use super::log_file::{LogScan, scan};
use crate::error::{damaged, failed};

const CURRENT: &str = "CURRENT";
const MANIFEST: &str = "MANIFEST-";
/// Open files that RocksDB may use to read the MANIFEST.
const OPEN_FILES_MAX: i32 = 16;

/// The MANIFEST that CURRENT names.
pub(crate) struct ManifestPlace {
    pub(crate) number: u64,
    pub(crate) path: PathBuf,
}

/// The contents of the MANIFEST.
pub(crate) struct Recorded {
    /// The greatest sequence number that it covers.
    pub(crate) sequence: u64,
    /// Logs before this one have been flushed to sorted files.
    pub(crate) first_log: u64,
}

impl ManifestPlace {
    /// `None` if there is no store yet.
    pub(crate) fn find(store: &Path) -> Result<Option<ManifestPlace>> {
        let current = store.join(CURRENT);
        let text = match std::fs::read(&current) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io(FileAction::Read, &current, &error)),
        };
        let name = std::str::from_utf8(&text).ok().and_then(|text| text.strip_suffix('\n'));
        let number = name.and_then(|name| name.strip_prefix(MANIFEST)?.parse().ok());
        match (name, number) {
            (Some(name), Some(number)) if store.join(name).is_file() => {
                Ok(Some(ManifestPlace { number, path: store.join(name) }))
            }
            _ => Err(damaged(&current, "it names no MANIFEST that is there")),
        }
    }

    pub(crate) fn bytes(&self) -> Result<u64> {
        Ok(std::fs::metadata(&self.path)
            .map_err(|error| Error::io(FileAction::Inspect, &self.path, &error))?
            .len())
    }

    pub(crate) fn scan(&self) -> Result<LogScan> {
        let file = File::open(&self.path).and_then(|file| scan(file, |_| {}));
        file.map_err(|error| Error::io(FileAction::Read, &self.path, &error))
    }

    /// Lets RocksDB read it. Reads no log and changes nothing.
    pub(crate) fn read(&self, store: &Path) -> Result<Recorded> {
        let mut options = Options::default();
        options.set_max_open_files(OPEN_FILES_MAX);
        options.set_info_logger(InfoLogger::new_callback_logger(LogLevel::Fatal, |_, _| {}));
        // The directory has no logs, so that none is read.
        options.set_wal_dir(store.parent().unwrap_or(store));
        let opened = DB::open_cf_for_read_only(&options, store, [DEFAULT_COLUMN_FAMILY_NAME], false);
        let db = opened.map_err(|error| {
            let error = failed(store, "reading its MANIFEST", &error);
            let is_space = error.code() == ErrorCode::NotEnoughSpace;
            if is_space { error } else { damaged(&self.path, error.message()) }
        })?;
        let first_log = db.property_int_value(properties::MIN_LOG_NUMBER_TO_KEEP);
        let first_log = first_log.map_err(|error| failed(store, "reading its MANIFEST", &error))?;
        Ok(Recorded { sequence: db.latest_sequence_number(), first_log: first_log.unwrap_or_default() })
    }
}
