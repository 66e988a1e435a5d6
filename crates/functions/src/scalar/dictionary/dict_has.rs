//! `dictHas(dictionary, key[, point])`: whether the key exists; NULL for a NULL key.

use std::sync::Arc;

use arrow::array::{ArrayRef, UInt8Array, new_null_array};
use arrow::datatypes::DataType;
use basalt_base::{Result, SqlType};

use super::lookup::Lookup;
use crate::FunctionContext;
use crate::scalar::{Argument, Arity, Bound, Kernel, Nulls, Operand, ScalarFunction, Volatility};

pub(super) struct DictHas;

impl ScalarFunction for DictHas {
    fn name(&self) -> &'static str {
        "dictHas"
    }

    fn arity(&self) -> Arity {
        Arity::Between(2, 3)
    }

    fn nulls(&self) -> Nulls {
        Nulls::Custom
    }

    fn volatility(&self) -> Volatility {
        Volatility::Stable
    }

    fn bind(&self, args: &[Argument], context: &FunctionContext) -> Result<Bound> {
        if args[1].ty.stripped() == &SqlType::Nothing {
            return Ok(Bound::new(args[1].ty.clone(), |_: &[Operand], rows: usize| {
                Ok(new_null_array(&DataType::Null, rows))
            }));
        }
        let lookup = Lookup::bind(self.name(), &args[0], &args[1..], context)?;
        lookup.check_count(self.name(), args.len(), 1 + lookup.width())?;
        let ty = if lookup.nullable { SqlType::UInt8.into_nullable() } else { SqlType::UInt8 };
        Ok(Bound::new(ty, HasKernel { lookup }))
    }
}

struct HasKernel {
    lookup: Lookup,
}

impl Kernel for HasKernel {
    fn evaluate(&self, operands: &[Operand], rows: usize) -> Result<ArrayRef> {
        let (keys, nulls) = self.lookup.keys(&operands[1..], rows)?;
        let found = self.lookup.dictionary.has(&keys)?;
        let is_there = found.values().iter().map(u8::from).collect();
        Ok(Arc::new(UInt8Array::new(is_there, nulls)))
    }

    fn prefers_large_blocks(&self) -> bool {
        self.lookup.dictionary.prefers_large_blocks()
    }
}
