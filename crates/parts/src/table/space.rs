//! Disk space for merges and mutations, reserved before they start, so that none begins that cannot finish.
//!
//! The reservation is the size of the inputs plus a tenth: the new part is seldom larger.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use basalt_base::fs::Storage;

use crate::error::{Error, Result};

/// Bytes of one disk that running work has reserved. Clones share the counter.
#[derive(Clone, Debug, Default)]
pub struct DiskSpace(Arc<AtomicU64>);

/// Bytes that are reserved until this is dropped.
#[derive(Debug)]
pub(super) struct Reservation {
    space: DiskSpace,
    bytes: u64,
}

impl DiskSpace {
    /// Free, unreserved bytes of the disk of `dir`; `None` if unknown.
    pub(super) fn free(&self, storage: &dyn Storage, dir: &Path) -> Result<Option<u64>> {
        let free = storage.space_left(dir)?;
        Ok(free.map(|free| free.saturating_sub(self.0.load(Ordering::Relaxed))))
    }

    /// Reserves space for a new part made from `input_bytes` bytes.
    pub(super) fn reserve(&self, storage: &dyn Storage, dir: &Path, input_bytes: u64) -> Result<Reservation> {
        let needed = with_margin(input_bytes);
        // Reserve first, so that two concurrent checks cannot both get the last free bytes.
        self.0.fetch_add(needed, Ordering::Relaxed);
        let reservation = Reservation { space: self.clone(), bytes: needed };
        let others = self.0.load(Ordering::Relaxed).saturating_sub(needed);
        match storage.space_left(dir)? {
            Some(free) if free.saturating_sub(others) < needed => {
                let free = free.saturating_sub(others);
                Err(Error::NoSpace { path: dir.to_owned(), needed, free })
            }
            _ => Ok(reservation),
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.space.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Bytes of inputs whose result fits in `free` bytes.
pub(super) fn without_margin(free: u64) -> u64 {
    free / 11 * 10
}

fn with_margin(bytes: u64) -> u64 {
    bytes.saturating_add(bytes / 10)
}

#[cfg(test)]
mod tests {
    use basalt_base::fs::FaultyStorage;

    use super::*;

    #[test]
    fn what_is_reserved_is_not_there_for_others() {
        let storage = FaultyStorage::new();
        let (space, dir) = (DiskSpace::default(), Path::new("/"));
        storage.set_space_left(Some(1000));
        let first = space.reserve(&storage, dir, 500).unwrap();
        assert_eq!(space.free(&storage, dir).unwrap(), Some(450));
        let refused = space.reserve(&storage, dir, 500).unwrap_err();
        assert!(matches!(refused, Error::NoSpace { needed: 550, free: 450, .. }), "{refused}");
        assert_eq!(space.free(&storage, dir).unwrap(), Some(450), "what was refused is given back");
        drop(first);
        space.reserve(&storage, dir, 900).unwrap();
    }
}
