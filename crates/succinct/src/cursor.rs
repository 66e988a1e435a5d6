//! The keys of a segment in order, or in its reverse, a piece at a time.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use basalt_base::{Result, query};
use basalt_kv::Direction;
use basalt_segment::Rank;

use crate::ranks::RankSet;
use crate::stored::StoredSegment;

/// Keys that are decoded together.
const PIECE_KEYS: u32 = 512;

/// Walks over the rows of a segment, without those in a set.
pub(crate) struct SegmentCursor {
    stored: Arc<StoredSegment>,
    left_out: Arc<RankSet>,
    rest: Range<Rank>,
    piece: Vec<u8>,
    /// Rank of each row of the piece, and where its key is.
    rows: Vec<(Rank, Range<usize>)>,
    at: usize,
    direction: Direction,
}

impl SegmentCursor {
    /// The rows of `ranks` that are not in `left_out`.
    pub(crate) fn new(
        stored: &Arc<StoredSegment>,
        left_out: Arc<RankSet>,
        ranks: Range<Rank>,
        direction: Direction,
    ) -> Result<SegmentCursor> {
        let mut cursor = SegmentCursor {
            stored: Arc::clone(stored),
            left_out,
            rest: ranks,
            piece: Vec::new(),
            rows: Vec::new(),
            at: 0,
            direction,
        };
        cursor.fill()?;
        Ok(cursor)
    }

    pub(crate) fn stored(&self) -> &Arc<StoredSegment> {
        &self.stored
    }

    /// Rank and key of the current row; `None` at the end.
    pub(crate) fn peek(&self) -> Option<(Rank, &[u8])> {
        let (rank, key) = self.rows.get(self.at)?;
        Some((*rank, &self.piece[key.clone()]))
    }

    pub(crate) fn advance(&mut self) -> Result<()> {
        self.at += 1;
        if self.at >= self.rows.len() { self.fill() } else { Ok(()) }
    }

    fn fill(&mut self) -> Result<()> {
        query::checkpoint()?;
        (self.at, self.rows, self.piece) =
            (0, std::mem::take(&mut self.rows), std::mem::take(&mut self.piece));
        self.rows.clear();
        self.piece.clear();
        while self.rows.is_empty() && !self.rest.is_empty() {
            let piece = next_ranks(&mut self.rest, self.direction, PIECE_KEYS);
            self.stored.segment().keys().scan(piece, &mut |rank, key| {
                if !self.left_out.contains(rank) {
                    let start = self.piece.len();
                    self.piece.extend_from_slice(key);
                    self.rows.push((rank, start..self.piece.len()));
                }
                Ok(ControlFlow::Continue(()))
            })?;
            self.stored.segment().check_present()?;
        }
        if self.direction == Direction::Descending {
            self.rows.reverse();
        }
        Ok(())
    }
}

/// Takes the next `count` ranks off `rest`, from its beginning or from its end.
pub(crate) fn next_ranks(rest: &mut Range<Rank>, direction: Direction, count: u32) -> Range<Rank> {
    let Range { start, end } = *rest;
    match direction {
        Direction::Ascending => {
            rest.start = end.min(start.saturating_add(count));
            start..rest.start
        }
        Direction::Descending => {
            rest.end = start.max(end.saturating_sub(count));
            rest.end..end
        }
    }
}
