//! The rows of all generations in key order, or in its reverse: of each key the newest one.

use std::sync::Arc;

use basalt_base::Result;
use basalt_kv::encoding::StoredRow;
use basalt_kv::{ByteRange, Direction, FamilyRows, Snapshot};

use crate::generation::Generation;

/// Walks over the rows of generations. Tombstones are rows too: they shadow segments.
pub(crate) struct FreshRows {
    /// The newest generation first.
    generations: Vec<PeekedRows>,
    /// The generation of the current row; `None` at the end.
    current: Option<usize>,
    direction: Direction,
}

/// The rows of one generation, and a copy of the next one.
struct PeekedRows {
    rows: FamilyRows,
    key: Vec<u8>,
    value: Vec<u8>,
    is_tombstone: bool,
    is_there: bool,
}

impl FreshRows {
    /// The rows of `generations`, the newest first, in `range`.
    pub(crate) fn open(
        snapshot: &Arc<Snapshot>,
        generations: &[Arc<Generation>],
        range: &ByteRange,
        direction: Direction,
    ) -> Result<FreshRows> {
        let open = |generation: &Arc<Generation>| {
            let rows = snapshot.rows(generation.family(), range, direction)?;
            let (key, value) = (Vec::new(), Vec::new());
            let mut rows = PeekedRows { rows, key, value, is_tombstone: false, is_there: true };
            rows.advance()?;
            Ok(rows)
        };
        let generations = generations.iter().map(open).collect::<Result<_>>()?;
        let mut rows = FreshRows { generations, current: None, direction };
        rows.choose();
        Ok(rows)
    }

    /// The current row; `None` at the end.
    pub(crate) fn peek(&self) -> Option<(&[u8], StoredRow<'_>)> {
        let rows = &self.generations[self.current?];
        Some((&rows.key, if rows.is_tombstone { StoredRow::Tombstone } else { StoredRow::Row(&rows.value) }))
    }

    /// Moves to the next key.
    pub(crate) fn advance(&mut self) -> Result<()> {
        let Some(current) = self.current else { return Ok(()) };
        // The older rows of the same key are shadowed.
        for older in current + 1..self.generations.len() {
            if self.generations[older].is_there
                && self.generations[older].key == self.generations[current].key
            {
                self.generations[older].advance()?;
            }
        }
        self.generations[current].advance()?;
        self.choose();
        Ok(())
    }

    /// The next key, of the newest generation that has it.
    fn choose(&mut self) {
        let there = self.generations.iter().enumerate().filter(|(_, rows)| rows.is_there);
        let next = there.min_by(|(_, left), (_, right)| self.direction.compare(&left.key, &right.key));
        self.current = next.map(|(at, _)| at);
    }
}

impl PeekedRows {
    fn advance(&mut self) -> Result<()> {
        let (key, value) = (&mut self.key, &mut self.value);
        let is_tombstone = self.rows.next(|next_key, row| {
            key.clear();
            key.extend_from_slice(next_key);
            value.clear();
            match row {
                StoredRow::Row(row) => value.extend_from_slice(row),
                StoredRow::Tombstone => {}
            }
            row == StoredRow::Tombstone
        })?;
        self.is_there = is_tombstone.is_some();
        self.is_tombstone = is_tombstone.unwrap_or_default();
        Ok(())
    }
}
