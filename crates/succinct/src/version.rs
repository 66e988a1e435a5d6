//! The places of a table's rows at one time: generations and segments. A version never changes.

use std::sync::{Arc, OnceLock};

use basalt_base::Result;

use crate::generation::Generation;
use crate::ranks::RankSet;
use crate::stored::StoredSegment;

/// The places in the order of age: rows of a generation shadow those of all after it, and generations shadow segments.
pub(crate) struct Version {
    /// The newest first; the first is the one that is written. There is at least one.
    pub(crate) generations: Vec<Arc<Generation>>,
    /// The newest first.
    pub(crate) segments: Vec<Arc<StoredSegment>>,
    /// For each segment the ranks that newer segments shadow.
    shadowed: Vec<OnceLock<Arc<RankSet>>>,
}

impl Version {
    pub(crate) fn new(generations: Vec<Arc<Generation>>, segments: Vec<Arc<StoredSegment>>) -> Version {
        let numbers: Vec<u64> = segments.iter().map(|segment| segment.number()).collect();
        segments.iter().for_each(|segment| segment.forget_all_but(&numbers));
        let shadowed = segments.iter().map(|_| OnceLock::new()).collect();
        Version { generations, segments, shadowed }
    }

    /// The generation that takes new rows.
    pub(crate) fn writing(&self) -> &Arc<Generation> {
        &self.generations[0]
    }

    /// The oldest frozen generation.
    pub(crate) fn oldest_frozen(&self) -> Option<&Arc<Generation>> {
        self.generations[1..].last()
    }

    /// The ranks of the segment at `at` that newer segments shadow.
    pub(crate) fn shadowed(&self, at: usize) -> Result<Arc<RankSet>> {
        if let Some(known) = self.shadowed[at].get() {
            return Ok(Arc::clone(known));
        }
        let set = Arc::new(self.segments[at].shadowed_by(&self.segments[..at])?);
        Ok(Arc::clone(self.shadowed[at].get_or_init(|| set)))
    }

    /// The ranks of the segment at `at` that a merge leaves out.
    pub(crate) fn left_out(&self, at: usize, keeps_tombstones: bool) -> Result<Arc<RankSet>> {
        let shadowed = self.shadowed(at)?;
        let segment = self.segments[at].segment();
        if keeps_tombstones || segment.file().tombstones() == 0 {
            return Ok(shadowed);
        }
        let mut left_out = shadowed.as_ref().clone();
        segment.each_tombstone(|rank| left_out.insert(rank));
        Ok(Arc::new(left_out))
    }
}
