//! The file of a skip index in a part: a summary for each group of granules.
//!
//! # Layout of `skp_idx_<name>.idx`
//!
//! ```text
//! magic "BSLTSKP1"
//! granules of a summary u32, number of summaries u32
//! summaries, each as bytes: the encoding is in the module of its type. An index of several
//!                          elements has a summary for each of them, then those of the next granules
//! crc32c u32               of everything before it
//! ```

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use arrow::datatypes::FieldRef;

use super::kind::IndexKind;
use super::summary::Summary;
use crate::error::{Damage, Result};
use crate::fields::{FieldReader, FieldWriter, Magic};

const MAGIC: &Magic = b"BSLTSKP1";

/// Encodes summaries one by one.
#[derive(Debug)]
pub(crate) struct SkipFileWriter {
    granularity: u32,
    count: u32,
    summaries: FieldWriter,
}

impl SkipFileWriter {
    pub(crate) fn new(granularity: u32) -> SkipFileWriter {
        SkipFileWriter { granularity, count: 0, summaries: FieldWriter::default() }
    }

    pub(crate) fn push(&mut self, summary: &dyn Summary) -> Result<()> {
        self.summaries.bytes(&summary.encode()?);
        self.count += 1;
        Ok(())
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        let mut out = FieldWriter::of_file(MAGIC);
        out.u32(self.granularity);
        out.u32(self.count);
        out.raw(&self.summaries.bytes);
        out.sealed()
    }
}

/// Compares the checksum of a skip index; its summaries need the types of its elements.
pub(crate) fn check_sum(bytes: &[u8]) -> Result<(), Damage> {
    FieldReader::of_file(bytes, MAGIC, "a skip index").map(|_| ())
}

/// Decodes the summaries of a file, for an index over `fields_of` in a part with `marks` granules.
pub(crate) fn decode(
    bytes: &[u8],
    kind: &IndexKind,
    fields_of: &[FieldRef],
    granularity: u32,
    marks: usize,
) -> Result<Vec<Box<dyn Summary>>, Damage> {
    let mut fields = FieldReader::of_file(bytes, MAGIC, "a skip index")?;
    let (found, count) = (fields.u32()?, fields.count()?);
    if found != granularity
        || count
            != marks.div_ceil(Damage::size(MAGIC.len(), u64::from(granularity.max(1)))?) * fields_of.len()
    {
        return Err(Damage::new(MAGIC.len(), "the index is not that of the part"));
    }
    let mut summaries = Vec::new();
    for field in fields_of.iter().cycle().take(count) {
        let entry = fields.bytes()?;
        let at = fields.at() - entry.len();
        summaries.push(kind.decode(field, entry).map_err(|damage| damage.shifted(at as u64))?);
    }
    fields.finish()?;
    Ok(summaries)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, UInt32Array};
    use arrow::datatypes::{DataType, Field};

    use super::*;

    #[test]
    fn every_flip_and_every_truncation_is_refused() {
        let field = Field::new("c", DataType::UInt32, false);
        let mut writer = SkipFileWriter::new(2);
        for value in 0..3 {
            let mut summary = IndexKind::MinMax.summary(&field);
            summary.append(&(Arc::new(UInt32Array::from(vec![value])) as ArrayRef)).unwrap();
            writer.push(&*summary).unwrap();
        }
        let bytes = writer.finish();
        let decode = |bytes: &[u8]| decode(bytes, &IndexKind::MinMax, &[Arc::new(field.clone())], 2, 5);
        assert_eq!(decode(&bytes).unwrap().len(), 3);
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&flipped).is_err(), "bit {bit}");
        }
        for end in 0..bytes.len() {
            assert!(decode(&bytes[..end]).is_err(), "{end} bytes");
        }
    }
}
