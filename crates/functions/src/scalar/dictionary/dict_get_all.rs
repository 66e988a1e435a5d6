//! `dictGetAll(dictionary, attribute, key[, limit])`: the values of all rows that match the key.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, StructArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, UInt64Type};
use basalt_base::types::TupleElement;
use basalt_base::{Error, Result, SqlType, bail};

use super::lookup::{Lookup, null_in_key};
use crate::FunctionContext;
use crate::scalar::{Argument, Arity, Bound, Nulls, Operand, ScalarFunction, Volatility};

pub(super) struct DictGetAll;

impl ScalarFunction for DictGetAll {
    fn name(&self) -> &'static str {
        "dictGetAll"
    }

    fn arity(&self) -> Arity {
        Arity::Between(3, 4)
    }

    fn nulls(&self) -> Nulls {
        Nulls::Custom
    }

    fn volatility(&self) -> Volatility {
        Volatility::Stable
    }

    fn bind(&self, args: &[Argument], context: &FunctionContext) -> Result<Bound> {
        let lookup = Lookup::bind(self.name(), &args[0], &args[2..3], context)?;
        let (attributes, is_tuple) = lookup.attributes(self.name(), &args[1])?;
        if lookup.takes_null() {
            bail!(
                UnsupportedMethod,
                "function `dictGetAll` takes no key that may be NULL, got {}",
                args[2].ty
            );
        }
        let limit = args.get(3).map(limit_of).transpose()?;
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
