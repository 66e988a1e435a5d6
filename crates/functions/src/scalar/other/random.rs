//! `rand`, `rand64`, `randConstant`, `randCanonical`, `randUniform`, `generateUUIDv4`: random values.
//!
//! Syntax: `rand([x])`. A new value for each row; the argument only distinguishes two calls. `randConstant` is one
//! value for the whole query.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock};

use arrow::array::{FixedSizeBinaryArray, Float64Array, UInt32Array, UInt64Array};
use arrow::datatypes::Float64Type;
use basalt_base::{Error, Result, SqlType};
use rand::Rng;

use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Arity, Bound, Operand, Volatility};

pub(super) static RAND: Definition = Definition::new("rand", Arity::Between(0, 1), |_| {
    Ok(Bound::of(SqlType::UInt32, |_: &[Operand], rows| {
        let mut random = rand::rng();
        Ok(Arc::new(UInt32Array::from_iter_values((0..rows).map(|_| random.random::<u32>()))))
    }))
})
.aliases(&["rand32"])
.case_insensitive()
.sees_null()
.volatility(Volatility::Volatile);

pub(super) static RAND64: Definition = Definition::new("rand64", Arity::Between(0, 1), |_| {
    Ok(Bound::of(SqlType::UInt64, |_: &[Operand], rows| {
        let mut random = rand::rng();
        Ok(Arc::new(UInt64Array::from_iter_values((0..rows).map(|_| random.random::<u64>()))))
    }))
})
.sees_null()
.volatility(Volatility::Volatile);

/// The seed of the constants of queries.
static CONSTANTS: LazyLock<RandomState> = LazyLock::new(RandomState::new);

pub(super) static RAND_CONSTANT: Definition = Definition::new("randConstant", Arity::Between(0, 1), |call| {
    // Equal calls of a query have equal values.
    let argument = call.args.first().map(|arg| format!("{:?}", arg.constant));
    let value = CONSTANTS.hash_one((call.context.now_us, &call.context.query_id, argument)) as u32;
    Ok(Bound::of(SqlType::UInt32, move |_: &[Operand], rows| {
        Ok(Arc::new(UInt32Array::from_value(value, rows)))
    }))
})
.sees_null()
.volatility(Volatility::Stable);

pub(super) static RAND_CANONICAL: Definition = Definition::new("randCanonical", Arity::Between(0, 1), |_| {
    Ok(Bound::of(SqlType::Float64, |_: &[Operand], rows| {
        let mut random = rand::rng();
        Ok(Arc::new(Float64Array::from_iter_values((0..rows).map(|_| random.random::<f64>()))))
    }))
})
.sees_null()
.volatility(Volatility::Volatile);

pub(super) static RAND_UNIFORM: Definition =
    Definition::new("randUniform", Arity::Between(2, 3), bind_uniform).volatility(Volatility::Volatile);

pub(super) static GENERATE_UUID_V4: Definition =
    Definition::new("generateUUIDv4", Arity::Between(0, 1), |_| {
        Ok(Bound::of(SqlType::Uuid, |_: &[Operand], rows| {
            let mut bytes = vec![0_u8; rows * 16];
            rand::rng().fill(&mut bytes[..]);
            for uuid in bytes.chunks_exact_mut(16) {
                // Version 4, variant 1.
                uuid[6] = uuid[6] & 0x0f | 0x40;
                uuid[8] = uuid[8] & 0x3f | 0x80;
            }
            let array = FixedSizeBinaryArray::try_new(16, bytes.into(), None);
            Ok(Arc::new(array.map_err(Error::logical)?))
        }))
    })
    .sees_null()
    .volatility(Volatility::Volatile);

/// A float between two bounds.
fn bind_uniform(call: &Call<'_>) -> Result<Bound> {
    call.expect_number(0)?;
    call.expect_number(1)?;
    Ok(Bound::of(SqlType::Float64, |args: &[Operand], rows| {
        let (least, most) = (args[0].numbers::<Float64Type>()?, args[1].numbers::<Float64Type>()?);
        let mut random = rand::rng();
        let values = (0..rows).map(|row| {
            let (least, most) = (least.get(row), most.get(row));
            least + random.random::<f64>() * (most - least)
        });
        Ok(Arc::new(Float64Array::from_iter_values(values)))
    }))
}
