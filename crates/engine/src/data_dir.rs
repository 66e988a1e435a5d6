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

use std::path::{Component, Path, PathBuf};

use basalt_base::fs::{DirectoryLock, Storage, publish_empty_dir, publish_file};
use basalt_base::{Error, ErrorCode, Result, bail};

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
    let full = root.join(path);
    let resolved = full.canonicalize().map_err(|error| Error::io(&full, &error))?;
    within_root(path, resolved, root)
}

/// The path of a directory that a statement names: as [`user_file`], but the end of it may not be there.
pub(crate) fn user_directory(path: &str, root: Option<&Path>) -> Result<PathBuf> {
    let path = Path::new(path);
    let Some(root) = root else {
        return Ok(path.to_owned());
    };
    let full = root.join(path);
    // A link to nowhere is there, and cannot be resolved.
    let there = full.ancestors().find(|dir| dir.symlink_metadata().is_ok()).unwrap_or(root);
    let missing = full.strip_prefix(there).map_err(Error::logical)?;
    if missing.components().any(|part| !matches!(part, Component::Normal(_))) {
        return Err(outside(path, root));
    }
    let resolved = there.canonicalize().map_err(|error| Error::io(there, &error))?;
    within_root(path, resolved.join(missing), root)
}

fn within_root(path: &Path, resolved: PathBuf, root: &Path) -> Result<PathBuf> {
    let root = root.canonicalize().map_err(|error| Error::io(root, &error))?;
    if resolved.starts_with(&root) { Ok(resolved) } else { Err(outside(path, &root)) }
}

fn outside(path: &Path, root: &Path) -> Error {
    let what =
        format!("file `{}` is outside the directory of user files, `{}`", path.display(), root.display());
    Error::new(ErrorCode::ReadOnly, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_not_there_is_within_the_root_too() {
        let root = tempfile::tempdir().expect("a directory");
        let outside = tempfile::tempdir().expect("a directory");
        let real = root.path().canonicalize().expect("it is there");
        std::fs::create_dir(root.path().join("old")).expect("a new directory");
        for (name, target) in [("out", outside.path()), ("nowhere", &outside.path().join("none"))] {
            std::os::unix::fs::symlink(target, root.path().join(name)).expect("a new link");
        }
        std::os::unix::fs::symlink(root.path().join("old"), root.path().join("in")).expect("a new link");
        let resolved = |path: &str| user_directory(path, Some(root.path())).ok();
        assert_eq!(resolved("new/deep"), Some(real.join("new/deep")));
        assert_eq!(resolved("old"), Some(real.join("old")));
        assert_eq!(resolved("in/new"), Some(real.join("old/new")));
        assert_eq!(resolved(&root.path().join("new").to_string_lossy()), Some(real.join("new")));
        let refused =
            ["out", "out/new", "nowhere", "nowhere/new", "..", "../new", "new/../../new", "new/..", "/new"];
        for path in refused {
            assert_eq!(resolved(path), None, "{path}");
        }
        assert_eq!(user_directory("../x", None).ok(), Some("../x".into()));
    }
}
