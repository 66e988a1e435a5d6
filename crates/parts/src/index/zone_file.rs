//! The file of a part's zone maps, read column by column on first use.
//!
//! # Layout of `zones.idx`
//!
//! ```text
//! magic "BSLTZON1"
//! the zone maps of the columns, back to back; `part.meta` has the place and the checksum of each:
//!     smallest values as bytes       an array with a value for each granule, sections as in `column/encoder.rs`
//!     largest values as bytes        the same
//!     NULL counts as bytes           the same, of UInt32
//!     zero counts as bytes           the same; missing for types without a zero, and in older parts
//! ```
//!
//! A part with one granule has no such file: its bounds are the same.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Field, UInt32Type};
use basalt_base::checksum::crc32c;
use basalt_codec::CodecChain;

use super::zones::{Zones, zone_field};
use crate::column::decoder::decode_array;
use crate::column::encoder::encode_array;
use crate::error::{Damage, Result};
use crate::fields::{FieldReader, FieldWriter};

/// The name of the file.
pub(crate) const ZONES_FILE: &str = "zones.idx";

pub(crate) const MAGIC: &[u8; 8] = b"BSLTZON1";

/// A larger zone map is invalid: a million granules with values of a kilobyte.
const ZONES_BYTES_MAX: u64 = 1 << 30;

/// The place of a column's zone map in the file, and its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ZonesPlace {
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) crc: u32,
}

impl ZonesPlace {
    /// Appends `zones` to the file under construction.
    pub(crate) fn append(out: &mut Vec<u8>, field: &Field, zones: &Zones) -> Result<ZonesPlace> {
        Ok(ZonesPlace::append_encoded(out, &encode(field, zones)?))
    }

    /// Appends an encoded zone map to the file under construction.
    pub(crate) fn append_encoded(out: &mut Vec<u8>, encoded: &[u8]) -> ZonesPlace {
        if out.is_empty() {
            out.extend_from_slice(MAGIC);
        }
        let offset = out.len() as u64;
        out.extend_from_slice(encoded);
        ZonesPlace { offset, bytes: encoded.len() as u64, crc: crc32c(encoded) }
    }

    /// Verifies the checksum of the zone map's bytes.
    pub(crate) fn check(self, bytes: &[u8]) -> Result<(), Damage> {
        let computed = crc32c(bytes);
        if computed == self.crc {
            return Ok(());
        }
        let what = format!("checksum of a zone map is {:#010x}, computed {computed:#010x}", self.crc);
        Err(Damage::new(0, what))
    }

    pub(crate) fn encode(self, out: &mut FieldWriter) {
        out.u64(self.offset);
        out.u64(self.bytes);
        out.u32(self.crc);
    }

    pub(crate) fn decode(fields: &mut FieldReader<'_>) -> Result<ZonesPlace, Damage> {
        let at = fields.at();
        let place = ZonesPlace { offset: fields.u64()?, bytes: fields.u64()?, crc: fields.u32()? };
        let is_ours = place.bytes <= ZONES_BYTES_MAX && place.offset.checked_add(place.bytes).is_some();
        if is_ours { Ok(place) } else { Err(Damage::new(at, format!("a zone map of {} bytes", place.bytes))) }
    }

    /// Decodes the zone map from its bytes; the damage's offset counts from their start.
    pub(crate) fn read(self, bytes: &[u8], field: &Field, marks: usize) -> Result<Zones, Damage> {
        self.check(bytes)?;
        let mut fields = FieldReader::new(bytes);
        let values = zone_field(field);
        let (min, max) =
            (decode_next(&mut fields, &values, marks)?, decode_next(&mut fields, &values, marks)?);
        let null_counts =
            decode_next(&mut fields, &counts_field(), marks)?.as_primitive::<UInt32Type>().clone();
        let zero_counts = match fields.is_at_end() {
            true => None,
            false => {
                Some(decode_next(&mut fields, &counts_field(), marks)?.as_primitive::<UInt32Type>().clone())
            }
        };
        fields.finish()?;
        let zones = Zones::new(min, max, null_counts).map_err(|error| Damage::new(0, error.to_string()))?;
        Ok(zones.with_zero_counts(zero_counts))
    }
}

fn encode(field: &Field, zones: &Zones) -> Result<Vec<u8>> {
    let mut out = FieldWriter::default();
    let values = zone_field(field);
    append(&mut out, &values, zones.min())?;
    append(&mut out, &values, zones.max())?;
    append(&mut out, &counts_field(), zones.null_counts())?;
    if let Some(zero_counts) = zones.zero_counts() {
        append(&mut out, &counts_field(), zero_counts)?;
    }
    Ok(out.bytes)
}

fn append(out: &mut FieldWriter, field: &Field, array: &dyn Array) -> Result<()> {
    let mut bytes = Vec::new();
    encode_array(field, &CodecChain::default(), array, &mut bytes)?;
    out.bytes(&bytes);
    Ok(())
}

/// The next array of a zone map, with a value for each granule.
fn decode_next(fields: &mut FieldReader<'_>, field: &Field, marks: usize) -> Result<ArrayRef, Damage> {
    let at = fields.at() as u64;
    decode_array(field, &CodecChain::default(), fields.bytes()?, marks).map_err(|damage| damage.shifted(at))
}

fn counts_field() -> Field {
    Field::new("counts", DataType::UInt32, false)
}
