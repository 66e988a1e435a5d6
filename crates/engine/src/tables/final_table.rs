//! A MergeTree table as `FINAL` shows it: the rows that a merge of all its parts would leave.

use std::sync::Arc;

use basalt_base::{Column, Columns, Result};

use super::merge_tree::MergeTreeTable;
use super::{Table, TableDefinition};
use crate::scan::{BlockSource, FinalSource, ScanRequest, TableExpression};

/// The same table for queries only.
pub(super) struct FinalTable {
    table: Arc<MergeTreeTable>,
}

impl FinalTable {
    pub(super) fn new(table: Arc<MergeTreeTable>) -> FinalTable {
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

    /// Filters apply to what is left: only those on columns of the key may leave granules out, for all
    /// rows of one key have the same values there.
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn BlockSource>> {
        let (key, _) = self.definition().sort_key()?;
        let is_key = |columns: &Columns, at: usize| {
            let named = |column: &Column| key.iter().any(|element| element.is_column(&column.name));
            columns.get(at).is_some_and(named)
        };
        let mut request = request.clone();
        let stored = request.stored.clone();
        request.conditions.retain(|condition| is_key(&stored, condition.column));
        Ok(Arc::new(FinalSource::new(self.table.parts(), &request)?))
    }

    fn set_definition(&self, definition: Arc<TableDefinition>) -> Result<()> {
        self.table.set_definition(definition)
    }
}
