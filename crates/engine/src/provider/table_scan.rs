//! A table as DataFusion sees it: a schema, and a scan with filters.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use basalt_base::zone::Zone;
use basalt_base::{Column, Columns};
use basalt_exec::error::into_datafusion;
use basalt_functions::prewhere::Prewhere;
use basalt_parts::Predicate;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue, Statistics};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};
use datafusion::physical_plan::ExecutionPlan;

use super::constants::WithConstants;
use super::exec::{SourceExec, statistics};
use crate::context::QueryContext;
use crate::provider::constants;
use crate::scan::{
    BlockSource, Operands, ScanRequest, VirtualColumn, conditions, predicate, text_conditions,
};
use crate::tables::Table;

/// The schema of `columns`, with metadata for the fields of some.
fn with_metadata(columns: &Columns, metadata: &HashMap<String, HashMap<String, String>>) -> SchemaRef {
    let plain = columns.to_arrow();
    let fields = plain.fields().iter().map(|field| {
        let own = metadata.get(field.name()).cloned().unwrap_or_default();
        field.as_ref().clone().with_metadata(own)
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// One table in one query.
pub(crate) struct TableScanProvider {
    table: Arc<dyn Table>,
    stored: Columns,
    /// The stored columns, then the virtual ones.
    columns: Columns,
    schema: SchemaRef,
    query: Arc<QueryContext>,
    /// How many rows of the table one row represents.
    sample_factor: f64,
}

impl TableScanProvider {
    pub(crate) fn new(table: Arc<dyn Table>, query: Arc<QueryContext>) -> TableScanProvider {
        let (stored, columns) = (table.definition().stored(), table.scanned());
        let schema = match table.field_metadata() {
            Some(metadata) => with_metadata(&columns, metadata),
            None => columns.to_arrow(),
        };
        TableScanProvider { table, stored, columns, schema, query, sample_factor: 1.0 }
    }

    /// The same table, sampled.
    pub(crate) fn sampled(self, sample_factor: f64) -> TableScanProvider {
        TableScanProvider { sample_factor, ..self }
    }

    /// The table that finds rows by key: this one, or the one that it is derived from. `None` if that is missing.
    pub(super) fn finder(&self) -> Option<Arc<dyn Table>> {
        match self.table.as_derived() {
            Some(derived) => derived.finder(&self.query).ok(),
            None => Some(Arc::clone(&self.table)),
        }
    }

    /// The virtual columns of the table.
    pub(crate) fn virtual_columns(&self) -> &[Column] {
        &self.columns[self.stored.len()..]
    }

    /// The value of the column at `at`, if it is the same in all rows.
    fn constant(&self, at: usize) -> Option<ScalarValue> {
        let column = VirtualColumn::find(&self.columns.get(at)?.name)?;
        let text = |text: &str| ScalarValue::BinaryView(Some(text.as_bytes().to_vec()));
        let definition = self.table.definition();
        match column {
            _ if at < self.stored.len() || !column.is_constant() => None,
            VirtualColumn::Table => Some(text(&definition.name)),
            VirtualColumn::Database => Some(text(&definition.database)),
            VirtualColumn::SampleFactor => Some(ScalarValue::Float64(Some(self.sample_factor))),
            VirtualColumn::DiskName => Some(text("default")),
            VirtualColumn::RowExists => Some(ScalarValue::UInt8(Some(1))),
            // No part has one.
            VirtualColumn::PartUuid => Some(ScalarValue::FixedSizeBinary(16, Some(vec![0; 16]))),
            _ => None,
        }
    }

    /// The filters, with columns that are the same in all rows replaced by their values.
    fn settled(&self, filters: &[Expr]) -> Result<Vec<Expr>> {
        let value = |expr: Expr| match &expr {
            Expr::Column(column) => {
                let position = self.columns.position(&column.name);
                Ok(match position.and_then(|at| self.constant(at)) {
                    Some(value) => Transformed::yes(Expr::Literal(value, None)),
                    None => Transformed::no(expr),
                })
            }
            _ => Ok(Transformed::no(expr)),
        };
        filters.iter().map(|filter| filter.clone().transform_up(value).data()).collect()
    }

    /// The columns at `columns` of the table: `source` has those that vary, and the others are added as constants.
    fn widened(
        &self,
        source: Arc<dyn BlockSource>,
        columns: &[usize],
        schema: &SchemaRef,
    ) -> Result<Arc<dyn BlockSource>> {
        let mut of_source = 0;
        let places = columns.iter().map(|&at| match self.constant(at) {
            Some(value) => value.to_array().map(constants::Column::Constant),
            None => {
                of_source += 1;
                Ok(constants::Column::OfSource(of_source - 1))
            }
        });
        let places = places.collect::<Result<Vec<_>>>()?;
        if of_source == columns.len() {
            return Ok(source);
        }
        Ok(Arc::new(WithConstants { source, columns: places, schema: Arc::clone(schema) }))
    }

    /// The columns of the table but for virtual ones.
    pub(crate) fn stored_columns(&self) -> &Columns {
        &self.stored
    }

    pub(crate) fn table(&self) -> &Arc<dyn Table> {
        &self.table
    }

    /// Statistics of all rows and of the named columns, from metadata; `None` if that takes reading, or if a column is
    /// not stored.
    pub(super) fn metadata(&self, columns: &[&str]) -> Result<Option<Statistics>> {
        if !self.table.has_metadata() {
            return Ok(None);
        }
        let places = columns.iter().map(|name| self.stored.position(name));
        let Some(columns) = places.collect::<Option<Vec<usize>>>() else { return Ok(None) };
        let schema = self.schema.project(&columns)?;
        let source = self.table.scan(&self.request(columns)).map_err(into_datafusion)?;
        Ok(Some(statistics(source.as_ref(), &schema)))
    }

    /// The request for columns of all rows.
    fn request(&self, columns: Vec<usize>) -> ScanRequest {
        ScanRequest {
            stored: self.columns.clone(),
            virtual_from: self.stored.len(),
            columns,
            conditions: Vec::new(),
            predicate: Predicate::Any,
            texts: Vec::new(),
            filters: Vec::new(),
            limit: None,
            numbers: Vec::new(),
            query: Arc::clone(&self.query),
        }
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
        let wanted = projection.cloned().unwrap_or_else(|| (0..self.columns.len()).collect());
        let schema = Arc::new(self.schema.project(&wanted)?);
        let filters = self.settled(filters)?;
        let bare = filters.iter().cloned().map(Prewhere::unmarked).collect::<Result<Vec<_>>>()?;
        let filters_rows = self.table.filters_rows();
        // Expressions of a table are evaluated in the machine's time zone.
        let expressions = if self.query.zone.name() == Zone::system().name() {
            self.table.expressions()
        } else {
            Arc::default()
        };
        let operands = Operands { columns: &self.stored, expressions: &expressions };
        let columns = wanted.iter().copied().filter(|&at| self.constant(at).is_none()).collect();
        let request = ScanRequest {
            conditions: conditions(&bare, &self.stored),
            predicate: predicate(&bare, operands),
            texts: text_conditions(&bare, &self.stored),
            filters: self.physical(&filters, state)?,
            limit: limit.filter(|_| filters_rows || filters.is_empty()),
            ..self.request(columns)
        };
        // Choosing what to read may touch the disk: plans are made on threads that may block.
        let source = self.table.scan(&request).map_err(into_datafusion)?;
        let source = self.widened(source, &wanted, &schema)?;
        if let Some(rows) = source.rows_estimate() {
            self.query.expect_rows(rows)?;
        }
        let table = Arc::clone(&self.table);
        Ok(Arc::new(SourceExec::new(source, Arc::clone(&self.query), table, schema)))
    }
}
