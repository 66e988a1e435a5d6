//! Filters as SQL text that the other server applies. What is left out is filtered here.

use arrow::array::{Array, ArrayRef};
use basalt_base::{Column, Columns, Result, SqlType};
use basalt_formats::TextSettings;
use basalt_formats::text::{Style, ValueWriter};
use basalt_sql::quote_name;

use crate::scan::{ColumnCondition, ValueSet};

/// Longer lists of values are filtered here.
const VALUES_MAX: usize = 1000;

/// `WHERE ..` with a space in front, or nothing.
pub(super) fn where_clause(conditions: &[ColumnCondition], columns: &Columns) -> Result<Vec<u8>> {
    let mut clause = Vec::new();
    for condition in conditions {
        let Some(column) = columns.get(condition.column) else { continue };
        if let Some(text) = condition_text(column, &condition.values)? {
            clause.extend_from_slice(if clause.is_empty() { b" WHERE " } else { b" AND " });
            clause.extend_from_slice(&text);
        }
    }
    Ok(clause)
}

/// The condition; `None` if the other server might understand it differently.
fn condition_text(column: &Column, values: &ValueSet) -> Result<Option<Vec<u8>>> {
    let order = order_of(column.ty.stripped());
    let name = quote_name(&column.name);
    Ok(match values {
        ValueSet::Points(points) if points.is_empty() => Some(b"1 = 0".to_vec()),
        ValueSet::Points(points) if order != Order::Unknown && points.len() <= VALUES_MAX => {
            let list = (0..points.len()).map(|row| literal(column, points, row));
            let list = list.collect::<Result<Vec<_>>>()?.join(&b", "[..]);
            Some([name.as_bytes(), b" IN (", &list, b")"].concat())
        }
        ValueSet::Range { low, high } if order == Order::Same => {
            let bounds = [(low, ">", ">="), (high, "<", "<=")];
            let mut parts = Vec::new();
            for (bound, without, with) in bounds {
                let Some((value, is_included)) = bound else { continue };
                let operator = if *is_included { with } else { without };
                let head = format!("{name} {operator} ");
                parts.push([head.as_bytes(), &literal(column, value, 0)?].concat());
            }
            Some(parts.join(&b" AND "[..])).filter(|text| !text.is_empty())
        }
        _ => None,
    })
}

/// Whether values of a type have the same text and the same order on every server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Same,
    /// They have the same text only.
    Different,
    Unknown,
}

fn order_of(ty: &SqlType) -> Order {
    match ty {
        SqlType::String | SqlType::Date | SqlType::Date32 => Order::Same,
        ty if ty.is_whole() => Order::Same,
        SqlType::Uuid | SqlType::Enum8(_) | SqlType::Enum16(_) => Order::Different,
        _ => Order::Unknown,
    }
}

fn literal(column: &Column, values: &ArrayRef, row: usize) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let ty = column.ty.stripped();
    ValueWriter::new(ty, values, &TextSettings::default())?.write(row, Style::Quoted, &mut text);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{BinaryViewArray, Float64Array, UInt8Array};

    use super::*;

    fn check(ty: SqlType, values: ValueSet, expected: &str) {
        let columns = Columns::new(vec![Column::new("a b", ty)]);
        let condition = ColumnCondition { column: 0, values };
        let text = where_clause(&[condition.clone(), condition], &columns).unwrap();
        let expected = match expected {
            "" => String::new(),
            one => format!(" WHERE {one} AND {one}"),
        };
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn conditions_are_those_of_sql() {
        let numbers: ArrayRef = Arc::new(UInt8Array::from(vec![1, 7]));
        let texts: ArrayRef = Arc::new(BinaryViewArray::from_iter_values(["it's", "\\"]));
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![0.5]));
        check(SqlType::UInt8, ValueSet::Points(Arc::clone(&numbers)), "`a b` IN (1, 7)");
        let range = ValueSet::Range { low: Some((numbers.slice(0, 1), false)), high: Some((numbers, true)) };
        check(SqlType::UInt8, range, "`a b` > 1 AND `a b` <= 1");
        check(SqlType::String, ValueSet::Points(Arc::clone(&texts)), "`a b` IN ('it\\'s', '\\\\')");
        check(SqlType::String, ValueSet::Points(texts.slice(0, 0)), "1 = 0");
        check(SqlType::Float64, ValueSet::Points(floats), "");
        check(SqlType::UInt8, ValueSet::Range { low: None, high: None }, "");
    }
}
