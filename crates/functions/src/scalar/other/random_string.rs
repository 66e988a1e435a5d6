//! `randomString`, `randomFixedString`, `randomPrintableASCII`, `randomStringUTF8`: strings of random bytes.
//!
//! Syntax: `randomString(length [, x])`: a new value for each row; `x` only distinguishes two calls.
//! `randomFixedString(length)` takes a constant, `randomStringUTF8` counts code points.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewBuilder, FixedSizeBinaryArray};
use arrow::datatypes::Int64Type;
use basalt_base::{Error, Result, SqlType, bail};
use rand::Rng;

use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Arity, Bound, Operand, Volatility};

/// Bytes of a string, at most.
const LENGTH_MAX: i64 = 1 << 24;

/// Bytes of all strings of a block, at most.
const BLOCK_BYTES_MAX: i64 = 1 << 30;

pub(super) static RANDOM_STRING: Definition = Definition::new("randomString", Arity::Between(1, 2), |call| {
    bind(call, |random, length, out| {
        let begin = out.len();
        out.resize(begin + length, 0);
        random.fill(&mut out[begin..]);
    })
})
.volatility(Volatility::Volatile);

pub(super) static RANDOM_PRINTABLE: Definition =
    Definition::new("randomPrintableASCII", Arity::Between(1, 2), |call| {
        bind(call, |random, length, out| {
            out.extend((0..length).map(|_| random.random_range(b' '..=b'~')));
        })
    })
    .volatility(Volatility::Volatile);

pub(super) static RANDOM_UTF8: Definition =
    Definition::new("randomStringUTF8", Arity::Between(1, 2), |call| {
        bind(call, |random, length, out| {
            let mut buffer = [0; 4];
            for _ in 0..length {
                out.extend_from_slice(random.random::<char>().encode_utf8(&mut buffer).as_bytes());
            }
        })
    })
    .volatility(Volatility::Volatile);

pub(super) static RANDOM_FIXED: Definition =
    Definition::new("randomFixedString", Arity::Between(1, 2), |call| {
        let length = call.expect_constant_integer(0)?;
        let width = usize::try_from(length).ok().filter(|_| (1..=LENGTH_MAX).contains(&length));
        let Some(width) = width else {
            bail!(TooLargeStringSize, "`randomFixedString({length})`: the length is 1 to {LENGTH_MAX}");
        };
        Ok(Bound::new(SqlType::FixedString(width), move |_: &[Operand], rows: usize| {
            check_bytes(length.saturating_mul(rows as i64))?;
            let mut bytes = vec![0_u8; rows * width];
            rand::rng().fill(&mut bytes[..]);
            let array = FixedSizeBinaryArray::try_new(width as i32, bytes.into(), None);
            Ok(Arc::new(array.map_err(Error::logical)?) as ArrayRef)
        }))
    })
    .volatility(Volatility::Volatile);

/// A function that appends a string of the given length.
fn bind(call: &Call<'_>, append: fn(&mut rand::rngs::ThreadRng, usize, &mut Vec<u8>)) -> Result<Bound> {
    call.expect_integer(0)?;
    let name = call.name;
    Ok(Bound::of(SqlType::String, move |args: &[Operand], rows| {
        let lengths = args[0].numbers::<Int64Type>()?;
        let mut random = rand::rng();
        let (mut strings, mut bytes, mut sum) = (BinaryViewBuilder::with_capacity(rows), Vec::new(), 0_i64);
        for row in 0..rows {
            let length = if args[0].is_null(row) { 0 } else { lengths.get(row) };
            if !(0..=LENGTH_MAX).contains(&length) {
                bail!(TooLargeStringSize, "`{name}({length})`: the length is 0 to {LENGTH_MAX}");
            }
            sum += length;
            check_bytes(sum)?;
            bytes.clear();
            append(&mut random, length as usize, &mut bytes);
            strings.append_value(&bytes);
        }
        Ok(Arc::new(strings.finish()))
    }))
}

fn check_bytes(bytes: i64) -> Result<()> {
    if bytes > BLOCK_BYTES_MAX {
        bail!(TooLargeStringSize, "random strings of a block have more than {BLOCK_BYTES_MAX} bytes");
    }
    Ok(())
}
