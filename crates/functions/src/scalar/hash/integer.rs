//! `intHash32`, `intHash64`, `CRC32`: cheap hashes of an integer, and the checksum of a string.
//!
//! Syntax: `intHash64(x)`. The result is UInt32 or UInt64. NULL if the argument is NULL.

use std::sync::Arc;

use arrow::array::{Array, UInt32Array, UInt64Array};
use arrow::datatypes::UInt64Type;
use basalt_base::processor;
use basalt_base::{Result, SqlType};

use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Arity, Bound, Operand};

pub(super) static INT_HASH32: Definition = Definition::new("intHash32", Arity::Exactly(1), |call| {
    expect_native(call)?;
    Ok(Bound::of(SqlType::UInt32, |args: &[Operand], _| {
        let numbers = args[0].numbers::<UInt64Type>()?;
        Ok(Arc::new(UInt32Array::from(hashed(numbers.values(), int_hash32))))
    }))
});

pub(super) static INT_HASH64: Definition = Definition::new("intHash64", Arity::Exactly(1), |call| {
    expect_native(call)?;
    Ok(Bound::of(SqlType::UInt64, |args: &[Operand], _| {
        let numbers = args[0].numbers::<UInt64Type>()?;
        Ok(Arc::new(UInt64Array::from(hashed(numbers.values(), int_hash64))))
    }))
});

pub(super) static CRC32: Definition = Definition::new("CRC32", Arity::Exactly(1), |call| {
    call.expect_string(0)?;
    Ok(Bound::of(SqlType::UInt32, |args: &[Operand], _| {
        let text = args[0].bytes()?;
        Ok(Arc::new(UInt32Array::from_iter_values(
            (0..args[0].array.len()).map(|row| crc32fast::hash(text.get(row))),
        )))
    }))
})
.case_insensitive();

fn expect_native(call: &Call<'_>) -> Result<()> {
    let ty = call.ty(0);
    let native = ty.is_integer() || matches!(ty, SqlType::Bool | SqlType::Date | SqlType::DateTime(_));
    if native { Ok(()) } else { Err(call.illegal(0)) }
}

fn hashed<H>(numbers: &[u64], hash: impl Fn(u64) -> H) -> Vec<H> {
    processor::run(
        #[inline(always)]
        || numbers.iter().map(|&number| hash(number)).collect(),
    )
}

/// The finaliser of MurmurHash3, salted as ClickHouse's function is.
#[inline(always)]
pub(super) fn int_hash64(number: u64) -> u64 {
    const SALT: u64 = 0x4cf2_d2ba_ae6d_a887;

    let mut x = number ^ SALT;
    x ^= x >> 33;
    x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^= x >> 33;
    x = x.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

/// Thomas Wang's hash of 64 bits to 32, salted as ClickHouse's function is.
#[inline(always)]
pub(super) fn int_hash32(number: u64) -> u32 {
    const SALT: u64 = 0x75d9_543d_e018_bf45;

    let mut x = number ^ SALT;
    x = (!x).wrapping_add(x << 18);
    x ^= x.rotate_right(31);
    x = x.wrapping_mul(21);
    x ^= x.rotate_right(11);
    x = x.wrapping_add(x << 6);
    (x ^ x.rotate_right(22)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers() {
        assert_eq!(
            (int_hash64(1), int_hash64(15_645_646)),
            (10_577_349_846_663_553_072, 12_517_841_379_565_221_195)
        );
        assert_eq!((int_hash32(1), int_hash32(15_645_646)), (1_343_103_100, 1_302_682_677));
        assert_eq!(int_hash32(-1_i64 as u64), 3_545_659_993);
        assert_eq!(crc32fast::hash(b"abc"), 891_568_578);
    }
}
