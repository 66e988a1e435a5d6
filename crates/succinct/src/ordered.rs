//! Rows of a snapshot in the order of their keys, or in its reverse.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use basalt_base::{Error, Result, query};
use basalt_kv::encoding::{RowAssembler, StoredRow};
use basalt_kv::{ByteRange, Direction};
use basalt_segment::Rank;

use crate::columns::{Picked, SegmentColumns};
use crate::cursor::{SegmentCursor, next_ranks};
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
    sources: Sources,
    columns: SegmentColumns,
    projection: Vec<usize>,
    direction: Direction,
    batch_rows: usize,
}

/// Where the rows are.
enum Sources {
    /// In one segment, by its position: its rows are in key order.
    Segment { at: usize, rest: Range<Rank>, row_bytes: u64 },
    /// In several places, whose keys are compared.
    Merged(Box<MergedSources>),
}

struct MergedSources {
    /// They leave out rows that newer segments shadow.
    cursors: Vec<SegmentCursor>,
    /// For each cursor the average bytes of a row.
    stored_bytes: Vec<u64>,
    fresh: Option<FreshRows>,
    assembler: RowAssembler,
    direction: Direction,
}

/// Where the next row is.
enum Next {
    /// In the segment of this cursor.
    Stored(usize),
    /// In a segment, but a fresh row has its key.
    Shadowed(usize),
    Fresh,
    End,
}

impl Snapshot {
    /// The columns at `projection` of the rows in `range`, in key order or its reverse.
    pub fn ordered(
        self: &Arc<Self>,
        range: &ByteRange,
        projection: &[usize],
        direction: Direction,
    ) -> Result<OrderedRows> {
        Ok(OrderedRows {
            snapshot: Arc::clone(self),
            sources: self.sources(range, projection, direction)?,
            columns: SegmentColumns::new(&self.spec, projection)?,
            projection: projection.to_vec(),
            direction,
            batch_rows: FIRST_ROWS,
        })
    }

    fn sources(&self, range: &ByteRange, projection: &[usize], direction: Direction) -> Result<Sources> {
        let ranks = (0..self.segments().len()).map(|at| Ok((at, self.ranks(at, range)?)));
        let mut ranks = ranks.collect::<Result<Vec<_>>>()?;
        ranks.retain(|(_, ranks)| !ranks.is_empty());
        let row_bytes = |at: usize| self.segments()[at].row_bytes(&self.spec, projection);
        if let ([(at, rest)], false) = (ranks.as_slice(), self.has_fresh_rows()) {
            return Ok(Sources::Segment { at: *at, rest: rest.clone(), row_bytes: row_bytes(*at) });
        }
        let stored_bytes = ranks.iter().map(|(at, _)| row_bytes(*at)).collect();
        let cursor = |(at, ranks): (usize, Range<Rank>)| {
            let left_out = self.version.left_out(at, false)?;
            SegmentCursor::new(&self.segments()[at], left_out, ranks, direction)
        };
        Ok(Sources::Merged(Box::new(MergedSources {
            cursors: ranks.into_iter().map(cursor).collect::<Result<_>>()?,
            stored_bytes,
            fresh: self.fresh(range, direction)?,
            assembler: RowAssembler::new(&self.spec.rows, projection)?,
            direction,
        })))
    }

    /// The ranks of the keys in `range` in the segment at `segment`.
    pub fn ranks(&self, segment: usize, range: &ByteRange) -> Result<Range<Rank>> {
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
        let batch_rows = std::mem::replace(&mut self.batch_rows, BATCH_ROWS);
        let (rows, columns) = match &mut self.sources {
            Sources::Segment { at, rest, row_bytes } => {
                let most = (BATCH_BYTES / (*row_bytes).max(1)).clamp(1, batch_rows as u64);
                let ranks = live_ranks(&self.snapshot, *at, rest, self.direction, most as Rank)?;
                let segment = self.snapshot.segments()[*at].segment();
                (ranks.len(), self.columns.read(segment, &picked(&ranks, self.direction))?)
            }
            Sources::Merged(sources) => sources.next(&self.snapshot, &self.columns, batch_rows)?,
        };
        if rows == 0 {
            return Ok(None);
        }
        let schema = self.snapshot.spec.rows.columns.project(&self.projection).to_arrow();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(schema, columns, &options).map_err(Error::of_arrow).map(Some)
    }
}

/// Takes ranks of rows of the table off `rest`, `most` at most; none at the end.
fn live_ranks(
    snapshot: &Snapshot,
    segment: usize,
    rest: &mut Range<Rank>,
    direction: Direction,
    most: Rank,
) -> Result<Vec<Rank>> {
    let dead = snapshot.dead(segment)?;
    let mut ranks = Vec::new();
    while ranks.is_empty() && rest.start < rest.end {
        query::checkpoint()?;
        dead.missing_of(next_ranks(rest, direction, most), &mut ranks);
    }
    if direction == Direction::Descending {
        ranks.reverse();
    }
    Ok(ranks)
}

fn picked(ranks: &[Rank], direction: Direction) -> Picked<'_> {
    match direction {
        Direction::Ascending => Picked::of(ranks),
        Direction::Descending => Picked::List(ranks),
    }
}

impl MergedSources {
    /// The next rows: their number and columns.
    fn next(
        &mut self,
        snapshot: &Snapshot,
        columns: &SegmentColumns,
        batch_rows: usize,
    ) -> Result<(usize, Vec<ArrayRef>)> {
        let fresh_source = self.cursors.len();
        let mut ranks: Vec<Vec<Rank>> = vec![Vec::new(); fresh_source];
        let mut picks = Vec::new();
        let mut bytes: u64 = 0;
        while picks.len() < batch_rows && bytes < BATCH_BYTES {
            match self.next_source() {
                Next::End => break,
                Next::Shadowed(source) => self.cursors[source].advance()?,
                Next::Fresh => {
                    if let Some(pushed) = self.push_fresh(snapshot)? {
                        bytes += pushed;
                        picks.push((fresh_source, self.assembler.len() - 1));
                    }
                }
                Next::Stored(source) => {
                    bytes = bytes.saturating_add(self.stored_bytes[source]);
                    picks.push((source, ranks[source].len()));
                    ranks[source].extend(self.cursors[source].peek().map(|(rank, _)| rank));
                    self.cursors[source].advance()?;
                }
            }
        }
        if picks.is_empty() {
            return Ok((0, Vec::new()));
        }
        let read = |(cursor, ranks): (&SegmentCursor, &Vec<Rank>)| {
            columns.read(cursor.stored().segment(), &picked(ranks, self.direction))
        };
        let sources = self.cursors.iter().zip(&ranks).map(read);
        let mut sources: Vec<Vec<ArrayRef>> = sources.collect::<Result<_>>()?;
        sources.push(self.assembler.finish()?.columns().to_vec());
        Ok((picks.len(), interleaved(&sources, &picks)?))
    }

    fn next_source(&self) -> Next {
        let stored = next_of(&self.cursors, self.direction);
        let stored = stored.and_then(|at| Some((at, self.cursors[at].peek()?.1)));
        let fresh = self.fresh.as_ref().and_then(FreshRows::peek).map(|(key, _)| key);
        match (stored, fresh) {
            (None, None) => Next::End,
            (Some((at, _)), None) => Next::Stored(at),
            (None, Some(_)) => Next::Fresh,
            (Some((at, key)), Some(fresh)) => match self.direction.compare(key, fresh) {
                Ordering::Less => Next::Stored(at),
                Ordering::Equal => Next::Shadowed(at),
                Ordering::Greater => Next::Fresh,
            },
        }
    }

    /// Takes the next fresh row and returns its bytes; `None` for a tombstone.
    fn push_fresh(&mut self, snapshot: &Snapshot) -> Result<Option<u64>> {
        let Some(fresh) = &mut self.fresh else { return Ok(None) };
        let pushed = match fresh.peek() {
            Some((key, StoredRow::Row(row))) => {
                let pushed = self.assembler.push(key, row);
                pushed.map_err(|corrupt| snapshot.corrupt_row(corrupt, key))?;
                Some((key.len() + row.len()) as u64)
            }
            _ => None,
        };
        fresh.advance()?;
        Ok(pushed)
    }
}

impl Iterator for OrderedRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        self.next_batch().transpose()
    }
}
