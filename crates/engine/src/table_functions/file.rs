//! `file(path [, format [, structure [, compression]]])`: a file read as a table.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Error, Result};
use basalt_formats::{BlockReader, Callbacks, FormatSettings};

use super::arguments::Arguments;
use crate::context::format_settings;
use crate::execution::Execution;
use crate::input_file::{format_of_path, open_in_place, open_input};
use crate::scan::{BlockIterator, BlockSource};
use crate::structure::columns_of;
use crate::tables::{CastConverter, Table, VirtualTable};

pub(super) fn file(args: &Arguments<'_>, query: &Arc<Execution>) -> Result<Arc<dyn Table>> {
    args.check_count(1, 4)?;
    let path = query.instance.access.user_path(&args.text(0)?)?;
    let format = match args.len() {
        1 => format_of_path(&path)?,
        _ => match args.text(1)? {
            format if format == "auto" => format_of_path(&path)?,
            format => format,
        },
    };
    let compression = if args.len() == 4 { Some(args.text(3)?) } else { None };
    let stored = StoredFile { path, format, compression };
    let settings = format_settings(query);
    let structure_given = if args.len() >= 3 { Some(args.text(2)?) } else { None };
    let columns = match structure_given.filter(|text| text != "auto") {
        Some(text) => columns_of(&text, "c")?,
        None => stored.inferred(&settings).map_err(|error| error.within(stored.path.display()))?,
    };
    let all = columns.clone();
    let callbacks = Callbacks { converter: Some(CastConverter::shared(query.zone)), ..Callbacks::default() };
    let name = stored.path.display().to_string();
    let table = VirtualTable::new("File", "_table_function", &name, &columns, move |request| {
        Ok(Arc::new(FileSource {
            stored: stored.clone(),
            settings: settings.clone(),
            callbacks: callbacks.clone(),
            columns: all.clone(),
            projection: request.columns.clone(),
        }))
    })?;
    Ok(Arc::new(table))
}

/// A file, and how to read it.
#[derive(Clone)]
struct StoredFile {
    path: PathBuf,
    format: String,
    compression: Option<String>,
}

impl StoredFile {
    fn open(&self) -> Result<Box<dyn Read + Send>> {
        open_input(&self.path, &self.format, self.compression.as_deref())
    }

    fn in_place(&self) -> Result<Option<File>> {
        open_in_place(&self.path, &self.format, self.compression.as_deref())
    }

    fn reader(
        &self,
        columns: &Columns,
        settings: &FormatSettings,
        callbacks: Callbacks,
    ) -> Result<Box<dyn BlockReader>> {
        match self.in_place()? {
            Some(file) => basalt_formats::open_file_reader(&self.format, columns, settings, file),
            None => {
                basalt_formats::open_reader_with(&self.format, columns, settings, self.open()?, callbacks)
            }
        }
    }

    /// The columns that the beginning or the metadata of the file show.
    fn inferred(&self, settings: &FormatSettings) -> Result<Columns> {
        if let Some(file) = self.in_place()? {
            return basalt_formats::infer_schema_of_file(&self.format, file);
        }
        basalt_formats::infer_schema(&self.format, &mut self.open()?, settings)
    }
}

struct FileSource {
    stored: StoredFile,
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
        // A scan that only counts rows needs some column.
        let single =
            !self.projection.is_empty() && basalt_formats::reads_single_columns(&self.stored.format)?;
        let (columns, projection) = if single {
            (self.columns.project(&self.projection), (0..self.projection.len()).collect())
        } else {
            (self.columns.clone(), self.projection.clone())
        };
        let path = &self.stored.path;
        let reader = self.stored.reader(&columns, &self.settings, self.callbacks.clone());
        let reader = reader.map_err(|error| error.within(path.display()))?;
        Ok(Box::new(FileBlocks { reader, path: path.clone(), projection }))
    }

    fn describe(&self) -> String {
        format!("{} as {}", self.stored.path.display(), self.stored.format)
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
