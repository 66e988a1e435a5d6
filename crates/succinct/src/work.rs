//! Freezes, builds and merges.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use basalt_base::Result;
use basalt_base::fs::PendingFile;
use basalt_segment::{RowSource, build};

use crate::generation::Generation;
use crate::merge::MergedRows;
use crate::policy::{SegmentSize, choose};
use crate::records::{SegmentRecord, retired};
use crate::spec::TableSpec;
use crate::stored::{StoredSegment, path};
use crate::table::Table;
use crate::version::Version;
use crate::waiting;

/// Frozen generations that may wait for a build. With as many, the writing one grows instead.
const FROZEN_MAX: usize = 8;
/// How long a freeze waits for changes that are being committed.
const FREEZE_WAIT: Duration = Duration::from_millis(100);

/// Work that makes a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Names of the places that are read.
    pub sources: Vec<String>,
    /// The number of the segment that is made.
    pub result: u64,
    /// Stored bytes and rows of the sources. Rows are read twice.
    pub bytes: u64,
    pub rows: u64,
    pub is_merge: bool,
}

/// The errors of the last work of each kind.
#[derive(Default)]
pub(crate) struct Failures {
    build: Option<String>,
    merge: Option<String>,
}

/// Watches work and may end it.
pub trait WorkWatch: Sync {
    fn begins(&self, step: &Step);

    /// Rows were read. An error ends the work; nothing has changed then.
    fn reads(&self, rows: u64) -> Result<()>;

    fn ends(&self);
}

impl Table {
    /// Ends the writing generation if it has rows; `false` if there was nothing to do or too much is frozen already.
    pub fn freeze(&self) -> Result<bool> {
        let Some(_alone) = self.changes.try_write_for(FREEZE_WAIT) else { return Ok(false) };
        let version = self.version();
        let writing = version.writing();
        if writing.is_empty() || version.generations.len() > FROZEN_MAX {
            return Ok(false);
        }
        let next = Arc::new(Generation::new(&self.database, writing.number + 1, 0));
        self.database.create_family(next.family())?;
        self.install(|version| {
            let generations = std::iter::once(next).chain(version.generations.iter().cloned()).collect();
            Version::new(generations, version.segments.clone())
        });
        Ok(true)
    }

    /// Does the most urgent work: builds a segment of the frozen generations, or merges segments. `false` if there
    /// is nothing to do.
    pub fn step(&self, watch: &dyn WorkWatch) -> Result<bool> {
        let _alone = waiting::exclusive(&self.work)?;
        self.next_step(watch)
    }

    fn next_step(&self, watch: &dyn WorkWatch) -> Result<bool> {
        let version = self.version();
        if !version.frozen().is_empty() {
            return self.compact(&version, version.frozen(), 0..0, watch).map(|()| true);
        }
        if self.is_due(version.writing()) && self.freeze()? {
            return Ok(true);
        }
        match self.next_merge(&version)? {
            Some(merged) => self.compact(&version, &[], merged, watch).map(|()| true),
            None => Ok(false),
        }
    }

    /// Freezes and builds all rows that are there, and merges: into one segment without dead rows, if `is_final`.
    pub fn optimize(&self, is_final: bool, watch: &dyn WorkWatch) -> Result<()> {
        let _alone = waiting::exclusive(&self.work)?;
        self.all_steps(is_final, watch)
    }

    fn all_steps(&self, is_final: bool, watch: &dyn WorkWatch) -> Result<()> {
        self.freeze()?;
        loop {
            let version = self.version();
            let frozen = version.frozen();
            let merged = match is_final {
                true if frozen.is_empty() => self.final_merge(&version)?,
                true => Some(0..version.segments.len()),
                false if frozen.is_empty() => self.next_merge(&version)?,
                false => Some(0..0),
            };
            match merged {
                Some(merged) => self.compact(&version, frozen, merged, watch)?,
                None => return Ok(()),
            }
        }
    }

    /// The error of the last merge, or else of the last build, if it failed.
    pub fn last_failure(&self) -> Option<String> {
        let failures = self.failures.lock();
        failures.merge.clone().or_else(|| failures.build.clone())
    }

    pub(crate) fn is_due(&self, writing: &Generation) -> bool {
        writing.bytes() >= self.options.segment_bytes
    }

    fn next_merge(&self, version: &Version) -> Result<Option<Range<usize>>> {
        let size = |(at, stored): (usize, &Arc<StoredSegment>)| {
            let file = stored.segment().file();
            let shadowed = u64::from(version.shadowed(at)?.count());
            Ok(SegmentSize { bytes: file.bytes(), rows: u64::from(file.rows()), shadowed })
        };
        let sizes = version.segments.iter().enumerate().map(size).collect::<Result<Vec<_>>>()?;
        Ok(choose(&sizes, self.options.segments_max, self.options.dead_share_max))
    }

    fn final_merge(&self, version: &Version) -> Result<Option<Range<usize>>> {
        let is_clean = match version.segments.as_slice() {
            [] => true,
            [only] => only.segment().file().tombstones() == 0,
            _ => false,
        };
        Ok((!is_clean).then_some(0..version.segments.len()))
    }

    /// Makes one segment of the frozen generations and of the segments in `merged`; with generations, these begin with
    /// the newest segment.
    fn compact(
        &self,
        version: &Version,
        frozen: &[Arc<Generation>],
        merged: Range<usize>,
        watch: &dyn WorkWatch,
    ) -> Result<()> {
        let is_merge = !merged.is_empty();
        let result = self.try_compact(version, frozen, merged, watch);
        let failure = result.as_ref().err().map(|error| error.message().to_owned());
        let mut failures = self.failures.lock();
        // A build that succeeds does not show that segments can be read.
        *(if is_merge { &mut failures.merge } else { &mut failures.build }) = failure;
        result
    }

    fn try_compact(
        &self,
        version: &Version,
        frozen: &[Arc<Generation>],
        merged: Range<usize>,
        watch: &dyn WorkWatch,
    ) -> Result<()> {
        let old = &version.segments[merged.clone()];
        let number = self.next_number();
        let record = SegmentRecord {
            number,
            newest: frozen.first().map_or_else(|| old[0].record.newest, |newest| newest.number),
            oldest: old.last().map_or_else(|| frozen[frozen.len() - 1].number, |last| last.record.oldest),
        };
        let keeps_tombstones = merged.end < version.segments.len();
        let left_out = merged.map(|at| version.left_out(at, keeps_tombstones)).collect::<Result<Vec<_>>>()?;
        let spec = self.spec();
        let source = MergedRows {
            spec: Arc::clone(&spec),
            snapshot: self.database.snapshot(),
            generations: frozen.to_vec(),
            segments: old.iter().cloned().zip(left_out).collect(),
            keeps_tombstones,
            watch,
        };
        let made =
            watched(watch, &self.describe(frozen, old, number)?, || self.write(&source, &spec, record))?;
        let written = made.iter().map(|made| made.record.encode());
        let written = written.chain(frozen.iter().map(|frozen| (retired(frozen.number), Vec::new())));
        let removed: Vec<_> = old.iter().map(|stored| SegmentRecord::name(stored.number())).collect();
        self.database.write_records(&written.collect::<Vec<_>>(), &removed)?;
        self.install(|version| version.with(made, frozen, old));
        frozen.iter().for_each(|frozen| frozen.retire());
        old.iter().for_each(|stored| stored.retire());
        Ok(())
    }

    fn describe(&self, frozen: &[Arc<Generation>], old: &[Arc<StoredSegment>], result: u64) -> Result<Step> {
        let mut step = Step {
            sources: frozen.iter().map(|frozen| frozen.family().to_owned()).collect(),
            result,
            bytes: frozen.iter().map(|frozen| frozen.bytes()).sum(),
            rows: 0,
            is_merge: !old.is_empty(),
        };
        for frozen in frozen {
            step.rows += self.database.family_rows(frozen.family())?;
        }
        for stored in old {
            let file = stored.segment().file();
            step.sources.push(stored.number().to_string());
            step.bytes += file.bytes();
            step.rows += u64::from(file.rows());
        }
        Ok(step)
    }

    /// Writes the rows as a segment and opens it; `None` if there is no row.
    fn write(
        &self,
        source: &dyn RowSource,
        spec: &TableSpec,
        record: SegmentRecord,
    ) -> Result<Option<Arc<StoredSegment>>> {
        let storage = &self.options.storage;
        let file = path(&self.segments_dir(), record.number);
        let mut rows = 0;
        let pending = PendingFile::write_with(storage.as_ref(), &file, |out| {
            rows = build(source, &spec.segment(), record.number, &self.spools, self.options.build, out)?.rows;
            Ok(())
        })?;
        if rows == 0 {
            pending.discard(storage.as_ref());
            return Ok(None);
        }
        pending.publish(storage.as_ref())?;
        let opened = StoredSegment::open(storage, &self.segments_dir(), record, spec, self.options.access)?;
        Ok(Some(Arc::new(opened)))
    }
}

fn watched<T>(watch: &dyn WorkWatch, step: &Step, work: impl FnOnce() -> Result<T>) -> Result<T> {
    watch.begins(step);
    let result = work();
    watch.ends();
    result
}
