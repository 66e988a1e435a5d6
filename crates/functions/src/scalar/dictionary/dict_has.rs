//! `dictHas(dictionary, key[, point])`: whether the key exists; NULL for a NULL key.

use std::sync::Arc;

use arrow::array::{ArrayRef, UInt8Array, new_null_array};
use arrow::datatypes::DataType;
use basalt_base::{Result, SqlType};

use super::lookup::Lookup;
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Arity, Bound, Kernel, Operand, Volatility};

pub(super) static DICT_HAS: Definition = Definition::new("dictHas", Arity::Between(2, 3), bind_dict_has)
    .sees_null()
    .volatility(Volatility::Stable);

fn bind_dict_has(call: &Call<'_>) -> Result<Bound> {
    if call.args[1].ty.stripped() == &SqlType::Nothing {
        return Ok(Bound::new(call.args[1].ty.clone(), |_: &[Operand], rows: usize| {
            Ok(new_null_array(&DataType::Null, rows))
        }));
    }
    let lookup = Lookup::bind(call.name, &call.args[0], &call.args[1..], call.context)?;
    lookup.check_count(call.name, call.args.len(), 1 + lookup.width())?;
    let ty = if lookup.nullable { SqlType::UInt8.into_nullable() } else { SqlType::UInt8 };
    Ok(Bound::new(ty, HasKernel { lookup }))
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
