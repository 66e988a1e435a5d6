//! Whether the user of a query may read what its plan reads.
//!
//! The plan as the planner made it, before any optimizer: one may answer `count()` without a scan.

use basalt_access::PrivilegeSet;
use basalt_base::{Error, Result};
use basalt_functions::prewhere::Prewhere;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result as PlanResult};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{LogicalPlan, TableScan};
use datafusion::optimizer::optimize_projections::OptimizeProjections;
use datafusion::optimizer::{OptimizerContext, OptimizerRule};

use crate::access_control::is_public;
use crate::context::QueryContext;
use crate::names::{SYSTEM, TEMPORARY};
use crate::provider::TableScanProvider;
use crate::tables::Table;

/// ACCESS_DENIED unless the user may read all columns that the plan needs.
pub(crate) fn check_reads(query: &QueryContext, plan: &LogicalPlan) -> Result<()> {
    if query.access.is_unlimited() {
        return Ok(());
    }
    let without = plan.clone().transform_up_with_subqueries(without_policy).data();
    let rule = OptimizeProjections::new();
    let needed = without.and_then(|plan| rule.rewrite(plan, &OptimizerContext::new()).data());
    let needed = needed.map_err(Error::logical)?;
    let mut denied = None;
    let visit = |node: &LogicalPlan| {
        if let LogicalPlan::TableScan(scan) = node
            && let Err(error) = check_scan(query, scan)?
        {
            denied = Some(error);
            return Ok(TreeNodeRecursion::Stop);
        }
        Ok(TreeNodeRecursion::Continue)
    };
    needed.apply_with_subqueries(visit).map_err(Error::logical)?;
    denied.map_or(Ok(()), Err)
}

/// The columns of a row policy need no privileges.
fn without_policy(plan: LogicalPlan) -> PlanResult<Transformed<LogicalPlan>> {
    match plan {
        LogicalPlan::Filter(filter)
            if split_conjunction(&filter.predicate).into_iter().all(Prewhere::is_of_policy) =>
        {
            Ok(Transformed::yes(filter.input.as_ref().clone()))
        }
        other => Ok(Transformed::no(other)),
    }
}

fn check_scan(query: &QueryContext, scan: &TableScan) -> PlanResult<Result<()>> {
    let provider = source_as_provider(&scan.source)?;
    let Some(provider) = provider.downcast_ref::<TableScanProvider>() else {
        return Err(DataFusionError::Internal("a scan of an unknown table".to_owned()));
    };
    let stored = provider.stored_columns();
    let columns: Vec<&str> = match &scan.projection {
        Some(positions) => positions.iter().filter_map(|&at| Some(stored.get(at)?.name.as_str())).collect(),
        None => stored.iter().map(|column| column.name.as_str()).collect(),
    };
    Ok(check_table(query, provider.table().as_ref(), &columns))
}

fn check_table(query: &QueryContext, table: &dyn Table, columns: &[&str]) -> Result<()> {
    let definition = table.definition();
    let path = basalt_access::Path::of(&[&definition.database, &definition.name]);
    let (access, select) = (&query.access, PrivilegeSet::of("SELECT"));
    let is_dictionary = table.engine() == "Dictionary" && definition.uuid.is_nil();
    match definition.database.as_str() {
        TEMPORARY => Ok(()),
        SYSTEM if is_public(&definition.name) => Ok(()),
        _ if is_dictionary && access.has(PrivilegeSet::of("dictGet"), &path) => Ok(()),
        // A table function.
        database if database != SYSTEM && !is_dictionary && definition.uuid.is_nil() => Ok(()),
        _ => access.check_columns(select, &path, columns),
    }
}
