//! Writes Parquet files, one row group after another.

use arrow::array::RecordBatch;
use basalt_base::{Columns, Error, Result};
use parquet::arrow::arrow_writer::{ArrowWriter, ArrowWriterOptions};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::outgoing::{Outgoing, Target};
use super::parquet_schema::schema_of;
use crate::block::{BlockWriter, Statistics};
use crate::settings::FormatSettings;

/// Memory is bounded by a row group, which is encoded and compressed while it grows.
pub(crate) struct ParquetWriter {
    outgoing: Outgoing,
    writer: ArrowWriter<Vec<u8>>,
}

impl ParquetWriter {
    pub(crate) fn new(columns: &Columns, settings: &FormatSettings) -> Result<ParquetWriter> {
        let columnar = &settings.columnar;
        let outgoing = Outgoing::new(columns, Target::Parquet, &settings.text);
        let properties = WriterProperties::builder()
            .set_created_by("Basalt".to_owned())
            .set_compression(columnar.parquet_compression)
            .set_max_row_group_row_count(Some(columnar.parquet_row_group_rows))
            .set_max_row_group_bytes(Some(columnar.parquet_row_group_bytes))
            .set_data_page_size_limit(columnar.parquet_page_bytes)
            .build();
        let options = ArrowWriterOptions::new()
            .with_properties(properties)
            .with_skip_arrow_metadata(true)
            .with_parquet_schema(schema_of(columns, columnar.parquet_string_as_string)?);
        let writer = ArrowWriter::try_new_with_options(Vec::new(), outgoing.stored().clone(), options);
        Ok(ParquetWriter { outgoing, writer: writer.map_err(failed)? })
    }
}

impl BlockWriter for ParquetWriter {
    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        self.writer.write(&self.outgoing.convert(batch)?).map_err(failed)?;
        out.append(self.writer.inner_mut());
        Ok(())
    }

    fn finish(&mut self, _statistics: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        self.writer.finish().map_err(failed)?;
        out.append(self.writer.inner_mut());
        Ok(())
    }

    fn content_type(&self) -> &'static str {
        "application/octet-stream"
    }
}

fn failed(error: ParquetError) -> Error {
    Error::logical(format!("the Parquet writer failed: {error}"))
}
