//! What a text of the Postgres dialect says of its parameters while it is parsed.

use crate::ast::{OrderBy, Statement, TypeName};
use crate::postgres::{PostgresParameter, PostgresStatement};

/// What is known of the parameters, and what the text says of them.
#[derive(Debug)]
pub(in crate::parser) struct PostgresState<'a> {
    pub(super) parameters: &'a [PostgresParameter],
    pub(super) parameter_count: usize,
    pub(super) cast_types: Vec<(usize, TypeName)>,
    pub(super) inserted: Vec<(usize, usize)>,
    /// The ORDER BY among the arguments of the call that is being read.
    pub(super) order: Vec<OrderBy>,
}

impl<'a> PostgresState<'a> {
    pub(in crate::parser) fn new(parameters: &'a [PostgresParameter]) -> PostgresState<'a> {
        PostgresState {
            parameters,
            parameter_count: 0,
            cast_types: Vec::new(),
            inserted: Vec::new(),
            order: Vec::new(),
        }
    }

    pub(super) fn into_statement(self, statement: Statement) -> PostgresStatement {
        let PostgresState { parameter_count, cast_types, inserted, .. } = self;
        PostgresStatement { statement, parameter_count, cast_types, inserted }
    }
}
