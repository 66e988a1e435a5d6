//! `tuple(a, b, ...)`: all arguments as one value.

use std::sync::Arc;

use arrow::array::{ArrayRef, StructArray};
use basalt_base::{Error, Result, SqlType};

use crate::scalar::definition::Definition;
use crate::scalar::{Arity, Bound, LowCardinality, Operand};

pub(super) static TUPLE: Definition = Definition::new("tuple", Arity::AtLeast(0), |call| {
    let ty = SqlType::tuple_of(call.args.iter().map(|arg| arg.ty.clone()));
    Ok(Bound::new(ty.clone(), move |operands: &[Operand], rows: usize| {
        if operands.is_empty() {
            return Ok(ty.default_array(rows));
        }
        let columns = operands.iter().map(|operand| operand.full(rows)).collect::<Result<Vec<ArrayRef>>>()?;
        let tuples = StructArray::try_new(ty.struct_fields(), columns, None).map_err(Error::of_arrow)?;
        Ok(Arc::new(tuples) as ArrayRef)
    }))
})
.sees_null()
.low_cardinality(LowCardinality::Seen);
