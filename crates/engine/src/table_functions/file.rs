//! `file(path [, format [, structure]])`: a file read as a table.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use basalt_base::{Column, Columns, Error, Result};
use basalt_formats::{BlockReader, Callbacks, FormatSettings};

use super::arguments::Arguments;
use crate::context::format_settings;
use crate::execution::Execution;
use crate::input_file::{format_of_path, open_input};
use crate::scan::{BlockIterator, BlockSource};
use crate::tables::{CastConverter, Table, VirtualTable};

pub(super) fn file(args: &Arguments<'_>, query: &Arc<Execution>) -> Result<Arc<dyn Table>> {
    args.check_count(1, 3)?;
    let path = query.instance.access.user_path(&args.text(0)?)?;
    let format = match args.len() {
        1 => format_of_path(&path)?,
        _ => match args.text(1)? {
            format if format == "auto" => format_of_path(&path)?,
            format => format,
        },
    };
    let settings = format_settings(query);
    let columns = match args.len() {
        3 => structure(&args.text(2)?)?,
        _ => basalt_formats::infer_schema(&format, &mut open_input(&path, &format)?, &settings)
            .map_err(|error| error.within(path.display()))?,
    };
    let all = columns.clone();
    let callbacks = Callbacks { converter: Some(CastConverter::shared(query.zone)), ..Callbacks::default() };
    let name = path.display().to_string();
    let table = VirtualTable::new("File", "_table_function", &name, &columns, move |request| {
        Ok(Arc::new(FileSource {
            path: path.clone(),
            format: format.clone(),
            settings: settings.clone(),
            callbacks: callbacks.clone(),
            columns: all.clone(),
            projection: request.columns.clone(),
        }))
    })?;
    Ok(Arc::new(table))
}

/// `'a UInt8, b String'`.
fn structure(text: &str) -> Result<Columns> {
    let tuple = basalt_sql::resolve_type(&basalt_sql::parse_type(format!("Tuple({text})").as_bytes())?)?;
    let basalt_base::SqlType::Tuple(elements) = tuple else {
        return Err(Error::logical("a structure is no tuple"));
    };
    let columns = elements.iter().enumerate().map(|(index, element)| {
        let name = element.name.clone().unwrap_or_else(|| format!("c{}", index + 1));
        Column::new(name, element.ty.clone())
    });
    Ok(columns.collect())
}

struct FileSource {
    path: PathBuf,
    format: String,
    settings: FormatSettings,
    callbacks: Callbacks,
    columns: Columns,
    projection: Vec<usize>,
}

impl BlockSource for FileSource {
    fn partition_count(&self) -> usize {
        1
    }

    fn open(&self, _partition: usize) -> Result<BlockIterator> {
        let file = open_input(&self.path, &self.format)?;
        let (columns, callbacks) = (&self.columns, self.callbacks.clone());
        let reader = basalt_formats::open_reader_with(
            &self.format,
            columns,
            &self.settings,
            Box::new(file),
            callbacks,
        )
        .map_err(|error| error.within(self.path.display()))?;
        Ok(Box::new(FileBlocks { reader, path: self.path.clone(), projection: self.projection.clone() }))
    }

    fn describe(&self) -> String {
        format!("{} as {}", self.path.display(), self.format)
    }
}

struct FileBlocks {
    reader: Box<dyn BlockReader>,
    path: PathBuf,
    projection: Vec<usize>,
}

impl Iterator for FileBlocks {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let block = self.reader.next_block().transpose()?;
        let block = block.map_err(|error| error.within(self.path.display()));
        Some(block.and_then(|block| block.batch.project(&self.projection).map_err(Error::of_arrow)))
    }
}
