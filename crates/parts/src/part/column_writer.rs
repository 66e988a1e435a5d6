//! Writes one column of a part: its file, and its zone map.

use std::path::Path;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::FieldRef;
use basalt_base::fs::PendingDirectory;

use super::meta::{ColumnMeta, encode_bounds};
use super::sink::Sink;
use crate::column::strings::coder::Coding;
use crate::column::writer::ColumnFileWriter;
use crate::error::Result;
use crate::index::zone_file::ZonesPlace;
use crate::index::zones::{Zones, ZonesBuilder};
use crate::spec::PartSpec;

/// Bytes of a column's name up to which its file is named after it.
const FILE_NAME_BYTES_MAX: usize = 120;

/// One column of a part that is being written.
pub(super) struct ColumnWriter {
    field: FieldRef,
    file_name: String,
    sink: Sink,
    file: ColumnFileWriter,
    /// `None` for a type without an order.
    zones: Option<ZonesBuilder>,
    null_count: u64,
}

impl ColumnWriter {
    /// Starts the column at `position` of a part in `directory`; its bytes stay in memory.
    pub(super) fn create(directory: &Path, spec: &PartSpec, position: usize) -> Result<ColumnWriter> {
        let field = spec.field(position);
        let file_name = file_name(&spec.columns[position].name, position);
        let path = directory.join(&file_name);
        let chain = spec.codecs[position].clone();
        let sink = Sink::in_memory();
        let coding = Coding::of(&spec.columns[position].ty);
        let target = Box::new(sink.clone());
        let file = ColumnFileWriter::create(target, path, &field, chain, coding, spec.granule_rows)?;
        let zones = ZonesBuilder::new(&field);
        Ok(ColumnWriter { field, file_name, sink, file, zones, null_count: 0 })
    }

    /// The column has a file of its own from now on.
    pub(super) fn move_to_file(&self, directory: &PendingDirectory) -> Result<()> {
        let file = directory.create_file(&self.file_name)?;
        let path = directory.path().join(&self.file_name);
        self.sink.move_to(file).map_err(|error| basalt_base::Error::io(&path, &error).into())
    }

    /// Where the bytes go.
    pub(super) fn sink(&self) -> &Sink {
        &self.sink
    }

    /// Adds rows to the current granule.
    pub(super) fn append(&mut self, rows: &ArrayRef) -> Result<()> {
        self.null_count += rows.null_count() as u64;
        if let Some(zones) = &mut self.zones {
            zones.append(rows)?;
        }
        self.file.append(rows)
    }

    pub(super) fn end_granule(&mut self) -> Result<()> {
        if let Some(zones) = &mut self.zones {
            zones.end_granule()?;
        }
        self.file.end_granule()
    }

    /// Writes what is left; appends the zone map to the file that `zones_file` becomes.
    pub(super) fn finish(
        self,
        spec: &PartSpec,
        position: usize,
        zones_file: &mut Vec<u8>,
    ) -> Result<ColumnMeta> {
        let column = &spec.columns[position];
        let zones = self.zones.map(ZonesBuilder::finish).transpose()?;
        let bounds = zones.as_ref().map(Zones::bounds).transpose()?.flatten();
        // The bounds say all of one granule.
        let zones = zones.filter(|zones| zones.min().len() > 1);
        let place = zones.map(|zones| ZonesPlace::append(zones_file, &self.field, &zones)).transpose()?;
        Ok(ColumnMeta {
            name: column.name.clone(),
            ty: column.ty.to_string(),
            file: self.file_name,
            offset: None,
            chain: spec.codecs[position].clone(),
            size: self.file.finish()?,
            null_count: self.null_count,
            zones: place,
            bounds: encode_bounds(&self.field, bounds.as_ref())?,
        })
    }
}

/// The file of a column: its name with everything but letters, digits and `_` as `%` and two hex
/// digits; a number for a name that is too long.
fn file_name(column: &str, position: usize) -> String {
    let mut name = String::new();
    for byte in column.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'_' {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02X}"));
        }
    }
    if name.len() > FILE_NAME_BYTES_MAX {
        name = format!("%{position}");
    }
    name + ".col"
}
