//! Whether an open data directory can take changes.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use basalt_base::fs::disk_space;
use basalt_base::{Result, bail};
use rustix::fs::{Access, access};

/// With less free space, a statement that writes is sure to fail.
const ROOM_BYTES: u64 = 1 << 20;

/// Reads the configuration of the process again.
pub(crate) type ReloadConfig = Box<dyn Fn() -> Result<()> + Send + Sync>;

/// The state of an engine that others ask for, and the callback by which its process reads its configuration again.
#[derive(Default)]
pub(crate) struct Surroundings {
    is_closed: AtomicBool,
    reload_config: OnceLock<ReloadConfig>,
}

impl Surroundings {
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    /// Only the first callback is kept.
    pub(crate) fn on_reload_config(&self, reload: ReloadConfig) {
        // There is one process around an engine.
        let _ = self.reload_config.set(reload);
    }

    /// `SYSTEM RELOAD CONFIG`. `None` if the process has no configuration to reload.
    pub(crate) fn reload_config(&self) -> Option<Result<()>> {
        self.reload_config.get().map(|reload| reload())
    }

    /// Fails if the engine was closed, or if the disk of `data_dir` is full or read-only.
    pub(crate) fn check(&self, data_dir: &Path) -> Result<()> {
        if self.is_closed.load(Ordering::Relaxed) {
            bail!(QueryWasCancelled, "the server is stopping");
        }
        let path = data_dir.display();
        if let Err(error) = access(data_dir, Access::WRITE_OK) {
            bail!(ReadOnly, "{path}: the data directory is read-only: {error}");
        }
        let free = disk_space(data_dir)?.free;
        if free < ROOM_BYTES {
            bail!(NotEnoughSpace, "{path}: the disk is full, {free} bytes are free: only reading works");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use basalt_base::ErrorCode;

    use super::*;

    #[test]
    fn a_closed_engine_and_a_lost_directory_are_not_healthy() {
        let dir = tempfile::tempdir().expect("a directory");
        let surroundings = Surroundings::default();
        assert_eq!(surroundings.check(dir.path()).map_err(|error| error.code()), Ok(()));
        assert!(surroundings.check(&dir.path().join("lost")).is_err());
        surroundings.close();
        let error = surroundings.check(dir.path()).expect_err("closed");
        assert_eq!(error.code(), ErrorCode::QueryWasCancelled);
    }
}
