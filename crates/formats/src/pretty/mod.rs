//! Tables for people: Pretty, PrettyCompact and PrettySpace.
//!
//! Rows are kept until the end, because the widths of the columns depend on all of them. Of a longer result only
//! the first and the last rows are kept.

mod frame;
mod kept;
mod readable;
mod table;

use arrow::array::RecordBatch;
use basalt_base::{Columns, Result};

pub(crate) use self::frame::Frame;
use self::kept::KeptRows;
use self::table::Table;
use crate::block::{BlockWriter, Statistics};
use crate::settings::FormatSettings;

pub(crate) use readable::write_tip;
pub(crate) use table::aligns_right;

pub(crate) struct PrettyWriter {
    columns: Columns,
    settings: FormatSettings,
    frame: Frame,
    kept: KeptRows,
    written: bool,
}

impl PrettyWriter {
    pub(crate) fn new(columns: &Columns, settings: &FormatSettings, frame: Frame) -> PrettyWriter {
        PrettyWriter {
            columns: columns.clone(),
            settings: settings.clone(),
            frame,
            kept: KeptRows::new(settings.pretty_max_rows),
            written: false,
        }
    }

    /// Writes the rows, once, before anything that follows them.
    fn write_rows(&mut self, out: &mut Vec<u8>) -> Result<()> {
        if std::mem::replace(&mut self.written, true) {
            return Ok(());
        }
        let (batches, total) = (self.kept.take(), self.kept.total());
        if total == 0 {
            return Ok(());
        }
        let mut table = Table::new(&self.columns, &self.settings, self.frame, total);
        for (batch, first_row) in &batches {
            table.push(batch, *first_row)?;
        }
        let shown = table.rows();
        table.write(out);
        if (shown as u64) < total {
            if self.frame == Frame::Space {
                out.push(b'\n');
            }
            out.extend_from_slice(format!("Showed {shown} out of {total} rows.\n").as_bytes());
        }
        Ok(())
    }

    fn write_special(&mut self, title: &str, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        self.write_rows(out)?;
        out.extend_from_slice(format!("\n{title}:\n").as_bytes());
        let mut table = Table::new(&self.columns, &self.settings, self.frame, batch.num_rows() as u64);
        table.push(batch, 1)?;
        table.write(out);
        Ok(())
    }
}

impl BlockWriter for PrettyWriter {
    fn write(&mut self, batch: &RecordBatch, _: &mut Vec<u8>) -> Result<()> {
        self.kept.push(batch);
        Ok(())
    }

    fn totals(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        self.write_special("Totals", batch, out)
    }

    fn extremes(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        self.write_special("Extremes", batch, out)
    }

    fn finish(&mut self, _: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        self.write_rows(out)
    }
}
