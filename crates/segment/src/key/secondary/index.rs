//! An open secondary index.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::{Bound, ControlFlow, Range};
use std::sync::Arc;

use basalt_base::query::checkpoint;
use basalt_base::{Error, Result};

use super::layout::{ENCODING, values_of};
use crate::bits::ascending::Ascending;
use crate::file::SegmentFile;
use crate::key::index::KeyIndex;
use crate::key::limits::after_prefix;
use crate::key::registry::open_key_index;
use crate::key::walk::KeyAutomaton;
use crate::{Place, ROWS_MAX, Rank};

const ENTRIES_OF_A_CHECKPOINT: usize = 8192;

/// The ranks of rows by value. Values have numbers in their order; methods that give ranks append them in the order of
/// the values, those of one value in order.
#[derive(Debug)]
pub struct SecondaryIndex {
    values: Arc<dyn KeyIndex>,
    entries: Ascending,
    rows: u64,
    place: Place,
}

impl SecondaryIndex {
    /// Opens the secondary index `name` of a file.
    pub fn open(file: &SegmentFile, name: &str) -> Result<SecondaryIndex> {
        let mut component = file.component(name)?;
        let place = component.place().clone();
        if component.encoding() != ENCODING {
            return Err(place.corrupt(format!("no index has the encoding `{}`", component.encoding())));
        }
        let rows = component.number_to(ROWS_MAX + 1)?;
        let entries = Ascending::open(&mut component)?;
        component.finish()?;
        if rows == 0 && entries.len() > 0 {
            return Err(place.corrupt("it has entries and no rows"));
        }
        Ok(SecondaryIndex { values: open_key_index(file, &values_of(name))?, entries, rows, place })
    }

    /// The distinct values: their ranks in this index are their numbers.
    pub fn values(&self) -> &dyn KeyIndex {
        self.values.as_ref()
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many entries the values with these numbers have.
    pub fn count(&self, values: Range<u32>) -> usize {
        self.entries_of(values).len()
    }

    /// Appends the ranks of the values with these numbers.
    pub fn ranks(&self, values: Range<u32>, out: &mut Vec<Rank>) -> Result<()> {
        let Range { start, end } = self.entries_of(values);
        let mut at = start;
        while at < end {
            checkpoint()?;
            let next = end.min(at + ENTRIES_OF_A_CHECKPOINT);
            self.entries.for_each(at..next, |entry| {
                // There are rows if there are entries.
                let rank = entry.checked_rem(self.rows).and_then(|rank| u32::try_from(rank).ok());
                out.push(rank.ok_or_else(|| self.place.corrupt("an entry has no row"))?);
                Ok::<(), Error>(())
            })?;
            at = next;
        }
        Ok(())
    }

    fn entries_of(&self, values: Range<u32>) -> Range<usize> {
        let first = |value: u32| match u64::from(value).checked_mul(self.rows) {
            Some(entry) if value < self.values.len() => self.entries.locate(entry).0,
            _ => self.entries.len(),
        };
        let start = first(values.start);
        start..first(values.end).max(start)
    }

    /// Appends the ranks of `value`.
    pub fn find(&self, value: &[u8], out: &mut Vec<Rank>) -> Result<()> {
        match self.values.find(value)? {
            Some(number) => self.ranks(number..number.saturating_add(1), out),
            None => Ok(()),
        }
    }

    /// The numbers of the values in a range.
    pub fn range(&self, from: Bound<&[u8]>, to: Bound<&[u8]>) -> Result<Range<u32>> {
        let start = match from {
            Bound::Unbounded => 0,
            Bound::Included(value) => self.values.lower_bound(value)?,
            Bound::Excluded(value) => self.after(value)?,
        };
        let end = match to {
            Bound::Unbounded => self.values.len(),
            Bound::Included(value) => self.after(value)?,
            Bound::Excluded(value) => self.values.lower_bound(value)?,
        };
        Ok(start..end.max(start))
    }

    /// How many values are not greater than `value`.
    fn after(&self, value: &[u8]) -> Result<u32> {
        let is_there = self.values.find(value)?.is_some();
        Ok(self.values.lower_bound(value)?.saturating_add(u32::from(is_there)))
    }

    /// The numbers of the values that begin with `prefix`.
    pub fn prefix(&self, prefix: &[u8]) -> Result<Range<u32>> {
        let start = self.values.lower_bound(prefix)?;
        let end =
            after_prefix(prefix).map_or(Ok(self.values.len()), |after| self.values.lower_bound(&after))?;
        Ok(start..end.max(start))
    }

    /// Appends the ranks of the values that `automaton` accepts.
    pub fn search(&self, automaton: &mut dyn KeyAutomaton, out: &mut Vec<Rank>) -> Result<()> {
        self.values.search(0..self.values.len(), automaton, &mut |values| {
            self.ranks(values, out)?;
            Ok(ControlFlow::Continue(()))
        })
    }

    /// The bytes that it takes in the file.
    pub fn stored_bytes(&self) -> u64 {
        self.entries.stored_bytes() + self.values.stored_bytes()
    }
}
