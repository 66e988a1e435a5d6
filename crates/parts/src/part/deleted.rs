//! The rows of a part that a lightweight DELETE removed, as a bit mask next to the columns.
//!
//! # Layout of `deleted.rows`
//!
//! ```text
//! magic "BSLTDEL1"
//! rows of the part u64
//! mask                 a bit a row, lowest bit first; set: the row is deleted
//! crc32c u32           of everything before it
//! ```
//!
//! The metadata has the number of deleted rows; a part without deleted rows has no such file. The file never
//! changes: another DELETE makes another part, with links to the same columns.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use arrow::buffer::BooleanBuffer;

use crate::error::Damage;
use crate::fields::{FieldReader, FieldWriter, Magic};

/// The name of the file.
pub(crate) const DELETED_FILE: &str = "deleted.rows";

const MAGIC: &Magic = b"BSLTDEL1";

/// Bytes of the file without the mask.
const FRAME_BYTES: u64 = 8 + 8 + 4;

/// Bytes of the file for a part of `rows` rows.
pub(crate) fn file_bytes(rows: u64) -> u64 {
    FRAME_BYTES + rows.div_ceil(8)
}

pub(crate) fn encode(mask: &BooleanBuffer) -> Vec<u8> {
    let mut out = FieldWriter::of_file(MAGIC);
    out.u64(mask.len() as u64);
    let mut bytes = vec![0_u8; mask.len().div_ceil(8)];
    for row in mask.set_indices() {
        bytes[row / 8] |= 1 << (row % 8);
    }
    out.raw(&bytes);
    out.sealed()
}

/// Decodes the mask of a part with `rows` rows, `deleted` of them set.
pub(crate) fn decode(bytes: &[u8], rows: u64, deleted: u64) -> Result<BooleanBuffer, Damage> {
    let mut fields = FieldReader::of_file(bytes, MAGIC, "a mask of deleted rows")?;
    let found = fields.u64()?;
    if found != rows {
        return Err(Damage::new(MAGIC.len(), format!("a mask of {found} rows for a part of {rows}")));
    }
    let rows = Damage::size(MAGIC.len(), rows)?;
    let mask = BooleanBuffer::new(fields.raw(rows.div_ceil(8))?.to_vec().into(), 0, rows);
    let counted = mask.count_set_bits() as u64;
    if counted != deleted {
        let what = format!("{counted} rows are deleted, the metadata says {deleted}");
        return Err(Damage::new(MAGIC.len() + 8, what));
    }
    fields.finish()?;
    Ok(mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask() -> BooleanBuffer {
        BooleanBuffer::from((0..21).map(|row| row % 3 == 0).collect::<Vec<_>>())
    }

    #[test]
    fn mask_round_trips() {
        let bytes = encode(&mask());
        assert_eq!(bytes.len() as u64, file_bytes(21));
        assert_eq!(decode(&bytes, 21, 7).unwrap(), mask());
        assert!(decode(&bytes, 20, 7).is_err() && decode(&bytes, 21, 6).is_err());
    }

    #[test]
    fn every_damage_is_refused() {
        let whole = encode(&mask());
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&bytes, 21, 7).is_err(), "bit {bit}");
        }
        for end in 0..whole.len() {
            assert!(decode(&whole[..end], 21, 7).is_err(), "cut at {end}");
        }
    }
}
