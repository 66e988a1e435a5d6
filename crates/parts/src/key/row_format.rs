//! Values of one column in Arrow's row format, whose byte order is value order.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field};
use arrow::row::{RowConverter, Rows, SortField};

use crate::error::Result;

/// A column in the row format, whose byte order is value order.
pub(crate) fn encode(values: &ArrayRef) -> Result<Rows> {
    let field = Field::new("", values.data_type().clone(), true);
    let converter = RowConverter::new(vec![sort_field(&field)])?;
    Ok(converter.convert_columns(&[Arc::clone(values)])?)
}

/// Decodes values that [`encode`] made from an array of type `carrier`.
pub(crate) fn decode(rows: &[&[u8]], carrier: &DataType) -> Result<ArrayRef> {
    let converter = RowConverter::new(vec![sort_field(&Field::new("", carrier.clone(), true))])?;
    let parser = converter.parser();
    let mut arrays = converter.convert_rows(rows.iter().map(|row| parser.parse(row)))?;
    Ok(arrays.swap_remove(0))
}

/// The order of a key column: ascending, then NaN, then NULL, as in ClickHouse.
fn sort_field(field: &Field) -> SortField {
    let options = arrow::compute::SortOptions { descending: false, nulls_first: false };
    SortField::new_with_options(field.data_type().clone(), options)
}
