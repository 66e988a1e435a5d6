//! A MergeTree table as `FINAL` shows it: the rows that a merge of all its parts would leave.

use std::sync::Arc;

use basalt_base::{Columns, Result};
use basalt_parts::TableParts;

use super::merge_tree_version::MergeTreeVersion;
use super::{Table, TableDefinition};
use crate::scan::{BlockSource, FinalSource, ScanRequest, TableExpression};

/// The same table for queries only.
pub(super) struct FinalTable {
    table: Arc<MergeTreeVersion>,
}

impl FinalTable {
    pub(super) fn new(table: Arc<MergeTreeVersion>) -> FinalTable {
        FinalTable { table }
    }
}

impl Table for FinalTable {
    fn engine(&self) -> &'static str {
        self.table.engine()
    }

    fn definition(&self) -> Arc<TableDefinition> {
        self.table.definition()
    }

    fn scanned(&self) -> Columns {
        self.table.scanned()
    }

    fn expressions(&self) -> Arc<[TableExpression]> {
        self.table.expressions()
    }

    /// Filters apply to what is left: they leave out granules, but no row of a key that may be wanted.
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn BlockSource>> {
        Ok(Arc::new(FinalSource::new(&self.table.parts, request)?))
    }

    fn parts_of(&self) -> Option<&TableParts> {
        self.table.parts_of()
    }

    fn set_definition(&self, definition: Arc<TableDefinition>) -> Result<()> {
        self.table.set_definition(definition)
    }
}
