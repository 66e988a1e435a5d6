//! A MergeTree table at one moment: the columns and the parts that a query is planned with are those that it reads,
//! however long that takes and whatever ALTER, INSERT and merges do meanwhile.

use std::sync::Arc;

use basalt_base::{Columns, Result, bail};
use basalt_parts::{MergeMode, PartsVersion, TableParts};

use super::final_table::FinalTable;
use super::merge_tree::MergeTreeTable;
use super::{Table, TableDefinition};
use crate::scan::{BlockSource, PartsSource, ScanRequest, TableExpression};

/// The same table for one query.
pub(super) struct MergeTreeVersion {
    pub(super) table: Arc<MergeTreeTable>,
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
        Ok(Arc::new(PartsSource::new(&self.parts, self.epoch, self.table.caches(), request)?))
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

    fn has_final(&self) -> bool {
        self.parts.spec.mode != MergeMode::Ordinary
    }

    fn as_final(self: Arc<Self>) -> Result<Arc<dyn Table>> {
        if !self.has_final() {
            bail!(IllegalFinal, "storage {} doesn't support FINAL", self.engine());
        }
        Ok(Arc::new(FinalTable::new(self)))
    }

    fn parts_of(&self) -> Option<&TableParts> {
        Some(self.table.parts())
    }

    fn total_rows(&self) -> Option<u64> {
        Some(self.parts.parts.iter().map(|part| part.live_row_count()).sum())
    }

    fn set_definition(&self, definition: Arc<TableDefinition>) -> Result<()> {
        self.table.set_definition(definition)
    }
}
