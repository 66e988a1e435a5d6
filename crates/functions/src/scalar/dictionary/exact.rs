//! A conversion that refuses a number which the other type does not have.

use arrow::array::{Array, ArrayRef};
use arrow::compute::cast;
use arrow::compute::kernels::cmp::not_distinct;
use basalt_base::{Error, Result, SqlType, bail};

use crate::FunctionContext;
use crate::scalar::Converter;

pub(super) struct Exact {
    converter: Converter,
    to: SqlType,
    /// The given number may be one that `to` does not have.
    may_not_fit: bool,
}

impl Exact {
    pub(super) fn bind(from: &SqlType, to: &SqlType, context: &FunctionContext) -> Result<Exact> {
        let converter = Converter::new(from, to, context)?;
        let (given, wanted) = (from.stripped(), to.stripped());
        let widens = given.is_unsigned() && wanted.is_integer() && given.fixed_bytes() < wanted.fixed_bytes();
        let may_not_fit = given != wanted && given.is_number() && wanted.is_number() && !widens;
        Ok(Exact { converter, to: to.clone(), may_not_fit })
    }

    /// `what` stands in the error: "the key of a lookup".
    pub(super) fn convert(&self, column: &ArrayRef, what: &str) -> Result<ArrayRef> {
        if self.may_not_fit && !fits(column, &self.to)? {
            bail!(CannotConvertType, "{what} has a value that {} does not have", self.to.stripped());
        }
        self.converter.convert(column)
    }
}

/// Whether every number in `column` is one of `to`.
fn fits(column: &ArrayRef, to: &SqlType) -> Result<bool> {
    let there = cast(column, &to.carrier()).map_err(Error::logical)?;
    let back = cast(&there, column.data_type()).map_err(Error::logical)?;
    let same = not_distinct(&back, column).map_err(Error::logical)?;
    Ok(same.true_count() == column.len())
}
