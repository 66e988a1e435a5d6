//! Rows in the bytes of a format, from files, HTTP servers and programs, or in blocks of a server; and keys in such
//! bytes.

use std::io::Read;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow::compute::kernels::zip::zip;
use arrow::compute::take;
use basalt_base::{Columns, Error, Result, bail};
use basalt_formats::{BlockReader, BlockSource, Defaulted, FormatSettings, Statistics, TypeConverter};

use super::{Blocks, LoadRequest};

/// The format of a source, if it can be read. JSONEachRow and similar formats find columns by name, others by
/// position: keys, attributes, then the tombstone if there is one.
pub(super) fn checked_format(format: String) -> Result<String> {
    if !basalt_formats::find(&format)?.can_read {
        bail!(FormatIsNotSuitableForInput, "format {format} cannot be read");
    }
    Ok(format)
}

/// The rows of `input`; `whence` is for errors.
pub(super) fn read_rows(
    load: &LoadRequest,
    format: &str,
    input: Box<dyn Read + Send>,
    whence: &str,
) -> Result<Blocks> {
    let columns = load.columns_of_rows(false);
    read_columns(load, format, input, whence, columns, load.key_count())
}

/// The rows of `source`, whose columns have the names of `columns`; others are converted by `converter`.
pub(super) fn read_blocks(
    load: &LoadRequest,
    source: Box<dyn BlockSource>,
    whence: &str,
    columns: Columns,
    converter: Arc<dyn TypeConverter>,
) -> Blocks {
    let settings = settings_of(load, whence);
    let reader = basalt_formats::native::open_blocks(source, &columns, &settings, Some(converter));
    let (key_count, defaults) = (load.key_count(), Arc::clone(&load.defaults));
    Box::new(FormattedBlocks { reader, columns, key_count, defaults, whence: whence.to_owned() })
}

/// Rows of the attributes alone.
pub(super) fn read_values(
    load: &LoadRequest,
    format: &str,
    input: Box<dyn Read + Send>,
    whence: &str,
) -> Result<Blocks> {
    let columns = load.columns[load.key_count()..].iter().cloned().collect();
    read_columns(load, format, input, whence, columns, 0)
}

fn read_columns(
    load: &LoadRequest,
    format: &str,
    input: Box<dyn Read + Send>,
    whence: &str,
    columns: Columns,
    key_count: usize,
) -> Result<Blocks> {
    let settings = settings_of(load, whence);
    let reader = basalt_formats::open_reader(format, &columns, &settings, input)
        .map_err(|error| error.within(whence))?;
    let defaults = Arc::clone(&load.defaults);
    Ok(Box::new(FormattedBlocks { reader, columns, key_count, defaults, whence: whence.to_owned() }))
}

/// Key columns as bytes of the format.
pub(super) fn write_keys(load: &LoadRequest, format: &str, keys: &[ArrayRef]) -> Result<Vec<u8>> {
    let columns: Columns = load.columns[..keys.len()].iter().cloned().collect();
    let batch = RecordBatch::try_new(columns.to_arrow(), keys.to_vec()).map_err(Error::of_arrow)?;
    let mut bytes = Vec::new();
    let mut writer = basalt_formats::open_writer(format, &columns, &settings_of(load, "keys"))?;
    writer.start(&mut bytes);
    writer.write(&batch, &mut bytes)?;
    writer.finish(&Statistics::default(), &mut bytes)?;
    Ok(bytes)
}

fn settings_of(load: &LoadRequest, what: &str) -> FormatSettings {
    Arc::clone(&load.host).format_settings(load.query(what))
}

struct FormattedBlocks {
    reader: Box<dyn BlockReader>,
    columns: Columns,
    key_count: usize,
    defaults: Arc<[ArrayRef]>,
    whence: String,
}

impl Iterator for FormattedBlocks {
    type Item = Result<Vec<ArrayRef>>;

    fn next(&mut self) -> Option<Result<Vec<ArrayRef>>> {
        let block = self.reader.next_block().transpose()?;
        let block = block.and_then(|block| {
            let columns = block.batch.columns().iter().enumerate();
            columns.map(|(at, column)| self.filled(at, column, &block.defaulted[at])).collect()
        });
        Some(block.map_err(|error: Error| error.within(&self.whence)))
    }
}

impl FormattedBlocks {
    /// The column, with the attribute's DEFAULT for missing values.
    fn filled(&self, at: usize, column: &ArrayRef, defaulted: &Defaulted) -> Result<ArrayRef> {
        let missing = match defaulted {
            Defaulted::Never => return Ok(Arc::clone(column)),
            Defaulted::Always => BooleanArray::from(vec![true; column.len()]),
            Defaulted::Rows(rows) => BooleanArray::new(rows.clone(), None),
        };
        if missing.true_count() == 0 {
            return Ok(Arc::clone(column));
        }
        if at < self.key_count {
            let name = &self.columns[at].name;
            bail!(CannotInsertNullInOrdinaryColumn, "a row has no value for the key column `{name}`");
        }
        let Some(default) = self.defaults.get(at - self.key_count) else { return Ok(Arc::clone(column)) };
        let zeroes = UInt32Array::from(vec![0; column.len()]);
        let default = take(default, &zeroes, None).map_err(Error::of_arrow)?;
        zip(&missing, &default, column).map_err(Error::of_arrow)
    }
}
