//! A result set as packets: the columns, the rows, totals and extremes, and the size of the result.

use arrow::array::RecordBatch;
use basalt_base::{Columns, Result};
use basalt_formats::{BlockWriter, Statistics};

use super::server_packet::{PacketWriter, ProfileInfo};

/// Writes a result set as packets of a server, without the last one.
pub struct ResultWriter {
    packets: PacketWriter,
    columns: Columns,
    info: ProfileInfo,
    has_header: bool,
}

impl ResultWriter {
    pub fn new(packets: PacketWriter, columns: Columns) -> ResultWriter {
        ResultWriter { packets, columns, info: ProfileInfo::default(), has_header: false }
    }
}

impl ResultWriter {
    /// The columns come before everything else.
    fn put_header(&mut self, out: &mut Vec<u8>) -> Result<()> {
        match std::mem::replace(&mut self.has_header, true) {
            true => Ok(()),
            false => self.packets.header(&self.columns, out),
        }
    }
}

impl BlockWriter for ResultWriter {
    fn write(&mut self, rows: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        self.put_header(out)?;
        if rows.num_rows() == 0 {
            return Ok(());
        }
        let start = out.len();
        self.packets.data(&self.columns, rows, out)?;
        self.info.rows += rows.num_rows() as u64;
        self.info.blocks += 1;
        self.info.bytes += (out.len() - start) as u64;
        Ok(())
    }

    fn totals(&mut self, rows: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        self.put_header(out)?;
        self.packets.totals(&self.columns, rows, out)
    }

    fn extremes(&mut self, rows: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        self.put_header(out)?;
        self.packets.extremes(&self.columns, rows, out)
    }

    fn finish(&mut self, statistics: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        self.put_header(out)?;
        self.info.rows_before_limit = statistics.rows_before_limit;
        self.packets.profile_info(&self.info, out);
        Ok(())
    }
}
