//! The metadata of a column: its type, file, codecs, sizes and bounds.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use basalt_codec::CodecChain;

use crate::column::writer::ColumnFileSize;
use crate::error::Damage;
use crate::fields::{FieldReader, FieldWriter, OPTIONAL, TaggedWriter};
use crate::index::zone_file::ZonesPlace;

/// Parts of version 1 have no tagged fields.
pub(super) const TAGGED_SINCE: u32 = 2;

/// Tags of a column's fields.
mod tag {
    use super::OPTIONAL;

    pub(super) const OFFSET: u32 = 1;
    pub(super) const ZONES: u32 = OPTIONAL | 1;
}

/// The least bytes of a column's metadata, which limits the number of columns that a count may claim.
pub(super) const COLUMN_BYTES_MIN: usize = 3 * 4 + 16 + 5 * 8 + 4 + 4;

/// The metadata of a column.
#[derive(Clone, Debug)]
pub(crate) struct ColumnMeta {
    pub(crate) name: String,
    /// The type as SQL text.
    pub(crate) ty: String,
    pub(crate) file: String,
    /// The offset of the column in the data file of a compact part.
    pub(crate) offset: Option<u64>,
    pub(crate) chain: CodecChain,
    pub(crate) size: ColumnFileSize,
    pub(crate) null_count: u64,
    /// Sections of the smallest and the largest value; decoding requires the type.
    pub(crate) bounds: Vec<u8>,
    /// The place of the zone map; `None` in a part with one granule, and for a type without an order.
    pub(crate) zones: Option<ZonesPlace>,
}

impl ColumnMeta {
    pub(super) fn encode(&self, out: &mut FieldWriter) {
        out.bytes(self.name.as_bytes());
        out.bytes(self.ty.as_bytes());
        out.bytes(self.file.as_bytes());
        out.raw(&self.chain.to_bytes());
        out.u64(self.size.file_bytes);
        out.u64(self.size.compressed_bytes);
        out.u64(self.size.decoded_bytes);
        out.u64(self.size.marks_bytes);
        out.u32(self.size.footer_crc);
        out.u64(self.null_count);
        out.bytes(&self.bounds);
        let mut list = TaggedWriter::default();
        if let Some(offset) = self.offset {
            list.put(tag::OFFSET, |out| out.u64(offset));
        }
        if let Some(zones) = self.zones {
            list.put(tag::ZONES, |out| zones.encode(out));
        }
        out.tagged(&list);
    }

    pub(super) fn decode(fields: &mut FieldReader<'_>, version: u32) -> Result<ColumnMeta, Damage> {
        let (name, ty, file) = (fields.text()?, fields.text()?, fields.text()?);
        let at = fields.at();
        if file.contains('/') || file.is_empty() || file.starts_with('.') {
            return Err(Damage::new(at, "a file outside the part"));
        }
        let chain =
            CodecChain::from_bytes(&fields.array()?).map_err(|error| Damage::new(at, error.to_string()))?;
        let size = ColumnFileSize {
            file_bytes: fields.u64()?,
            compressed_bytes: fields.u64()?,
            decoded_bytes: fields.u64()?,
            marks_bytes: fields.u64()?,
            footer_crc: fields.u32()?,
        };
        let null_count = fields.u64()?;
        let bounds = fields.bytes()?.to_vec();
        let mut column =
            ColumnMeta { name, ty, file, offset: None, chain, size, null_count, bounds, zones: None };
        if version >= TAGGED_SINCE {
            column.decode_tagged(fields)?;
        }
        Ok(column)
    }

    fn decode_tagged(&mut self, fields: &mut FieldReader<'_>) -> Result<(), Damage> {
        for (tag, mut field) in fields.tagged()? {
            match tag {
                tag::OFFSET => self.offset = Some(field.u64()?),
                tag::ZONES => self.zones = Some(ZonesPlace::decode(&mut field)?),
                unknown => {
                    field.skip(unknown)?;
                    continue;
                }
            }
            field.finish()?;
        }
        Ok(())
    }
}
