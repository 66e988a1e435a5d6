//! The last bytes of a column file, which lead to everything else in it.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use basalt_base::checksum::crc32c;
use basalt_codec::{CHAIN_BYTES, CodecChain};

use crate::error::Damage;

/// Bytes of the footer; see [`Footer`] for the field order.
pub(crate) const FOOTER_BYTES: usize = 64;

/// The version that is written. Version 1 has no coded blocks, and zeroes where version 2 counts them.
const FORMAT_VERSION: u16 = 2;
const FORMAT_VERSION_MIN: u16 = 1;

// Offsets of the fields in the footer. Each line is "previous field + its size".
const ROW_COUNT_AT: usize = 0;
const TABLE_OFFSET_AT: usize = ROW_COUNT_AT + size_of::<u64>();
const DECODED_BYTES_AT: usize = TABLE_OFFSET_AT + size_of::<u64>();
const BLOCK_COUNT_AT: usize = DECODED_BYTES_AT + size_of::<u64>();
const GRANULE_ROWS_AT: usize = BLOCK_COUNT_AT + size_of::<u32>();
const TABLE_CRC_AT: usize = GRANULE_ROWS_AT + size_of::<u32>();
const CHAIN_AT: usize = TABLE_CRC_AT + size_of::<u32>();
const FORMAT_VERSION_AT: usize = CHAIN_AT + CHAIN_BYTES;
const BLOCK_GRANULES_AT: usize = FORMAT_VERSION_AT + size_of::<u16>();
const CODED_BLOCKS_AT: usize = BLOCK_GRANULES_AT + size_of::<u8>();
const RESERVED_AT: usize = CODED_BLOCKS_AT + size_of::<u32>();
const FOOTER_CRC_AT: usize = RESERVED_AT + RESERVED_BYTES;
const _: () = assert!(FOOTER_CRC_AT + size_of::<u32>() == FOOTER_BYTES);

const RESERVED_BYTES: usize = 1;

/// The last [`FOOTER_BYTES`] of a column file, in file order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Footer {
    pub(crate) row_count: u64,
    pub(crate) table_offset: u64,
    /// The sum of the decoded bytes of all blocks' sections.
    pub(crate) decoded_bytes: u64,
    pub(crate) block_count: u32,
    pub(crate) granule_rows: u32,
    pub(crate) table_crc: u32,
    pub(crate) chain: CodecChain,
    /// Granules of every block but the last, which may have fewer.
    pub(crate) block_granules: u8,
    /// The number of coded blocks, which are the first of the file.
    pub(crate) coded_blocks: u32,
}

impl Footer {
    pub(crate) fn encode(&self) -> [u8; FOOTER_BYTES] {
        let mut out = [0; FOOTER_BYTES];
        put(&mut out, ROW_COUNT_AT, self.row_count.to_le_bytes());
        put(&mut out, TABLE_OFFSET_AT, self.table_offset.to_le_bytes());
        put(&mut out, DECODED_BYTES_AT, self.decoded_bytes.to_le_bytes());
        put(&mut out, BLOCK_COUNT_AT, self.block_count.to_le_bytes());
        put(&mut out, GRANULE_ROWS_AT, self.granule_rows.to_le_bytes());
        put(&mut out, TABLE_CRC_AT, self.table_crc.to_le_bytes());
        put(&mut out, CHAIN_AT, self.chain.to_bytes());
        put(&mut out, FORMAT_VERSION_AT, FORMAT_VERSION.to_le_bytes());
        put(&mut out, BLOCK_GRANULES_AT, [self.block_granules]);
        put(&mut out, CODED_BLOCKS_AT, self.coded_blocks.to_le_bytes());
        let crc = crc32c(&out[..FOOTER_CRC_AT]);
        put(&mut out, FOOTER_CRC_AT, crc.to_le_bytes());
        out
    }

    /// The footer's checksum, which a part's metadata uses to identify the file.
    pub(crate) fn crc(encoded: &[u8; FOOTER_BYTES]) -> u32 {
        u32::from_le_bytes(get(encoded, FOOTER_CRC_AT))
    }

    /// The damage's offset counts from the start of the footer.
    pub(crate) fn decode(bytes: &[u8; FOOTER_BYTES]) -> Result<Footer, Damage> {
        // The checksum comes first: no field is valid before it holds.
        let (stored, computed) = (Footer::crc(bytes), crc32c(&bytes[..FOOTER_CRC_AT]));
        if stored != computed {
            let what = format!("footer checksum is {stored:#010x}, computed {computed:#010x}");
            return Err(Damage::new(FOOTER_CRC_AT, what));
        }
        let version = u16::from_le_bytes(get(bytes, FORMAT_VERSION_AT));
        if !(FORMAT_VERSION_MIN..=FORMAT_VERSION).contains(&version) {
            let what = format!(
                "format version {version}, this build reads {FORMAT_VERSION_MIN} to {FORMAT_VERSION}"
            );
            return Err(Damage::new(FORMAT_VERSION_AT, what));
        }
        if get::<RESERVED_BYTES>(bytes, RESERVED_AT) != [0; RESERVED_BYTES] {
            return Err(Damage::new(RESERVED_AT, "reserved bytes are not 0"));
        }
        let coded_blocks = u32::from_le_bytes(get(bytes, CODED_BLOCKS_AT));
        if version == 1 && coded_blocks != 0 {
            return Err(Damage::new(CODED_BLOCKS_AT, "coded blocks in a file of version 1"));
        }
        let [block_granules] = get(bytes, BLOCK_GRANULES_AT);
        let chain = CodecChain::from_bytes(&get(bytes, CHAIN_AT))
            .map_err(|error| Damage::new(CHAIN_AT, error.to_string()))?;
        Ok(Footer {
            row_count: u64::from_le_bytes(get(bytes, ROW_COUNT_AT)),
            table_offset: u64::from_le_bytes(get(bytes, TABLE_OFFSET_AT)),
            decoded_bytes: u64::from_le_bytes(get(bytes, DECODED_BYTES_AT)),
            block_count: u32::from_le_bytes(get(bytes, BLOCK_COUNT_AT)),
            granule_rows: u32::from_le_bytes(get(bytes, GRANULE_ROWS_AT)),
            table_crc: u32::from_le_bytes(get(bytes, TABLE_CRC_AT)),
            chain,
            block_granules,
            coded_blocks,
        })
    }

    /// Entries of the block table: the blocks, then the dictionary if there is one.
    pub(crate) fn table_entries(&self) -> u64 {
        u64::from(self.block_count) + u64::from(self.coded_blocks > 0)
    }

    /// Rows of every block but the last.
    pub(crate) fn block_rows(&self) -> u64 {
        u64::from(self.granule_rows) * u64::from(self.block_granules)
    }
}

fn put<const N: usize>(out: &mut [u8; FOOTER_BYTES], at: usize, field: [u8; N]) {
    out[at..at + N].copy_from_slice(&field);
}

fn get<const N: usize>(bytes: &[u8; FOOTER_BYTES], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("the range has N bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn footer() -> Footer {
        Footer {
            row_count: 20_000,
            table_offset: 4_096,
            decoded_bytes: 160_000,
            block_count: 3,
            granule_rows: 8192,
            table_crc: 0xdead_beef,
            chain: CodecChain::default(),
            block_granules: 1,
            coded_blocks: 2,
        }
    }

    #[test]
    fn footer_round_trips() {
        assert_eq!(Footer::decode(&footer().encode()), Ok(footer()));
    }

    #[test]
    fn footer_of_version_1_has_no_coded_blocks() {
        let decode = |coded_blocks: u32| {
            let mut bytes = Footer { coded_blocks, ..footer() }.encode();
            put(&mut bytes, FORMAT_VERSION_AT, 1_u16.to_le_bytes());
            let crc = crc32c(&bytes[..FOOTER_CRC_AT]);
            put(&mut bytes, FOOTER_CRC_AT, crc.to_le_bytes());
            Footer::decode(&bytes)
        };
        assert_eq!(decode(0), Ok(Footer { coded_blocks: 0, ..footer() }));
        assert!(decode(1).is_err());
    }

    /// Exhaustive: every bit, one rejection each.
    #[test]
    fn footer_rejects_every_single_bit_flip() {
        for bit in 0..FOOTER_BYTES * 8 {
            let mut bytes = footer().encode();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Footer::decode(&bytes).is_err(), "bit {bit} flipped unnoticed");
        }
    }
}
