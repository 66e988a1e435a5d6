//! Conversions that change no value: between types that differ in LowCardinality, Nullable, zones or labels only.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, StructArray, UInt32Array, new_null_array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{concat, take};
use basalt_base::types::TupleElement;
use basalt_base::{Error, Result, SqlType};

/// The values of `array`, which carries `from`, as `to`; `None` if that may change a value, or a value is NULL where
/// `to` has no NULL.
pub(super) fn safe_cast(array: &ArrayRef, from: &SqlType, to: &SqlType) -> Option<ArrayRef> {
    if from == to {
        return Some(Arc::clone(array));
    }
    if array.is_empty() {
        return Some(to.default_array(0));
    }
    match (from, to) {
        (SqlType::LowCardinality(from), to) => safe_cast(array, from, to),
        (from, SqlType::LowCardinality(to)) => safe_cast(array, from, to),
        (from, to) if *from.stripped() == SqlType::Nothing && to.accepts_null() => {
            Some(new_null_array(&to.carrier(), array.len()))
        }
        (SqlType::Nullable(from), SqlType::Nullable(to)) => safe_cast(array, from, to),
        (from, SqlType::Nullable(to)) => safe_cast(array, from, to),
        (SqlType::Nullable(from), to) if array.logical_null_count() == 0 => safe_cast(array, from, to),
        (SqlType::DateTime(_), SqlType::DateTime(_)) => Some(Arc::clone(array)),
        (SqlType::DateTime64 { precision: from, .. }, SqlType::DateTime64 { precision: to, .. }) => {
            (from == to).then(|| Arc::clone(array))
        }
        (SqlType::Enum8(from), SqlType::Enum8(to)) => {
            from.iter().all(|label| to.contains(label)).then(|| Arc::clone(array))
        }
        (SqlType::Enum16(from), SqlType::Enum16(to)) => {
            from.iter().all(|label| to.contains(label)).then(|| Arc::clone(array))
        }
        (SqlType::Array(..) | SqlType::Map(..) | SqlType::Tuple(_), _) => cast_nested(array, from, to),
        _ => None,
    }
}

fn cast_nested(array: &ArrayRef, from: &SqlType, to: &SqlType) -> Option<ArrayRef> {
    match (from, to) {
        (SqlType::Array(from), SqlType::Array(to_element)) => {
            let list = array.as_list::<i32>();
            let values = safe_cast(list.values(), from, to_element)?;
            Some(list_of(to_element.element_field(), list, values))
        }
        (SqlType::Map(from_key, from_value), SqlType::Map(key, value)) => {
            let list = array.as_list::<i32>();
            let entries = list.values().as_struct();
            let columns = vec![
                safe_cast(entries.column(0), from_key, key)?,
                safe_cast(entries.column(1), from_value, value)?,
            ];
            let entries = StructArray::new(to.struct_fields(), columns, None);
            let arrow::datatypes::DataType::List(field) = to.carrier() else { return None };
            Some(list_of(field, list, Arc::new(entries)))
        }
        (SqlType::Tuple(from), SqlType::Tuple(elements)) if are_alike(from, elements) => {
            let columns = array.as_struct().columns().iter().zip(from.iter().zip(elements.iter()));
            let columns = columns.map(|(column, (from, to))| safe_cast(column, &from.ty, &to.ty));
            Some(Arc::new(StructArray::new(to.struct_fields(), columns.collect::<Option<_>>()?, None)))
        }
        _ => None,
    }
}

fn list_of(field: arrow::datatypes::FieldRef, list: &ListArray, values: ArrayRef) -> ArrayRef {
    Arc::new(ListArray::new(field, list.offsets().clone(), values, None))
}

/// Whether the elements have the same names, or those of one tuple have none.
fn are_alike(from: &[TupleElement], to: &[TupleElement]) -> bool {
    let same = |(from, to): (&TupleElement, &TupleElement)| {
        from.name == to.name || from.name.is_none() || to.name.is_none()
    };
    !to.is_empty() && from.len() == to.len() && from.iter().zip(to).all(same)
}

/// The `values` at the rows of `given` that are set, in order; the default of `ty` at the others.
pub(crate) fn with_defaults(values: &ArrayRef, ty: &SqlType, given: &BooleanBuffer) -> Result<ArrayRef> {
    let default = ty.default_array(1);
    let all = concat(&[values.as_ref(), default.as_ref()]).map_err(Error::of_arrow)?;
    let position_of_default = values.len() as u32;
    let mut next = 0;
    let rows = given.iter().map(|is_given| match is_given {
        true => {
            next += 1;
            next - 1
        }
        false => position_of_default,
    });
    take(&all, &UInt32Array::from_iter_values(rows), None).map_err(Error::of_arrow)
}

#[cfg(test)]
mod tests {
    use arrow::array::{BinaryViewArray, Int8Array};

    use super::*;

    fn parsed(name: &str) -> SqlType {
        super::super::named_type(name.as_bytes()).unwrap()
    }

    /// Checks whether two values of `from` are values of `to`.
    fn check(from: &str, to: &str, is_safe: bool) {
        let (from, to) = (parsed(from), parsed(to));
        let cast = safe_cast(&from.default_array(2), &from, &to);
        assert_eq!(cast.is_some(), is_safe, "{from} to {to}");
        if let Some(cast) = cast {
            assert_eq!((cast.data_type(), cast.len()), (&to.carrier(), 2), "{from} to {to}");
        }
    }

    #[test]
    fn only_wrappers_and_names_are_changed() {
        check("LowCardinality(String)", "Nullable(String)", true);
        check("String", "LowCardinality(Nullable(String))", true);
        check("Nullable(Nothing)", "Nullable(UInt8)", true);
        check("Array(LowCardinality(String))", "Array(Nullable(String))", true);
        check("Tuple(UInt8, String)", "Tuple(a Nullable(UInt8), b String)", true);
        check("Tuple(b UInt8, a UInt8)", "Tuple(a UInt8, b UInt8)", false);
        check("Map(String, UInt8)", "Map(LowCardinality(String), Nullable(UInt8))", true);
        check("DateTime('UTC')", "DateTime", true);
        check("DateTime64(3)", "DateTime64(6)", false);
        check("Enum8('a' = 1)", "Enum8('a' = 1, 'b' = 2)", true);
        check("Enum8('a' = 1)", "Enum8('a' = 2)", false);
        check("Nullable(UInt8)", "UInt8", false);
        check("UInt8", "UInt16", false);
    }

    #[test]
    fn missing_rows_are_defaults() {
        let values: ArrayRef = Arc::new(BinaryViewArray::from_iter_values(["a", "b"]));
        let given = BooleanBuffer::from(vec![false, true, false, true]);
        let filled = with_defaults(&values, &SqlType::String, &given).unwrap();
        assert_eq!(filled.as_binary_view(), &BinaryViewArray::from_iter_values(["", "a", "", "b"]));
        let ty = SqlType::Enum8([("a".to_owned(), 5)].into());
        let none: ArrayRef = Arc::new(Int8Array::from(Vec::<i8>::new()));
        let filled = with_defaults(&none, &ty, &BooleanBuffer::from(vec![false])).unwrap();
        assert_eq!(filled.as_primitive(), &Int8Array::from(vec![5]));
    }
}
