//! Writes a part: sorted rows go in, a synced directory that waits for its name comes out.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::FieldRef;
use basalt_base::fs::{PendingDirectory, Storage};

use super::meta::{ColumnMeta, META_FILE, PartMeta, encode_bounds};
use super::stored::PRIMARY_FILE;
use crate::column::strings::coder::Coding;
use crate::column::writer::ColumnFileWriter;
use crate::error::Result;
use crate::index::zone_file::{ZONES_FILE, ZonesPlace};
use crate::index::zones::{Zones, ZonesBuilder};
use crate::key::primary::PrimaryWriter;
use crate::spec::PartSpec;

/// Bytes of a column's name up to which its file is named after it.
const FILE_NAME_BYTES_MAX: usize = 120;

/// Writes one part granule by granule.
pub(crate) struct PartWriter {
    spec: Arc<PartSpec>,
    directory: PendingDirectory,
    columns: Vec<ColumnWriter>,
    primary: PrimaryWriter,
    /// Rows in the current granule; the others are complete.
    granule_rows: usize,
    row_count: u64,
    /// The key columns of the last batch, for the part's last row.
    last_key: Option<Vec<ArrayRef>>,
}

struct ColumnWriter {
    field: FieldRef,
    file_name: String,
    file: ColumnFileWriter,
    /// `None` for a type without an order.
    zones: Option<ZonesBuilder>,
    null_count: u64,
}

/// A part that is written and synced and has no name yet.
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
    ) -> Result<PartWriter> {
        let directory = PendingDirectory::create(storage, path)?;
        let mut columns = Vec::with_capacity(spec.columns.len());
        for position in 0..spec.columns.len() {
            columns.push(ColumnWriter::create(&directory, &spec, position)?);
        }
        let key_fields: Vec<_> = spec.primary_key().iter().map(|&column| spec.field(column)).collect();
        let primary = PrimaryWriter::new(&key_fields);
        Ok(PartWriter { spec, directory, columns, primary, granule_rows: 0, row_count: 0, last_key: None })
    }

    /// Adds rows, which are sorted and not below those before them.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let key: Vec<_> = self.spec.primary_key().iter().map(|&at| Arc::clone(batch.column(at))).collect();
        let mut start = 0;
        while start < batch.num_rows() {
            if self.granule_rows == 0 {
                self.primary.append(&key, start);
            }
            let rows = (self.spec.granule_rows - self.granule_rows).min(batch.num_rows() - start);
            for (column, values) in self.columns.iter_mut().zip(batch.columns()) {
                column.append(&values.slice(start, rows))?;
            }
            start += rows;
            self.granule_rows += rows;
            if self.granule_rows == self.spec.granule_rows {
                self.end_granule()?;
            }
        }
        self.row_count += batch.num_rows() as u64;
        self.last_key = Some(key);
        Ok(())
    }

    fn end_granule(&mut self) -> Result<()> {
        self.granule_rows = 0;
        self.columns.iter_mut().try_for_each(ColumnWriter::end_granule)
    }

    /// Writes the index and the metadata and syncs everything.
    pub(crate) fn finish(mut self, made_at_us: u64) -> Result<PendingPart> {
        if self.granule_rows > 0 {
            self.end_granule()?;
        }
        if let Some(key) = self.last_key.take() {
            let last = key.first().map_or(0, |column| column.len().saturating_sub(1));
            self.primary.append(&key, last);
        }
        let primary = self.primary.finish()?;
        write_file(&self.directory, PRIMARY_FILE, &primary)?;
        let spec = &self.spec;
        let mut zones = Vec::new();
        let columns = self
            .columns
            .into_iter()
            .enumerate()
            .map(|(position, column)| column.finish(spec, position, &mut zones))
            .collect::<Result<_>>()?;
        if !zones.is_empty() {
            write_file(&self.directory, ZONES_FILE, &zones)?;
        }
        let meta = PartMeta {
            row_count: self.row_count,
            granule_rows: spec.granule_rows as u32,
            made_at_us,
            made_by: env!("CARGO_PKG_VERSION").to_owned(),
            primary_file_bytes: primary.len() as u64,
            primary_key: spec.primary_key().iter().map(|&at| spec.columns[at].name.clone()).collect(),
            zones_file_bytes: zones.len() as u64,
            columns,
        };
        write_file(&self.directory, META_FILE, &meta.encode())?;
        self.directory.sync()?;
        Ok(PendingPart { directory: self.directory, meta })
    }
}

impl ColumnWriter {
    fn create(directory: &PendingDirectory, spec: &PartSpec, position: usize) -> Result<ColumnWriter> {
        let field = spec.field(position);
        let file_name = file_name(&spec.columns[position].name, position);
        let file = directory.create_file(&file_name)?;
        let path = directory.path().join(&file_name);
        let chain = spec.codecs[position].clone();
        let coding = Coding::of(&spec.columns[position].ty);
        let file = ColumnFileWriter::create(file, path, &field, chain, coding, spec.granule_rows)?;
        let zones = ZonesBuilder::new(&field);
        Ok(ColumnWriter { field, file_name, file, zones, null_count: 0 })
    }

    fn append(&mut self, rows: &ArrayRef) -> Result<()> {
        self.null_count += rows.null_count() as u64;
        if let Some(zones) = &mut self.zones {
            zones.append(rows)?;
        }
        self.file.append(rows)
    }

    fn end_granule(&mut self) -> Result<()> {
        if let Some(zones) = &mut self.zones {
            zones.end_granule()?;
        }
        self.file.end_granule()
    }

    /// Writes what is left; appends the zone map to the file that `zones_file` becomes.
    fn finish(self, spec: &PartSpec, position: usize, zones_file: &mut Vec<u8>) -> Result<ColumnMeta> {
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

fn write_file(directory: &PendingDirectory, name: &str, bytes: &[u8]) -> Result<()> {
    let mut file = directory.create_file(name)?;
    file.write_all(bytes).map_err(|error| basalt_base::Error::io(&directory.path().join(name), &error).into())
}
