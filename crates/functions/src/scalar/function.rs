//! The contract of a scalar function: what it declares, what binding gives, and the kernel that runs.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use basalt_base::{Result, SqlType};

use super::dictionary::AttributeOf;
use crate::FunctionContext;

/// A scalar function of the dialect.
pub trait ScalarFunction: Send + Sync {
    /// The name as ClickHouse writes it, for example `cityHash64`.
    fn name(&self) -> &'static str;

    /// Other names of the same function.
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether `LENGTH` finds `length`: only the functions that standard SQL has are so.
    fn case_insensitive(&self) -> bool {
        false
    }

    /// How many arguments a call may have; checked before [`ScalarFunction::bind`].
    fn arity(&self) -> Arity;

    /// Who deals with NULL.
    fn nulls(&self) -> Nulls {
        Nulls::Propagate
    }

    fn volatility(&self) -> Volatility {
        Volatility::Immutable
    }

    /// What becomes of `LowCardinality`.
    fn low_cardinality(&self) -> LowCardinality {
        LowCardinality::Kept
    }

    /// Checks the argument types and gives the result type and the code that computes it.
    ///
    /// Under [`Nulls::Propagate`] the types in `args` have no `Nullable` and no `LowCardinality`
    /// around them, and neither must the returned type.
    fn bind(&self, args: &[Argument], context: &FunctionContext) -> Result<Bound>;
}

/// How many arguments a call may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    Exactly(usize),
    Between(usize, usize),
    AtLeast(usize),
}

/// Who deals with NULL arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nulls {
    /// The adaptor: a row with a NULL argument gives NULL. The kernel computes such rows too, from
    /// whatever lies under the mask, and the result is thrown away: a kernel that can fail must
    /// skip the rows whose operand is null (the arrays it gets keep their masks).
    Propagate,
    /// The function: `bind` sees `Nullable` types and answers with the exact result type.
    Custom,
}

/// What becomes of a `LowCardinality` around the type of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LowCardinality {
    /// `bind` does not see it, and the result has it again: see [`low_cardinality_of`](super::low_cardinality_of).
    Kept,
    /// `bind` does not see it; the result type is what `bind` answers.
    Dropped,
    /// `bind` sees it, and answers with the exact result type.
    Seen,
}

/// How often the value may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volatility {
    /// Equal arguments, equal result: folded where the arguments are constant.
    Immutable,
    /// Equal within a query, as `now()` is.
    Stable,
    /// Equal arguments, equal result, and yet never folded, as `materialize` is.
    Late,
    /// Anew for every row, as `rand()` is.
    Volatile,
}

/// One argument of a call as `bind` sees it.
#[derive(Clone, Debug)]
pub struct Argument {
    pub ty: SqlType,
    /// The value, as an array of one row, where the argument is a constant.
    pub constant: Option<ArrayRef>,
}

/// What [`ScalarFunction::bind`] answers.
pub struct Bound {
    pub return_type: SqlType,
    pub kernel: Box<dyn Kernel>,
}

impl Bound {
    pub fn new(return_type: SqlType, kernel: impl Kernel + 'static) -> Bound {
        Bound { return_type, kernel: Box::new(kernel) }
    }

    /// As [`Bound::new`], for code that returns one kind of array.
    pub fn of<A: Array + 'static>(
        return_type: SqlType,
        kernel: impl Fn(&[Operand], usize) -> Result<Arc<A>> + Send + Sync + 'static,
    ) -> Bound {
        Bound::new(return_type, move |args: &[Operand], rows: usize| Ok(kernel(args, rows)? as ArrayRef))
    }
}

/// The code of one bound call. Every `Fn(&[Operand], rows) -> Result<ArrayRef>` is one.
pub trait Kernel: Send + Sync {
    /// One result for each of `rows` rows, of the carrier of the bound return type. An array of one
    /// row is also right if every operand is constant.
    fn evaluate(&self, operands: &[Operand], rows: usize) -> Result<ArrayRef>;

    /// Whether it costs much less a row in blocks of a million rows.
    fn prefers_large_blocks(&self) -> bool {
        false
    }

    /// What the call looks up, if it is an attribute's value by key: `dictGet` and its kin.
    fn attribute(&self) -> Option<AttributeOf<'_>> {
        None
    }
}

impl<F: Fn(&[Operand], usize) -> Result<ArrayRef> + Send + Sync> Kernel for F {
    fn evaluate(&self, operands: &[Operand], rows: usize) -> Result<ArrayRef> {
        self(operands, rows)
    }
}

/// One argument of a call as a kernel sees it.
#[derive(Clone, Debug)]
pub struct Operand {
    /// One value a row, or a single one if [`Operand::constant`].
    pub array: ArrayRef,
    pub constant: bool,
}

impl Operand {
    /// The position in [`Operand::array`] that holds the value of `row`.
    pub fn index(&self, row: usize) -> usize {
        if self.constant { 0 } else { row }
    }

    pub fn is_null(&self, row: usize) -> bool {
        self.array.is_null(self.index(row))
    }

    /// One value a row: a constant is repeated.
    pub fn full(&self, rows: usize) -> Result<ArrayRef> {
        if !self.constant || rows == 1 {
            return Ok(ArrayRef::clone(&self.array));
        }
        let indices = arrow::array::UInt32Array::from_value(0, rows);
        arrow::compute::take(&self.array, &indices, None).map_err(basalt_base::Error::logical)
    }
}
