//! Writes sorted rows to a pending part, which is published later.
//!
//! # Compact and wide
//!
//! A small part is *compact*: its columns, zone maps and primary index are back to back in `data.bin`, so that an
//! INSERT syncs two files for any number of columns. A larger part is *wide*, with a file for each column. The
//! bytes of the columns stay in memory until it is certain that the part is wide.
//!
//! # One or two stages
//!
//! All columns are written together, batch by batch. A wide part may be written in two stages instead: first some
//! columns, including those of the keys, and then each of the others as a whole.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::compute::interleave;
use basalt_base::fs::{PendingDirectory, Storage};
use basalt_base::parallel::for_each;
use basalt_base::{Columns, FileAction};

use super::column_writer::{ColumnWriter, WrittenColumn};
use super::computed_index::ComputedIndex;
use super::file_name;
use super::meta::{DataFile, META_FILE, PartMeta, SkipIndexMeta, encode_partition};
use super::stored::{DATA_FILE, PRIMARY_FILE};
use super::volume::value_bytes;
use crate::error::{Error, Result};
use crate::index::skip_index::SkipIndex;
use crate::index::zone_file::ZONES_FILE;
use crate::key::partition::PartitionValue;
use crate::key::primary::PrimaryWriter;
use crate::spec::PartSpec;
use crate::ttl::bounds::TtlBounds;

/// Rows that are gathered at a time.
const PICKED_ROWS: usize = 65_536;

/// Writes a part granule by granule.
pub(crate) struct PartWriter {
    spec: Arc<PartSpec>,
    /// The columns of batches: the table's, or those of the first stage.
    stage: Arc<PartSpec>,
    directory: PendingDirectory,
    /// The columns of batches with their positions in the table.
    columns: Vec<(usize, ColumnWriter)>,
    /// Complete columns with their positions in the table.
    written: Vec<(usize, WrittenColumn)>,
    /// Skip indexes over expressions or several columns.
    computed: Vec<ComputedIndex>,
    primary: PrimaryWriter,
    row_count: u64,
    value_bytes: u64,
    is_wide: bool,
    /// The key columns of the last batch, for the part's last row.
    last_key: Option<Vec<ArrayRef>>,
    /// Threads that write columns.
    threads: usize,
    /// The partition of the first row, which all rows share.
    partition: PartitionValue,
}

/// A part that is written and has no name yet.
pub(crate) struct PendingPart {
    pub(crate) directory: PendingDirectory,
    pub(crate) meta: PartMeta,
}

impl PartWriter {
    /// Starts a part in the temporary directory `path`.
    pub(crate) fn create(
        storage: Arc<dyn Storage>,
        path: PathBuf,
        spec: Arc<PartSpec>,
        threads: usize,
    ) -> Result<PartWriter> {
        let columns: Vec<usize> = (0..spec.columns.len()).collect();
        PartWriter::create_with(storage, path, Arc::clone(&spec), spec, &columns, threads)
    }

    /// Starts a wide part whose batches have only the columns at `columns`. [`PartWriter::write_columns`] writes
    /// the others.
    pub(crate) fn create_staged(
        storage: Arc<dyn Storage>,
        path: PathBuf,
        spec: Arc<PartSpec>,
        columns: &[usize],
        threads: usize,
    ) -> Result<PartWriter> {
        let stage = Arc::new(spec.project_with_partition(columns));
        let mut writer = PartWriter::create_with(storage, path, spec, stage, columns, threads)?;
        writer.make_wide()?;
        Ok(writer)
    }

    fn create_with(
        storage: Arc<dyn Storage>,
        path: PathBuf,
        spec: Arc<PartSpec>,
        stage: Arc<PartSpec>,
        positions: &[usize],
        threads: usize,
    ) -> Result<PartWriter> {
        let directory = PendingDirectory::create(storage, path)?;
        let mut columns = Vec::with_capacity(positions.len());
        for &position in positions {
            columns.push((position, ColumnWriter::create(directory.path(), &spec, position)?));
        }
        let key_fields: Vec<_> =
            stage.primary_key().iter().map(|element| element.field(&stage.columns)).collect();
        let primary = PrimaryWriter::new(&key_fields);
        Ok(PartWriter {
            computed: ComputedIndex::all(&spec),
            spec,
            stage,
            directory,
            columns,
            written: Vec::new(),
            primary,
            row_count: 0,
            value_bytes: 0,
            is_wide: false,
            last_key: None,
            threads,
            partition: PartitionValue::default(),
        })
    }

    /// Appends rows, which are sorted and not below the previous ones.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let key = self.primary_key_of(batch)?;
        if self.row_count == 0 {
            self.partition = self.stage.partition_of(batch)?;
        }
        let granule_rows = self.spec.granule_rows;
        let first = (self.row_count as usize).next_multiple_of(granule_rows) - self.row_count as usize;
        (first..batch.num_rows()).step_by(granule_rows).for_each(|row| self.primary.append(&key, row));
        self.count(batch.num_rows(), batch.columns().iter().map(|values| value_bytes(values)).sum())?;
        self.last_key = Some(key);
        self.computed.iter_mut().try_for_each(|index| index.write(batch, &self.stage.columns))?;
        let columns = self.columns.iter_mut().zip(batch.columns());
        for_each(columns, self.threads, |((_, column), values)| column.write(values))
    }

    /// Writes each of the columns at `columns` as a whole, with the values that `values` returns for it: as many
    /// rows as the batches had. No batch may follow.
    ///
    /// # Panics
    ///
    /// If the part was not created for two stages.
    pub(crate) fn write_columns<V: Iterator<Item = Result<ArrayRef>>>(
        &mut self,
        columns: &[usize],
        values: impl Fn(usize) -> Result<V> + Sync,
    ) -> Result<()> {
        assert!(self.is_wide, "a part in two stages is wide");
        self.finish_columns()?;
        let mut written: Vec<Option<WrittenColumn>> = columns.iter().map(|_| None).collect();
        let bytes = AtomicU64::new(0);
        for_each::<_, Error>(columns.iter().zip(&mut written), self.threads, |(&position, written)| {
            let mut column = ColumnWriter::create(self.directory.path(), &self.spec, position)?;
            column.move_to_file(&self.directory)?;
            for values in values(position)? {
                let values = values?;
                bytes.fetch_add(value_bytes(&values), Ordering::Relaxed);
                column.write(&values)?;
            }
            *written = Some(column.finish()?);
            Ok(())
        })?;
        self.value_bytes += bytes.into_inner();
        self.written.extend(columns.iter().copied().zip(written.into_iter().flatten()));
        Ok(())
    }

    /// Appends rows of `blocks`: those at `picks` (block, row), which are sorted and not below the previous ones.
    /// Rows are gathered column by column, a few at a time, and a column of the blocks is dropped when it is
    /// written.
    pub(crate) fn write_picked(&mut self, blocks: Vec<RecordBatch>, picks: &[(usize, usize)]) -> Result<()> {
        let (Some(&(block, row)), Some(last)) = (picks.first(), picks.last()) else { return Ok(()) };
        if self.row_count == 0 {
            self.partition = self.stage.partition_of(&blocks[block].slice(row, 1))?;
        }
        let keys = blocks.iter().map(|block| self.primary_key_of(block)).collect::<Result<Vec<_>>>()?;
        let key_at = |picks: &[(usize, usize)]| -> Result<Vec<ArrayRef>> {
            let elements = 0..self.stage.primary_key_len;
            elements.map(|element| pick(keys.iter().map(|key| &key[element]), picks)).collect()
        };
        let granule_rows = self.spec.granule_rows;
        let first = (self.row_count as usize).next_multiple_of(granule_rows) - self.row_count as usize;
        let starts: Vec<(usize, usize)> = picks.iter().skip(first).step_by(granule_rows).copied().collect();
        let (start_keys, last_key) = (key_at(&starts)?, key_at(&[*last])?);
        (0..starts.len()).for_each(|row| self.primary.append(&start_keys, row));
        self.last_key = Some(last_key);
        let bytes = blocks.iter().flat_map(RecordBatch::columns).map(|values| value_bytes(values)).sum();
        self.count(picks.len(), bytes)?;
        self.write_computed(&blocks, picks)?;
        let columns = columns_of(blocks);
        for_each(self.columns.iter_mut().zip(columns), self.threads, |((_, column), arrays)| {
            picks.chunks(PICKED_ROWS).try_for_each(|picks| column.write(&pick(arrays.iter(), picks)?))
        })
    }

    /// Appends the rows to indexes that read several columns.
    fn write_computed(&mut self, blocks: &[RecordBatch], picks: &[(usize, usize)]) -> Result<()> {
        if self.computed.is_empty() {
            return Ok(());
        }
        let is_seen = |&at: &usize| self.stage.is_computed_on(at);
        let places: Vec<usize> = (0..self.stage.columns.len()).filter(is_seen).collect();
        let columns: Columns = places.iter().map(|&at| self.stage.columns[at].clone()).collect();
        for picks in picks.chunks(PICKED_ROWS) {
            let values = places.iter().map(|&at| pick(blocks.iter().map(|block| block.column(at)), picks));
            let batch = RecordBatch::try_new(columns.to_arrow(), values.collect::<Result<_>>()?)?;
            self.computed.iter_mut().try_for_each(|index| index.write(&batch, &columns))?;
        }
        Ok(())
    }

    /// Counts the next rows, and moves the columns to files once the part is large enough.
    fn count(&mut self, rows: usize, bytes: u64) -> Result<()> {
        self.row_count += rows as u64;
        self.value_bytes += bytes;
        let is_wide =
            self.row_count >= self.spec.wide_rows_min && self.value_bytes >= self.spec.wide_bytes_min;
        if is_wide && !self.is_wide { self.make_wide() } else { Ok(()) }
    }

    fn make_wide(&mut self) -> Result<()> {
        self.is_wide = true;
        self.columns.iter().try_for_each(|(_, column)| column.move_to_file(&self.directory))
    }

    fn primary_key_of(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let columns = &self.stage.columns;
        self.stage.primary_key().iter().map(|element| element.array(batch, columns)).collect()
    }

    /// Writes the index and the metadata; the caller syncs the directory. `ttl` is when the rows expire.
    pub(crate) fn finish(mut self, made_at_us: u64, ttl: Vec<TtlBounds>) -> Result<PendingPart> {
        if let Some(key) = self.last_key.take() {
            let last = key.first().map_or(0, |column| column.len().saturating_sub(1));
            self.primary.append(&key, last);
        }
        self.finish_columns()?;
        let primary = self.primary.finish()?;
        let (spec, stage) = (&self.spec, &self.stage);
        let (mut zones, mut columns) = (Vec::new(), Vec::new());
        let (mut data, mut indexes) = (Vec::new(), Vec::new());
        assert_eq!(self.written.len(), spec.columns.len(), "every column was written");
        for (position, mut column) in self.written {
            assert_eq!(column.row_count(), self.row_count, "all columns have the same rows");
            indexes.append(&mut column.take_indexes());
            let sink = column.sink().clone();
            let mut meta = column.meta(spec, position, &mut zones)?;
            if !self.is_wide {
                meta.file = DATA_FILE.to_owned();
                meta.offset = Some(data.len() as u64);
                data.append(&mut sink.take_memory());
            }
            columns.push(meta);
        }
        for index in self.computed {
            indexes.push(index.finish()?);
        }
        let (data_file, skip_indexes) = if self.is_wide {
            (None, write_indexes(&self.directory, &zones, &primary, indexes)?)
        } else {
            let (file, indexes) = write_data(&self.directory, data, &zones, &primary, indexes)?;
            (Some(file), indexes)
        };
        let meta = PartMeta {
            row_count: self.row_count,
            value_bytes: self.value_bytes,
            deleted_count: 0,
            granule_rows: spec.granule_rows as u32,
            names_version: spec.history.version(),
            made_at_us,
            made_by: env!("CARGO_PKG_VERSION").to_owned(),
            primary_file_bytes: primary.len() as u64,
            primary_key: stage.primary_key().iter().map(|element| element.name(&stage.columns)).collect(),
            partition: encode_partition(stage, &self.partition)?,
            zones_file_bytes: zones.len() as u64,
            data_file,
            skip_indexes,
            columns,
            ttl,
        };
        write_file(&self.directory, META_FILE, &meta.encode())?;
        Ok(PendingPart { directory: self.directory, meta })
    }

    /// Writes the rest of each column.
    fn finish_columns(&mut self) -> Result<()> {
        let columns = std::mem::take(&mut self.columns);
        let mut written: Vec<Option<(usize, WrittenColumn)>> = columns.iter().map(|_| None).collect();
        for_each::<_, Error>(
            columns.into_iter().zip(&mut written),
            self.threads,
            |((position, column), written)| {
                *written = Some((position, column.finish()?));
                Ok(())
            },
        )?;
        self.written.extend(written.into_iter().flatten());
        self.written.sort_by_key(|(position, _)| *position);
        Ok(())
    }
}

/// The arrays of the blocks, column by column.
pub(crate) fn columns_of(blocks: Vec<RecordBatch>) -> Vec<Vec<ArrayRef>> {
    let count = blocks.first().map_or(0, RecordBatch::num_columns);
    (0..count).map(|column| blocks.iter().map(|block| Arc::clone(block.column(column))).collect()).collect()
}

/// The values at `picks` (array, row).
fn pick<'a>(arrays: impl Iterator<Item = &'a ArrayRef>, picks: &[(usize, usize)]) -> Result<ArrayRef> {
    let arrays: Vec<&dyn Array> = arrays.map(|array| &**array).collect();
    Ok(interleave(&arrays, picks)?)
}

/// Writes the indexes of a wide part to their files.
fn write_indexes(
    directory: &PendingDirectory,
    zones: &[u8],
    primary: &[u8],
    indexes: Vec<(SkipIndex, Vec<u8>)>,
) -> Result<Vec<SkipIndexMeta>> {
    write_file(directory, PRIMARY_FILE, primary)?;
    if !zones.is_empty() {
        write_file(directory, ZONES_FILE, zones)?;
    }
    let write = |(index, bytes): (SkipIndex, Vec<u8>)| {
        write_file(directory, &file_name::of_skip_index(&index.name), &bytes)?;
        Ok(SkipIndexMeta::new(&index, bytes.len(), None))
    };
    indexes.into_iter().map(write).collect()
}

/// Writes the data file of a compact part: the columns in `data`, then the indexes.
fn write_data(
    directory: &PendingDirectory,
    mut data: Vec<u8>,
    zones: &[u8],
    primary: &[u8],
    indexes: Vec<(SkipIndex, Vec<u8>)>,
) -> Result<(DataFile, Vec<SkipIndexMeta>)> {
    let zones_offset = data.len() as u64;
    data.extend_from_slice(zones);
    let primary_offset = data.len() as u64;
    data.extend_from_slice(primary);
    let mut metas = Vec::with_capacity(indexes.len());
    for (index, mut bytes) in indexes {
        metas.push(SkipIndexMeta::new(&index, bytes.len(), Some(data.len() as u64)));
        data.append(&mut bytes);
    }
    write_file(directory, DATA_FILE, &data)?;
    Ok((DataFile { file_bytes: data.len() as u64, zones_offset, primary_offset }, metas))
}

pub(crate) fn write_file(directory: &PendingDirectory, name: &str, bytes: &[u8]) -> Result<()> {
    let mut file = directory.create_file(name)?;
    file.write_all(bytes).map_err(|error| {
        basalt_base::Error::io(FileAction::Write, &directory.path().join(name), &error).into()
    })
}
