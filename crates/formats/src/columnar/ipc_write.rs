//! Writes Arrow streams and Arrow files.

use arrow::array::RecordBatch;
use arrow_ipc::MetadataVersion;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use basalt_base::{Columns, Error, Result};

use super::outgoing::{Outgoing, Target};
use crate::block::{BlockWriter, Statistics};
use crate::settings::FormatSettings;

/// The alignment of buffers, as in files of other writers.
const ALIGNMENT: usize = 8;

/// The writer of both formats.
pub(crate) struct IpcWriter {
    outgoing: Outgoing,
    sink: Sink,
}

/// The writer of the library, which collects bytes until they are taken.
enum Sink {
    Stream(StreamWriter<Vec<u8>>),
    File(FileWriter<Vec<u8>>),
}

impl IpcWriter {
    pub(crate) fn new(columns: &Columns, settings: &FormatSettings, is_file: bool) -> Result<IpcWriter> {
        let outgoing = Outgoing::new(columns, Target::Arrow, &settings.text);
        let columnar = &settings.columnar;
        let schema = match columnar.arrow_string_as_string {
            true => outgoing.declared(),
            false => outgoing.stored().clone(),
        };
        let options = IpcWriteOptions::try_new(ALIGNMENT, false, MetadataVersion::V5)
            .and_then(|options| options.try_with_compression(columnar.arrow_compression))
            .map_err(Error::of_arrow)?;
        let sink = match is_file {
            true => Sink::File(
                FileWriter::try_new_with_options(Vec::new(), &schema, options).map_err(Error::of_arrow)?,
            ),
            false => Sink::Stream(
                StreamWriter::try_new_with_options(Vec::new(), &schema, options).map_err(Error::of_arrow)?,
            ),
        };
        Ok(IpcWriter { outgoing, sink })
    }

    fn take(&mut self, out: &mut Vec<u8>) {
        out.append(match &mut self.sink {
            Sink::Stream(writer) => writer.get_mut(),
            Sink::File(writer) => writer.get_mut(),
        });
    }
}

impl BlockWriter for IpcWriter {
    fn start(&mut self, out: &mut Vec<u8>) {
        self.take(out);
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let batch = self.outgoing.convert(batch)?;
        let written = match &mut self.sink {
            Sink::Stream(writer) => writer.write(&batch),
            Sink::File(writer) => writer.write(&batch),
        };
        written.map_err(Error::of_arrow)?;
        self.take(out);
        Ok(())
    }

    fn finish(&mut self, _statistics: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        let finished = match &mut self.sink {
            Sink::Stream(writer) => writer.finish(),
            Sink::File(writer) => writer.finish(),
        };
        finished.map_err(Error::of_arrow)?;
        self.take(out);
        Ok(())
    }

    fn content_type(&self) -> &'static str {
        "application/octet-stream"
    }
}
