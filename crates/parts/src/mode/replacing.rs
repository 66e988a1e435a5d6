//! Keeps the newest row of each key.

use std::ops::Range;

use arrow::array::{Array, AsArray, RecordBatch, UInt8Array};
use arrow::datatypes::UInt8Type;
use arrow::row::{RowConverter, Rows, SortField};

use super::reducer::{Purpose, Reducer, RowRef};
use crate::error::{Error, Result};

/// The highest version wins, the last inserted of equal versions.
pub(super) struct Replacing {
    version: Option<usize>,
    is_deleted: Option<usize>,
    purpose: Purpose,
    versions: Option<Rows>,
    deleted: Option<UInt8Array>,
    best: Option<Best>,
    held: [RowRef; 1],
}

/// The version and the deletion flag of the row in `held`.
struct Best {
    version: Vec<u8>,
    is_deleted: bool,
}

impl Replacing {
    pub(super) fn new(version: Option<usize>, is_deleted: Option<usize>, purpose: Purpose) -> Replacing {
        let held = [RowRef { source: 0, row: 0 }];
        Replacing { version, is_deleted, purpose, versions: None, deleted: None, best: None, held }
    }

    /// The winning row among `rows`, which are not empty.
    fn newest(&self, rows: Range<usize>) -> usize {
        let last = rows.end - 1;
        let Some(versions) = &self.versions else { return last };
        rows.rev().fold(last, |best, row| if versions.row(row) > versions.row(best) { row } else { best })
    }

    fn deleted(&self, row: usize) -> Result<bool> {
        match self.deleted.as_ref().map(|deleted| deleted.value(row)) {
            None | Some(0) => Ok(false),
            Some(1) => Ok(true),
            Some(other) => {
                Err(Error::IncorrectData { what: format!("is_deleted = {other} (must be 1 or 0)") })
            }
        }
    }
}

impl Reducer for Replacing {
    fn attach(&mut self, batch: &RecordBatch) -> Result<()> {
        if let Some(version) = self.version {
            let column = batch.column(version);
            let converter = RowConverter::new(vec![SortField::new(column.data_type().clone())])?;
            self.versions = Some(converter.convert_columns(&[column.slice(0, batch.num_rows())])?);
        }
        self.deleted = self.is_deleted.map(|column| batch.column(column).as_primitive::<UInt8Type>().clone());
        Ok(())
    }

    fn add(&mut self, source: usize, rows: Range<usize>, _out: &mut Vec<RowRef>) -> Result<()> {
        let row = self.newest(rows);
        let is_deleted = self.deleted(row)?;
        let version = self.versions.as_ref().map_or(&[][..], |versions| versions.row(row).data());
        if self.best.as_ref().is_some_and(|best| best.version.as_slice() > version) {
            return Ok(());
        }
        let mut kept = self.best.take().map_or_else(Vec::new, |best| best.version);
        kept.clear();
        kept.extend_from_slice(version);
        self.best = Some(Best { version: kept, is_deleted });
        self.held = [RowRef { source, row }];
        Ok(())
    }

    fn end_key(&mut self, out: &mut Vec<RowRef>) {
        let Some(best) = self.best.take() else { return };
        if self.purpose == Purpose::Merge || !best.is_deleted {
            out.push(self.held[0]);
        }
    }

    fn held(&mut self) -> &mut [RowRef] {
        if self.best.is_some() { &mut self.held } else { &mut [] }
    }
}
