//! The catalog as the planner of one query sees it, and the runner of its subqueries.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use basalt_base::{Result, bail};
use basalt_functions::FunctionContext;
use basalt_planner::{
    Catalog, PlanSettings, PlannerContext, PostgresPlanning, ResolvedTable, RowFilter, SubqueryRunner,
    TableColumn, TableOptions,
};
use basalt_sql::ast::{self, DefaultKind};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::LogicalPlan;

use super::runtime::collect;
use super::sample::Sample;
use crate::catalog::CatalogObject;
use crate::execution::Execution;
use crate::names::{INFORMATION_SCHEMA, PG_CATALOG, SYSTEM};
use crate::provider::TableScanProvider;
use crate::tables::Table;
use crate::{information_schema, system, table_functions};

/// Everything that a statement is planned against, while it is planned.
pub(crate) struct PlanningContext {
    query: Arc<Execution>,
    functions: FunctionContext,
    settings: PlanSettings,
    parameters: HashMap<String, String>,
    postgres: Option<PostgresPlanning>,
}

impl PlanningContext {
    pub(crate) fn new(query: &Arc<Execution>, parameters: HashMap<String, String>) -> PlanningContext {
        let settings = PlanSettings {
            join_use_nulls: query.settings.join_use_nulls,
            union_default_mode: query.settings.union_default_mode.clone(),
            joined_subquery_requires_alias: query.settings.joined_subquery_requires_alias,
            empty_result_for_aggregation_by_constant_keys_on_empty_set: query
                .settings
                .empty_result_for_aggregation_by_constant_keys_on_empty_set,
            optimize_injective_functions_in_group_by: query.settings.optimize_injective_functions_in_group_by,
            prefer_column_name_to_alias: query.settings.prefer_column_name_to_alias,
            aggregate_functions_null_for_empty: query.settings.aggregate_functions_null_for_empty,
            max_rows_in_set: query.settings.max_rows_in_set,
            max_subquery_depth: query.settings.max_subquery_depth.min(1000) as usize,
        };
        let mut functions = query.function_context();
        functions.relations = Arc::new(system::postgres::QueryRelations::new(query));
        PlanningContext {
            query: Arc::clone(query),
            functions,
            settings,
            parameters,
            postgres: query.postgres.as_ref().map(|_| PostgresPlanning::default()),
        }
    }

    pub(crate) fn context(&self) -> PlannerContext<'_> {
        PlannerContext {
            catalog: self,
            runner: self,
            functions: &self.functions,
            settings: &self.settings,
            parameters: &self.parameters,
            postgres: self.postgres.as_ref(),
        }
    }

    /// [`PlanningContext::context`], which finds the types of parameters for `postgres`.
    pub(crate) fn postgres_context<'a>(&'a self, postgres: &'a PostgresPlanning) -> PlannerContext<'a> {
        PlannerContext { postgres: Some(postgres), ..self.context() }
    }

    fn resolve(&self, table: Arc<dyn Table>) -> ResolvedTable {
        self.resolve_sampled(table, Sample::default())
    }

    fn resolve_sampled(&self, table: Arc<dyn Table>, sample: Sample) -> ResolvedTable {
        let definition = table.definition();
        let columns =
            definition.columns.iter().filter(|column| column.kind() != Some(DefaultKind::Ephemeral));
        let has_prewhere = table.as_parts().is_some();
        let provider = TableScanProvider::new(Arc::clone(&table), Arc::clone(&self.query.context));
        let columns = columns
            .map(|column| TableColumn {
                column: basalt_base::Column::new(&column.name, column.ty.clone()),
                in_asterisk: column.is_ordinary(),
                value: match &column.default {
                    Some(default) if default.kind == DefaultKind::Alias => default.expr.clone(),
                    _ => None,
                },
            })
            .chain(provider.virtual_columns().iter().map(|column| TableColumn {
                column: column.clone(),
                in_asterisk: false,
                value: None,
            }))
            .collect();
        let provider = provider.sampled(sample.factor);
        let row_filter = self.query.row_filter(&definition.database, &definition.name);
        let comes_first = table.filters_rows();
        ResolvedTable::Source {
            columns,
            source: provider_as_source(Arc::new(provider)),
            filter: sample.filter.map(Box::new),
            row_filter: row_filter.map(|filter| RowFilter { condition: Box::new(filter), comes_first }),
            has_prewhere,
        }
    }
}

impl Catalog for PlanningContext {
    fn table(&self, name: &ast::ObjectName, options: &TableOptions) -> Result<ResolvedTable> {
        let key = self.query.key_of(name);
        let is_postgres = self.query.postgres.is_some();
        if key.database == PG_CATALOG
            || is_postgres && name.database.is_none() && system::postgres::has_table(&name.name)
        {
            return Ok(self.resolve(system::postgres::table(&name.name, &self.query)?));
        }
        if key.database == SYSTEM {
            return Ok(self.resolve(system::table(&name.name, &self.query)?));
        }
        if INFORMATION_SCHEMA.contains(&key.database.as_str()) {
            if is_postgres && let Some(view) = system::postgres::information_view(&name.name, &self.query)? {
                return Ok(self.resolve(view));
            }
            let (query, columns) = information_schema::view(&name.name)?;
            return Ok(ResolvedTable::View { query, columns });
        }
        self.query.check_known(&key)?;
        match self.query.instance.catalog().get(&key.database, &key.name)? {
            CatalogObject::Table(table) => {
                let table = Arc::clone(&table).as_of_now().unwrap_or(table);
                let sampled = match &options.sample {
                    Some((ratio, offset)) => Sample::of(table.as_ref(), ratio, offset.as_ref())?,
                    None => Sample::default(),
                };
                let is_asked = options.is_final || self.query.settings.r#final;
                let table = match Arc::clone(&table).as_final().filter(|_| is_asked) {
                    Some(table) => table,
                    None if options.is_final => {
                        bail!(IllegalFinal, "storage {} doesn't support FINAL", table.engine())
                    }
                    None => table,
                };
                Ok(self.resolve_sampled(table, sampled))
            }
            other if options.sample.is_some() => {
                bail!(SamplingNotSupported, "SAMPLE of the {} `{name}`", other.kind())
            }
            CatalogObject::View(view) => {
                let (query, columns) = (view.create.query.clone(), view.columns.clone());
                Ok(ResolvedTable::View { query, columns })
            }
            CatalogObject::Dictionary(_) if options.is_final => {
                bail!(IllegalFinal, "the dictionary `{name}` doesn't support FINAL")
            }
            CatalogObject::Dictionary(entry) => {
                let table = table_functions::dictionary_table(&entry, &self.query)?;
                Ok(self.resolve(table))
            }
            CatalogObject::Broken(broken) => Err(broken.error.clone()),
        }
    }

    fn table_function(&self, call: &ast::FunctionCall, planner: &PlannerContext) -> Result<ResolvedTable> {
        let table = table_functions::table(call, planner, &self.query)?;
        Ok(self.resolve(table))
    }
}

impl SubqueryRunner for PlanningContext {
    fn run(&self, plan: LogicalPlan) -> Result<Vec<RecordBatch>> {
        self.query.services.runtime.block_on(collect(&self.query, &plan))
    }
}
