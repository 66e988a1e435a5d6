//! What merges and mutations may still write to a disk: reserved before they start, so that none of them
//! begins what cannot end.
//!
//! What is reserved is what the inputs take and a tenth more: the new part is seldom larger than they are.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use basalt_base::fs::Storage;

use crate::error::{Error, Result};

/// Bytes that running work has reserved of one disk. Its clones are the same.
#[derive(Clone, Debug, Default)]
pub struct DiskSpace(Arc<AtomicU64>);

/// Bytes that are set aside until it is dropped.
#[derive(Debug)]
pub(super) struct Reservation {
    space: DiskSpace,
    bytes: u64,
}

impl DiskSpace {
    /// Bytes of the disk that holds `dir` that nobody has reserved; `None` if that is not known.
    pub(super) fn free(&self, storage: &dyn Storage, dir: &Path) -> Result<Option<u64>> {
        let free = storage.space_left(dir)?;
        Ok(free.map(|free| free.saturating_sub(self.0.load(Ordering::Relaxed))))
    }

    /// Sets aside room for a new part of what takes `input_bytes` on disk.
    pub(super) fn reserve(&self, storage: &dyn Storage, dir: &Path, input_bytes: u64) -> Result<Reservation> {
        let needed = with_margin(input_bytes);
        // Taken first: two that look at the same time must not both find the last free bytes.
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

/// Bytes of inputs for which there is room in `free` bytes.
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
