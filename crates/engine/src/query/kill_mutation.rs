//! KILL MUTATION: ends mutations that a condition on `system.mutations` picks.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::AsArray;
use basalt_base::{Error, Result};
use basalt_parts::MutationStatus;
use basalt_sql::ast::{Expr, Statement};

use crate::catalog::CatalogObject;
use crate::execution::Execution;
use crate::mutation::mutation_id;
use crate::names::ObjectKey;
use crate::planning::{PlanningContext, collect};
use crate::tables::{TableDefinition, parts_of};

/// Runs one KILL MUTATION on a thread that may block.
pub(super) fn kill_mutation(query: &Arc<Execution>, filter: &Expr) -> Result<()> {
    let text = format!("SELECT database, `table`, mutation_id FROM system.mutations WHERE {filter}");
    let Statement::Query(ast) = basalt_sql::parse_statement(text.as_bytes())? else {
        return Err(Error::logical("KILL MUTATION is not planned as a query"));
    };
    let planning = PlanningContext::new(query, Default::default());
    let planned = basalt_planner::plan_query(&ast, &planning.context())?;
    let blocks = query.services.runtime.block_on(collect(query, &planned.plan))?;
    let mut meant: HashSet<[Vec<u8>; 3]> = HashSet::new();
    for block in &blocks {
        for row in 0..block.num_rows() {
            meant.insert([0, 1, 2].map(|at| block.column(at).as_binary_view().value(row).to_vec()));
        }
    }
    kill(query, |definition, status| {
        let names = [&definition.database, &definition.name, &mutation_id(status.version)];
        meant.contains(&names.map(|name| name.clone().into_bytes()))
    })
}

/// Ends the mutations that are not done and that `is_meant` picks.
fn kill(query: &Arc<Execution>, is_meant: impl Fn(&TableDefinition, &MutationStatus) -> bool) -> Result<()> {
    for (database, name, object) in query.instance.catalog().all_objects() {
        let CatalogObject::Table(table) = object else { continue };
        let Some(parts) = parts_of(table.as_ref()) else { continue };
        let definition = table.definition();
        for status in parts.mutations() {
            if !status.is_done() && is_meant(&definition, &status) {
                parts.kill_mutation(status.version)?;
                let key = ObjectKey { database: database.clone(), name: name.clone() };
                query.instance.background().cancel_mutation(&key, status.version);
            }
        }
    }
    Ok(())
}
