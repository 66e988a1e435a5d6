//! A table as DataFusion sees it: a schema, and a scan with filters.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use basalt_base::Columns;
use basalt_base::zone::Zone;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DFSchema, DataFusionError, Result};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};
use datafusion::physical_plan::ExecutionPlan;

use super::exec::SourceExec;
use super::predicate::predicate;
use super::{Operands, ScanRequest, conditions};
use crate::query::QueryContext;
use crate::tables::Table;

/// One table in one query.
pub(crate) struct TableScanProvider {
    table: Arc<dyn Table>,
    columns: Columns,
    schema: SchemaRef,
    query: Arc<QueryContext>,
}

impl TableScanProvider {
    pub(crate) fn new(table: Arc<dyn Table>, query: Arc<QueryContext>) -> TableScanProvider {
        let columns = table.definition().stored();
        let schema = columns.to_arrow();
        TableScanProvider { table, columns, schema, query }
    }

    /// The filters in the form in which they run. Their types are final: nothing is coerced.
    fn physical(&self, filters: &[Expr], state: &dyn Session) -> Result<Vec<Arc<dyn PhysicalExpr>>> {
        let schema = DFSchema::try_from(Arc::clone(&self.schema))?;
        let context = PhysicalPlanningContext::default();
        filters
            .iter()
            .map(|filter| create_physical_expr(filter, &schema, state.execution_props(), &context))
            .collect()
    }
}

impl fmt::Debug for TableScanProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TableScanProvider({})", self.table.definition().full_name())
    }
}

#[async_trait]
impl TableProvider for TableScanProvider {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// Every filter is offered to the table. What the table does not filter itself is checked again
    /// above it. Volatile filters do not come here.
    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let support = match self.table.filters_rows() {
            true => TableProviderFilterPushDown::Exact,
            false => TableProviderFilterPushDown::Inexact,
        };
        Ok(vec![support; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let columns = projection.cloned().unwrap_or_else(|| (0..self.columns.len()).collect());
        let schema = Arc::new(self.schema.project(&columns)?);
        let filters_rows = self.table.filters_rows();
        // Expressions of a table are about the machine's time zone.
        let expressions = if self.query.zone.name() == Zone::system().name() {
            self.table.expressions()
        } else {
            Arc::default()
        };
        let operands = Operands { columns: &self.columns, expressions: &expressions };
        let request = ScanRequest {
            stored: self.columns.clone(),
            columns,
            conditions: conditions(filters, &self.columns),
            predicate: predicate(filters, operands),
            filters: if filters_rows { self.physical(filters, state)? } else { Vec::new() },
            limit: limit.filter(|_| filters_rows || filters.is_empty()),
            numbers: Vec::new(),
            query: Arc::clone(&self.query),
        };
        // Choosing what to read may touch the disk: plans are made on threads that may block.
        let source = self.table.scan(&request).map_err(|error| DataFusionError::External(Box::new(error)))?;
        if let Some(rows) = source.rows_estimate() {
            self.query.expect_rows(rows)?;
        }
        let table = Arc::clone(&self.table);
        Ok(Arc::new(SourceExec::new(source, Arc::clone(&self.query), table, schema)))
    }
}
