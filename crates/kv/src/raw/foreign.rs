//! Directories that are refused, because RocksDB would change or remove files of another program in them.

use std::path::Path;

use basalt_base::{Error, FileAction, Result, bail};

/// Every database of RocksDB and of LevelDB has it.
const CURRENT: &str = "CURRENT";
/// RocksDB writes it into every database, and LevelDB into none.
const IDENTITY: &str = "IDENTITY";
const OPTIONS_PREFIX: &str = "OPTIONS-";

/// An error if `path` is a database of LevelDB itself. Its files look like those of an old RocksDB: RocksDB would
/// replay and remove its log before it finds tables that it cannot read.
pub(super) fn check(path: &Path) -> Result<()> {
    let exists = |name: &str| path.join(name).try_exists();
    let exists = |name: &str| exists(name).map_err(|error| Error::io(FileAction::Inspect, path, &error));
    if !exists(CURRENT)? || exists(IDENTITY)? || has_options_file(path)? {
        return Ok(());
    }
    bail!(
        NotImplemented,
        "{} has the files of LevelDB, not of RocksDB; nothing was changed. Read it with LevelDB and put its keys into \
         a new database",
        path.display()
    )
}

fn has_options_file(path: &Path) -> Result<bool> {
    let list = |error| Error::io(FileAction::List, path, &error);
    for entry in std::fs::read_dir(path).map_err(list)? {
        if entry.map_err(list)?.file_name().to_string_lossy().starts_with(OPTIONS_PREFIX) {
            return Ok(true);
        }
    }
    Ok(false)
}
