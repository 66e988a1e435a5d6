//! The data directory: its format version, its lock, and the directory of unfinished things.
//!
//! ```text
//! VERSION       "basalt 1\n"
//! LOCK          held while open; holds the number of the process
//! metadata/     see `catalog/metadata.rs`
//! access/       see `access_control/store.rs`
//! named_collections/  see `named_collections.rs`
//! store/<uuid>/ the data of one table
//! tmp/          what is being spilled or written; emptied at open
//! ```

use std::path::{Component, Path, PathBuf};

use basalt_base::fs::{DirectoryLock, Storage, publish_empty_dir, publish_file};
use basalt_base::{Error, ErrorCode, FileAction, Result, bail};

/// The contents of the file VERSION.
const VERSION: &[u8] = b"basalt 1\n";
const VERSION_BYTES_MAX: u64 = 1024;

/// Directories of statements, in which passwords stand as they are.
const WITH_PASSWORDS: [&str; 3] = ["access", "metadata", "named_collections"];

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
        // Not the directory itself: on a full disk it may not be made again.
        for entry in storage.list(&tmp)? {
            let path = tmp.join(entry.name);
            if entry.is_dir { storage.remove_dir_all(&path)? } else { storage.remove_file(&path)? }
        }
    } else {
        storage.create_dir_all(&tmp)?;
    }
    make_private(storage, data_dir)?;
    Ok(lock)
}

/// Also for a directory that an older version or another program made: only the owner may enter it, and only the owner
/// may read the files with passwords, wherever they are copied to.
fn make_private(storage: &dyn Storage, data_dir: &Path) -> Result<()> {
    storage.make_private(data_dir)?;
    let mut directories: Vec<PathBuf> = WITH_PASSWORDS.iter().map(|name| data_dir.join(name)).collect();
    while let Some(directory) = directories.pop() {
        if !storage.exists(&directory)? {
            continue;
        }
        storage.make_private(&directory)?;
        for entry in storage.list(&directory)? {
            let path = directory.join(&entry.name);
            if entry.is_dir { directories.push(path) } else { storage.make_private(&path)? }
        }
    }
    Ok(())
}

/// The path of a file or directory that a statement names. Its last parts need not exist. With `root` the path must be
/// below it.
pub(crate) fn user_path(path: &str, root: Option<&Path>) -> Result<PathBuf> {
    let path = Path::new(path);
    let Some(root) = root else {
        return Ok(path.to_owned());
    };
    let full = root.join(path);
    // A dangling link exists, but cannot be resolved.
    let there = full.ancestors().find(|dir| dir.symlink_metadata().is_ok()).unwrap_or(root);
    let missing = full.strip_prefix(there).map_err(Error::logical)?;
    if missing.components().any(|part| !matches!(part, Component::Normal(_))) {
        return Err(outside(path, root));
    }
    let resolved = there.canonicalize().map_err(|error| Error::io(FileAction::Inspect, there, &error))?;
    // Joining an empty path would append a slash.
    let resolved = if missing.as_os_str().is_empty() { resolved } else { resolved.join(missing) };
    within_root(path, resolved, root)
}

fn within_root(path: &Path, resolved: PathBuf, root: &Path) -> Result<PathBuf> {
    let root = root.canonicalize().map_err(|error| Error::io(FileAction::Inspect, root, &error))?;
    if resolved.starts_with(&root) { Ok(resolved) } else { Err(outside(path, &root)) }
}

fn outside(path: &Path, root: &Path) -> Error {
    let what =
        format!("file `{}` is outside the directory of user files, `{}`", path.display(), root.display());
    Error::new(ErrorCode::DatabaseAccessDenied, what)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use basalt_base::fs::RealStorage;

    use super::*;

    #[test]
    fn what_others_could_read_is_private_once_it_is_opened() {
        let dir = tempfile::tempdir().expect("a directory");
        let data_dir = dir.path().join("data");
        let secret = data_dir.join("metadata/shop/far.sql");
        std::fs::create_dir_all(secret.parent().expect("in a directory")).expect("new directories");
        std::fs::write(&secret, "PASSWORD 'x'").expect("a new file");
        for (path, mode) in [(&data_dir, 0o755), (&secret, 0o644)] {
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("its owner may");
        }
        open(&RealStorage, &data_dir).expect("an empty data directory");
        for (path, mode) in [(&data_dir, 0o700), (&secret, 0o600), (&data_dir.join("VERSION"), 0o600)] {
            let found = std::fs::metadata(path).expect("it is there").permissions().mode();
            assert_eq!(found & 0o777, mode, "{}", path.display());
        }
    }

    #[test]
    fn a_path_that_is_not_there_is_within_the_root_too() {
        let root = tempfile::tempdir().expect("a directory");
        let outside = tempfile::tempdir().expect("a directory");
        let real = root.path().canonicalize().expect("it is there");
        std::fs::create_dir(root.path().join("old")).expect("a new directory");
        for (name, target) in [("out", outside.path()), ("nowhere", &outside.path().join("none"))] {
            std::os::unix::fs::symlink(target, root.path().join(name)).expect("a new link");
        }
        std::os::unix::fs::symlink(root.path().join("old"), root.path().join("in")).expect("a new link");
        let resolved = |path: &str| user_path(path, Some(root.path())).ok();
        assert_eq!(resolved("new/deep"), Some(real.join("new/deep")));
        assert_eq!(resolved("old"), Some(real.join("old")));
        assert_eq!(resolved("in/new"), Some(real.join("old/new")));
        std::fs::write(root.path().join("file"), "").expect("a new file");
        let file = resolved("file").expect("it is below the root");
        assert_eq!(file.as_os_str(), real.join("file").as_os_str());
        assert_eq!(resolved(&root.path().join("new").to_string_lossy()), Some(real.join("new")));
        let refused =
            ["out", "out/new", "nowhere", "nowhere/new", "..", "../new", "new/../../new", "new/..", "/new"];
        for path in refused {
            assert_eq!(resolved(path), None, "{path}");
        }
        assert_eq!(user_path("../x", None).ok(), Some("../x".into()));
    }
}
