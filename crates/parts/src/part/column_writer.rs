//! Writes one column of a part: its file, and its zone map.

use std::path::{Path, PathBuf};

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::FieldRef;
use basalt_base::FileAction;
use basalt_base::fs::PendingDirectory;
use basalt_codec::CodecChain;

use super::file_name;
use super::meta::{ColumnMeta, encode_bounds};
use super::sink::Sink;
use crate::column::plain::plain;
use crate::column::strings::coder::Coding;
use crate::column::writer::{ColumnFileSize, ColumnFileWriter};
use crate::error::Result;
use crate::index::skip_index::{SkipIndex, SkipIndexWriter};
use crate::index::zone_file::ZonesPlace;
use crate::index::zones::{Zones, ZonesBuilder};
use crate::spec::PartSpec;

/// A column of a part that is being written.
pub(super) struct ColumnWriter {
    field: FieldRef,
    file_name: String,
    /// The path of its file, if it gets one.
    path: PathBuf,
    sink: Sink,
    file: ColumnFileWriter,
    /// `None` for a type without an order.
    zones: Option<ZonesBuilder>,
    /// The single-column skip indexes of the column.
    indexes: Vec<SkipIndexWriter>,
    row_count: u64,
    null_count: u64,
    /// Rows in the current granule; earlier granules are complete.
    open_rows: usize,
    granule_rows: usize,
}

/// A column that is completely written.
pub(super) struct WrittenColumn {
    field: FieldRef,
    file_name: String,
    sink: Sink,
    size: ColumnFileSize,
    /// The chain that was used.
    chain: CodecChain,
    zones: Option<Zones>,
    /// The skip indexes of the column, with the bytes of their files.
    indexes: Vec<(SkipIndex, Vec<u8>)>,
    row_count: u64,
    null_count: u64,
}

impl ColumnWriter {
    /// Starts the column at `position` of a part in `directory`; its bytes stay in memory at first.
    pub(super) fn create(directory: &Path, spec: &PartSpec, position: usize) -> Result<ColumnWriter> {
        let field = spec.field(position);
        let file_name = file_name::of_column(&spec.columns[position].name, position);
        let path = directory.join(&file_name);
        let chain = spec.codecs[position].clone();
        let sink = Sink::in_memory();
        let coding = Coding::of(&spec.columns[position].ty);
        let target = Box::new(sink.clone());
        let name = &spec.columns[position].name;
        let blocks = spec.blocks.get(name).copied().unwrap_or_default();
        let file = ColumnFileWriter::create(target, path.clone(), &field, chain, coding, spec.granule_rows)?;
        let file = file.with_blocks(blocks);
        let zones = ZonesBuilder::new(&field);
        let own = spec.indexes.iter().filter(|index| index.as_column() == Some(name));
        let indexes = own.map(|index| SkipIndexWriter::new(index, vec![FieldRef::clone(&field)])).collect();
        let granule_rows = spec.granule_rows;
        Ok(ColumnWriter {
            field,
            file_name,
            path,
            sink,
            file,
            zones,
            indexes,
            row_count: 0,
            null_count: 0,
            open_rows: 0,
            granule_rows,
        })
    }

    /// Sets the name of the column's file.
    pub(super) fn named(self, file_name: String) -> ColumnWriter {
        ColumnWriter { file_name, ..self }
    }

    /// Moves the column to a file of its own.
    pub(super) fn move_to_file(&self, directory: &PendingDirectory) -> Result<()> {
        let file = directory.create_file(&self.file_name)?;
        let path = directory.path().join(&self.file_name);
        self.sink
            .move_to(file)
            .map_err(|error| basalt_base::Error::io(FileAction::Write, &path, &error).into())
    }

    /// Appends rows: values, or for strings a dictionary array.
    pub(super) fn write(&mut self, values: &ArrayRef) -> Result<()> {
        let mut start = 0;
        while start < values.len() {
            let rows = (self.granule_rows - self.open_rows).min(values.len() - start);
            self.append(&values.slice(start, rows))?;
            start += rows;
            self.open_rows += rows;
            if self.open_rows == self.granule_rows {
                self.end_granule()?;
            }
        }
        Ok(())
    }

    /// Appends rows to the current granule.
    fn append(&mut self, rows: &ArrayRef) -> Result<()> {
        self.row_count += rows.len() as u64;
        self.null_count += rows.null_count() as u64;
        if let Some(zones) = &mut self.zones {
            zones.append(&plain(rows))?;
        }
        self.indexes.iter_mut().try_for_each(|index| index.append(std::slice::from_ref(rows)))?;
        self.file.append(rows)
    }

    fn end_granule(&mut self) -> Result<()> {
        self.open_rows = 0;
        if let Some(zones) = &mut self.zones {
            zones.end_granule()?;
        }
        self.indexes.iter_mut().try_for_each(SkipIndexWriter::end_granule)?;
        self.file.end_granule()
    }

    /// Writes the rest.
    pub(super) fn finish(mut self) -> Result<WrittenColumn> {
        if self.open_rows > 0 {
            self.end_granule()?;
        }
        let (size, chain) = self.file.finish()?;
        let path = self.path;
        self.sink.close().map_err(|error| basalt_base::Error::io(FileAction::Write, &path, &error))?;
        let written = |writer: SkipIndexWriter| Ok((writer.index.clone(), writer.finish()?));
        Ok(WrittenColumn {
            indexes: self.indexes.into_iter().map(written).collect::<Result<_>>()?,
            field: self.field,
            file_name: self.file_name,
            sink: self.sink,
            size,
            chain,
            zones: self.zones.map(ZonesBuilder::finish).transpose()?,
            row_count: self.row_count,
            null_count: self.null_count,
        })
    }
}

impl WrittenColumn {
    pub(super) fn row_count(&self) -> u64 {
        self.row_count
    }

    /// The destination of the bytes.
    pub(super) fn sink(&self) -> &Sink {
        &self.sink
    }

    /// Takes the column's skip indexes, with the bytes of their files.
    pub(super) fn take_indexes(&mut self) -> Vec<(SkipIndex, Vec<u8>)> {
        std::mem::take(&mut self.indexes)
    }

    /// The column's entry in the part's metadata; appends its zone map to `zones_file`.
    pub(super) fn meta(
        self,
        spec: &PartSpec,
        position: usize,
        zones_file: &mut Vec<u8>,
    ) -> Result<ColumnMeta> {
        let column = &spec.columns[position];
        let zones = self.zones;
        let bounds = zones.as_ref().map(Zones::bounds).transpose()?.flatten();
        // For a single granule the bounds are enough.
        let zones = zones.filter(|zones| zones.min().len() > 1);
        let place = zones.map(|zones| ZonesPlace::append(zones_file, &self.field, &zones)).transpose()?;
        Ok(ColumnMeta {
            name: column.name.clone(),
            ty: column.ty.to_string(),
            file: self.file_name,
            offset: None,
            chain: self.chain,
            size: self.size,
            null_count: self.null_count,
            zones: place,
            bounds: encode_bounds(&self.field, bounds.as_ref())?,
        })
    }
}
