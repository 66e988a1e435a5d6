//! `reinterpretAsUInt64`, `reinterpretAsString` and the like: the bytes of a value as another type.
//!
//! Syntax: `reinterpretAsUInt64(x)`. Bytes are in memory order, lowest first. Missing bytes are zero, extra bytes are
//! ignored. NULL if the argument is NULL.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, FixedSizeBinaryArray, PrimitiveArray};
use basalt_base::types::Wide;
use basalt_base::{Error, Result, SqlType};

use crate::scalar::definition::{Call, Definition};
use crate::scalar::memory::{Memory, decimal_width};
use crate::scalar::number::{Number, with_number};
use crate::scalar::operand::slice_strings;
use crate::scalar::{Arity, Bound, Operand};

macro_rules! reinterpret_as {
    ($($static:ident $name:literal $ty:expr;)+) => { $(
        pub(super) static $static: Definition =
            Definition::new($name, Arity::Exactly(1), |call| bind(call, $ty));
    )+ };
}

reinterpret_as! {
    AS_UINT8 "reinterpretAsUInt8" SqlType::UInt8;
    AS_UINT16 "reinterpretAsUInt16" SqlType::UInt16;
    AS_UINT32 "reinterpretAsUInt32" SqlType::UInt32;
    AS_UINT64 "reinterpretAsUInt64" SqlType::UInt64;
    AS_UINT128 "reinterpretAsUInt128" SqlType::Wide(Wide::UInt128);
    AS_UINT256 "reinterpretAsUInt256" SqlType::Wide(Wide::UInt256);
    AS_INT8 "reinterpretAsInt8" SqlType::Int8;
    AS_INT16 "reinterpretAsInt16" SqlType::Int16;
    AS_INT32 "reinterpretAsInt32" SqlType::Int32;
    AS_INT64 "reinterpretAsInt64" SqlType::Int64;
    AS_INT128 "reinterpretAsInt128" SqlType::Wide(Wide::Int128);
    AS_INT256 "reinterpretAsInt256" SqlType::Wide(Wide::Int256);
    AS_FLOAT32 "reinterpretAsFloat32" SqlType::Float32;
    AS_FLOAT64 "reinterpretAsFloat64" SqlType::Float64;
    AS_DATE "reinterpretAsDate" SqlType::Date;
    AS_DATE_TIME "reinterpretAsDateTime" SqlType::DateTime(None);
    AS_UUID "reinterpretAsUUID" SqlType::Uuid;
}

pub(super) static AS_STRING: Definition = Definition::new("reinterpretAsString", Arity::Exactly(1), |call| {
    expect_flat(call)?;
    let from = call.ty(0).clone();
    Ok(Bound::of(SqlType::String, move |args: &[Operand], _| {
        let memory = memory_of(&from, &args[0].array)?;
        Ok(Arc::new(slice_strings(args[0].array.len(), |row| {
            // Trailing zero bytes are dropped: small numbers have many.
            let bytes = memory.get(row);
            Ok(&bytes[..bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)])
        })?))
    }))
});

pub(super) static AS_FIXED_STRING: Definition =
    Definition::new("reinterpretAsFixedString", Arity::Exactly(1), |call| {
        let from = call.ty(0).clone();
        let width = match &from {
            SqlType::Decimal { precision, .. } => decimal_width(*precision),
            other => other.fixed_bytes().ok_or_else(|| call.illegal(0))?,
        };
        Ok(Bound::new(SqlType::FixedString(width), move |args: &[Operand], _| {
            let memory = memory_of(&from, &args[0].array)?;
            fixed_strings(&memory, args[0].array.len(), width, |_| {})
        }))
    });

fn bind(call: &Call<'_>, to: SqlType) -> Result<Bound> {
    expect_flat(call)?;
    let from = call.ty(0).clone();
    if to == SqlType::Uuid {
        return Ok(Bound::new(to, move |args: &[Operand], _| {
            let memory = memory_of(&from, &args[0].array)?;
            fixed_strings(&memory, args[0].array.len(), 16, |uuid| {
                uuid[..8].reverse();
                uuid[8..].reverse();
            })
        }));
    }
    if let Some(wide) = to.wide() {
        return Ok(Bound::new(to, move |args: &[Operand], _| {
            let memory = memory_of(&from, &args[0].array)?;
            fixed_strings(&memory, args[0].array.len(), wide.bytes(), |value| {
                value.copy_from_slice(&wide.from_memory(value));
            })
        }));
    }
    with_number!(to.carrier(), T => Ok(Bound::new(to, move |args: &[Operand], _| {
        let memory = memory_of(&from, &args[0].array)?;
        Ok(numbers::<T>(&memory, args[0].array.len()))
    })), Err(call.illegal(0)))
}

fn expect_flat(call: &Call<'_>) -> Result<()> {
    let ty = call.ty(0);
    if ty.is_string() || ty.fixed_bytes().is_some() { Ok(()) } else { Err(call.illegal(0)) }
}

fn memory_of<'a>(ty: &SqlType, array: &'a ArrayRef) -> Result<Memory<'a>> {
    Memory::of(ty, array)?.ok_or_else(|| Error::logical(format!("{ty} is not one value in memory")))
}

fn numbers<T>(memory: &Memory<'_>, rows: usize) -> ArrayRef
where
    T: ArrowPrimitiveType,
    T::Native: Number,
{
    let values = (0..rows).map(|row| {
        let mut word = [0; 8];
        let bytes = memory.get(row);
        let len = bytes.len().min(8);
        word[..len].copy_from_slice(&bytes[..len]);
        let word = u64::from_le_bytes(word);
        match (T::Native::IS_FLOAT, T::Native::BITS) {
            (false, _) => T::Native::from_u64(word),
            (true, 32) => T::Native::from_f32(f32::from_bits(word as u32)),
            (true, _) => T::Native::from_f64(f64::from_bits(word)),
        }
    });
    Arc::new(PrimitiveArray::<T>::from_iter_values(values))
}

fn fixed_strings(
    memory: &Memory<'_>,
    rows: usize,
    width: usize,
    arrange: impl Fn(&mut [u8]),
) -> Result<ArrayRef> {
    let mut values = vec![0; rows * width];
    for (row, value) in values.chunks_exact_mut(width.max(1)).enumerate() {
        let bytes = memory.get(row);
        let len = bytes.len().min(width);
        value[..len].copy_from_slice(&bytes[..len]);
        arrange(value);
    }
    let array = FixedSizeBinaryArray::try_new(width as i32, values.into(), None);
    Ok(Arc::new(array.map_err(Error::logical)?))
}
