//! KILL MUTATION: ends mutations that a condition on `system.mutations` picks.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::AsArray;
use basalt_base::{Error, Result};
use basalt_sql::ast::{Expr, Statement};

use super::catalog_view::Surroundings;
use super::{QueryContext, mutation, runtime};

/// Runs one KILL MUTATION on a thread that may block.
pub(super) fn kill_mutation(query: &Arc<QueryContext>, filter: &Expr) -> Result<()> {
    let text = format!("SELECT database, `table`, mutation_id FROM system.mutations WHERE {filter}");
    let Statement::Query(ast) = basalt_sql::parse_statement(text.as_bytes())? else {
        return Err(Error::logical("KILL MUTATION is not planned as a query"));
    };
    let surroundings = Surroundings::of(query, Default::default());
    let planned = basalt_planner::plan_query(&ast, &surroundings.context())?;
    let blocks = query.engine.runtime().block_on(runtime::collect(query, &planned.plan))?;
    let mut meant: HashSet<[Vec<u8>; 3]> = HashSet::new();
    for block in &blocks {
        for row in 0..block.num_rows() {
            meant.insert([0, 1, 2].map(|at| block.column(at).as_binary_view().value(row).to_vec()));
        }
    }
    mutation::kill(query, |definition, status| {
        let names = [&definition.database, &definition.name, &mutation::mutation_id(status.version)];
        meant.contains(&names.map(|name| name.clone().into_bytes()))
    })
}
