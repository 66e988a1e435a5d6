//! INSERT of rows whose keys must be new: `insert_mode = 'ignore'` and `'error'`.
//!
//! Other INSERTs and changes of the table wait from the first look-up to the commit, as they do for an UPDATE. So a key
//! that was not there is not there when the rows become visible.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::compute::filter_record_batch;
use arrow::record_batch::RecordBatch;
use arrow::row::{OwnedRow, RowConverter, SortField};
use arrow::util::display::array_value_to_string;
use basalt_base::types::quote_string;
use basalt_base::{Error, Result, bail};

use crate::execution::Execution;
use crate::tables::{ChangeableTable, RowsChange, Table, TableDefinition};

/// What becomes of a row whose key is in the table, or earlier in the same INSERT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InsertMode {
    /// It replaces the other row.
    Replace,
    /// It is left out.
    Ignore,
    /// The INSERT fails, and none of its rows is stored.
    Error,
}

impl InsertMode {
    /// The mode of a value of the setting `insert_mode`.
    pub(super) fn parse(name: &str) -> Result<InsertMode> {
        Ok(match name {
            "replace" => InsertMode::Replace,
            "ignore" => InsertMode::Ignore,
            "error" => InsertMode::Error,
            _ => bail!(BadArguments, "insert_mode is `replace`, `ignore` or `error`, not `{name}`"),
        })
    }
}

/// The rows of one INSERT, which are visible after their commit.
pub(super) struct NewRows<'t> {
    table: &'t dyn ChangeableTable,
    change: Box<dyn RowsChange + 't>,
    mode: InsertMode,
    /// The table's name, for errors.
    name: String,
    keys: RowConverter,
    /// The keys of earlier rows.
    seen: HashSet<OwnedRow>,
    threads: usize,
}

impl<'t> NewRows<'t> {
    /// Begins the INSERT of rows that have the columns of `definition`.
    pub(super) fn begin(
        query: &Execution,
        table: &'t Arc<dyn Table>,
        definition: &Arc<TableDefinition>,
        mode: InsertMode,
    ) -> Result<NewRows<'t>> {
        let Some(changeable) = table.as_changeable() else {
            return Err(table.refuses("insert_mode other than `replace`"));
        };
        let stored = definition.stored();
        let fields = changeable.lookup_key().iter().map(|&at| SortField::new(stored[at].ty.carrier()));
        let keys = RowConverter::new(fields.collect()).map_err(Error::of_arrow)?;
        let threads = query.threads();
        let change = changeable.begin_change(threads)?;
        if !Arc::ptr_eq(definition, &table.definition()) {
            let name = definition.full_name();
            bail!(
                IncompatibleColumns,
                "an ALTER changed the columns of `{name}` meanwhile; repeat the INSERT"
            );
        }
        let (name, seen) = (definition.full_name(), HashSet::new());
        Ok(NewRows { table: changeable, change, mode, name, keys, seen, threads })
    }

    /// Adds a block with all stored columns. Returns the rows that were taken.
    pub(super) fn write(&mut self, block: &RecordBatch) -> Result<RecordBatch> {
        let key = self.table.lookup_key();
        let keys: Vec<ArrayRef> = key.iter().map(|&at| Arc::clone(block.column(at))).collect();
        let found = self.table.lookup(&keys, &key[..1], self.threads)?.row_of_key;
        let rows = self.keys.convert_columns(&keys).map_err(Error::of_arrow)?;
        let mut is_new = Vec::with_capacity(found.len());
        for (at, found) in found.into_iter().enumerate() {
            let new = found.is_none() && self.seen.insert(rows.row(at).owned());
            if !new && self.mode == InsertMode::Error {
                bail!(
                    ViolatedConstraint,
                    "the key {} is in table `{}` already; nothing was inserted, because insert_mode is `error`",
                    key_text(&keys, at),
                    self.name
                );
            }
            is_new.push(new);
        }
        let taken = filter_record_batch(block, &BooleanArray::from(is_new)).map_err(Error::of_arrow)?;
        if taken.num_rows() > 0 {
            self.change.put(&taken)?;
        }
        Ok(taken)
    }

    pub(super) fn commit(self) -> Result<()> {
        self.change.commit()
    }
}

/// `(1, 'a')`.
fn key_text(keys: &[ArrayRef], row: usize) -> String {
    let text = |key: &ArrayRef| match arrow::array::AsArray::as_binary_view_opt(key) {
        Some(texts) => quote_string(&String::from_utf8_lossy(texts.value(row))),
        None => array_value_to_string(key, row).unwrap_or_default(),
    };
    format!("({})", keys.iter().map(text).collect::<Vec<_>>().join(", "))
}
