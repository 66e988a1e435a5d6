//! `set`: the distinct values, unless there are too many.
//!
//! Encoding: 0 for too many; else 1, then the number of values u32 and sections of an array of them.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt64Array, new_empty_array};
use arrow::compute::{concat, take};
use arrow::datatypes::Field;
use basalt_codec::CodecChain;

use super::predicate::ValueTest;
use super::summary::Summary;
use super::zones::zone_field;
use crate::column::decoder::decode_array;
use crate::column::encoder::encode_array;
use crate::error::{Damage, Result};
use crate::fields::FieldReader;
use crate::key::ranges::KeyRanges;
use crate::key::row_format::encode;

/// More values are not stored, whatever the limit of the index.
const VALUES_MAX: usize = 1 << 24;

/// The most values a byte: limits the number that damaged bytes may claim.
const COMPRESSION_MAX: usize = 256;

/// Summary of the distinct values of some granules.
#[derive(Debug)]
pub(crate) struct SetSummary {
    field: Arc<Field>,
    values_max: usize,
    /// The values in the row format, including NULL; `None` once there are too many.
    seen: Option<HashSet<Box<[u8]>>>,
    /// The same values in order of arrival.
    values: Vec<ArrayRef>,
}

impl SetSummary {
    /// `values_max` 0 is no limit.
    pub(crate) fn new(field: &Field, values_max: u64) -> SetSummary {
        let limit = usize::try_from(values_max).unwrap_or(VALUES_MAX).min(VALUES_MAX);
        SetSummary {
            field: zone_field(field),
            values_max: if limit == 0 { VALUES_MAX } else { limit },
            seen: Some(HashSet::new()),
            values: Vec::new(),
        }
    }

    pub(crate) fn decode(field: &Field, values_max: u64, bytes: &[u8]) -> Result<SetSummary, Damage> {
        let mut summary = SetSummary::new(field, values_max);
        let mut fields = FieldReader::new(bytes);
        let [is_known] = fields.array()?;
        if is_known == 0 {
            summary.seen = None;
            fields.finish()?;
            return Ok(summary);
        }
        let count = fields.count()?;
        // Distinct values do not compress better than this.
        if count > VALUES_MAX.min(bytes.len() * COMPRESSION_MAX) {
            return Err(Damage::new(1, format!("{count} values")));
        }
        let array = decode_array(&summary.field, &CodecChain::default(), &bytes[5..], count)
            .map_err(|damage| damage.shifted(5))?;
        summary.append(&array).map_err(|error| Damage::new(5, error.to_string()))?;
        Ok(summary)
    }

    fn has_any(&self, ranges: &KeyRanges) -> bool {
        self.seen.as_ref().is_none_or(|seen| seen.iter().any(|value| ranges.contains(value)))
    }
}

impl Summary for SetSummary {
    fn append(&mut self, values: &ArrayRef) -> Result<()> {
        let Some(seen) = &mut self.seen else { return Ok(()) };
        let rows = encode(values)?;
        let is_new = |row: &usize| seen.insert(Box::from(rows.row(*row).data()));
        let new: UInt64Array =
            (0..values.len()).filter(is_new).map(|row| row as u64).collect::<Vec<_>>().into();
        if seen.len() > self.values_max {
            self.seen = None;
            self.values = Vec::new();
        } else if !new.is_empty() {
            self.values.push(take(values, &new, None)?);
        }
        Ok(())
    }

    fn encode(&self) -> Result<Vec<u8>> {
        let Some(seen) = &self.seen else { return Ok(vec![0]) };
        let mut out = vec![1];
        let count = u32::try_from(seen.len()).expect("a set has no more values than VALUES_MAX");
        out.extend_from_slice(&count.to_le_bytes());
        let parts: Vec<&dyn Array> = self.values.iter().map(|values| &**values).collect();
        let all = if parts.is_empty() { new_empty_array(self.field.data_type()) } else { concat(&parts)? };
        encode_array(&self.field, &CodecChain::default(), &all, &mut out)?;
        Ok(out)
    }

    fn may_match(&self, test: &ValueTest) -> bool {
        match test {
            ValueTest::Ranges(ranges) => self.has_any(ranges),
            ValueTest::Points(points) if points.data_type() == self.field.data_type() => {
                KeyRanges::points(points).map_or(true, |ranges| self.has_any(&ranges))
            }
            _ => true,
        }
    }
}
