//! The interfaces that the planner needs: tables by name, and the rows of a subquery.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use arrow::record_batch::RecordBatch;
use basalt_base::{Column, Result, SqlType, bail};
use basalt_functions::FunctionContext;
use basalt_sql::ast;
use datafusion::logical_expr::{LogicalPlan, TableSource};

/// Tables, views and table functions by name.
pub trait Catalog: Send + Sync {
    /// The table or view called `name`, in the session's database if the name has none.
    fn table(&self, name: &ast::ObjectName, options: &TableOptions) -> Result<ResolvedTable>;

    /// A table function such as `numbers(10)`. The arguments are passed as written: some are constants, others are
    /// names.
    fn table_function(&self, call: &ast::FunctionCall, planner: &PlannerContext) -> Result<ResolvedTable>;
}

/// The options of a table in FROM.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableOptions {
    pub is_final: bool,
    /// `SAMPLE ratio [OFFSET ratio]`.
    pub sample: Option<(ast::Expr, Option<ast::Expr>)>,
}

/// A resolved name in FROM.
pub enum ResolvedTable {
    /// Rows to scan, restricted to those that satisfy `row_filter` and `filter`. The Arrow schema of the source has, in order, the
    /// `columns` whose `value` is `None`.
    Source {
        columns: Vec<TableColumn>,
        source: Arc<dyn TableSource>,
        filter: Option<Box<ast::Expr>>,
        /// No other condition sees rows that do not satisfy it.
        row_filter: Option<RowFilter>,
        /// Whether PREWHERE is supported: the table reads columns one after another.
        has_prewhere: bool,
    },
    /// A stored query, planned in place of the name.
    View { query: Box<ast::Query>, columns: Vec<Column> },
}

/// The condition of row policies.
#[derive(Clone, Debug)]
pub struct RowFilter {
    pub condition: Box<ast::Expr>,
    /// Whether the source evaluates it before the other conditions of a query.
    pub comes_first: bool,
}

/// One column of a table that a query may name.
#[derive(Clone, Debug)]
pub struct TableColumn {
    pub column: Column,
    /// Whether `*` includes it: MATERIALIZED, ALIAS and virtual columns are not in it.
    pub in_asterisk: bool,
    /// The expression of an ALIAS column, computed wherever the name is used.
    pub value: Option<ast::Expr>,
}

/// Runs the plan of a scalar subquery or of the right side of IN while the outer query is planned.
pub trait SubqueryRunner: Send + Sync {
    /// All rows of `plan`. Blocks; called from a thread that may block.
    fn run(&self, plan: LogicalPlan) -> Result<Vec<RecordBatch>>;
}

/// The settings that change the meaning of a query.
#[derive(Clone, Debug, Default)]
pub struct PlanSettings {
    /// NULL instead of default values for the rows that an outer join did not match.
    pub join_use_nulls: bool,
    /// The meaning of `UNION` alone: `ALL`, `DISTINCT`, or empty.
    pub union_default_mode: String,
    /// A subquery or table function in a JOIN needs an alias.
    pub joined_subquery_requires_alias: bool,
    /// GROUP BY constants alone over no rows gives no group instead of one.
    pub empty_result_for_aggregation_by_constant_keys_on_empty_set: bool,
    /// GROUP BY the value of an INJECTIVE attribute becomes GROUP BY the key of its dictionary.
    pub optimize_injective_functions_in_group_by: bool,
    /// A name that is a column and an alias means the column.
    pub prefer_column_name_to_alias: bool,
    /// Aggregate functions of no rows give NULL, as with the suffix OrNull.
    pub aggregate_functions_null_for_empty: bool,
    /// The maximum number of rows of the right side of IN; 0 is no limit.
    pub max_rows_in_set: u64,
    /// The maximum depth of nested queries, joins and expressions.
    pub max_subquery_depth: usize,
}

impl PlanSettings {
    /// Applies a SETTINGS entry if it changes the meaning of a query.
    pub(crate) fn set(&mut self, setting: &ast::Setting) -> Result<()> {
        let flag = match setting.name.as_str() {
            "join_use_nulls" => &mut self.join_use_nulls,
            "prefer_column_name_to_alias" => &mut self.prefer_column_name_to_alias,
            "aggregate_functions_null_for_empty" => &mut self.aggregate_functions_null_for_empty,
            "joined_subquery_requires_alias" => &mut self.joined_subquery_requires_alias,
            "empty_result_for_aggregation_by_constant_keys_on_empty_set" => {
                &mut self.empty_result_for_aggregation_by_constant_keys_on_empty_set
            }
            "union_default_mode" => {
                if let ast::Literal::String(mode) = &setting.value {
                    self.union_default_mode = String::from_utf8_lossy(mode).into_owned();
                }
                return Ok(());
            }
            _ => return Ok(()),
        };
        *flag = match &setting.value {
            ast::Literal::Bool(value) => *value,
            ast::Literal::UInt(value @ (0 | 1)) => *value == 1,
            other => bail!(BadArguments, "the setting `{}` is 0 or 1, not {other:?}", setting.name),
        };
        Ok(())
    }
}

/// The context of planning: catalog, functions, settings.
pub struct PlannerContext<'a> {
    pub catalog: &'a dyn Catalog,
    pub runner: &'a dyn SubqueryRunner,
    pub functions: &'a FunctionContext,
    pub settings: &'a PlanSettings,
    /// Values of `{name:Type}`, as text.
    pub parameters: &'a HashMap<String, String>,
    /// The query is of a client of the Postgres interface: see [`PostgresPlanning`].
    pub postgres: Option<&'a PostgresPlanning>,
}

/// Planning by Postgres' rules for names: a column wins over an alias except in ORDER BY, and result columns may share
/// a name. The types of parameters `$n` without a type are found on the way.
#[derive(Debug, Default)]
pub struct PostgresPlanning {
    parameter_types: Mutex<BTreeMap<usize, SqlType>>,
}

impl PostgresPlanning {
    /// The types of the parameters whose places tell one, by number.
    pub fn parameter_types(&self) -> BTreeMap<usize, SqlType> {
        self.parameter_types.lock().map(|types| types.clone()).unwrap_or_default()
    }

    pub(crate) fn infer(&self, parameter: usize, ty: &SqlType) {
        if let Ok(mut types) = self.parameter_types.lock()
            && *ty != SqlType::Nothing
        {
            types.entry(parameter).or_insert_with(|| ty.clone());
        }
    }
}
