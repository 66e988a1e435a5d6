//! Changes: insert, delete, truncate, compact.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};
use basalt_base::{Result, bail};
use rocksdb::WriteBatch;

use crate::key_encoding::{EncodedKeys, KeyEncoder};
use crate::row_encoding::RowWriter;
use crate::spec::KvSpec;
use crate::store::Store;

/// RocksDB's limit of the length of a key or a value, less one.
const ENTRY_BYTES_MAX: usize = u32::MAX as usize - 1;

impl Store {
    /// Writes every row of `batch`, which has all columns in order, replacing the rows with the same keys. Of
    /// several rows with one key the last wins. Atomic, and durable on return.
    pub fn insert(self: &Arc<Self>, batch: &RecordBatch) -> Result<()> {
        let mut load = self.begin_load(1)?;
        load.write(batch)?;
        load.commit().map(|_| ())
    }

    /// Removes the rows with `keys`: one array for each key column. Missing keys are ignored. Atomic, and durable on
    /// return.
    pub fn delete(self: &Arc<Self>, keys: &[ArrayRef]) -> Result<()> {
        let mut load = self.begin_load(1)?;
        load.delete(keys)?;
        load.commit().map(|_| ())
    }

    /// Removes all rows.
    pub fn truncate(&self) -> Result<()> {
        self.database().check_writable()?;
        let mut rows = self.db().raw_iterator();
        rows.seek_to_last();
        rows.status().map_err(|error| self.failed("looking for the last row", &error))?;
        let Some(last) = rows.key() else { return Ok(()) };
        let mut end = last.to_vec();
        end.push(0);
        drop(rows);
        let mut changes = WriteBatch::default();
        changes.delete_range_cf(&self.family(), [].as_slice(), end.as_slice());
        self.database().write(changes, "removing all rows")?;
        // From here on the rows are gone; the rest only frees their space.
        self.db()
            .delete_file_in_range([].as_slice(), end.as_slice())
            .map_err(|error| self.database().refused("removing the files of deleted rows", &error))?;
        self.compact()
    }

    /// Merges all sorted files, which frees the space of replaced, deleted and expired rows.
    pub fn compact(&self) -> Result<()> {
        self.database().check_writable()?;
        self.db().flush().map_err(|error| self.database().refused("flushing", &error))?;
        self.db().compact_range(None::<&[u8]>, None::<&[u8]>);
        self.database().acknowledge_files()
    }
}

/// Refuses keys that lack a column.
pub(crate) fn check_whole_key(encoder: &KeyEncoder, keys: &[ArrayRef]) -> Result<()> {
    if keys.len() != encoder.len() {
        bail!(
            NumberOfColumnsDoesntMatch,
            "the primary key has {} columns, not {}",
            encoder.len(),
            keys.len()
        );
    }
    Ok(())
}

/// Calls `visit` with the encoded key and value of every row. A batch may lack the last columns, which were added after
/// the change began: its rows are older than these columns.
pub(crate) fn for_each_row(
    spec: &KvSpec,
    batch: &RecordBatch,
    written: Option<u32>,
    mut visit: impl FnMut(&[u8], &[u8]),
) -> Result<()> {
    check_batch(spec, batch)?;
    let key_columns: Vec<ArrayRef> = spec.key.iter().map(|&at| batch.column(at).clone()).collect();
    let keys: EncodedKeys = spec.key_encoder()?.encode(&key_columns)?;
    let positions = spec.value_positions();
    let columns = positions
        .iter()
        .take_while(|&&at| at < batch.num_columns())
        .map(|&at| (batch.column(at), spec.columns[at].ty.accepts_null()));
    let writer = RowWriter::new(columns, written)?;
    let mut row_bytes = Vec::new();
    for row in 0..batch.num_rows() {
        row_bytes.clear();
        writer.write(row, &mut row_bytes);
        let key = keys.get(row);
        if key.len().max(row_bytes.len()) > ENTRY_BYTES_MAX {
            bail!(ArgumentOutOfBound, "a row of {} bytes is too long to store", key.len() + row_bytes.len());
        }
        visit(key, &row_bytes);
    }
    Ok(())
}

fn check_batch(spec: &KvSpec, batch: &RecordBatch) -> Result<()> {
    let columns_min = spec.key.iter().max().map_or(0, |last| last + 1);
    if batch.num_columns() > spec.columns.len() || batch.num_columns() < columns_min {
        bail!(
            NumberOfColumnsDoesntMatch,
            "the table has {} columns, the block {}",
            spec.columns.len(),
            batch.num_columns()
        );
    }
    for (column, array) in spec.columns.iter().zip(batch.columns()) {
        if *array.data_type() != column.ty.carrier() {
            bail!(
                TypeMismatch,
                "column `{}` is {}, the block has {}",
                column.name,
                column.ty,
                array.data_type()
            );
        }
        if array.null_count() > 0 && !column.ty.accepts_null() {
            bail!(
                CannotInsertNullInOrdinaryColumn,
                "column `{}` of type {} cannot be NULL",
                column.name,
                column.ty
            );
        }
    }
    Ok(())
}
