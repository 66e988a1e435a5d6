//! Which column of a file is which column of the table, and blocks of the table's columns.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::Schema;
use basalt_base::{Column, Columns, Error, ErrorCode, Result, bail};

use super::incoming::read_array;
use crate::block::{Block, Defaulted};
use crate::settings::{FormatSettings, TextSettings};

/// How columns of a file are matched with those of a table.
#[derive(Clone, Copy)]
pub(super) struct MatchOptions {
    pub(super) any_case: bool,
    pub(super) allow_missing: bool,
}

/// The columns of a table, and their places in a file.
pub(super) struct Matching {
    columns: Columns,
    /// The position in the file's schema; `None` if the file lacks the column.
    positions: Vec<Option<usize>>,
    text: TextSettings,
}

impl Matching {
    /// Matches by name. Fails if the file has a name twice, or other columns than the settings allow.
    pub(super) fn new(
        columns: &Columns,
        schema: &Schema,
        options: MatchOptions,
        settings: &FormatSettings,
    ) -> Result<Matching> {
        let same = |left: &str, right: &str| match options.any_case {
            true => left.eq_ignore_ascii_case(right),
            false => left == right,
        };
        let fields = schema.fields();
        let mut positions = Vec::with_capacity(columns.len());
        for Column { name, .. } in columns.iter() {
            let mut found = (0..fields.len()).filter(|&at| same(fields[at].name(), name));
            let position = found.next();
            if found.next().is_some() {
                bail!(DuplicateColumn, "the file has more than one column `{name}`");
            }
            if position.is_none() && !options.allow_missing {
                bail!(ThereIsNoColumn, "the file has no column `{name}`");
            }
            positions.push(position);
        }
        if !settings.skip_unknown_fields {
            let unknown = (0..fields.len()).find(|at| !positions.contains(&Some(*at)));
            if let Some(at) = unknown {
                let name = fields[at].name();
                bail!(IncorrectData, "the file has a column `{name}`, which the table lacks");
            }
        }
        Ok(Matching { columns: columns.clone(), positions, text: settings.text })
    }

    /// The positions in the file of the columns that it has.
    pub(super) fn positions(&self) -> impl Iterator<Item = usize> + '_ {
        self.positions.iter().copied().flatten()
    }

    /// The block of the table's columns in `batch`, which has the file's.
    pub(super) fn block(&self, batch: &RecordBatch) -> Result<Block> {
        let (mut arrays, mut defaulted) = (Vec::new(), Vec::new());
        for (column, position) in self.columns.iter().zip(&self.positions) {
            let within =
                |error: Error| error.within(format!("column `{}` of type {}", column.name, column.ty));
            let (array, missing) = match position {
                Some(at) => self.present(column, batch.column(*at)).map_err(within)?,
                None => (column.ty.default_array(batch.num_rows()), Defaulted::Always),
            };
            arrays.push(array);
            defaulted.push(missing);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch = RecordBatch::try_new_with_options(self.columns.to_arrow(), arrays, &options);
        Ok(Block { batch: batch.map_err(Error::of_arrow)?, defaulted })
    }

    fn present(&self, column: &Column, array: &ArrayRef) -> Result<(ArrayRef, Defaulted)> {
        let read = read_array(array, &column.ty, &self.text)?;
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        let Some(nulls) = nulls.filter(|_| !column.ty.accepts_null()) else {
            return Ok((read, Defaulted::Never));
        };
        if !self.text.null_as_default {
            let what = format!("NULL is not a value of type {}", column.ty);
            return Err(Error::new(ErrorCode::CannotInsertNullInOrdinaryColumn, what));
        }
        let defaulted = match nulls.null_count() == nulls.len() {
            true => Defaulted::Always,
            false => Defaulted::Rows(!nulls.inner()),
        };
        Ok((read, defaulted))
    }
}

/// Cuts batches of a file into blocks of at most some rows.
pub(super) struct Cutter {
    batch: Option<RecordBatch>,
    max_rows: usize,
}

impl Cutter {
    pub(super) fn new(settings: &FormatSettings) -> Cutter {
        Cutter { batch: None, max_rows: settings.max_block_rows.max(1) }
    }

    pub(super) fn put(&mut self, batch: RecordBatch) {
        self.batch = Some(batch);
    }

    /// The next rows of the batch that was put last.
    pub(super) fn next(&mut self) -> Option<RecordBatch> {
        let batch = self.batch.take().filter(|batch| batch.num_rows() > 0)?;
        if batch.num_rows() <= self.max_rows {
            return Some(batch);
        }
        self.batch = Some(batch.slice(self.max_rows, batch.num_rows() - self.max_rows));
        Some(batch.slice(0, self.max_rows))
    }
}

/// The schema with binary in place of text, whose values may be any bytes.
pub(super) fn without_text(schema: &Schema) -> Schema {
    use arrow::datatypes::{DataType, Field, Fields};
    fn field(foreign: &Field) -> Field {
        foreign.clone().with_data_type(data_type(foreign.data_type()))
    }
    fn data_type(foreign: &DataType) -> DataType {
        let inner = |foreign: &Arc<Field>| Arc::new(field(foreign));
        match foreign {
            DataType::Utf8 => DataType::Binary,
            DataType::LargeUtf8 => DataType::LargeBinary,
            DataType::Utf8View => DataType::BinaryView,
            DataType::List(element) => DataType::List(inner(element)),
            DataType::LargeList(element) => DataType::LargeList(inner(element)),
            DataType::ListView(element) => DataType::ListView(inner(element)),
            DataType::LargeListView(element) => DataType::LargeListView(inner(element)),
            DataType::FixedSizeList(element, count) => DataType::FixedSizeList(inner(element), *count),
            DataType::Map(entries, sorted) => DataType::Map(inner(entries), *sorted),
            DataType::Struct(fields) => {
                DataType::Struct(fields.iter().map(|foreign| field(foreign)).collect::<Fields>())
            }
            DataType::Dictionary(key, value) => DataType::Dictionary(key.clone(), Box::new(data_type(value))),
            other => other.clone(),
        }
    }
    let fields: Fields = schema.fields().iter().map(|foreign| field(foreign)).collect();
    Schema::new(fields)
}
