//! The keys of a segment in order, a piece at a time.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use basalt_base::{Result, query};
use basalt_segment::Rank;

use crate::ranks::RankSet;
use crate::stored::StoredSegment;

/// Keys that are decoded together.
const PIECE_KEYS: usize = 512;

/// Walks over the rows of a segment, without those in a set.
pub(crate) struct SegmentCursor {
    stored: Arc<StoredSegment>,
    left_out: Arc<RankSet>,
    rest: Range<Rank>,
    piece: Vec<u8>,
    /// Of each row of the piece its rank, and the end of its key.
    rows: Vec<(Rank, usize)>,
    at: usize,
}

impl SegmentCursor {
    /// The rows of `ranks` that are not in `left_out`.
    pub(crate) fn new(
        stored: &Arc<StoredSegment>,
        left_out: Arc<RankSet>,
        ranks: Range<Rank>,
    ) -> Result<SegmentCursor> {
        let mut cursor = SegmentCursor {
            stored: Arc::clone(stored),
            left_out,
            rest: ranks,
            piece: Vec::new(),
            rows: Vec::new(),
            at: 0,
        };
        cursor.fill()?;
        Ok(cursor)
    }

    pub(crate) fn stored(&self) -> &Arc<StoredSegment> {
        &self.stored
    }

    /// Rank and key of the current row; `None` at the end.
    pub(crate) fn peek(&self) -> Option<(Rank, &[u8])> {
        let &(rank, end) = self.rows.get(self.at)?;
        let start = if self.at == 0 { 0 } else { self.rows[self.at - 1].1 };
        Some((rank, &self.piece[start..end]))
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
        let keys = self.stored.segment().keys();
        while self.rows.is_empty() && !self.rest.is_empty() {
            let piece = self.rest.start..self.rest.end.min(self.rest.start.saturating_add(PIECE_KEYS as u32));
            self.rest.start = piece.end;
            keys.scan(piece, &mut |rank, key| {
                if !self.left_out.contains(rank) {
                    self.piece.extend_from_slice(key);
                    self.rows.push((rank, self.piece.len()));
                }
                Ok(ControlFlow::Continue(()))
            })?;
            self.stored.segment().check_present()?;
        }
        Ok(())
    }
}
