//! Arrays, tuples and maps, element by element.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, FieldRef};
use basalt_base::{Error, Result, SqlType, bail};

use super::convert;
use super::step::{Scope, Step, impossible};

/// Converts an Array, a Tuple or a Map to another such type.
pub(super) fn step(from: &SqlType, to: &SqlType, scope: &Scope<'_>) -> Result<Option<Step>> {
    let scope = &scope.deeper()?;
    match (from, to) {
        (SqlType::Array(from), SqlType::Array(to)) => {
            let inner = convert::step(from, to, scope)?;
            if inner.is_none() && from.element_field() == to.element_field() {
                return Ok(None);
            }
            // The values are equal, but only one of the carriers is nullable.
            let inner = inner.unwrap_or_else(|| Box::new(|values| Ok(Arc::clone(values))));
            Ok(Some(elements(to.element_field(), inner)))
        }
        (SqlType::Tuple(from_elements), SqlType::Tuple(to_elements)) => {
            if from_elements.len() != to_elements.len() {
                bail!(TypeMismatch, "{from} cannot be converted to {to}: the numbers of elements differ");
            }
            let pairs = from_elements.iter().zip(to_elements.iter());
            let steps: Vec<Option<Step>> =
                pairs.map(|(from, to)| convert::step(&from.ty, &to.ty, scope)).collect::<Result<_>>()?;
            // The carrier does not contain element names.
            let is_same = steps.iter().all(Option::is_none) && from.carrier() == to.carrier();
            Ok(if is_same { None } else { Some(fields(to, steps)) })
        }
        (SqlType::Map(..), SqlType::Map(..)) => entries(from, to, scope).map(Some),
        (SqlType::Array(element), SqlType::Map(..)) => match element.as_ref() {
            SqlType::Tuple(pair) if pair.len() == 2 => entries(element, to, scope).map(Some),
            SqlType::Nothing => Ok(Some(elements(list_field(&to.carrier())?, Box::new(empty_entries(to))))),
            _ => Err(impossible(from, to)),
        },
        (SqlType::Map(..), SqlType::Array(element)) => match element.as_ref() {
            SqlType::Tuple(pair) if pair.len() == 2 => {
                let inner = fields(element, pair_steps(from, element, scope)?);
                Ok(Some(elements(element.element_field(), inner)))
            }
            _ => Err(impossible(from, to)),
        },
        (SqlType::Tuple(pair), SqlType::Map(key, value)) if pair.len() == 2 => {
            let (SqlType::Array(keys), SqlType::Array(values)) = (&pair[0].ty, &pair[1].ty) else {
                return Err(impossible(from, to));
            };
            let steps = vec![convert::step(keys, key, scope)?, convert::step(values, value, scope)?];
            Ok(Some(zipped(to, steps)?))
        }
        _ => Err(impossible(from, to)),
    }
}

fn apply(step: Option<&Step>, array: &ArrayRef) -> Result<ArrayRef> {
    step.map_or_else(|| Ok(Arc::clone(array)), |step| step(array))
}

/// Converts the elements of lists by `inner`.
fn elements(field: FieldRef, inner: Step) -> Step {
    Box::new(move |array| {
        let list = array.as_list::<i32>();
        // A slice of a list still holds all elements; those outside of it are skipped.
        let (first, last) = (list.value_offsets()[0], list.value_offsets()[list.len()]);
        let used = list.values().slice(first as usize, (last - first) as usize);
        let offsets: Vec<i32> = list.value_offsets().iter().map(|offset| offset - first).collect();
        let list = ListArray::try_new(
            Arc::clone(&field),
            OffsetBuffer::new(offsets.into()),
            inner(&used)?,
            list.nulls().cloned(),
        );
        Ok(Arc::new(list.map_err(Error::logical)?))
    })
}

/// Converts the fields of structs, one by one, to those of `to`.
fn fields(to: &SqlType, steps: Vec<Option<Step>>) -> Step {
    let names = to.struct_fields();
    Box::new(move |array| {
        let source = array.as_struct();
        let columns: Vec<ArrayRef> = source
            .columns()
            .iter()
            .zip(&steps)
            .map(|(column, step)| apply(step.as_ref(), column))
            .collect::<Result<_>>()?;
        if columns.is_empty() {
            return Ok(Arc::new(StructArray::new_empty_fields(array.len(), None)));
        }
        let converted = StructArray::try_new(names.clone(), columns, source.nulls().cloned());
        Ok(Arc::new(converted.map_err(Error::logical)?))
    })
}

/// The types of the two parts of a Map or a pair.
fn halves(ty: &SqlType) -> Option<(&SqlType, &SqlType)> {
    match ty {
        SqlType::Map(key, value) => Some((key, value)),
        SqlType::Tuple(pair) if pair.len() == 2 => Some((&pair[0].ty, &pair[1].ty)),
        _ => None,
    }
}

fn pair_steps(from: &SqlType, to: &SqlType, scope: &Scope<'_>) -> Result<Vec<Option<Step>>> {
    let (Some(from_halves), Some(to_halves)) = (halves(from), halves(to)) else {
        return Err(impossible(from, to));
    };
    Ok(vec![
        convert::step(from_halves.0, to_halves.0, scope)?,
        convert::step(from_halves.1, to_halves.1, scope)?,
    ])
}

/// A Map or an array of pairs to a Map.
fn entries(from: &SqlType, to: &SqlType, scope: &Scope<'_>) -> Result<Step> {
    let steps = pair_steps(from, to, scope)?;
    Ok(elements(list_field(&to.carrier())?, fields(to, steps)))
}

fn empty_entries(to: &SqlType) -> impl Fn(&ArrayRef) -> Result<ArrayRef> + Send + Sync + use<> {
    let fields = to.struct_fields();
    move |_| Ok(arrow::array::new_empty_array(&DataType::Struct(fields.clone())))
}

fn list_field(carrier: &DataType) -> Result<FieldRef> {
    match carrier {
        DataType::List(field) => Ok(Arc::clone(field)),
        other => Err(Error::logical(format!("{other} is not the carrier of a list"))),
    }
}

/// A pair of arrays of equal lengths to a Map.
fn zipped(to: &SqlType, steps: Vec<Option<Step>>) -> Result<Step> {
    let field = list_field(&to.carrier())?;
    let names = to.struct_fields();
    Ok(Box::new(move |array| {
        let pair = array.as_struct();
        let (keys, values) = (pair.column(0).as_list::<i32>(), pair.column(1).as_list::<i32>());
        if (0..array.len()).any(|row| keys.value_length(row) != values.value_length(row)) {
            bail!(TypeMismatch, "a map needs as many values as keys");
        }
        let columns = [keys, values]
            .iter()
            .zip(&steps)
            .map(|(list, step)| {
                let first = list.value_offsets()[0];
                let last = list.value_offsets()[list.len()];
                apply(step.as_ref(), &list.values().slice(first as usize, (last - first) as usize))
            })
            .collect::<Result<Vec<ArrayRef>>>()?;
        let entries = StructArray::try_new(names.clone(), columns, None).map_err(Error::of_arrow)?;
        let lengths = (0..array.len()).map(|row| keys.value_length(row) as usize);
        let list = ListArray::try_new(
            Arc::clone(&field),
            OffsetBuffer::from_lengths(lengths),
            Arc::new(entries),
            None,
        );
        Ok(Arc::new(list.map_err(Error::logical)?))
    }))
}
