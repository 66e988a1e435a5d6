//! `transform`: replaces some values by others.
//!
//! Syntax: `transform(x, [from, ...], [to, ...] [, otherwise])`, with constant arrays. Value `n` of the first array
//! becomes value `n` of the second; other values become `otherwise`, or do not change.

use std::collections::HashMap;

use arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use arrow::compute::take;
use basalt_base::types::common_type;
use basalt_base::{Error, Result, SqlType, bail};

use super::lists::{Keys, chain, common_of, element_of};
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Arity, Bound, Converter, Operand};

pub(super) static TRANSFORM: Definition =
    Definition::new("transform", Arity::Between(3, 4), bind).sees_null();

fn bind(call: &Call<'_>) -> Result<Bound> {
    let (from_type, to_type) = (element_of(call, 1)?, element_of(call, 2)?);
    let (from, to) = (constant_list(call, 1)?, constant_list(call, 2)?);
    if from.len() != to.len() {
        bail!(
            BadArguments,
            "the arrays of `transform` have different lengths: {} and {}",
            from.len(),
            to.len()
        );
    }
    let otherwise = if call.len() == 4 { 3 } else { 0 };
    let value = call.ty(0);
    // NULL is in no array, so it becomes `otherwise`.
    let key = match common_type([value.stripped(), from_type.stripped()]) {
        Some(common) => common.into_nullable(),
        None => return Err(call.illegal_types()),
    };
    let result = common_of(call.name, [to_type, call.ty(otherwise)])?;
    let of_value = Converter::new(value, &key, call.context)?;
    let from = Converter::new(from_type, &key, call.context)?.convert(&from)?;
    let to = Converter::new(to_type, &result, call.context)?.convert(&to)?;
    let of_otherwise = Converter::new(call.ty(otherwise), &result, call.context)?;
    Ok(Bound::new(result.clone(), move |args: &[Operand], rows: usize| {
        let values = of_value.convert(&args[0].full(rows)?)?;
        let others = of_otherwise.convert(&args[otherwise].full(rows)?)?;
        pick(&result, &values, &from, &to, &others)
    }))
}

/// The elements of a constant array.
fn constant_list(call: &Call<'_>, index: usize) -> Result<ArrayRef> {
    match call.constant(index).and_then(|value| value.as_list_opt::<i32>()) {
        Some(list) => Ok(list.value(0)),
        None => bail!(IllegalColumn, "argument {} of `transform` must be a constant array", index + 1),
    }
}

/// For each value, the element of `to` at its position in `from`, or the fallback of its row.
fn pick(
    ty: &SqlType,
    values: &ArrayRef,
    from: &ArrayRef,
    to: &ArrayRef,
    others: &ArrayRef,
) -> Result<ArrayRef> {
    let keys = Keys::of_all(&[values, from])?;
    let mut places: HashMap<&[u8], u32> = HashMap::with_capacity(from.len());
    for at in (0..from.len()).filter(|&at| from.is_valid(at)) {
        // The first of equal values wins.
        places.entry(keys[1].get(at)).or_insert(at as u32);
    }
    let count = to.len() as u32;
    let picked = (0..values.len()).map(|row| {
        let place = places.get(keys[0].get(row)).filter(|_| values.is_valid(row));
        place.copied().unwrap_or(count + row as u32)
    });
    let picked = UInt32Array::from_iter_values(picked);
    let all = chain(ty, &[ArrayRef::clone(to), ArrayRef::clone(others)])?;
    take(&all, &picked, None).map_err(Error::of_arrow)
}
