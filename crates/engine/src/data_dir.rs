//! The data directory: its format version, its lock, and the directory of unfinished things.
//!
//! ```text
//! VERSION       "basalt 1\n"
//! LOCK          held while open; holds the number of the process
//! metadata/     see `catalog/metadata.rs`
//! named_collections/  see `named_collections.rs`
//! store/<uuid>/ the data of one table
//! tmp/          what is being spilled or written; emptied at open
//! ```

use std::path::{Path, PathBuf};

use basalt_base::fs::{DirectoryLock, Storage, publish_empty_dir, publish_file};
use basalt_base::{Error, Result, bail};

/// What the file VERSION holds.
const VERSION: &[u8] = b"basalt 1\n";
const VERSION_BYTES_MAX: u64 = 1024;

/// Locks the directory, making it if it is not there, and checks its version.
pub(crate) fn open(storage: &dyn Storage, data_dir: &Path) -> Result<DirectoryLock> {
    publish_empty_dir(storage, data_dir)?;
    let lock = DirectoryLock::acquire(data_dir)?;
    let version = data_dir.join("VERSION");
    if storage.exists(&version)? {
        let found = storage.read(&version, VERSION_BYTES_MAX)?;
        if found != VERSION {
            bail!(
                CorruptedData,
                "{} says `{}`, this build opens `{}`",
                version.display(),
                String::from_utf8_lossy(&found).trim(),
                String::from_utf8_lossy(VERSION).trim()
            );
        }
    } else {
        publish_file(storage, &version, VERSION)?;
    }
    let tmp = data_dir.join("tmp");
    if storage.exists(&tmp)? {
        storage.remove_dir_all(&tmp)?;
    }
    storage.create_dir_all(&tmp)?;
    Ok(lock)
}

/// The path of a file that a statement names: anywhere, or below `root` if there is one.
pub(crate) fn user_file(path: &str, root: Option<&Path>) -> Result<PathBuf> {
    let path = Path::new(path);
    let Some(root) = root else {
        return Ok(path.to_owned());
    };
    let full = if path.is_absolute() { path.to_owned() } else { root.join(path) };
    let resolved = full.canonicalize().map_err(|error| Error::io(&full, &error))?;
    let root = root.canonicalize().map_err(|error| Error::io(root, &error))?;
    if !resolved.starts_with(&root) {
        bail!(
            ReadOnly,
            "file `{}` is outside the directory of user files, `{}`",
            path.display(),
            root.display()
        );
    }
    Ok(resolved)
}
