//! The block info: numbered fields that only servers among themselves use, and the number 0 at the end.
//!
//! | number | field |
//! |---|---|
//! | 1 | is_overflows u8: rows beyond max_rows_to_group_by |
//! | 2 | bucket_num i32: the bucket of a two-level aggregation, or -1 |
//! | 3 | out_of_order_buckets: their number as a varint, each as i32 |
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use basalt_base::{Error, ErrorCode, Result};

use super::revision::OUT_OF_ORDER_BUCKETS;
use super::source::Source;

const IS_OVERFLOWS: u8 = 1;
const BUCKET_NUM: u8 = 2;
const BUCKETS: u8 = 3;
const END: u8 = 0;

const NO_BUCKET: i32 = -1;

pub(super) fn write_block_info(revision: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&[IS_OVERFLOWS, 0, BUCKET_NUM]);
    out.extend_from_slice(&NO_BUCKET.to_le_bytes());
    if revision >= OUT_OF_ORDER_BUCKETS {
        out.extend_from_slice(&[BUCKETS, 0]);
    }
    out.push(END);
}

/// Reads the fields and leaves them out of account.
pub(super) fn skip_block_info(source: &mut Source<'_>) -> Result<()> {
    loop {
        match u8::try_from(source.varint()?) {
            Ok(END) => return Ok(()),
            Ok(IS_OVERFLOWS) => drop(source.byte()?),
            Ok(BUCKET_NUM) => drop(source.array::<4>()?),
            Ok(BUCKETS) => {
                for _ in 0..source.varint()? {
                    source.array::<4>()?;
                }
            }
            _ => return Err(Error::new(ErrorCode::IncorrectData, "the block info has an unknown field")),
        }
    }
}
