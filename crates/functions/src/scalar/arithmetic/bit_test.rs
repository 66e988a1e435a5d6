//! `bitTest`, `bitTestAll`, `bitTestAny`: whether bits of an integer are set.
//!
//! Syntax: `bitTestAll(x, position [, position]...)`; position 0 is the lowest bit. A position beyond the
//! bits of the type is an error. NULL if an argument is NULL.

use std::sync::Arc;

use arrow::array::UInt8Array;
use arrow::datatypes::Int64Type;
use basalt_base::{Result, SqlType, bail};

use crate::scalar::definition::{Call, Definition};
use crate::scalar::operand::{nulls_of, rows_needed};
use crate::scalar::{Arity, Bound, Operand};

pub(super) static BIT_TEST: Definition =
    Definition::new("bitTest", Arity::Exactly(2), |call| bind(call, true));

pub(super) static BIT_TEST_ALL: Definition =
    Definition::new("bitTestAll", Arity::AtLeast(2), |call| bind(call, true));

pub(super) static BIT_TEST_ANY: Definition =
    Definition::new("bitTestAny", Arity::AtLeast(2), |call| bind(call, false));

fn bind(call: &Call<'_>, all: bool) -> Result<Bound> {
    (0..call.len()).try_for_each(|index| call.expect_integer(index))?;
    let (name, bits) = (call.name, call.ty(0).fixed_bytes().unwrap_or(8) as i64 * 8);
    Ok(Bound::of(SqlType::UInt8, move |args: &[Operand], rows| {
        let rows = rows_needed(args, rows);
        let values = args[0].numbers::<Int64Type>()?;
        let positions = args[1..].iter().map(Operand::numbers::<Int64Type>).collect::<Result<Vec<_>>>()?;
        let nulls = nulls_of(args, rows);
        let mut answers = Vec::with_capacity(rows);
        for row in 0..rows {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                answers.push(0);
                continue;
            }
            let mut mask = 0_i64;
            for position in positions.iter().map(|positions| positions.get(row)) {
                if !(0..bits).contains(&position) {
                    bail!(
                        ParameterOutOfBound,
                        "position {position} of `{name}` is not one of the {bits} bits"
                    );
                }
                mask |= 1 << position;
            }
            let set = values.get(row) & mask;
            answers.push(u8::from(if all { set == mask } else { set != 0 }));
        }
        Ok(Arc::new(UInt8Array::from(answers)))
    }))
}
