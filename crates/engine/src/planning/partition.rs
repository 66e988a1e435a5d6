//! Resolves the PARTITION or PART of a statement to parts.

use std::collections::HashMap;
use std::sync::Arc;

use basalt_base::{Error, Result, SqlType, bail};
use basalt_parts::{PartSelection, PartitionValue, TableParts};
use basalt_planner::plan_constant;
use basalt_sql::ast::{Expr, PartitionRef};
use basalt_sql::parse_type;

use super::planning_context::PlanningContext;
use crate::execution::Execution;

/// The parts that `what` selects.
pub(crate) fn selection(
    query: &Arc<Execution>,
    parts: &TableParts,
    what: &PartitionRef,
) -> Result<PartSelection> {
    Ok(match what {
        PartitionRef::All => PartSelection::All,
        PartitionRef::Id(id) => {
            let is_known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            if id.is_empty() || !id.bytes().all(is_known) {
                bail!(InvalidPartitionValue, "`{id}` cannot be the identifier of a partition");
            }
            PartSelection::Partition(id.clone())
        }
        PartitionRef::Part(name) => PartSelection::Part(name.clone()),
        PartitionRef::Value(value) => {
            let value = partition_value(query, &parts.spec().partition_types(), value)?;
            PartSelection::Partition(value.id()?)
        }
    })
}

/// The value of a partition key as a statement writes it: a constant, or a tuple of them.
fn partition_value(query: &Arc<Execution>, types: &[SqlType], value: &Expr) -> Result<PartitionValue> {
    let values = match value {
        Expr::Tuple(values) => values.clone(),
        Expr::Function(call) if call.name == "tuple" => call.args.clone(),
        value => vec![value.clone()],
    };
    if values.len() != types.len() {
        bail!(
            InvalidPartitionValue,
            "the partition `{value}` has {} values, the partition key has {}",
            values.len(),
            types.len()
        );
    }
    let planning = PlanningContext::new(query, HashMap::new());
    let mut elements = Vec::with_capacity(types.len());
    for (ty, value) in types.iter().zip(values) {
        // The type is the table's, even if the settings of this query refuse such types.
        let name = parse_type(ty.full().to_string().as_bytes()).map_err(Error::logical)?;
        let cast = Expr::Cast { operand: Box::new(value), ty: name };
        elements.push((ty.clone(), plan_constant(&cast, &planning.context())?.0));
    }
    Ok(PartitionValue { elements })
}
