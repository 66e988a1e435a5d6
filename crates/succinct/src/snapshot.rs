//! A table as it is at one time: what a query reads.

use std::sync::{Arc, OnceLock};

use arrow::array::RecordBatch;
use basalt_base::Result;
use basalt_kv::encoding::{RowAssembler, StoredRow};
use basalt_kv::{ByteRange, Direction};

use crate::fresh::FreshRows;
use crate::generation::Generation;
use crate::ranks::RankSet;
use crate::spec::TableSpec;
use crate::stored::StoredSegment;
use crate::version::Version;

/// Rows of a batch of fresh rows, and its bytes at most.
const BATCH_ROWS: usize = 8192;
const BATCH_BYTES: usize = 16 << 20;

/// A snapshot. It pins the places of the rows until it is dropped.
pub struct Snapshot {
    pub(crate) spec: Arc<TableSpec>,
    pub(crate) version: Arc<Version>,
    /// The generations that have rows, the newest first.
    pub(crate) generations: Vec<Arc<Generation>>,
    /// `None` if no generation has rows.
    pub(crate) families: Option<Arc<basalt_kv::Snapshot>>,
    /// For each segment the ranks of rows that are not in the table.
    dead: Vec<OnceLock<Arc<RankSet>>>,
}

impl Snapshot {
    /// Pins the families first and then takes the columns: rows with a new column come after the column.
    pub(crate) fn new(
        version: Arc<Version>,
        families: impl FnOnce() -> Arc<basalt_kv::Snapshot>,
        spec: impl FnOnce() -> Arc<TableSpec>,
    ) -> Snapshot {
        let generations = version.generations.iter().filter(|generation| !generation.is_empty());
        let generations: Vec<Arc<Generation>> = generations.cloned().collect();
        let families = (!generations.is_empty()).then(families);
        let dead = version.segments.iter().map(|_| OnceLock::new()).collect();
        Snapshot { spec: spec(), version, generations, families, dead }
    }

    pub fn spec(&self) -> &Arc<TableSpec> {
        &self.spec
    }

    /// The segments, the newest first.
    pub fn segments(&self) -> &[Arc<StoredSegment>] {
        &self.version.segments
    }

    /// Whether rows are outside of segments.
    pub fn has_fresh_rows(&self) -> bool {
        self.families.is_some()
    }

    /// The ranks of the segment at `segment` that are not rows of the table: tombstones, and rows that have newer
    /// versions. Computed once: every fresh key is looked up.
    pub fn dead(&self, segment: usize) -> Result<Arc<RankSet>> {
        if let Some(known) = self.dead[segment].get() {
            return Ok(Arc::clone(known));
        }
        let dead = self.dead_in(segment, &ByteRange::default())?;
        Ok(Arc::clone(self.dead[segment].get_or_init(|| Arc::new(dead))))
    }

    /// The same for the keys in `range`; of other keys some may be missing. Every fresh key in the range is looked up.
    pub fn dead_in(&self, segment: usize, range: &ByteRange) -> Result<RankSet> {
        let stored = self.version.segments[segment].segment();
        let mut dead = self.version.left_out(segment, false)?.as_ref().clone();
        let Some(mut rows) = self.fresh(range, Direction::Ascending)? else { return Ok(dead) };
        let mut count: u32 = 0;
        while let Some((key, _)) = rows.peek() {
            if let Some(rank) = stored.find(key)? {
                dead.insert(rank);
            }
            count = count.wrapping_add(1);
            if count.is_multiple_of(1 << 12) {
                basalt_base::query::checkpoint()?;
            }
            rows.advance()?;
        }
        stored.check_present()?;
        Ok(dead)
    }

    /// The rows outside of segments in `range`, in key order or its reverse; tombstones are among them.
    pub(crate) fn fresh(&self, range: &ByteRange, direction: Direction) -> Result<Option<FreshRows>> {
        let open = |families| FreshRows::open(families, &self.generations, range, direction);
        self.families.as_ref().map(open).transpose()
    }

    /// The columns at `projection` of the rows outside of segments in `range`, in key order.
    pub fn fresh_batches(self: &Arc<Self>, range: &ByteRange, projection: &[usize]) -> Result<FreshBatches> {
        let assembler = RowAssembler::new(&self.spec.rows, projection)?;
        Ok(FreshBatches {
            rows: self.fresh(range, Direction::Ascending)?,
            assembler,
            snapshot: Arc::clone(self),
        })
    }

    /// The error of a row outside of segments that cannot be decoded.
    pub(crate) fn corrupt_row(
        &self,
        corrupt: basalt_kv::encoding::Corrupt,
        key: &[u8],
    ) -> basalt_base::Error {
        corrupt.at(self.families.as_ref().map_or(std::path::Path::new(""), |families| families.path()), key)
    }
}

/// Batches of rows outside of segments.
pub struct FreshBatches {
    rows: Option<FreshRows>,
    assembler: RowAssembler,
    snapshot: Arc<Snapshot>,
}

impl FreshBatches {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let Some(rows) = &mut self.rows else { return Ok(None) };
        let mut bytes = 0;
        while self.assembler.len() < BATCH_ROWS && bytes < BATCH_BYTES {
            let Some((key, row)) = rows.peek() else {
                self.rows = None;
                break;
            };
            if let StoredRow::Row(row) = row {
                let pushed = self.assembler.push(key, row);
                pushed.map_err(|corrupt| self.snapshot.corrupt_row(corrupt, key))?;
                bytes += key.len() + row.len();
            }
            rows.advance()?;
        }
        if self.assembler.is_empty() { Ok(None) } else { self.assembler.finish().map(Some) }
    }
}

impl Iterator for FreshBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let batch = self.next_batch().transpose();
        if matches!(batch, Some(Err(_))) {
            self.rows = None;
        }
        batch
    }
}
