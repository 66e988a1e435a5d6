//! The primary index: the primary key of the first row of each granule, and of the part's last row.
//!
//! # Layout of `primary.idx`
//!
//! ```text
//! magic "BSLTIDX1"
//! columns u32, rows u32                 rows: granules + 1, or 0 in a part without rows
//! per column: length u32, sections      an array of `rows` values, see `column/encoder.rs`
//! crc32c u32                            of everything before it
//! ```
//!
//! In memory the values are in Arrow's row format, whose byte order is value order.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::FieldRef;
use arrow::row::Rows;
use basalt_codec::CodecChain;

use super::row_format::encode;
use crate::column::decoder::decode_array;
use crate::column::encoder::BlockEncoder;
use crate::column::section::SectionWriter;
use crate::error::{Damage, Result};
use crate::fields::{FieldReader, FieldWriter, Magic};

const MAGIC: &Magic = b"BSLTIDX1";

/// Collects the index while a part is written.
#[derive(Debug)]
pub(crate) struct PrimaryWriter {
    columns: Vec<BlockEncoder>,
    rows: u32,
}

impl PrimaryWriter {
    pub(crate) fn new(fields: &[FieldRef]) -> PrimaryWriter {
        PrimaryWriter { columns: fields.iter().map(|field| BlockEncoder::new(field)).collect(), rows: 0 }
    }

    /// Appends the key at `row`.
    pub(crate) fn append(&mut self, key: &[ArrayRef], row: usize) {
        for (column, values) in self.columns.iter_mut().zip(key) {
            column.append(&values.slice(row, 1));
        }
        self.rows += 1;
    }

    pub(crate) fn finish(mut self) -> Result<Vec<u8>> {
        let mut fields = FieldWriter::of_file(MAGIC);
        fields.count(self.columns.len());
        fields.u32(self.rows);
        let chain = CodecChain::default();
        for column in &mut self.columns {
            let mut out = Vec::new();
            let mut scratch = Default::default();
            let mut sections =
                SectionWriter { chain: &chain, out: &mut out, scratch: &mut scratch, decoded_bytes: 0 };
            column.write(&mut sections)?;
            fields.bytes(&out);
        }
        Ok(fields.sealed())
    }
}

/// The index in memory.
#[derive(Debug)]
pub(crate) struct PrimaryIndex {
    columns: Vec<Rows>,
}

/// Compares the checksum of a primary index; its values need the types of the key.
pub(crate) fn check_sum(bytes: &[u8]) -> Result<(), Damage> {
    FieldReader::of_file(bytes, MAGIC, "a primary index").map(|_| ())
}

impl PrimaryIndex {
    /// Decodes the index of a key of `fields` with `rows` rows, both from the part's metadata.
    pub(crate) fn decode(bytes: &[u8], fields: &[FieldRef], rows: usize) -> Result<PrimaryIndex, Damage> {
        let mut reader = FieldReader::of_file(bytes, MAGIC, "a primary index")?;
        if reader.count()? != fields.len() || reader.count()? != rows {
            return Err(Damage::new(MAGIC.len(), "the index is not that of the part"));
        }
        let mut columns = Vec::with_capacity(fields.len());
        for field in fields {
            let at = reader.at();
            let array = decode_array(field, &CodecChain::default(), reader.bytes()?, rows)
                .map_err(|damage| damage.shifted(at as u64 + 4))?;
            columns.push(encode(&array).map_err(|error| Damage::new(at, error.to_string()))?);
        }
        reader.finish()?;
        Ok(PrimaryIndex { columns })
    }

    /// A key column's value at a mark; the mark after the last granule is the part's last row.
    pub(crate) fn value(&self, column: usize, mark: usize) -> &[u8] {
        self.columns[column].row(mark).data()
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.columns.iter().map(Rows::size).sum()
    }
}
