//! The values of an argument row by row: numbers, or texts, or NULL.

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, BinaryViewBuilder, Int64Array};
use arrow::datatypes::{DataType, Int64Type};
use basalt_base::{Result, SqlType};

use crate::scalar::number::wrap_to;
use crate::scalar::{Bound, Operand};

/// An argument of any type that a number or a text can be.
pub(super) struct Column {
    array: ArrayRef,
    integers: Option<Int64Array>,
    mask: usize,
}

impl Column {
    pub(super) fn of(operand: &Operand) -> Result<Column> {
        let array = ArrayRef::clone(&operand.array);
        let integers = match array.data_type() {
            ty if ty.is_integer() => Some(wrap_to::<Int64Type>(&array)?),
            _ => None,
        };
        let mask = if operand.constant { 0 } else { usize::MAX };
        Ok(Column { array, integers, mask })
    }

    /// `None` for NULL, and for what is no number.
    pub(super) fn integer(&self, row: usize) -> Option<i64> {
        let row = row & self.mask;
        if self.is_null(row) {
            return None;
        }
        match &self.integers {
            Some(integers) => Some(integers.value(row)),
            None => self.text(row).and_then(|text| text.trim().parse().ok()),
        }
    }

    pub(super) fn oid(&self, row: usize) -> Option<u32> {
        self.integer(row).and_then(|number| u32::try_from(number).ok())
    }

    /// `None` for NULL, and for what is no text.
    pub(super) fn text(&self, row: usize) -> Option<String> {
        let row = row & self.mask;
        if self.is_null(row) {
            return None;
        }
        let texts = self.array.as_binary_view_opt()?;
        Some(String::from_utf8_lossy(texts.value(row)).into_owned())
    }

    fn is_null(&self, row: usize) -> bool {
        *self.array.data_type() == DataType::Null || self.array.is_null(row)
    }
}

/// A function of texts or NULL, one for each row.
pub(super) fn texts(text: impl Fn(&[Column], usize) -> Option<String> + Send + Sync + 'static) -> Bound {
    Bound::of(SqlType::String.into_nullable(), move |operands: &[Operand], rows| {
        let columns = operands.iter().map(Column::of).collect::<Result<Vec<_>>>()?;
        let mut builder = BinaryViewBuilder::with_capacity(rows);
        for row in 0..rows {
            builder.append_option(text(&columns, row));
        }
        Ok(std::sync::Arc::<BinaryViewArray>::new(builder.finish()))
    })
}

/// A function of numbers or NULL, one for each row.
pub(super) fn integers(integer: impl Fn(&[Column], usize) -> Option<i64> + Send + Sync + 'static) -> Bound {
    Bound::of(SqlType::Int64.into_nullable(), move |operands: &[Operand], rows| {
        let columns = operands.iter().map(Column::of).collect::<Result<Vec<_>>>()?;
        Ok(std::sync::Arc::new((0..rows).map(|row| integer(&columns, row)).collect::<Int64Array>()))
    })
}
