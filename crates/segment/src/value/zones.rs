//! Zone maps: the least and the greatest value of each block of ranks, to skip blocks that no value of a range is in.
//!
//! # Layout
//!
//! Two numbers and a section:
//!
//! ```text
//! rows, bytes of a bound (8 or 16)
//! bounds     for each block of 1024 rows, the least bound and the greatest one, little-endian
//! ```
//!
//! A bound is an integer of 128 bits, see [`super::bound`]. A block that has only NULLs has a least bound above the
//! greatest one. Bounds of 8 bytes are the high halves.
//!
//! # Invariants
//!
//! Different values may have the same bound, so a block that may match need not, but no match is skipped. The bounds
//! are resident.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::Range;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use basalt_base::region::Section;
use basalt_base::{Error, Result, query};

use super::bound::{BOUND_BYTES, ZoneBound, append_bounds, has_bounds, short_bounds};
use crate::file::{ComponentReader, PendingComponent, Spool, SpoolPlace};
use crate::{ROWS_MAX, Rank};

pub(crate) const ENCODING: &str = "zones";

const BLOCK_RANKS: u32 = 1024;
const BLOCK: usize = BLOCK_RANKS as usize;
/// Rows between checks of the query.
const CHECKED_ROWS: usize = 16 << 10;

/// Takes the values of a column in the order of ranks.
pub struct ZonesBuilder {
    component: PendingComponent,
    spool: Spool,
    width: usize,
    rows: u64,
    zone: Zone,
    bounds: Vec<Option<u128>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Zone {
    low: u128,
    high: u128,
}

impl Zone {
    const EMPTY: Zone = Zone { low: u128::MAX, high: 0 };
}

impl ZonesBuilder {
    /// Whether values of this type are ordered, so that zone maps can be made of them.
    pub fn has_zones(data_type: &DataType) -> bool {
        has_bounds(data_type)
    }

    /// `name` is that of the component. An error if the type has no zone maps.
    pub fn new(name: &str, data_type: &DataType, place: &SpoolPlace) -> Result<ZonesBuilder> {
        if !ZonesBuilder::has_zones(data_type) {
            return Err(Error::not_implemented(format!("a zone map of values of type {data_type}")));
        }
        Ok(ZonesBuilder {
            component: PendingComponent::new(name, ENCODING),
            spool: place.spool(),
            width: if short_bounds(data_type) { BOUND_BYTES / 2 } else { BOUND_BYTES },
            rows: 0,
            zone: Zone::EMPTY,
            bounds: Vec::new(),
        })
    }

    pub fn push(&mut self, values: &ArrayRef) -> Result<()> {
        for start in (0..values.len()).step_by(CHECKED_ROWS) {
            query::checkpoint()?;
            let mut bounds = std::mem::take(&mut self.bounds);
            bounds.clear();
            append_bounds(&values.slice(start, (values.len() - start).min(CHECKED_ROWS)), &mut bounds)?;
            for bound in &bounds {
                self.push_one(*bound)?;
            }
            self.bounds = bounds;
        }
        Ok(())
    }

    fn push_one(&mut self, bound: Option<u128>) -> Result<()> {
        if let Some(bound) = bound {
            self.zone = Zone { low: self.zone.low.min(bound), high: self.zone.high.max(bound) };
        }
        self.rows += 1;
        if self.rows.is_multiple_of(BLOCK as u64) { self.end_zone() } else { Ok(()) }
    }

    fn end_zone(&mut self) -> Result<()> {
        let Zone { low, high } = std::mem::replace(&mut self.zone, Zone::EMPTY);
        // The high bytes are last.
        for bound in [low, high] {
            self.spool.write(&bound.to_le_bytes()[BOUND_BYTES - self.width..])?;
        }
        Ok(())
    }

    pub fn finish(mut self) -> Result<PendingComponent> {
        if !self.rows.is_multiple_of(BLOCK as u64) {
            self.end_zone()?;
        }
        let mut component = self.component;
        component.reason = format!("bounds of each {BLOCK} values");
        component.raw_bytes = self.spool.len();
        component.number(self.rows);
        component.number(self.width as u64);
        component.section(self.spool);
        Ok(component)
    }
}

/// The zone maps of a column.
#[derive(Debug)]
pub struct Zones {
    bounds: Section,
    width: usize,
    rows: u32,
}

impl Zones {
    pub fn open(mut component: ComponentReader<'_>) -> Result<Zones> {
        let rows = component.number_to(ROWS_MAX)?;
        let width = match component.number()? {
            8 => 8,
            16 => 16,
            other => return Err(component.place().corrupt(format!("bounds of {other} bytes"))),
        };
        let bounds = component.resident_of(rows.div_ceil(BLOCK as u64) * 2 * width)?;
        component.finish()?;
        let width = usize::try_from(width).map_err(Error::logical)?;
        Ok(Zones { bounds, width, rows: u32::try_from(rows).map_err(Error::logical)? })
    }

    /// Ascending ranges of the ranks whose values may be at least `low` and at most `high`; `None` has no limit. Other
    /// ranks have no such value. NULL is none either.
    pub fn matching(&self, low: Option<ZoneBound>, high: Option<ZoneBound>) -> Vec<Range<Rank>> {
        let low = low.map_or(0, |bound| bound.0);
        let high = high.map_or(u128::MAX, |bound| bound.0);
        let mut ranges: Vec<Range<Rank>> = Vec::new();
        let ranks = (0..self.rows).step_by(BLOCK);
        for (start, zone) in ranks.zip(self.bounds.chunks_exact(2 * self.width)) {
            let (least, greatest) = zone.split_at(self.width);
            let (least, greatest) = (self.bound(least), self.bound(greatest));
            if least > greatest || greatest < low || least > high {
                continue;
            }
            let end = self.rows.min(start.saturating_add(BLOCK_RANKS));
            match ranges.last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => ranges.push(start..end),
            }
        }
        ranges
    }

    fn bound(&self, bytes: &[u8]) -> u128 {
        let mut bound = [0; BOUND_BYTES];
        bound[BOUND_BYTES - self.width..].copy_from_slice(bytes);
        u128::from_le_bytes(bound)
    }

    /// The bytes of the section.
    pub fn stored_bytes(&self) -> u64 {
        self.bounds.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{BinaryViewArray, Decimal128Array, Float64Array, Int64Array, UInt8Array};
    use proptest::prelude::*;

    use super::*;
    use crate::file::Access;
    use crate::file::testing::{Parts, TestDir, each_damage};

    fn parts(values: &ArrayRef, dir: &TestDir) -> Parts {
        let mut builder = ZonesBuilder::new("zones", values.data_type(), dir.place()).expect("ordered");
        builder.push(&values.slice(0, values.len() / 3)).expect("a spool");
        builder.push(&values.slice(values.len() / 3, values.len() - values.len() / 3)).expect("a spool");
        Parts::of(builder.finish().expect("a component"))
    }

    fn open(parts: &Parts, dir: &TestDir) -> Result<Zones> {
        Zones::open(dir.file(std::slice::from_ref(parts), Access::Mapped).component("zones")?)
    }

    /// Every value between two others is in a range; returns the rows of all ranges.
    fn check(values: &ArrayRef, low: usize, high: usize) -> usize {
        let dir = TestDir::new();
        let zones = open(&parts(values, &dir), &dir).expect("zones");
        let bound = |row| ZoneBound::of(values, row).expect("ordered");
        let (low, high) = (bound(low), bound(high));
        let ranges = zones.matching(low, high);
        for row in 0..values.len() {
            let Some(value) = bound(row) else { continue };
            if low.is_none_or(|low| low <= value) && high.is_none_or(|high| value <= high) {
                assert!(ranges.iter().any(|range| range.contains(&(row as u32))), "row {row}");
            }
        }
        assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
        ranges.iter().map(ExactSizeIterator::len).sum()
    }

    #[test]
    fn blocks_without_a_match_are_skipped() {
        let sorted: ArrayRef = Arc::new(Int64Array::from_iter_values(-5000..5000));
        assert_eq!(check(&sorted, 4000, 4001), 1024);
        assert_eq!(check(&sorted, 0, 9999), 10_000);
        assert_eq!(check(&sorted, 9999, 0), 0);
        let strings = BinaryViewArray::from_iter_values((0..5000).map(|at| format!("a long common {at:04}")));
        assert!(check(&(Arc::new(strings) as ArrayRef), 10, 20) <= 2048);
        let nulls: ArrayRef = Arc::new(Int64Array::from(vec![None; 3000]));
        assert_eq!(check(&nulls, 0, 0), 0);
        let decimals: ArrayRef =
            Arc::new(Decimal128Array::from_iter_values((-3000..3000).map(|at| at << 70)));
        assert_eq!(check(&decimals, 0, 10), 1024);
        let flags: ArrayRef = Arc::new(UInt8Array::from_iter_values((0..2048).map(|at| (at / 1024) as u8)));
        assert_eq!(check(&flags, 0, 0), 1024);
    }

    #[test]
    fn zeroes_of_both_signs_are_equal() {
        let values: ArrayRef = Arc::new(Float64Array::from(vec![-0.0, 0.0, f64::NAN]));
        let bound = |row| ZoneBound::of(&values, row).expect("ordered");
        assert_eq!(bound(0), bound(1));
        check(&values, 0, 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]
        #[test]
        fn no_match_is_skipped(
            values in prop::collection::vec(prop::option::of(-50..50_i64), 1..4000),
            low: prop::sample::Index,
            high: prop::sample::Index,
        ) {
            let (low, high) = (low.index(values.len()), high.index(values.len()));
            let strings: Vec<_> = values.iter().map(|value| value.map(|value| format!("{value}"))).collect();
            let strings = BinaryViewArray::from_iter(strings.iter().map(|string| string.as_ref()));
            check(&(Arc::new(strings) as ArrayRef), low, high);
            check(&(Arc::new(Int64Array::from(values)) as ArrayRef), low, high);
        }
    }

    #[test]
    fn damaged_zones_give_an_error_or_some_ranges() {
        let dir = TestDir::new();
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(0..3000));
        each_damage(&[parts(&values, &dir)], |parts| {
            let Ok(zones) = open(&parts[0], &dir) else { return };
            assert!(zones.matching(None, None).iter().all(|range| range.end <= 3072));
        });
    }
}
