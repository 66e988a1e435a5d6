//! `minmax`: the smallest and the largest value.
//!
//! Encoding: whether there is a NULL u8, whether the largest value is no bound u8, sections of an array of two
//! values; no sections if there is no value.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::Bound;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::concat;
use arrow::datatypes::Field;
use basalt_codec::CodecChain;

use super::predicate::ValueTest;
use super::summary::Summary;
use super::zones::zone_field;
use crate::column::decoder::decode_array;
use crate::column::encoder::encode_array;
use crate::error::{Damage, Result};
use crate::fields::FieldReader;
use crate::key::bounds;
use crate::key::ranges::KeyRanges;
use crate::key::row_format::encode;

/// The smallest and the largest value of some granules.
#[derive(Debug)]
pub(crate) struct MinMaxSummary {
    field: Arc<Field>,
    bounds: Option<ArrayRef>,
    has_null: bool,
    is_unbounded: bool,
}

impl MinMaxSummary {
    pub(crate) fn new(field: &Field) -> MinMaxSummary {
        MinMaxSummary { field: zone_field(field), bounds: None, has_null: false, is_unbounded: false }
    }

    pub(crate) fn decode(field: &Field, bytes: &[u8]) -> Result<MinMaxSummary, Damage> {
        let mut fields = FieldReader::new(bytes);
        let [has_null, is_unbounded] = fields.array::<2>()?;
        let field = zone_field(field);
        let bounds = if bytes.len() == 2 {
            None
        } else {
            let array = decode_array(&field, &CodecChain::default(), &bytes[2..], 2)?;
            if array.null_count() > 0 {
                return Err(Damage::new(2, "a bound is NULL"));
            }
            Some(array)
        };
        Ok(MinMaxSummary { field, bounds, has_null: has_null != 0, is_unbounded: is_unbounded != 0 })
    }

    fn overlaps(&self, ranges: &KeyRanges) -> bool {
        if !bounds::has_order(self.field.data_type()) {
            return true;
        }
        let Some(bounds) = &self.bounds else {
            // There are only NULLs, which are above every value.
            return self.has_null && ranges.overlaps(Bound::Unbounded, Bound::Unbounded);
        };
        let Ok(rows) = encode(bounds) else { return true };
        let is_open = self.has_null || self.is_unbounded;
        let high = if is_open { Bound::Unbounded } else { Bound::Included(rows.row(1).data()) };
        ranges.overlaps(Bound::Included(rows.row(0).data()), high)
    }
}

impl Summary for MinMaxSummary {
    fn append(&mut self, values: &ArrayRef) -> Result<()> {
        self.has_null |= values.null_count() > 0;
        let Some(found) = bounds::of_array(values)? else { return Ok(()) };
        self.is_unbounded |= found.is_unbounded;
        self.bounds = match self.bounds.take() {
            None => Some(found.array),
            Some(before) => bounds::of_array(&concat(&[&*before, &*found.array])?)?.map(|both| both.array),
        };
        Ok(())
    }

    fn encode(&self) -> Result<Vec<u8>> {
        let mut out = vec![u8::from(self.has_null), u8::from(self.is_unbounded)];
        if let Some(bounds) = &self.bounds {
            encode_array(&self.field, &CodecChain::default(), bounds, &mut out)?;
        }
        Ok(out)
    }

    fn may_match(&self, test: &ValueTest) -> bool {
        match test {
            ValueTest::Ranges(ranges) => self.overlaps(ranges),
            ValueTest::Points(points) if points.data_type() == self.field.data_type() => {
                KeyRanges::points(points).is_ok_and(|ranges| self.overlaps(&ranges))
            }
            _ => true,
        }
    }
}
