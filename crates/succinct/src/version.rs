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

    /// The frozen generations, the newest first.
    pub(crate) fn frozen(&self) -> &[Arc<Generation>] {
        &self.generations[1..]
    }

    /// The places with `made`, if there is one, instead of generations and segments.
    pub(crate) fn with(
        &self,
        made: Option<Arc<StoredSegment>>,
        frozen: &[Arc<Generation>],
        old: &[Arc<StoredSegment>],
    ) -> Version {
        let is_left =
            |generation: &&Arc<Generation>| frozen.iter().all(|gone| gone.number != generation.number);
        let generations = self.generations.iter().filter(is_left).cloned().collect();
        let is_old = |stored: &Arc<StoredSegment>| old.iter().any(|old| old.number() == stored.number());
        // What is made of generations alone is newer than all segments.
        let newer = self.segments.iter().position(is_old).unwrap_or_default();
        let (newer, rest) = self.segments.split_at(newer);
        let rest = rest.iter().filter(|stored| !is_old(stored));
        let segments = newer.iter().cloned().chain(made).chain(rest.cloned());
        Version::new(generations, segments.collect())
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
