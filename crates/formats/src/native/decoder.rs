//! Reads blocks that say themselves which columns they have.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::io::BufRead;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use basalt_base::{Column, Columns, Error, ErrorCode, Result};

use super::block_info::skip_block_info;
use super::column_read::read_column;
use super::revision::{CUSTOM_SERIALIZATION, REVISION_MAX};
use super::source::Source;
use super::sparse::Kinds;
use crate::binary::{COLUMNS_MAX, NAME_BYTES_MAX, named_type};

/// Limits of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockLimits {
    /// Bytes of the block, in the input or in memory. A larger block is refused, and a number in its header allocates
    /// nothing: memory is taken as bytes arrive.
    pub bytes_max: u64,
}

/// Reads the blocks of a stream.
#[derive(Debug)]
pub struct BlockDecoder {
    revision: u64,
    limits: BlockLimits,
    /// The columns of the block before, and the names of their types: most streams repeat them.
    header: Vec<(Vec<u8>, Arc<Column>)>,
}

impl BlockDecoder {
    /// Decodes blocks of a revision of ClickHouse's protocol; 0 is that of files. Fails if the revision is later than
    /// [`REVISION_MAX`].
    pub fn new(revision: u64, limits: BlockLimits) -> Result<BlockDecoder> {
        if revision > REVISION_MAX {
            let what = format!("blocks of protocol revision {revision}, which is above {REVISION_MAX}");
            return Err(Error::not_implemented(what));
        }
        Ok(BlockDecoder { revision, limits, header: Vec::new() })
    }

    /// The next block, or `None` at the end of the input. Takes no byte beyond the block. A block without columns
    /// has no rows.
    pub fn read(&mut self, input: &mut dyn BufRead) -> Result<Option<(Columns, RecordBatch)>> {
        let mut source = Source::new(input, self.limits.bytes_max);
        if source.is_at_end()? {
            return Ok(None);
        }
        if self.revision > 0 {
            skip_block_info(&mut source)?;
        }
        let (count, rows) = (source.varint()?, source.varint()?);
        if count > COLUMNS_MAX || (count == 0 && rows > 0) || rows > self.limits.bytes_max {
            let what = format!("a block cannot have {count} columns and {rows} rows");
            return Err(Error::new(ErrorCode::IncorrectData, what));
        }
        let [count, rows] = [count, rows].map(|number| usize::try_from(number).unwrap_or(usize::MAX));
        let (mut columns, mut arrays) = (Vec::new(), Vec::new());
        for index in 0..count {
            let column = self.read_header(index, &mut source)?;
            let within =
                |error: Error| error.within(format!("column `{}` of type {}", column.name, column.ty));
            let kinds = self.read_kinds(&column, &mut source).map_err(within)?;
            arrays.push(match rows {
                0 => column.ty.default_array(0),
                _ => read_column(&column.ty, &kinds, rows, &mut source).map_err(within)?,
            });
            columns.push(Column::clone(&column));
        }
        let columns = Columns::new(columns);
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(columns.to_arrow(), arrays, &options)
            .map_err(|error| Error::logical(format!("columns that were read are no batch: {error}")))?;
        Ok(Some((columns, batch)))
    }

    /// The name and type of a column.
    fn read_header(&mut self, index: usize, source: &mut Source<'_>) -> Result<Arc<Column>> {
        let (name, ty) = (source.text(NAME_BYTES_MAX)?, source.text(NAME_BYTES_MAX)?);
        if let Some((type_before, column)) = self.header.get(index)
            && *type_before == ty
            && column.name.as_bytes() == name
        {
            return Ok(Arc::clone(column));
        }
        let name = String::from_utf8_lossy(&name).into_owned();
        let column = match named_type(&ty) {
            Ok(ty) => Arc::new(Column::new(name, ty)),
            Err(error) => return Err(error.within(format!("column `{name}`"))),
        };
        self.header.truncate(index);
        self.header.push((ty, Arc::clone(&column)));
        Ok(column)
    }

    fn read_kinds(&self, column: &Column, source: &mut Source<'_>) -> Result<Kinds> {
        if self.revision < CUSTOM_SERIALIZATION || source.byte()? == 0 {
            return Ok(Kinds::Default);
        }
        Kinds::read(&column.ty, source)
    }
}
