//! `Memory`: rows in memory, gone when the process ends.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use basalt_base::{Error, Result};
use basalt_parts::PartSelection;
use parking_lot::RwLock;

use super::TableDefinition;
use super::capability::{CheckedPart, OptimizeRequest, StoredTable};
use super::table::{ColumnChange, Table};
use crate::scan::{BlockSource, MemorySource, ScanRequest};

/// Blocks in the order in which they were inserted.
pub(crate) struct MemoryTable {
    state: RwLock<MemoryState>,
}

struct MemoryState {
    definition: Arc<TableDefinition>,
    blocks: Arc<Vec<RecordBatch>>,
}

impl MemoryTable {
    pub(crate) fn open(definition: Arc<TableDefinition>) -> Result<MemoryTable> {
        let create = &definition.create;
        let has_key = create.order_by.is_some() || create.primary_key.is_some();
        if has_key || create.partition_by.is_some() || create.sample_by.is_some() {
            basalt_base::bail!(
                BadArguments,
                "engine Memory takes neither ORDER BY nor PRIMARY KEY, PARTITION BY or SAMPLE BY"
            );
        }
        let state = MemoryState { definition, blocks: Arc::new(Vec::new()) };
        Ok(MemoryTable { state: RwLock::new(state) })
    }
}

impl Table for MemoryTable {
    fn engine(&self) -> &'static str {
        "Memory"
    }

    fn definition(&self) -> Arc<TableDefinition> {
        Arc::clone(&self.state.read().definition)
    }

    fn set_definition(&self, definition: Arc<TableDefinition>) -> Result<()> {
        self.state.write().definition = definition;
        Ok(())
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn BlockSource>> {
        let blocks = Arc::clone(&self.state.read().blocks);
        let projected = blocks
            .iter()
            .map(|block| block.project(&request.columns))
            .collect::<std::result::Result<Vec<_>, _>>()
            .map_err(Error::logical)?;
        Ok(MemorySource::deal(projected, request, "blocks in memory"))
    }

    fn insert(&self, block: RecordBatch) -> Result<()> {
        Arc::make_mut(&mut self.state.write().blocks).push(block);
        Ok(())
    }

    fn truncate(&self) -> Result<()> {
        self.state.write().blocks = Arc::new(Vec::new());
        Ok(())
    }

    fn alter(&self, changes: &[ColumnChange], definition: Arc<TableDefinition>) -> Result<()> {
        if changes.iter().any(|change| matches!(change, ColumnChange::Retype { .. })) {
            return Err(self.refuses("MODIFY COLUMN to another type"));
        }
        let mut state = self.state.write();
        let old = state.definition.stored();
        let blocks = state.blocks.iter().map(|block| altered(block, changes, &old, &definition));
        state.blocks = Arc::new(blocks.collect::<Result<Vec<_>>>()?);
        state.definition = definition;
        Ok(())
    }

    fn has_metadata(&self) -> bool {
        true
    }

    fn total_rows(&self) -> Option<u64> {
        Some(self.state.read().blocks.iter().map(|block| block.num_rows() as u64).sum())
    }

    fn total_bytes(&self) -> Option<u64> {
        Some(self.state.read().blocks.iter().map(|block| block.get_array_memory_size() as u64).sum())
    }

    fn as_stored(&self) -> Option<&dyn StoredTable> {
        Some(self)
    }
}

impl StoredTable for MemoryTable {
    fn optimize(&self, _request: &OptimizeRequest<'_>) -> Result<()> {
        Err(self.refuses("OPTIMIZE"))
    }

    /// Nothing is on disk.
    fn check(&self, _which: &PartSelection, _go_on: &dyn Fn() -> Result<()>) -> Result<Vec<CheckedPart>> {
        Ok(Vec::new())
    }
}

/// A block with the columns of the new definition: kept ones by name, new ones with defaults.
fn altered(
    block: &RecordBatch,
    changes: &[ColumnChange],
    old: &basalt_base::Columns,
    definition: &TableDefinition,
) -> Result<RecordBatch> {
    let new = definition.stored();
    let arrays = new
        .iter()
        .map(|column| {
            let before = name_before(&column.name, changes);
            match before.and_then(|name| old.position(name)) {
                Some(at) => Arc::clone(block.column(at)),
                None => column.ty.default_array(block.num_rows()),
            }
        })
        .collect();
    RecordBatch::try_new(new.to_arrow(), arrays).map_err(Error::of_arrow)
}

/// How the column was called before the changes; `None` for one that they added.
fn name_before<'a>(name: &'a str, changes: &'a [ColumnChange]) -> Option<&'a str> {
    changes.iter().rev().try_fold(name, |name, change| match change {
        ColumnChange::Add { name: added } if added == name => None,
        ColumnChange::Rename { from, to } if to == name => Some(from.as_str()),
        _ => Some(name),
    })
}
