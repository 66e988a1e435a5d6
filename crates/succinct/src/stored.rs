//! A segment of a table, and which of its rows newer segments shadow.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use basalt_base::fs::Storage;
use basalt_base::{Result, query};
use basalt_segment::file::Access;
use basalt_segment::{Rank, Segment};
use parking_lot::Mutex;

use crate::ranks::RankSet;
use crate::records::SegmentRecord;
use crate::spec::TableSpec;

/// Keys between two checks for cancellation.
const CHECKED_KEYS: u32 = 4096;

/// An open segment. The last one to use a retired segment removes its file.
pub struct StoredSegment {
    pub(crate) record: SegmentRecord,
    segment: Segment,
    storage: Arc<dyn Storage>,
    path: PathBuf,
    is_retired: AtomicBool,
    /// By the number of a newer segment: the ranks of the rows that it shadows.
    shadows: Mutex<Vec<(u64, Arc<Vec<Rank>>)>>,
}

impl StoredSegment {
    pub(crate) fn open(
        storage: &Arc<dyn Storage>,
        dir: &Path,
        record: SegmentRecord,
        spec: &TableSpec,
        access: Access,
    ) -> Result<StoredSegment> {
        let path = path(dir, record.number);
        let segment = Segment::open(storage.as_ref(), &path, access, &spec.segment())?;
        Ok(StoredSegment {
            record,
            segment,
            storage: Arc::clone(storage),
            path,
            is_retired: AtomicBool::new(false),
            shadows: Mutex::default(),
        })
    }

    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    pub fn number(&self) -> u64 {
        self.record.number
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes of the values of a row at the columns `wanted` of `spec`, on average; those of key columns are not
    /// counted.
    pub fn row_bytes(&self, spec: &TableSpec, wanted: &[usize]) -> u64 {
        let mut places: Vec<usize> = wanted.iter().filter_map(|&at| spec.column_of_segment(at)).collect();
        places.sort_unstable();
        places.dedup();
        let columns = places.iter().filter_map(|&at| self.segment.column(at));
        let bytes: u64 = columns.map(|column| column.description().raw_bytes).sum();
        bytes / u64::from(self.segment.rows().max(1))
    }

    pub(crate) fn retire(&self) {
        self.is_retired.store(true, Ordering::Release);
    }

    /// The ranks of the rows that have a newer version, or a tombstone, in one of `newer`.
    pub(crate) fn shadowed_by(&self, newer: &[Arc<StoredSegment>]) -> Result<RankSet> {
        let mut all = RankSet::empty(self.segment.rows());
        for other in newer {
            self.shadows_of(other)?.iter().for_each(|&rank| all.insert(rank));
        }
        Ok(all)
    }

    fn shadows_of(&self, newer: &StoredSegment) -> Result<Arc<Vec<Rank>>> {
        let known = self.shadows.lock().iter().find(|(number, _)| *number == newer.number()).cloned();
        if let Some((_, ranks)) = known {
            return Ok(ranks);
        }
        let mut ranks = Vec::new();
        let keys = newer.segment.keys();
        keys.scan(0..keys.len(), &mut |rank, key| {
            if rank.is_multiple_of(CHECKED_KEYS) {
                query::checkpoint()?;
            }
            ranks.extend(self.segment.find(key)?);
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
        newer.segment.check_present()?;
        self.segment.check_present()?;
        let ranks = Arc::new(ranks);
        self.shadows.lock().push((newer.number(), Arc::clone(&ranks)));
        Ok(ranks)
    }

    /// Forgets what segments that are gone shadow.
    pub(crate) fn forget_all_but(&self, numbers: &[u64]) {
        self.shadows.lock().retain(|(number, _)| numbers.contains(number));
    }
}

impl Drop for StoredSegment {
    fn drop(&mut self) {
        if self.is_retired.load(Ordering::Acquire) {
            // A file that is left is removed when the table is opened again.
            let _ = self.storage.remove_file(&self.path);
        }
    }
}

/// The file of a segment.
pub(crate) fn path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number}.seg"))
}

/// The number of the segment in the file called `name`.
pub(crate) fn number_of(name: &str) -> Option<u64> {
    name.strip_suffix(".seg")?.parse().ok()
}
