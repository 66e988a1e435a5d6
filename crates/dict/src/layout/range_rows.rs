//! The rows of a load of RANGE_HASHED, or of one of its shards.

use arrow::array::{Array, ArrayRef};
use basalt_base::{Result, SqlType};

use super::complex_key_hashed::{ComplexKeyHashed, ComplexKeyHashedBuilder};
use super::contract::{Layout, LayoutBuilder};
use super::hashed::{Hashed, HashedBuilder};
use super::intervals::{Interval, Intervals};
use super::range_bounds::{RangeBound, is_nan};
use crate::block::{integer_keys, key_column};
use crate::block_cut::SCAN_BLOCK_ROWS;
use crate::image::{ImageReader, ImageWriter};
use crate::key_bytes::KeyShape;
use crate::key_numbers::KeyNumbers;
use crate::payloads::Payloads;
use crate::spec::DictionarySpec;
use crate::table::{ShardedTable, TableBuilder, TableForm};
use crate::values::{StringArena, Values};

/// Maps keys to their groups of intervals.
pub(crate) enum Groups {
    Simple(Hashed),
    Complex(ComplexKeyHashed),
}

/// The rows of a load.
pub(super) struct RangeRows<T> {
    key_types: Vec<SqlType>,
    simple: bool,
    null_bound_is_open: bool,
    shape: KeyShape,
    keys: KeyNumbers,
    intervals: Vec<Interval<T>>,
}

/// The rows of one shard, for bounds of any width.
pub(crate) trait RangeShardBuilder: Send {
    fn push(&mut self, keys: &[ArrayRef], bounds: &[ArrayRef], rows: &[u64]) -> Result<()>;

    /// The groups and their intervals; groups and rows have numbers from `first` on.
    fn finish(self: Box<Self>, table: TableBuilder, form: TableForm, first: u64) -> Result<RangeShard>;
}

/// The keys of one shard and their intervals.
pub(crate) struct RangeShard {
    pub(crate) groups: Groups,
    intervals: Box<dyn SavedIntervals>,
}

trait SavedIntervals: Send {
    fn len(&self) -> usize;

    fn save(&self, image: &mut ImageWriter<'_>) -> Result<()>;
}

/// Whether the bounds of ranges have 128 bits.
pub(super) fn is_wide(spec: &DictionarySpec) -> bool {
    let carrier = spec.range.as_ref().map(|range| range.ty.carrier());
    matches!(carrier, Some(arrow::datatypes::DataType::Decimal128(..)))
}

/// A builder for a shard.
pub(crate) fn range_shard_builder(spec: &DictionarySpec) -> Result<Box<dyn RangeShardBuilder>> {
    Ok(match is_wide(spec) {
        true => Box::new(RangeRows::<i128>::new(spec)?),
        false => Box::new(RangeRows::<i64>::new(spec)?),
    })
}

impl Groups {
    pub(super) fn open(spec: &DictionarySpec, image: &mut ImageReader<'_>) -> Result<Groups> {
        Ok(match spec.layout.kind.is_complex() {
            true => Groups::Complex(ComplexKeyHashed::open(&spec.key_types(), image)?),
            false => Groups::Simple(Hashed::open(image)?),
        })
    }

    pub(super) fn layout(&self) -> &dyn Layout {
        match self {
            Groups::Simple(layout) => layout,
            Groups::Complex(layout) => layout,
        }
    }

    pub(crate) fn composite_keys(&self) -> Option<&ComplexKeyHashed> {
        match self {
            Groups::Simple(_) => None,
            Groups::Complex(layout) => Some(layout),
        }
    }

    pub(crate) fn table(&self) -> &ShardedTable {
        match self {
            Groups::Simple(layout) => layout.table(),
            Groups::Complex(layout) => layout.table(),
        }
    }
}

impl RangeShard {
    pub(crate) fn len(&self) -> usize {
        self.intervals.len()
    }

    pub(crate) fn save_intervals(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        self.intervals.save(image)
    }
}

impl<T: RangeBound> RangeRows<T> {
    pub(super) fn new(spec: &DictionarySpec) -> Result<RangeRows<T>> {
        let key_types = spec.key_types();
        Ok(RangeRows {
            shape: KeyShape::new(&key_types)?,
            key_types,
            simple: !spec.layout.kind.is_complex(),
            null_bound_is_open: spec.layout.null_bound_is_open,
            keys: KeyNumbers::default(),
            intervals: Vec::new(),
        })
    }

    /// Adds the keys and bounds of the rows with these numbers.
    pub(super) fn push(&mut self, keys: &[ArrayRef], bounds: &[ArrayRef], rows: &[u64]) -> Result<()> {
        let widened = if self.simple { vec![key_column(integer_keys(&keys[0])?)] } else { keys.to_vec() };
        let encoded = self.shape.encode(&widened)?;
        let (lows, highs) = (T::of(&bounds[0])?, T::of(&bounds[1])?);
        for (at, &row) in rows.iter().enumerate() {
            let group = self.keys.number(encoded.get(at))?;
            let open = [bounds[0].is_null(at), bounds[1].is_null(at)];
            let (mut low, mut high) = (lows[at], highs[at]);
            if open.contains(&true) && !self.null_bound_is_open
                || is_nan(&bounds[0], at)
                || is_nan(&bounds[1], at)
            {
                (low, high) = (T::GREATEST, T::LEAST);
            } else {
                low = if open[0] { T::LEAST } else { low };
                high = if open[1] { T::GREATEST } else { high };
            }
            self.intervals.push(Interval { group, low, high, row: row as u32 });
        }
        Ok(())
    }

    /// The groups, in a table of this form, and the intervals. Groups and rows have numbers from `first` on.
    pub(super) fn into_parts(
        self,
        table: TableBuilder,
        form: TableForm,
        first: u64,
    ) -> Result<(Groups, Intervals<T>)> {
        let RangeRows { key_types, simple, keys, mut intervals, .. } = self;
        let keys = keys.into_keys();
        intervals.iter_mut().for_each(|interval| interval.row += first as u32);
        let intervals = Intervals::new(intervals, keys.len());
        // A group is like a row without attributes.
        let mut none = Values::new(&[], false);
        none.push(&[], keys.len())?;
        let groups = match simple {
            true => {
                let mut builder = HashedBuilder::of_shard(table, Some(form), first);
                push_integers(&mut builder, &keys)?;
                Groups::Simple(builder.into_layout(&mut none)?)
            }
            false => {
                let mut builder = ComplexKeyHashedBuilder::of_shard(&key_types, table, form, first)?;
                builder.push_encoded(keys)?;
                Groups::Complex(builder.into_layout(&mut none)?)
            }
        };
        Ok((groups, intervals))
    }
}

/// Adds encoded `UInt64` keys.
fn push_integers(builder: &mut HashedBuilder, keys: &StringArena) -> Result<()> {
    let key = |number| keys.get(number).try_into().map_or(0, u64::from_le_bytes);
    for first in (0..keys.len()).step_by(SCAN_BLOCK_ROWS) {
        let numbers = first..keys.len().min(first + SCAN_BLOCK_ROWS);
        let block = key_column(numbers.clone().map(key).collect());
        builder.push(&[block], Payloads::Numbers(numbers.start as u64..numbers.end as u64))?;
    }
    Ok(())
}

impl<T: RangeBound> RangeShardBuilder for RangeRows<T> {
    fn push(&mut self, keys: &[ArrayRef], bounds: &[ArrayRef], rows: &[u64]) -> Result<()> {
        RangeRows::push(self, keys, bounds, rows)
    }

    fn finish(self: Box<Self>, table: TableBuilder, form: TableForm, first: u64) -> Result<RangeShard> {
        let (groups, intervals) = self.into_parts(table, form, first)?;
        Ok(RangeShard { groups, intervals: Box::new(intervals) })
    }
}

impl<T: RangeBound> SavedIntervals for Intervals<T> {
    fn len(&self) -> usize {
        Intervals::len(self)
    }

    fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        Intervals::save(self, image)
    }
}
