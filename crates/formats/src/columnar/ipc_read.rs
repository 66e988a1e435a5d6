//! Reads Arrow streams and Arrow files.
//!
//! A file is read as the stream that it contains, so that it need not be seekable.

use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::{Endianness, MessageHeader};
use basalt_base::{Columns, Result};

use super::damage::{Guarded, caught, damaged};
use super::foreign_type::columns_of;
use super::ipc_message::{FILE_MAGIC, MessageBytes, check_batch, read_up_to, unexpected};
use super::matching::{Cutter, MatchOptions, Matching, without_text};
use crate::block::{Block, BlockReader};
use crate::settings::FormatSettings;

const STREAM: &str = "ArrowStream";
const FILE: &str = "Arrow";

/// The start of a file is padded to 64 bytes at most.
const PADDING_WORDS_MAX: usize = 14;

/// Opens a reader of the format ArrowStream.
pub(crate) fn open_stream(
    columns: &Columns,
    settings: &FormatSettings,
    input: Box<dyn Read + Send>,
) -> Result<Box<dyn BlockReader>> {
    Ok(Box::new(Guarded::new(IpcReader::new(columns, settings, input, STREAM), STREAM)))
}

/// Opens a reader of the format Arrow.
pub(crate) fn open_file(
    columns: &Columns,
    settings: &FormatSettings,
    input: Box<dyn Read + Send>,
) -> Result<Box<dyn BlockReader>> {
    Ok(Box::new(Guarded::new(IpcReader::new(columns, settings, input, FILE), FILE)))
}

/// The columns of a stream or file, by its first message.
pub(crate) fn infer(input: &mut dyn Read, is_file: bool) -> Result<Columns> {
    let format = if is_file { FILE } else { STREAM };
    caught(format, || match Stream::open(input, format)? {
        Some(stream) => columns_of(&stream.schema),
        None => Ok(Columns::new(Vec::new())),
    })
}

struct IpcReader {
    input: Box<dyn Read + Send>,
    format: &'static str,
    columns: Columns,
    settings: FormatSettings,
    /// `None` before the first block is read.
    stream: Option<(Stream, Matching)>,
    cutter: Cutter,
}

/// What the messages of a stream so far say.
struct Stream {
    format: &'static str,
    /// Without text: see [`without_text`].
    schema: SchemaRef,
    dictionaries: HashMap<i64, ArrayRef>,
}

impl IpcReader {
    fn new(
        columns: &Columns,
        settings: &FormatSettings,
        input: Box<dyn Read + Send>,
        format: &'static str,
    ) -> IpcReader {
        let cutter = Cutter::new(settings);
        IpcReader {
            input,
            format,
            columns: columns.clone(),
            settings: settings.clone(),
            stream: None,
            cutter,
        }
    }

    fn open(&mut self) -> Result<Option<(Stream, Matching)>> {
        let Some(stream) = Stream::open(&mut *self.input, self.format)? else { return Ok(None) };
        let settings = &self.settings.columnar;
        let options =
            MatchOptions { any_case: settings.arrow_any_case, allow_missing: settings.arrow_allow_missing };
        let matching = Matching::new(&self.columns, &stream.schema, options, &self.settings)?;
        Ok(Some((stream, matching)))
    }
}

impl BlockReader for IpcReader {
    fn next_block(&mut self) -> Result<Option<Block>> {
        if self.stream.is_none() {
            self.stream = self.open()?;
        }
        let Some((stream, matching)) = &mut self.stream else { return Ok(None) };
        loop {
            if let Some(rows) = self.cutter.next() {
                return matching.block(&rows).map(Some);
            }
            match stream.next_batch(&mut *self.input)? {
                Some(batch) => self.cutter.put(batch),
                None => return Ok(None),
            }
        }
    }
}

impl Stream {
    /// Reads the schema; `None` if there are no bytes.
    fn open(input: &mut dyn Read, format: &'static str) -> Result<Option<Stream>> {
        if format == FILE {
            let magic = read_up_to(input, FILE_MAGIC.len() as u64)?;
            if magic.is_empty() {
                return Ok(None);
            }
            if magic != FILE_MAGIC {
                return Err(damaged(format, "it does not begin with ARROW1"));
            }
        }
        let Some(bytes) = first_message(input, format)? else { return Ok(None) };
        let message = bytes.message(format)?;
        let Some(schema) = message.header_as_schema() else {
            return Err(unexpected(message.header_type(), format));
        };
        if schema.endianness() != Endianness::Little {
            return Err(damaged(format, "its numbers are big-endian, which is not supported"));
        }
        let schema = without_text(&fb_to_schema(schema));
        Ok(Some(Stream { format, schema: Arc::new(schema), dictionaries: HashMap::new() }))
    }

    /// Reads up to the next batch of rows.
    fn next_batch(&mut self, input: &mut dyn Read) -> Result<Option<RecordBatch>> {
        let format = self.format;
        while let Some(bytes) = MessageBytes::read(input, format)? {
            let message = bytes.message(format)?;
            match message.header_type() {
                MessageHeader::DictionaryBatch => {
                    let batch = message.header_as_dictionary_batch().filter(|batch| batch.data().is_some());
                    let batch = batch.ok_or_else(|| damaged(format, "a dictionary has no values"))?;
                    if let Some(values) = batch.data() {
                        check_batch(values, &bytes.body, format)?;
                    }
                    let version = message.version();
                    read_dictionary(&bytes.body, batch, &self.schema, &mut self.dictionaries, &version)
                        .map_err(|error| damaged(format, error))?;
                }
                MessageHeader::RecordBatch => {
                    let batch = message.header_as_record_batch();
                    let batch = batch.ok_or_else(|| damaged(format, "a batch has no rows"))?;
                    check_batch(batch, &bytes.body, format)?;
                    let (schema, version) = (Arc::clone(&self.schema), message.version());
                    let rows =
                        read_record_batch(&bytes.body, batch, schema, &self.dictionaries, None, &version);
                    return rows.map(Some).map_err(|error| damaged(format, error));
                }
                MessageHeader::NONE => {}
                other => return Err(unexpected(other, format)),
            }
        }
        Ok(None)
    }
}

/// The first message. Some writers put more zero bytes before it than a file needs, each word of which looks like the end
/// of a stream.
fn first_message(input: &mut dyn Read, format: &'static str) -> Result<Option<MessageBytes>> {
    let words = if format == FILE { PADDING_WORDS_MAX } else { 0 };
    for _ in 0..words {
        if let Some(message) = MessageBytes::read(input, format)? {
            return Ok(Some(message));
        }
    }
    MessageBytes::read(input, format)
}
