//! The parameters `$n` of a statement.

use crate::ast::{Statement, TypeName};

/// A parameter `$n` of a statement: its declared type and its value, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PostgresParameter {
    /// `None`: the place where it stands decides.
    pub ty: Option<TypeName>,
    pub value: ParameterValue,
}

/// The value of a parameter.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ParameterValue {
    /// Not given yet: the statement is described, not run.
    #[default]
    Unbound,
    Null,
    /// As this crate's literals write it.
    Text(Vec<u8>),
}

/// A parsed statement, and what its text says of its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct PostgresStatement {
    pub statement: Statement,
    /// The greatest `n` of all `$n`.
    pub parameter_count: usize,
    /// Types that casts and LIMIT give to parameters without a declared one: the number from 1, the type.
    pub cast_types: Vec<(usize, TypeName)>,
    /// Parameters that are whole values of an INSERT: the number from 1, the position of the column.
    pub inserted: Vec<(usize, usize)>,
}
