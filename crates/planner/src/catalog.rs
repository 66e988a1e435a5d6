//! What the planner asks of its surroundings: tables by name, and the answer of a subquery.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use basalt_base::{Column, Result, bail};
use basalt_functions::FunctionContext;
use basalt_sql::ast;
use datafusion::logical_expr::{LogicalPlan, TableSource};

/// Tables, views and table functions by name.
pub trait Catalog: Send + Sync {
    /// The table or view called `name`; without a database, that of the session.
    fn table(&self, name: &ast::ObjectName, options: &TableOptions) -> Result<ResolvedTable>;

    /// A table function, `numbers(10)`. Arguments are handed over as written: some are constants,
    /// some are names.
    fn table_function(&self, call: &ast::FunctionCall, planner: &PlannerContext) -> Result<ResolvedTable>;
}

/// What a FROM clause says about a table besides its name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableOptions {
    pub is_final: bool,
    /// `SAMPLE ratio [OFFSET ratio]`.
    pub sample: Option<(ast::Expr, Option<ast::Expr>)>,
}

/// What a name in FROM stands for.
pub enum ResolvedTable {
    /// Rows to scan, those for which `filter` holds. The source's Arrow schema is that of `columns` with a
    /// `value` of `None`, in order.
    Source {
        columns: Vec<TableColumn>,
        source: Arc<dyn TableSource>,
        filter: Option<Box<ast::Expr>>,
        /// Whether PREWHERE means something: columns are read one after another.
        has_prewhere: bool,
    },
    /// A stored query, planned in place of the name.
    View { query: Box<ast::Query>, columns: Vec<Column> },
}

/// One column of a table as a query may name it.
#[derive(Clone, Debug)]
pub struct TableColumn {
    pub column: Column,
    /// Whether `*` includes it: MATERIALIZED, ALIAS and virtual columns are not in it.
    pub in_asterisk: bool,
    /// The expression of an ALIAS column: computed wherever the name is used.
    pub value: Option<ast::Expr>,
}

/// Runs the plan of a scalar subquery or of the right side of IN while the outer query is planned.
pub trait SubqueryRunner: Send + Sync {
    /// All rows of `plan`. Blocking; called from a thread that may block.
    fn run(&self, plan: LogicalPlan) -> Result<Vec<RecordBatch>>;
}

/// The settings that change what a query means.
#[derive(Clone, Debug, Default)]
pub struct PlanSettings {
    /// NULL instead of default values for the rows that an outer join did not match.
    pub join_use_nulls: bool,
    /// `ALL`, `DISTINCT`, or empty: what `UNION` alone means.
    pub union_default_mode: String,
    /// Subqueries and table functions are joined only with an alias.
    pub joined_subquery_requires_alias: bool,
    /// GROUP BY constants alone of no rows is no group, where it may also be one.
    pub empty_result_for_aggregation_by_constant_keys_on_empty_set: bool,
    /// GROUP BY the key of a dictionary where it says the value of an INJECTIVE attribute.
    pub optimize_injective_functions_in_group_by: bool,
    /// Rows that the right side of IN may have; 0 is no limit.
    pub max_rows_in_set: u64,
    /// Nested queries, joins and expressions at most.
    pub max_subquery_depth: usize,
}

impl PlanSettings {
    /// Takes in what a SETTINGS clause says, if it is about what a query means.
    pub(crate) fn set(&mut self, setting: &ast::Setting) -> Result<()> {
        let flag = match setting.name.as_str() {
            "join_use_nulls" => &mut self.join_use_nulls,
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

/// Everything that a query is planned against.
pub struct PlannerContext<'a> {
    pub catalog: &'a dyn Catalog,
    pub runner: &'a dyn SubqueryRunner,
    pub functions: &'a FunctionContext,
    pub settings: &'a PlanSettings,
    /// Values of `{name:Type}`, as text.
    pub parameters: &'a HashMap<String, String>,
}
