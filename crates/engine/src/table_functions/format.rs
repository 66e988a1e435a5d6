//! `format(CSV, ['a UInt8, b String',] '1,x')`: text in a format as a table.

use std::io::Cursor;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Error, Result};
use basalt_formats::FormatSettings;

use super::arguments::Arguments;
use crate::context::format_settings;
use crate::execution::Execution;
use crate::structure::columns_of;
use crate::tables::{Table, VirtualTable};

pub(super) fn format(args: &Arguments<'_>, query: &Arc<Execution>) -> Result<Arc<dyn Table>> {
    args.check_count(2, 3)?;
    let (format, text) = (args.text(0)?, args.text(args.len() - 1)?);
    let settings = format_settings(query);
    let columns = match args.len() {
        3 => columns_of(&args.text(1)?, "c")?,
        _ => basalt_formats::infer_schema(&format, &mut text.as_bytes(), &settings)?,
    };
    let all = columns.clone();
    let table = VirtualTable::of_block("Values", "_table_function", "format", &columns, move || {
        read(&format, &all, &settings, &text)
    })?;
    Ok(Arc::new(table))
}

fn read(format: &str, columns: &Columns, settings: &FormatSettings, text: &str) -> Result<RecordBatch> {
    let input = Box::new(Cursor::new(text.as_bytes().to_vec()));
    let mut reader = basalt_formats::open_reader(format, columns, settings, input)?;
    let mut blocks = Vec::new();
    while let Some(block) = reader.next_block()? {
        blocks.push(block.batch);
    }
    arrow::compute::concat_batches(&columns.to_arrow(), &blocks).map_err(Error::of_arrow)
}
