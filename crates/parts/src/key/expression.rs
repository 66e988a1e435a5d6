//! An expression over the columns of a row, as a key or a DEFAULT has it.

use std::fmt;

use arrow::array::ArrayRef;
use basalt_base::SqlType;

/// A deterministic expression over the columns of a row. The engine implements it, because this crate knows no
/// expressions.
pub trait KeyExpression: Send + Sync + fmt::Debug {
    /// The expression as SQL text, which identifies it.
    fn text(&self) -> &str;

    /// The type of the value.
    fn ty(&self) -> &SqlType;

    /// The names of the columns that it reads, without duplicates.
    fn columns(&self) -> &[String];

    /// How the value changes as its only column grows; `None` if unknown.
    fn monotonic(&self) -> Option<Monotonic>;

    /// The values of `rows` rows, given [`KeyExpression::columns`] in that order.
    fn evaluate(&self, columns: &[ArrayRef], rows: usize) -> basalt_base::Result<ArrayRef>;
}

/// How a value changes as its argument grows; neighbours may have equal values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Monotonic {
    Increasing,
    Decreasing,
}
