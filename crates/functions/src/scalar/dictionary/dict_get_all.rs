//! `dictGetAll(dictionary, attribute, key[, limit])`: the values of all rows that match the key.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, StructArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, UInt64Type};
use basalt_base::types::TupleElement;
use basalt_base::{Error, Result, SqlType, bail};

use super::lookup::{Lookup, null_in_key};
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Argument, Arity, Bound, Operand, Volatility};

pub(super) static DICT_GET_ALL: Definition =
    Definition::new("dictGetAll", Arity::Between(3, 4), bind_dict_get_all)
        .sees_null()
        .volatility(Volatility::Stable);

fn bind_dict_get_all(call: &Call<'_>) -> Result<Bound> {
    let lookup = Lookup::bind(call.name, &call.args[0], &call.args[2..3], call.context)?;
    let (attributes, is_tuple) = lookup.attributes(call.name, &call.args[1])?;
    if lookup.takes_null() {
        bail!(
            UnsupportedMethod,
            "function `dictGetAll` takes no key that may be NULL, got {}",
            call.args[2].ty
        );
    }
    let limit = call.args.get(3).map(limit_of).transpose()?;
    let attribute = |&at: &usize| &lookup.dictionary.attributes()[at];
    let ty = if is_tuple {
        let elements = attributes.iter().map(attribute).map(|attribute| TupleElement {
            name: Some(attribute.name.clone()),
            ty: SqlType::array_of(attribute.ty.clone()),
        });
        SqlType::Tuple(elements.collect())
    } else {
        SqlType::array_of(attribute(&attributes[0]).ty.clone())
    };
    let tuple = is_tuple.then(|| ty.struct_fields());
    Ok(Bound::new(ty, move |operands: &[Operand], rows: usize| {
        let (keys, nulls) = lookup.keys(&operands[2..], rows)?;
        if nulls.is_some() {
            return Err(null_in_key("an array"));
        }
        let mut lists = lookup.dictionary.get_all(&attributes, &keys, limit)?;
        match &tuple {
            None => lists.pop().ok_or_else(|| Error::logical("a lookup of no attribute")),
            Some(fields) => {
                let tuple = StructArray::try_new(fields.clone(), lists, None).map_err(Error::of_arrow)?;
                Ok(Arc::new(tuple) as ArrayRef)
            }
        }
    }))
}

fn limit_of(limit: &Argument) -> Result<usize> {
    let Some(value) = limit.constant.as_ref().filter(|_| limit.ty.is_unsigned()) else {
        bail!(
            IllegalTypeOfArgument,
            "the fourth argument of `dictGetAll` is a constant unsigned integer, not {}",
            limit.ty
        );
    };
    let value = cast(value, &DataType::UInt64).map_err(Error::of_arrow)?;
    Ok(usize::try_from(value.as_primitive::<UInt64Type>().value(0)).unwrap_or(usize::MAX))
}
