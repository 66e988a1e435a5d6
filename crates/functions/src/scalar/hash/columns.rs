//! `cityHash64`, `sipHash64`, `halfMD5`, `xxHash64`, `xxHash32`: one hash of any values.
//!
//! Syntax: `cityHash64(x, ...)`. Any number of arguments of any types; the result is UInt64 (UInt32 for
//! `xxHash32`). The hash of a row is that of its first value, combined with those of the others one by one; an
//! array counts as its length and its elements, a tuple as its elements. NULL if an argument is NULL.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, UInt32Array, UInt64Array};
use basalt_base::processor;
use basalt_base::{Error, Result, SqlType};

use super::algorithm::{Algorithm, City, HalfMd5, Sip, Xx32, Xx64};
use super::integer::int_hash64;
use crate::scalar::definition::{Call, Definition};
use crate::scalar::memory::Memory;
use crate::scalar::number::with_number;
use crate::scalar::operand::rows_needed;
use crate::scalar::{Arity, Bound, Operand};

/// The hash of no values, for every algorithm.
const HASH_OF_NOTHING: u64 = 0xe28d_bde7_fe22_e41c;

/// The hash of a NULL inside an array or a tuple, for every algorithm.
const HASH_OF_NULL: u64 = 0xc58a_d2da_03d9_a871;

pub(super) static CITY_HASH64: Definition = Definition::new("cityHash64", Arity::AtLeast(0), bind::<City>);

pub(super) static SIP_HASH64: Definition = Definition::new("sipHash64", Arity::AtLeast(0), bind::<Sip>);

pub(super) static HALF_MD5: Definition = Definition::new("halfMD5", Arity::AtLeast(0), bind::<HalfMd5>);

pub(super) static XX_HASH64: Definition = Definition::new("xxHash64", Arity::AtLeast(0), bind::<Xx64>);

pub(super) static XX_HASH32: Definition = Definition::new("xxHash32", Arity::AtLeast(0), |call| {
    let types = types_of(call);
    Ok(Bound::of(SqlType::UInt32, move |args: &[Operand], rows| {
        let hashes = hash_rows::<Xx32>(&types, args, rows)?;
        Ok(Arc::new(UInt32Array::from_iter_values(hashes.into_iter().map(|hash| hash as u32))))
    }))
});

fn bind<A: Algorithm>(call: &Call<'_>) -> Result<Bound> {
    let types = types_of(call);
    Ok(Bound::of(SqlType::UInt64, move |args: &[Operand], rows| {
        Ok(Arc::new(UInt64Array::from(hash_rows::<A>(&types, args, rows)?)))
    }))
}

fn types_of(call: &Call<'_>) -> Vec<SqlType> {
    call.args.iter().map(|arg| arg.ty.clone()).collect()
}

fn hash_rows<A: Algorithm>(types: &[SqlType], args: &[Operand], rows: usize) -> Result<Vec<u64>> {
    if args.is_empty() {
        return Ok(vec![HASH_OF_NOTHING; rows]);
    }
    let rows = rows_needed(args, rows);
    let mut hashes = Hashes { values: vec![0; rows], is_first: true };
    for (ty, arg) in types.iter().zip(args) {
        hashes.add::<A>(ty, &arg.full(rows)?)?;
    }
    Ok(hashes.values)
}

/// The hashes of rows so far.
struct Hashes {
    values: Vec<u64>,
    /// No value was added yet: the next hash is taken unchanged.
    is_first: bool,
}

impl Hashes {
    /// Adds one value a row.
    fn add<A: Algorithm>(&mut self, ty: &SqlType, array: &ArrayRef) -> Result<()> {
        match ty.stripped() {
            SqlType::Array(element) => self.add_lists::<A>(element, array),
            SqlType::Map(key, value) => {
                let entry = SqlType::tuple_of([key.as_ref().clone(), value.as_ref().clone()]);
                self.add_lists::<A>(&entry, array)
            }
            SqlType::Tuple(elements) => {
                let columns = array.as_struct().columns();
                elements
                    .iter()
                    .zip(columns)
                    .try_for_each(|(element, column)| self.add::<A>(&element.ty, column))
            }
            scalar => self.add_scalars::<A>(scalar, array),
        }
    }

    fn add_scalars<A: Algorithm>(&mut self, ty: &SqlType, array: &ArrayRef) -> Result<()> {
        let mut hashes = hash_scalars::<A>(ty, array)?;
        if let Some(nulls) = array.logical_nulls() {
            let rows = hashes.iter_mut().enumerate().filter(|(row, _)| nulls.is_null(*row));
            rows.for_each(|(_, hash)| *hash = HASH_OF_NULL);
        }
        if self.is_first {
            *self = Hashes { values: hashes, is_first: false };
        } else {
            self.put::<A>(hashes.into_iter());
        }
        Ok(())
    }

    /// Adds the length and the elements of one list a row.
    fn add_lists<A: Algorithm>(&mut self, element: &SqlType, array: &ArrayRef) -> Result<()> {
        let list = array.as_list::<i32>();
        let offsets = list.value_offsets();
        let mut elements = Hashes { values: vec![0; list.values().len()], is_first: true };
        elements.add::<A>(element, list.values())?;
        let lengths = offsets.windows(2).map(|pair| A::hash_length((pair[1] - pair[0]) as u64));
        self.put::<A>(lengths);
        for (hash, pair) in self.values.iter_mut().zip(offsets.windows(2)) {
            let of_row = &elements.values[pair[0] as usize..pair[1] as usize];
            *hash = of_row.iter().fold(*hash, |hash, &element| A::combine(hash, element));
        }
        Ok(())
    }

    fn put<A: Algorithm>(&mut self, hashes: impl Iterator<Item = u64>) {
        if self.is_first {
            self.values.iter_mut().zip(hashes).for_each(|(value, hash)| *value = hash);
        } else {
            self.values.iter_mut().zip(hashes).for_each(|(value, hash)| *value = A::combine(*value, hash));
        }
        self.is_first = false;
    }
}

/// The hashes of single values, including those under a NULL.
fn hash_scalars<A: Algorithm>(ty: &SqlType, array: &ArrayRef) -> Result<Vec<u64>> {
    if A::MIXES_INTEGERS && *ty == SqlType::Bool {
        let flags = array.as_boolean();
        return Ok((0..flags.len()).map(|row| int_hash64(u64::from(flags.value(row)))).collect());
    }
    // A decimal and a DateTime64 are hashed by their bytes, whatever their width.
    if A::MIXES_INTEGERS && !matches!(ty, SqlType::Decimal { .. } | SqlType::DateTime64 { .. }) {
        let mixed = with_number!(array.data_type(), T => {
            let numbers = array.as_primitive::<T>().values();
            Some(processor::run(
                #[inline(always)]
                || numbers.iter().map(|number| int_hash64(bits::<T>(number))).collect(),
            ))
        }, None);
        if let Some(mixed) = mixed {
            return Ok(mixed);
        }
    }
    let memory = Memory::of(ty, array)?;
    let memory = memory.ok_or_else(|| Error::not_implemented(format!("hashing values of type {ty}")))?;
    Ok((0..array.len()).map(|row| A::hash(memory.get(row))).collect())
}

/// The bits of a number, widened with zeroes.
#[inline(always)]
fn bits<T: ArrowPrimitiveType>(number: &T::Native) -> u64
where
    T::Native: arrow::datatypes::ToByteSlice,
{
    use arrow::datatypes::ToByteSlice;

    let bytes = number.to_byte_slice();
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}
