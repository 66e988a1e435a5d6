//! A MergeTree table as `FINAL` shows it: the rows that a merge of all its parts would leave.

use std::sync::Arc;

use basalt_base::{Columns, Result};
use basalt_parts::PartsVersion;

use super::capability::PartsTable;
use super::definition::TableDefinition;
use super::table::Table;
use crate::scan::{BlockSource, FinalSource, ScanRequest, TableExpression};

/// The same table for queries only.
pub(super) struct FinalTable {
    table: Arc<dyn Table>,
    parts: PartsVersion,
}

impl FinalTable {
    /// `table` with these parts.
    pub(super) fn new(table: Arc<dyn Table>, parts: PartsVersion) -> FinalTable {
        FinalTable { table, parts }
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
        Ok(Arc::new(FinalSource::new(&self.parts, request)?))
    }

    fn as_parts(&self) -> Option<&dyn PartsTable> {
        self.table.as_parts()
    }

    fn set_definition(&self, definition: Arc<TableDefinition>) -> Result<()> {
        self.table.set_definition(definition)
    }
}
