//! Which dictionary uses which directory for the files of its SSD_CACHE.
//!
//! The lock of a directory keeps other processes out as long as this one lives. In the process, the versions of a
//! dictionary share the lock: there are two of them during a reload. No other dictionary gets the directory
//! meanwhile.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use basalt_base::fs::DirectoryLock;
use basalt_base::{Error, FileAction, Result, bail};
use parking_lot::Mutex;
use uuid::Uuid;

/// The directories in use, by their canonical paths.
#[derive(Default)]
pub(crate) struct CacheDirectories {
    held: Mutex<HashMap<PathBuf, Held>>,
}

struct Held {
    dictionary: Uuid,
    /// The name of the dictionary when it took the directory.
    name: String,
    lock: Weak<DirectoryLock>,
}

impl CacheDirectories {
    /// The directory `path`, which must exist, for a version of `dictionary`; an error names the dictionary that uses
    /// it.
    pub(super) fn take(&self, path: &Path, dictionary: Uuid, name: &str) -> Result<Arc<DirectoryLock>> {
        let path = path.canonicalize().map_err(|error| Error::io(FileAction::Inspect, path, &error))?;
        let mut held = self.held.lock();
        held.retain(|_, held| held.lock.strong_count() > 0);
        let known = held.get(&path).and_then(|held| Some((held, held.lock.upgrade()?)));
        if let Some((owner, lock)) = known {
            if owner.dictionary == dictionary {
                return Ok(lock);
            }
            bail!(
                CannotOpenFile,
                "PATH `{}` is in use by the dictionary {}; an SSD_CACHE needs a directory of its own",
                path.display(),
                owner.name
            );
        }
        let lock = Arc::new(DirectoryLock::acquire(&path)?);
        held.insert(path, Held { dictionary, name: name.to_owned(), lock: Arc::downgrade(&lock) });
        Ok(lock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_of_one_dictionary() {
        let dir = tempfile::tempdir().expect("a directory");
        let directories = CacheDirectories::default();
        let (first, second) = (Uuid::new_v4(), Uuid::new_v4());
        let old = directories.take(dir.path(), first, "z.first").expect("a free directory");
        let new = directories.take(dir.path(), first, "z.first").expect("its own directory");
        let other_name = dir.path().join("..").join(dir.path().file_name().expect("a name"));
        let refused = directories.take(&other_name, second, "z.second").map(|_| ());
        assert!(refused.is_err_and(|error| error.message().contains("the dictionary z.first")));
        drop(old);
        assert!(directories.take(dir.path(), second, "z.second").is_err());
        drop(new);
        directories.take(dir.path(), second, "z.second").map(|_| ()).expect("a free directory");
    }

    #[test]
    fn another_process_is_named() {
        let dir = tempfile::tempdir().expect("a directory");
        let _of_other = DirectoryLock::acquire(dir.path()).expect("a free directory");
        let refused = CacheDirectories::default().take(dir.path(), Uuid::new_v4(), "z.first").map(|_| ());
        let pid = format!("process {}", std::process::id());
        assert!(refused.is_err_and(|error| error.message().contains(&pid)));
    }
}
