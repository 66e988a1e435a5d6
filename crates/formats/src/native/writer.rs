//! Writes blocks.

use arrow::array::RecordBatch;
use basalt_base::{Columns, Error, Result, SqlType};

use super::block_info::write_block_info;
use super::column_write::write_column;
use super::revision::{CUSTOM_SERIALIZATION, LOW_CARDINALITY, REVISION_MAX, ZONE_OF_DATE_TIME};
use crate::binary::{without_low_cardinality, write_string, write_varint};
use crate::block::BlockWriter;

/// Writes `batch`, whose arrays carry `columns`, as a block of a revision of ClickHouse's protocol; 0 is that of
/// files. Fails if the revision is later than [`REVISION_MAX`].
pub fn write_block(columns: &Columns, batch: &RecordBatch, revision: u64, out: &mut Vec<u8>) -> Result<()> {
    if columns.len() != batch.num_columns() {
        let what = format!("a batch of {} columns was given as {}", batch.num_columns(), columns.len());
        return Err(Error::logical(what));
    }
    write_head(columns.len(), batch.num_rows(), revision, out)?;
    for (column, array) in columns.iter().zip(batch.columns()) {
        if *array.data_type() != column.ty.carrier() {
            let what = format!("an array of {} was given as {}", array.data_type(), column.ty);
            return Err(Error::logical(what));
        }
        let plain = plain_type(&column.ty, revision);
        let ty = plain.as_ref().unwrap_or(&column.ty);
        write_column_head(&column.name, ty, revision, out);
        if batch.num_rows() > 0 {
            write_column(ty, array, out)?;
        }
    }
    Ok(())
}

/// Writes a block that has `columns` and no rows: the header of a stream.
pub fn write_empty_block(columns: &Columns, revision: u64, out: &mut Vec<u8>) -> Result<()> {
    write_head(columns.len(), 0, revision, out)?;
    for column in columns.iter() {
        let plain = plain_type(&column.ty, revision);
        write_column_head(&column.name, plain.as_ref().unwrap_or(&column.ty), revision, out);
    }
    Ok(())
}

fn write_head(columns: usize, rows: usize, revision: u64, out: &mut Vec<u8>) -> Result<()> {
    if revision > REVISION_MAX {
        let what = format!("blocks of protocol revision {revision}, which is above {REVISION_MAX}");
        return Err(Error::not_implemented(what));
    }
    if revision > 0 {
        write_block_info(revision, out);
    }
    write_varint(columns as u64, out);
    write_varint(rows as u64, out);
    Ok(())
}

/// The type that a client of an old revision gets; `None` if it is the same.
fn plain_type(ty: &SqlType, revision: u64) -> Option<SqlType> {
    (1..LOW_CARDINALITY).contains(&revision).then(|| without_low_cardinality(ty))
}

fn write_column_head(name: &str, ty: &SqlType, revision: u64, out: &mut Vec<u8>) {
    write_string(name.as_bytes(), out);
    match ty {
        SqlType::DateTime(_) if revision < ZONE_OF_DATE_TIME => write_string(b"DateTime", out),
        ty => write_string(ty.to_string().as_bytes(), out),
    }
    if revision >= CUSTOM_SERIALIZATION {
        out.push(0);
    }
}

/// Writes a result as Native: a block a batch.
pub(crate) struct NativeWriter {
    pub(crate) columns: Columns,
    pub(crate) revision: u64,
}

impl BlockWriter for NativeWriter {
    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        write_block(&self.columns, batch, self.revision, out)
    }

    fn content_type(&self) -> &'static str {
        "application/octet-stream"
    }
}
