//! Rows of a snapshot in the order of their keys, or in its reverse.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use basalt_base::{Error, Result};
use basalt_kv::encoding::{RowAssembler, StoredRow};
use basalt_kv::{ByteRange, Direction};
use basalt_segment::Rank;

use crate::columns::{Picked, SegmentColumns};
use crate::cursor::SegmentCursor;
use crate::fresh::FreshRows;
use crate::merge::{interleaved, next_of};
use crate::snapshot::Snapshot;

/// Rows of the first batch, and of later ones: a reader may need only a few.
const FIRST_ROWS: usize = 256;
const BATCH_ROWS: usize = 8192;
/// Bytes of a batch; rows of segments are counted as the average ones of their segment.
const BATCH_BYTES: u64 = 16 << 20;

/// Batches of rows in key order.
pub struct OrderedRows {
    snapshot: Arc<Snapshot>,
    cursors: Vec<SegmentCursor>,
    fresh: Option<FreshRows>,
    assembler: RowAssembler,
    columns: SegmentColumns,
    projection: Vec<usize>,
    direction: Direction,
    batch_rows: usize,
    /// For each cursor the average bytes of a row.
    stored_bytes: Vec<u64>,
}

impl Snapshot {
    /// The columns at `projection` of the rows in `range`, in key order or its reverse.
    pub fn ordered(
        self: &Arc<Self>,
        range: &ByteRange,
        projection: &[usize],
        direction: Direction,
    ) -> Result<OrderedRows> {
        let cursor = |at: usize| {
            let stored = &self.segments()[at];
            SegmentCursor::new(stored, self.dead(at)?, self.ranks(at, range)?, direction)
        };
        let stored_bytes = self.segments().iter().map(|stored| stored.row_bytes(&self.spec, projection));
        Ok(OrderedRows {
            snapshot: Arc::clone(self),
            cursors: (0..self.segments().len()).map(cursor).collect::<Result<_>>()?,
            fresh: self.fresh(range, direction)?,
            assembler: RowAssembler::new(&self.spec.rows, projection)?,
            columns: SegmentColumns::new(&self.spec, projection)?,
            projection: projection.to_vec(),
            direction,
            batch_rows: FIRST_ROWS,
            stored_bytes: stored_bytes.collect(),
        })
    }

    /// The ranks of the keys in `range` in the segment at `segment`.
    pub fn ranks(&self, segment: usize, range: &ByteRange) -> Result<std::ops::Range<Rank>> {
        let keys = self.segments()[segment].segment().keys();
        let start = if range.lower.is_empty() { 0 } else { keys.lower_bound(&range.lower)? };
        let end = match &range.upper {
            Some(upper) => keys.lower_bound(upper)?,
            None => keys.len(),
        };
        Ok(start..end.max(start))
    }
}

impl OrderedRows {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let fresh_source = self.cursors.len();
        let mut ranks: Vec<Vec<Rank>> = vec![Vec::new(); fresh_source];
        let mut picks = Vec::new();
        let mut bytes: u64 = 0;
        while picks.len() < self.batch_rows && bytes < BATCH_BYTES {
            match self.next_source() {
                None => break,
                Some(source) if source == fresh_source => {
                    if let Some(pushed) = self.push_fresh()? {
                        bytes += pushed;
                        picks.push((source, self.assembler.len() - 1));
                    }
                }
                Some(source) => {
                    bytes = bytes.saturating_add(self.stored_bytes[source]);
                    picks.push((source, ranks[source].len()));
                    ranks[source].extend(self.cursors[source].peek().map(|(rank, _)| rank));
                    self.cursors[source].advance()?;
                }
            }
        }
        self.batch_rows = BATCH_ROWS;
        if picks.is_empty() { Ok(None) } else { self.batch(&ranks, &picks).map(Some) }
    }

    /// The source of the next key: a cursor, or the fresh rows after all cursors. No two have the same key.
    fn next_source(&self) -> Option<usize> {
        let stored = next_of(&self.cursors, self.direction);
        let stored = stored.and_then(|at| Some((at, self.cursors[at].peek()?.1)));
        let fresh = self.fresh.as_ref().and_then(FreshRows::peek).map(|(key, _)| key);
        match (stored, fresh) {
            (None, None) => None,
            (Some((at, _)), None) => Some(at),
            (Some((at, key)), Some(fresh)) if self.direction.compare(key, fresh).is_lt() => Some(at),
            (_, Some(_)) => Some(self.cursors.len()),
        }
    }

    /// Takes the next fresh row and returns its bytes; `None` for a tombstone.
    fn push_fresh(&mut self) -> Result<Option<u64>> {
        let Some(fresh) = &mut self.fresh else { return Ok(None) };
        let pushed = match fresh.peek() {
            Some((key, StoredRow::Row(row))) => {
                let pushed = self.assembler.push(key, row);
                pushed.map_err(|corrupt| self.snapshot.corrupt_row(corrupt, key))?;
                Some((key.len() + row.len()) as u64)
            }
            _ => None,
        };
        fresh.advance()?;
        Ok(pushed)
    }

    fn picked<'a>(&self, ranks: &'a [Rank]) -> Picked<'a> {
        match self.direction {
            Direction::Ascending => Picked::of(ranks),
            Direction::Descending => Picked::List(ranks),
        }
    }

    fn batch(&mut self, ranks: &[Vec<Rank>], picks: &[(usize, usize)]) -> Result<RecordBatch> {
        let segments = self.cursors.iter().zip(ranks);
        let read = |(cursor, ranks): (&SegmentCursor, &Vec<Rank>)| {
            self.columns.read(cursor.stored().segment(), &self.picked(ranks))
        };
        let mut sources: Vec<Vec<ArrayRef>> = segments.map(read).collect::<Result<_>>()?;
        sources.push(self.assembler.finish()?.columns().to_vec());
        let columns = interleaved(&sources, picks)?;
        let schema = self.snapshot.spec.rows.columns.project(&self.projection).to_arrow();
        let options = RecordBatchOptions::new().with_row_count(Some(picks.len()));
        RecordBatch::try_new_with_options(schema, columns, &options).map_err(Error::of_arrow)
    }
}

impl Iterator for OrderedRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        self.next_batch().transpose()
    }
}
