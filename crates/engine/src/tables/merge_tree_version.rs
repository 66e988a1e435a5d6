//! A MergeTree table at one moment: the columns and the parts that a query is planned with are those that it reads,
//! however long that takes and whatever ALTER, INSERT and merges do meanwhile.

use std::sync::Arc;

use basalt_base::{Columns, Result};
use basalt_parts::{MergeMode, PartsVersion};

use super::capability::PartsTable;
use super::definition::TableDefinition;
use super::final_table::FinalTable;
use super::table::Table;
use crate::scan::{BlockSource, PartsSource, ScanRequest, TableCaches, TableExpression};

/// The same table for one query.
pub(super) struct MergeTreeVersion {
    pub(super) table: Arc<dyn Table>,
    pub(super) caches: TableCaches,
    pub(super) definition: Arc<TableDefinition>,
    pub(super) scanned: Columns,
    pub(super) expressions: Arc<[TableExpression]>,
    pub(super) parts: PartsVersion,
    /// The epoch of the query condition cache for these parts.
    pub(super) epoch: u64,
}

impl Table for MergeTreeVersion {
    fn engine(&self) -> &'static str {
        self.table.engine()
    }

    fn definition(&self) -> Arc<TableDefinition> {
        Arc::clone(&self.definition)
    }

    fn scanned(&self) -> Columns {
        self.scanned.clone()
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn BlockSource>> {
        Ok(Arc::new(PartsSource::new(&self.parts, self.epoch, &self.caches, request)?))
    }

    fn expressions(&self) -> Arc<[TableExpression]> {
        Arc::clone(&self.expressions)
    }

    fn filters_rows(&self) -> bool {
        true
    }

    fn has_metadata(&self) -> bool {
        true
    }

    fn total_rows(&self) -> Option<u64> {
        Some(self.parts.parts.iter().map(|part| part.live_row_count()).sum())
    }

    fn as_final(self: Arc<Self>) -> Option<Arc<dyn Table>> {
        let changes_rows = self.parts.spec.mode != MergeMode::Ordinary;
        let parts = self.parts.clone();
        changes_rows.then(|| Arc::new(FinalTable::new(self, parts)) as Arc<dyn Table>)
    }

    fn as_parts(&self) -> Option<&dyn PartsTable> {
        self.table.as_parts()
    }

    fn set_definition(&self, definition: Arc<TableDefinition>) -> Result<()> {
        self.table.set_definition(definition)
    }
}
