//! The contract of a scalar function: its declaration, the result of binding, and the kernel.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use basalt_base::{Result, SqlType};

use super::dictionary::AttributeOf;
use crate::FunctionContext;

/// A scalar function of the dialect.
pub trait ScalarFunction: Send + Sync {
    /// The name in ClickHouse's spelling, for example `cityHash64`.
    fn name(&self) -> &'static str;

    /// Other names of the function.
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether `LENGTH` also finds `length`: true only for functions of standard SQL.
    fn case_insensitive(&self) -> bool {
        false
    }

    /// The number of arguments; checked before [`ScalarFunction::bind`].
    fn arity(&self) -> Arity;

    /// The treatment of NULL arguments.
    fn nulls(&self) -> Nulls {
        Nulls::Propagate
    }

    fn volatility(&self) -> Volatility {
        Volatility::Immutable
    }

    /// The treatment of `LowCardinality` arguments.
    fn low_cardinality(&self) -> LowCardinality {
        LowCardinality::Kept
    }

    /// Checks the argument types and returns the result type and the kernel.
    ///
    /// Under [`Nulls::Propagate`] the types in `args` are without `Nullable` and `LowCardinality`, and so must be the
    /// result type.
    fn bind(&self, args: &[Argument], context: &FunctionContext) -> Result<Bound>;
}

/// The number of arguments of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    Exactly(usize),
    Between(usize, usize),
    AtLeast(usize),
}

/// The treatment of NULL arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nulls {
    /// The adaptor: a row with a NULL argument gives NULL. The kernel also computes such rows, with arbitrary values,
    /// and its result is discarded. A kernel that can fail must skip rows with NULL operands (arrays keep their
    /// masks).
    Propagate,
    /// The function: `bind` sees `Nullable` types and returns the exact result type.
    Custom,
}

/// The treatment of `LowCardinality` around argument types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LowCardinality {
    /// Hidden from `bind`, and restored in the result: see [`low_cardinality_of`](super::low_cardinality_of).
    Kept,
    /// Hidden from `bind`; the result has the type that `bind` returns.
    Dropped,
    /// Visible to `bind`, which returns the exact result type.
    Seen,
}

/// When calls with equal arguments may have different results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volatility {
    /// Never: folded if the arguments are constant.
    Immutable,
    /// Only in different queries, such as `now()`.
    Stable,
    /// Never, but the call is not folded, such as `materialize`.
    Late,
    /// In every row, such as `rand()`.
    Volatile,
}

/// An argument of a call, as passed to `bind`.
#[derive(Clone, Debug)]
pub struct Argument {
    pub ty: SqlType,
    /// The value of a constant argument, as an array of one row.
    pub constant: Option<ArrayRef>,
}

/// The result of [`ScalarFunction::bind`].
pub struct Bound {
    pub return_type: SqlType,
    pub kernel: Box<dyn Kernel>,
}

impl Bound {
    pub fn new(return_type: SqlType, kernel: impl Kernel + 'static) -> Bound {
        Bound { return_type, kernel: Box::new(kernel) }
    }

    /// Like [`Bound::new`], for kernels that return one array type.
    pub fn of<A: Array + 'static>(
        return_type: SqlType,
        kernel: impl Fn(&[Operand], usize) -> Result<Arc<A>> + Send + Sync + 'static,
    ) -> Bound {
        Bound::new(return_type, move |args: &[Operand], rows: usize| Ok(kernel(args, rows)? as ArrayRef))
    }
}

/// The kernel of a bound call. Implemented by every `Fn(&[Operand], rows) -> Result<ArrayRef>`.
pub trait Kernel: Send + Sync {
    /// One result for each of `rows` rows, in the carrier of the return type. If all operands are constant, an array
    /// of one row is also allowed.
    fn evaluate(&self, operands: &[Operand], rows: usize) -> Result<ArrayRef>;

    /// Whether the cost per row is much lower in blocks of a million rows.
    fn prefers_large_blocks(&self) -> bool {
        false
    }

    /// The attribute lookup that the call does, for `dictGet` and similar functions.
    fn attribute(&self) -> Option<AttributeOf<'_>> {
        None
    }
}

impl<F: Fn(&[Operand], usize) -> Result<ArrayRef> + Send + Sync> Kernel for F {
    fn evaluate(&self, operands: &[Operand], rows: usize) -> Result<ArrayRef> {
        self(operands, rows)
    }
}

/// An argument of a call, as passed to a kernel.
#[derive(Clone, Debug)]
pub struct Operand {
    /// One value per row, or one value if [`Operand::constant`].
    pub array: ArrayRef,
    pub constant: bool,
}

impl Operand {
    /// The position of the value of `row` in [`Operand::array`].
    pub fn index(&self, row: usize) -> usize {
        if self.constant { 0 } else { row }
    }

    pub fn is_null(&self, row: usize) -> bool {
        self.array.is_null(self.index(row))
    }

    /// One value per row: a constant is repeated.
    pub fn full(&self, rows: usize) -> Result<ArrayRef> {
        if !self.constant || rows == 1 {
            return Ok(ArrayRef::clone(&self.array));
        }
        let indices = arrow::array::UInt32Array::from_value(0, rows);
        arrow::compute::take(&self.array, &indices, None).map_err(basalt_base::Error::logical)
    }
}
