//! Results of a search: adjacent ranges of ranks become one.

use std::ops::{ControlFlow, Range};

use basalt_base::Result;

use super::index::Flow;
use crate::Rank;

/// Hands out ascending ranges inside of the range of a search.
pub(super) struct Ranges<'a> {
    found: &'a mut dyn FnMut(Range<Rank>) -> Flow,
    end: Rank,
    /// The range that was not handed out yet.
    pending: Range<Rank>,
}

impl<'a> Ranges<'a> {
    pub(super) fn new(all: Range<Rank>, found: &'a mut dyn FnMut(Range<Rank>) -> Flow) -> Ranges<'a> {
        Ranges { found, end: all.end, pending: all.start..all.start }
    }

    /// Adds ranks. Those that were added before, and those outside of the range of the search, are passed over.
    pub(super) fn add(&mut self, ranks: Range<Rank>) -> Flow {
        let ranks = ranks.start.max(self.pending.end)..ranks.end.min(self.end);
        if ranks.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        if ranks.start == self.pending.end {
            self.pending.end = ranks.end;
            return Ok(ControlFlow::Continue(()));
        }
        let flow = self.hand_out()?;
        self.pending = ranks;
        Ok(flow)
    }

    fn hand_out(&mut self) -> Flow {
        match self.pending.is_empty() {
            true => Ok(ControlFlow::Continue(())),
            false => (self.found)(self.pending.clone()),
        }
    }

    /// Hands out the last range.
    pub(super) fn finish(mut self) -> Result<()> {
        self.hand_out().map(drop)
    }
}
