//! GROUP BY over numbers of strings: a rule that lets a table return codes, and decodes them after grouping.
//!
//! A part keeps the strings of a column as codes of a dictionary, so the number of a string is known without reading
//! its bytes. Grouping by numbers costs a fraction of grouping by strings, in both stages of an aggregation, and a
//! function of one string column is computed once per distinct string.
//!
//! ```text
//! AggregateExec: Final, gby=[URL]            DecodeStrings: URL
//!   AggregateExec: Partial, gby=[URL]          AggregateExec: Final, gby=[URL]       of UInt32
//!     ReadFromTable: URL                         AggregateExec: Partial, gby=[URL]   of UInt32
//!                                                  ReadFromTable: codes of URL
//! ```
//! Functions that only tell strings apart (`uniqExact`) count numbers as well.
//! [`decode`] has the operator that turns numbers into strings again, [`late`] moves it up.

mod decode;
mod late;

pub(crate) use late::LateStrings;

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema, SchemaRef};
use basalt_exec::one_input::OneInputExec;
use basalt_functions::aggregate::BoundAggregate;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::logical_expr::AggregateUDF;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::{AggregateExprBuilder, AggregateFunctionExpr};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};

use super::exec::{SourceExec, external};
use crate::scan::{CodedSource, CodedString, StringPlace};
use decode::DecodeOperator;

/// The rule.
#[derive(Debug)]
pub(crate) struct CodedGroups;

impl PhysicalOptimizerRule for CodedGroups {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| match coded(&node)? {
            Some(rewritten) => Ok(Transformed::yes(rewritten)),
            None => Ok(Transformed::no(node)),
        })
        .data()
    }

    fn name(&self) -> &str {
        "CodedGroups"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// `node` over codes, if it is the second stage of an aggregation whose first is right above a table that
/// has codes of strings that it groups by.
fn coded(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(last) = node.downcast_ref::<AggregateExec>() else { return Ok(None) };
    let Some(first) = last.input().downcast_ref::<AggregateExec>() else { return Ok(None) };
    let Some(table) = first.input().downcast_ref::<SourceExec>() else { return Ok(None) };
    let is_last = matches!(last.mode(), AggregateMode::Final | AggregateMode::FinalPartitioned);
    let is_plain = first.group_expr().is_single() && last.limit_options().is_none();
    if !is_last || *first.mode() != AggregateMode::Partial || !is_plain {
        return Ok(None);
    }
    let strings = strings_of(first, table);
    if strings.is_empty() {
        return Ok(None);
    }
    let Some(coded) = table.source().coded(&strings).map_err(external)? else { return Ok(None) };
    let rewritten = over_codes(first, last, table, &strings, &coded)?;
    let groups =
        strings.iter().zip(&coded.strings).filter_map(|(string, (_, numbering))| match string.place {
            StringPlace::Group(at) => Some((at, Arc::clone(numbering))),
            StringPlace::Function(_) => None,
        });
    let groups: Vec<_> = groups.collect();
    if groups.is_empty() {
        return Ok(Some(rewritten));
    }
    Ok(Some(Arc::new(OneInputExec(DecodeOperator::new(rewritten, last.schema(), groups)))))
}

/// The groups that are strings of one column, and the arguments that only have to be distinguished.
fn strings_of(first: &AggregateExec, table: &SourceExec) -> Vec<CodedString> {
    let schema = table.schema();
    let groups = first.group_expr().expr().iter().enumerate();
    let groups = groups.filter_map(|(at, (expr, _))| string_of(StringPlace::Group(at), expr, &schema));
    let functions = first.aggr_expr().iter().enumerate().filter_map(|(at, function)| {
        let [argument] = &function.expressions()[..] else { return None };
        over_numbers(function)?;
        string_of(StringPlace::Function(at), argument, &schema)
    });
    let mut strings: Vec<CodedString> = groups.chain(functions).collect();
    let others = other_exprs(&strings, first);
    for string in &mut strings {
        string.keeps_column =
            others.iter().any(|expr| collect_columns(expr).iter().any(|used| used.index() == string.column));
    }
    strings
}

fn string_of(place: StringPlace, expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<CodedString> {
    let columns = collect_columns(expr);
    let column = columns.iter().next().filter(|_| columns.len() == 1)?.index();
    let field = schema.field(column);
    let gives_string = expr.data_type(schema).is_ok_and(|ty| ty == DataType::BinaryView);
    let is_column = expr.downcast_ref::<Column>().is_some();
    // A function may return a value for NULL.
    let fits = is_column || (!field.is_nullable() && !is_volatile(expr));
    let value = (!is_column).then(|| Arc::clone(expr));
    let is_string = *field.data_type() == DataType::BinaryView && gives_string;
    (is_string && fits).then_some(CodedString { place, column, value, keeps_column: false })
}

/// The function of numbers that answers as `function` does of strings.
fn over_numbers(function: &AggregateFunctionExpr) -> Option<Arc<AggregateUDF>> {
    let is_plain = function.order_bys().is_empty() && !function.is_distinct();
    let bound = function.fun().inner().downcast_ref::<BoundAggregate>()?;
    bound.over_numbers().filter(|_| is_plain)
}

/// The expressions of the aggregation other than `strings`.
fn other_exprs(strings: &[CodedString], first: &AggregateExec) -> Vec<Arc<dyn PhysicalExpr>> {
    let is_beside = |place: StringPlace| strings.iter().all(|string| string.place != place);
    let groups = first.group_expr().expr().iter().enumerate();
    let groups =
        groups.filter(|(at, _)| is_beside(StringPlace::Group(*at))).map(|(_, (expr, _))| Arc::clone(expr));
    let functions =
        first.aggr_expr().iter().enumerate().filter(|(at, _)| is_beside(StringPlace::Function(*at)));
    let arguments = functions.flat_map(|(_, function)| {
        let exprs = function.all_expressions();
        exprs.args.into_iter().chain(exprs.order_by_exprs)
    });
    groups.chain(arguments).chain(first.filter_expr().iter().flatten().cloned()).collect()
}

/// Both stages of the aggregation, over numbers.
fn over_codes(
    first: &AggregateExec,
    last: &AggregateExec,
    table: &SourceExec,
    strings: &[CodedString],
    coded: &CodedSource,
) -> Result<Arc<dyn ExecutionPlan>> {
    let schema = coded.schema(&table.schema());
    let source = Arc::new(table.with_source(Arc::clone(&coded.source), Arc::clone(&schema)));
    let (mut groups, mut functions) = (first.group_expr().expr().to_vec(), first.aggr_expr().to_vec());
    for (string, (column, _)) in strings.iter().zip(&coded.strings) {
        let number: Arc<dyn PhysicalExpr> = Arc::new(Column::new(schema.field(*column).name(), *column));
        match string.place {
            StringPlace::Group(at) => groups[at].0 = number,
            StringPlace::Function(at) => functions[at] = of_number(&functions[at], number, &schema)?,
        }
    }
    let stage = |mode: AggregateMode, groups: PhysicalGroupBy, input: Arc<dyn ExecutionPlan>| {
        let (functions, filters) = (functions.clone(), first.filter_expr().to_vec());
        AggregateExec::try_new(mode, groups, functions, filters, input, Arc::clone(&schema)).map(Arc::new)
    };
    let groups = PhysicalGroupBy::new_single(groups);
    let last_groups = groups.as_final();
    let first = stage(AggregateMode::Partial, groups, source)?;
    Ok(stage(*last.mode(), last_groups, first)?)
}

fn of_number(
    function: &Arc<AggregateFunctionExpr>,
    number: Arc<dyn PhysicalExpr>,
    schema: &SchemaRef,
) -> Result<Arc<AggregateFunctionExpr>> {
    let Some(over) = over_numbers(function) else { return Ok(Arc::clone(function)) };
    let mut builder = AggregateExprBuilder::new(over, vec![number])
        .schema(Arc::clone(schema))
        .alias(function.name())
        .human_display(function.human_display().unwrap_or(function.name()));
    if let Some(alias) = function.human_display_alias() {
        builder = builder.human_display_alias(alias);
    }
    builder.build().map(Arc::new)
}
