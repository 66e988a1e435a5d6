//! Reads Parquet files: only the columns that are wanted, a block of rows at a time.
//!
//! The metadata of a file are at its end. A stream is therefore read into memory first, under the query's limit; a file
//! is read in place.

use std::fs::File;
use std::io::Read;

use arrow::array::{RecordBatch, RecordBatchReader};
use arrow::error::ArrowError;
use basalt_base::{Columns, Result};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::file::reader::ChunkReader;

use super::damage::{Guarded, caught, damaged};
use super::foreign_type::columns_of;
use super::ipc_message::read_up_to;
use super::matching::{MatchOptions, Matching};
use crate::block::{Block, BlockReader};
use crate::settings::FormatSettings;

const FORMAT: &str = "Parquet";

/// Where the bytes of a file are.
pub(crate) enum ParquetInput {
    Stream(Box<dyn Read + Send>),
    File(File),
}

/// The columns of a file that is read into memory.
pub(crate) fn infer_parquet(input: &mut dyn Read) -> Result<Columns> {
    let bytes = Bytes::from(read_up_to(input, u64::MAX)?);
    if bytes.is_empty() {
        return Ok(Columns::new(Vec::new()));
    }
    caught(FORMAT, || columns_of(builder(bytes)?.schema()))
}

/// The columns of a file in place.
pub(crate) fn infer_parquet_file(file: File) -> Result<Columns> {
    caught(FORMAT, || columns_of(builder(file)?.schema()))
}

/// Opens a reader. Nothing is read before the first block.
pub(crate) fn open_parquet(
    columns: &Columns,
    settings: &FormatSettings,
    input: ParquetInput,
) -> Result<Box<dyn BlockReader>> {
    let state = State::New(input);
    let reader = ParquetReader { columns: columns.clone(), settings: settings.clone(), state };
    Ok(Box::new(Guarded::new(reader, FORMAT)))
}

struct ParquetReader {
    columns: Columns,
    settings: FormatSettings,
    state: State,
}

enum State {
    New(ParquetInput),
    Open(Batches, Matching),
    Ended,
}

type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

impl ParquetReader {
    fn open(&self, input: ParquetInput) -> Result<State> {
        match input {
            ParquetInput::File(file) => self.read(file),
            ParquetInput::Stream(mut stream) => {
                let bytes = Bytes::from(read_up_to(&mut *stream, u64::MAX)?);
                if bytes.is_empty() { Ok(State::Ended) } else { self.read(bytes) }
            }
        }
    }

    fn read<T: ChunkReader + 'static>(&self, file: T) -> Result<State> {
        let builder = builder(file)?;
        let columnar = &self.settings.columnar;
        let options = MatchOptions {
            any_case: columnar.parquet_any_case,
            allow_missing: columnar.parquet_allow_missing,
        };
        let all = Matching::new(&self.columns, builder.schema(), options, &self.settings)?;
        let mask = ProjectionMask::roots(builder.parquet_schema(), all.positions());
        let rows = self.settings.max_block_rows.max(1);
        let batches = builder.with_projection(mask).with_batch_size(rows).build();
        let batches = batches.map_err(|error| damaged(FORMAT, error))?;
        let matching = Matching::new(&self.columns, &batches.schema(), options, &self.settings)?;
        Ok(State::Open(Box::new(batches), matching))
    }
}

impl BlockReader for ParquetReader {
    fn next_block(&mut self) -> Result<Option<Block>> {
        if let State::New(_) = self.state {
            let State::New(input) = std::mem::replace(&mut self.state, State::Ended) else { return Ok(None) };
            self.state = self.open(input)?;
        }
        let State::Open(batches, matching) = &mut self.state else { return Ok(None) };
        basalt_base::query::checkpoint()?;
        match batches.next().transpose().map_err(|error| damaged(FORMAT, error))? {
            Some(batch) => matching.block(&batch).map(Some),
            None => Ok(None),
        }
    }
}

fn builder<T: ChunkReader + 'static>(file: T) -> Result<ParquetRecordBatchReaderBuilder<T>> {
    // The Arrow schema that some writers add could ask for other types than those of the columns.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    ParquetRecordBatchReaderBuilder::try_new_with_options(file, options)
        .map_err(|error| damaged(FORMAT, error))
}
