//! Adapts a bound scalar function to DataFusion.
//!
//! The adaptor converts DataFusion's columns to operands and applies the dialect's default rules: a NULL argument
//! gives NULL ([`Nulls::Propagate`]), and functions do not see `LowCardinality` ([`LowCardinality`]).

use std::fmt::{self, Write as _};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, make_array, new_null_array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, FieldRef};
use basalt_base::query::checkpoint;
use basalt_base::{Error, ErrorCode, Result, SqlType};
use datafusion::common::{DataFusionError, ScalarValue};
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    TypeSignature, Volatility as PlanVolatility,
};

use super::{
    Argument, Arity, AttributeOf, Bound, Kernel, LowCardinality, Nulls, Operand, ScalarFunction, Volatility,
    low_cardinality_of,
};
use crate::FunctionContext;

/// A function with its argument types, ready to run.
pub struct BoundScalar {
    name: &'static str,
    arg_types: Vec<SqlType>,
    /// The constants that `bind` saw: calls that differ in them are different functions.
    constants: Vec<Option<ScalarValue>>,
    return_type: SqlType,
    nulls: Nulls,
    kernel: Box<dyn Kernel>,
    signature: Signature,
    is_random: bool,
}

impl BoundScalar {
    /// Binds `function` to `args`. Returns the DataFusion function and its SQL result type.
    pub fn bind(
        function: &dyn ScalarFunction,
        args: &[Argument],
        context: &FunctionContext,
    ) -> Result<(Arc<ScalarUDF>, SqlType)> {
        check_arity(function, args.len())?;
        let (mut return_type, kernel) = bind_types(function, args, context)?;
        if function.low_cardinality() == LowCardinality::Kept {
            let args = args.iter().map(|arg| (&arg.ty, arg.constant.is_some()));
            return_type = low_cardinality_of(return_type, args);
        }
        let volatility = match function.volatility() {
            Volatility::Immutable => PlanVolatility::Immutable,
            Volatility::Stable => PlanVolatility::Stable,
            Volatility::Late | Volatility::Volatile => PlanVolatility::Volatile,
        };
        let constants = args
            .iter()
            .map(|arg| arg.constant.as_ref().and_then(|value| ScalarValue::try_from_array(value, 0).ok()))
            .collect();
        let bound = BoundScalar {
            name: function.name(),
            arg_types: args.iter().map(|arg| arg.ty.clone()).collect(),
            constants,
            return_type: return_type.clone(),
            nulls: function.nulls(),
            kernel,
            signature: Signature::one_of(
                vec![TypeSignature::Nullary, TypeSignature::VariadicAny],
                volatility,
            ),
            is_random: function.volatility() == Volatility::Volatile,
        };
        Ok((Arc::new(ScalarUDF::new_from_impl(bound)), return_type))
    }

    pub fn arg_types(&self) -> &[SqlType] {
        &self.arg_types
    }

    /// Whether calls with equal arguments can have different values.
    pub fn is_random(&self) -> bool {
        self.is_random
    }

    /// The bound function inside a DataFusion function, if it is one.
    pub fn of(function: &ScalarUDF) -> Option<&BoundScalar> {
        function.inner().downcast_ref::<BoundScalar>()
    }

    /// See [`Kernel::prefers_large_blocks`].
    pub fn prefers_large_blocks(&self) -> bool {
        self.kernel.prefers_large_blocks()
    }

    /// The lookup that the call does, if its result is an attribute by key.
    pub fn attribute(&self) -> Option<AttributeOf<'_>> {
        self.kernel.attribute()
    }

    /// Runs the kernel over operands and applies the NULL rule.
    fn evaluate(&self, operands: &[Operand], rows: usize) -> Result<ArrayRef> {
        if self.return_type.stripped() == &SqlType::Nothing && self.nulls == Nulls::Propagate {
            return Ok(new_null_array(&DataType::Null, rows));
        }
        let result = self.kernel.evaluate(operands, rows)?;
        if self.nulls == Nulls::Custom {
            return Ok(result);
        }
        let result = if result.len() == rows {
            result
        } else {
            Operand { array: result, constant: true }.full(rows)?
        };
        if !self.return_type.accepts_null() {
            // No operand can be NULL, or the result is an array, which has no NULL of its own.
            return Ok(result);
        }
        Ok(with_nulls(&result, union_of_nulls(operands, rows)))
    }
}

fn check_arity(function: &dyn ScalarFunction, given: usize) -> Result<()> {
    let (fits, expected) = match function.arity() {
        Arity::Exactly(count) => (given == count, count.to_string()),
        Arity::Between(least, most) if least == most => (given == most, most.to_string()),
        Arity::Between(least, most) => ((least..=most).contains(&given), format!("{least} to {most}")),
        Arity::AtLeast(least) => (given >= least, format!("at least {least}")),
    };
    if fits {
        return Ok(());
    }
    let name = function.name();
    Err(Error::new(
        ErrorCode::NumberOfArgumentsDoesntMatch,
        format!("function `{name}` takes {expected} arguments, got {given}"),
    ))
}

/// Binds under the function's NULL rule: result type as SQL sees it, and the kernel.
fn bind_types(
    function: &dyn ScalarFunction,
    args: &[Argument],
    context: &FunctionContext,
) -> Result<(SqlType, Box<dyn Kernel>)> {
    if function.low_cardinality() == LowCardinality::Seen {
        let Bound { return_type, kernel } = function.bind(args, context)?;
        return Ok((return_type, kernel));
    }
    if function.nulls() == Nulls::Custom {
        let full: Vec<Argument> = args
            .iter()
            .map(|arg| Argument { ty: arg.ty.full().clone(), constant: arg.constant.clone() })
            .collect();
        let Bound { return_type, kernel } = function.bind(&full, context)?;
        return Ok((return_type, kernel));
    }
    if args.iter().any(|arg| arg.ty.stripped() == &SqlType::Nothing) {
        let never = |_: &[Operand], _: usize| Err(Error::logical("a NULL argument reached a kernel"));
        // The element type of an empty array has no values, not even NULL.
        let is_nothing = args.iter().any(|arg| arg.ty == SqlType::Nothing);
        let ty = if is_nothing { SqlType::Nothing } else { SqlType::Nothing.into_nullable() };
        return Ok((ty, Box::new(never)));
    }
    let plain: Vec<Argument> = args
        .iter()
        .map(|arg| Argument { ty: arg.ty.stripped().clone(), constant: arg.constant.clone() })
        .collect();
    let Bound { return_type, kernel } = function.bind(&plain, context)?;
    let nullable = args.iter().any(|arg| arg.ty.accepts_null());
    Ok((if nullable { return_type.into_nullable() } else { return_type }, kernel))
}

/// Rows in which any operand is NULL.
fn union_of_nulls(operands: &[Operand], rows: usize) -> Option<NullBuffer> {
    let mut union: Option<NullBuffer> = None;
    for operand in operands {
        if operand.constant {
            if operand.array.is_null(0) {
                return Some(NullBuffer::new_null(rows));
            }
        } else {
            union = NullBuffer::union(union.as_ref(), operand.array.logical_nulls().as_ref());
        }
    }
    union
}

fn with_nulls(array: &ArrayRef, nulls: Option<NullBuffer>) -> ArrayRef {
    match NullBuffer::union(array.nulls(), nulls.as_ref()) {
        None => ArrayRef::clone(array),
        Some(nulls) => match array.to_data().into_builder().nulls(Some(nulls)).build() {
            Ok(data) => make_array(data),
            // The mask has the length of the array, so it always fits.
            Err(_) => ArrayRef::clone(array),
        },
    }
}

impl BoundScalar {
    /// The optimizer requests the names of all parts of an expression, which dominates the cost of large ones.
    fn write_schema_name(&self, args: &[Expr], name: &mut String) -> datafusion::common::Result<()> {
        checkpoint().map_err(external)?;
        name.push_str(self.name);
        for (index, arg) in args.iter().enumerate() {
            name.push(if index == 0 { '(' } else { ',' });
            match arg {
                Expr::ScalarFunction(call) => match BoundScalar::of(&call.func) {
                    Some(inner) => inner.write_schema_name(&call.args, name)?,
                    None => name.push_str(&call.func.schema_name(&call.args)?),
                },
                other => write!(name, "{}", other.schema_name())?,
            }
        }
        name.push_str(if args.is_empty() { "()" } else { ")" });
        Ok(())
    }
}

fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

impl ScalarUDFImpl for BoundScalar {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> datafusion::common::Result<DataType> {
        Ok(self.return_type.carrier())
    }

    fn return_field_from_args(&self, _args: ReturnFieldArgs) -> datafusion::common::Result<FieldRef> {
        Ok(Arc::new(Field::new(self.name, self.return_type.carrier(), self.return_type.accepts_null())))
    }

    /// The same name as DataFusion's, in one pass: its own code copies the name of every nested call again.
    fn schema_name(&self, args: &[Expr]) -> datafusion::common::Result<String> {
        let mut name = String::new();
        self.write_schema_name(args, &mut name)?;
        Ok(name)
    }

    /// Bounds must have the type of the results. Otherwise comparing with them is an error, and no order of the
    /// expression is known.
    fn evaluate_bounds(&self, _inputs: &[&Interval]) -> datafusion::common::Result<Interval> {
        Interval::make_unbounded(&self.return_type.carrier())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> datafusion::common::Result<ColumnarValue> {
        checkpoint().map_err(external)?;
        let rows = args.number_rows;
        let operands = args
            .args
            .into_iter()
            .map(|value| match value {
                ColumnarValue::Array(array) => Ok(Operand { array, constant: false }),
                ColumnarValue::Scalar(value) => Ok(Operand { array: value.to_array()?, constant: true }),
            })
            .collect::<datafusion::common::Result<Vec<_>>>()?;
        let folds = self.signature.volatility != PlanVolatility::Volatile
            && operands.iter().all(|operand| operand.constant);
        if folds {
            let result = self.evaluate(&operands, 1).map_err(external)?;
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?));
        }
        Ok(ColumnarValue::Array(self.evaluate(&operands, rows).map_err(external)?))
    }
}

impl PartialEq for BoundScalar {
    fn eq(&self, other: &BoundScalar) -> bool {
        self.name == other.name
            && self.arg_types == other.arg_types
            && self.constants == other.constants
            && self.return_type == other.return_type
    }
}

impl Eq for BoundScalar {}

impl Hash for BoundScalar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        self.arg_types.hash(state);
        self.constants.hash(state);
    }
}

impl fmt::Debug for BoundScalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundScalar").field("name", &self.name).field("args", &self.arg_types).finish()
    }
}
